"""Results as text for a terminal and in the formats of other tools."""
