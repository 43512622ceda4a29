"""Probabilities of sessions: computed, estimated from runs, and compared with observations."""
