"""Networks of LLM agents (LANs), run and trained from few examples (EasyLAN)."""
