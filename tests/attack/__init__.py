"""Everything that attacks what is stored, spent and served, by one command and from seeds."""
