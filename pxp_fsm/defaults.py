"""The defaults of protocols and runs; a leaf module that every layer may import."""

from __future__ import annotations

N = 10
"""INTERACT's bound on messages in the papers' experiments (arXiv 2410.20600, section 4)."""

K = 3
"""The message after which INTERACT allows REJECT in their code; PXP's bound on self-loops here."""

LIMIT = 1000
"""The messages, or actions, of a session that has no bound of its own."""

NETWORKS = "lan"
"""The task of the runs in which networks of agents are trained: they have no plan of sessions."""

OWN = "own"
"""The task of the runs of sessions that a program of one's own holds: they have no plan either."""

SESSION = f"{OWN}/1"
"""The name of a session to which a program gives none: that of its run, and a number."""

SYSTEMS = "system"
"""The task of the runs of a system: their plan says of which, and who answered."""

INSTANCES = 20
"""How many instances a repetition has, if there are so many: the papers' number."""

OUTPUT = "runs"
"""The folder into which a run writes its files."""

RESEARCH_ONLY = "For research only, not for diagnosis or treatment."
"""What stands on each page of people, each export of a run and each report about X-rays."""

DATABASE = "blackboard.sqlite"
"""The file in the output folder in which a run is stored."""

IN_FLIGHT = 16
"""How many requests a server of models has at a time, and how many sessions go on meanwhile."""

AT_ONCE = 32
"""How many sessions go on at a time where none takes anything from another."""

STORED = f"{OUTPUT}/{DATABASE}"
"""The database that commands read where none is named."""
