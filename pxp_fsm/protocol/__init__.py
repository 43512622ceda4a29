"""What PXP and INTERACT mean: messages, decisions, rules, relations, intelligibility."""
