"""Tasks for networks of agents: as files, with criteria; scores, and networks side by side."""
