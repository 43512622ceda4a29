"""How the agents of a network and the steps of its update are asked, as data."""
