"""Local predictors, which need no key and no network."""
