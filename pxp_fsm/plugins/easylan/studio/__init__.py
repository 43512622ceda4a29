"""The studio: a network of agents in a browser, edited, run and trained."""
