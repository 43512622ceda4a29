"""Recordings in files of other tools, read into a blackboard for audits and monitors."""
