"""Deterministic simulation of a lab: runs that are killed and cut everywhere, from a seed."""
