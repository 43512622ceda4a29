"""A network as data: agents, edges, operations, history, files."""
