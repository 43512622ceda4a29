"""The commands of networks."""
