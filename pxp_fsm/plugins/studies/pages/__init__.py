"""The pages of the participants of a study, and of who conducts it."""
