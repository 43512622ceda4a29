"""Tasks: what a session is about. A new task is a new folder."""
