"""Training a network by examples: steps, proposals, strategies, the pipeline."""
