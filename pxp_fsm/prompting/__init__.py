"""Prompts and replies of models."""
