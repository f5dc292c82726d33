"""The algorithm `irls-paper`: private IRLS exactly as published, with the noises whose claims are refuted."""
