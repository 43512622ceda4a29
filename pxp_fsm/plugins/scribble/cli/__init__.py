"""Commands about global protocols."""
