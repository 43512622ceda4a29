"""Automata and systems: tables, their validation, channels and actions; the built-in tables."""
