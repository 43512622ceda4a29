"""MATCH and AGREE: when two predictions or explanations count as the same."""
