"""The commands of studies."""
