"""Experiments with networks of agents: task files with criteria, scores, comparisons."""
