"""Verification of the tables that sessions run on."""
