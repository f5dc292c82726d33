"""Audits of whole algorithms and analyses: what they ask, under scripted answers, and what their transcripts lose."""
