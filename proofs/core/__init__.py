"""Models, exploration, properties and results; no protocol is known here."""
