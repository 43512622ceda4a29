"""The pages of findings, written from a run of every check."""
