"""Tables and traces as files."""
