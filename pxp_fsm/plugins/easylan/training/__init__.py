"""Training of a network on examples: steps, proposals, strategies, the pipeline."""
