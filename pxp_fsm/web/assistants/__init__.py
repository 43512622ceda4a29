"""Assistants that speak the Model Context Protocol as members of sessions."""
