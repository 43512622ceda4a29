"""Conformance testing: test suites derived from a table, for any running implementation."""
