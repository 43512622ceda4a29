"""What recordings tell: audits, probabilities fitted to runs, languages, findings."""
