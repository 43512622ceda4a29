"""Local predictors, with no key and no network."""
