"""Proofs for all parameters, from the rules in tables."""
