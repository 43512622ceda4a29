"""The pages of people who take part in sessions, and of who runs them."""
