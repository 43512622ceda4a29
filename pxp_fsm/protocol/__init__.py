"""The meaning of PXP and INTERACT: messages, decisions, rules, relations, intelligibility."""
