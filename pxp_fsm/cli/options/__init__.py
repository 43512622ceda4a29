"""The options of each command: light dataclasses from which help and parameters are built."""
