"""What a run goes by where nothing else is said; light, so that the command's help can show it."""

from __future__ import annotations

N = 10
"""INTERACT's bound on messages in the papers' experiments (arXiv 2410.20600, section 4)."""

K = 3
"""The message after which INTERACT allows REJECT in their code; PXP's bound on self-loops here."""

NETWORKS = "lan"
"""The task of the runs in which networks of agents are trained: they have no plan of sessions."""

INSTANCES = 20
"""How many instances a repetition has, if there are so many: the papers' number."""

OUTPUT = "runs"
"""The folder in which a run leaves what it made."""

DATABASE = "blackboard.sqlite"
"""The file in the output folder in which a run is kept."""

SCOPES = ("call", "session", "run", "pair")
"""How far a judge may remember its verdicts: `guards.judge.Scope`."""

MOST_VOTES = 99
"""How often, at most, a judge is asked one question."""

AT_ONCE = 32
"""How many sessions go on at a time where none takes anything from another."""
