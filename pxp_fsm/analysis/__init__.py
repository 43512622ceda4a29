"""Analysis of recordings: audits, probabilities fitted to runs, languages, findings."""
