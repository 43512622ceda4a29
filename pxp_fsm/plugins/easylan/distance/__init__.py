"""UED and LMD: the costs of manual operations."""
