"""Refinement and equivalence of tables and of systems: what one does and another does not."""
