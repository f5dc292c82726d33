"""The betting engine that all sampling falsifiers share: e-processes, the bank of bets, power, lower bounds."""
