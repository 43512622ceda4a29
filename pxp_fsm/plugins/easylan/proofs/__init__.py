"""The tables of networks of LLM agents as models, and the claims about them."""
