"""Proofs for all n and k."""
