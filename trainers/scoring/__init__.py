"""Exact log-probabilities of actions chosen among candidates."""
