"""Conformance: tests made from a table that any running code can be held against."""
