"""Sessions: machines, channels and agents that run."""
