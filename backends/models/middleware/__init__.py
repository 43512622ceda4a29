"""What stands between a run and a model: retries, limits, budget, cache, records."""
