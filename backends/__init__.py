"""Everything outside the process: models, databases and people."""
