"""The built-in automaton tables, as TOML, and the JSON Schema of their format."""
