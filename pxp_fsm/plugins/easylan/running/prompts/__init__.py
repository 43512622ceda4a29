"""The prompts of a network's agents and of the steps of its update, as data."""
