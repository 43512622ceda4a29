"""Middleware between a run and a model: retries, limits, budget, cache, recording."""
