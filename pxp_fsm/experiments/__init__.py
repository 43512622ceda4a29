"""Experiments: plans, runs, statistics and reports."""
