"""Systems of any number of tables, joined by channels: what they can do, and what is true of it."""

from proofs.systems.checking import NotReducible, Reduction, check, decide_standard
from proofs.systems.encoding import Configuration
from proofs.systems.fairness import terminates
from proofs.systems.product import Composition
from proofs.systems.results import (
    Interrupted,
    check_formulas,
    check_machines,
    check_standard,
    check_termination,
    check_unbounded,
)
from pxp_fsm.automata.channels import SYNCHRONOUS, Channel, parse_channel
from pxp_fsm.automata.system import Member, System, system_of

__all__ = [
    "SYNCHRONOUS",
    "Channel",
    "Composition",
    "Configuration",
    "Interrupted",
    "Member",
    "NotReducible",
    "Reduction",
    "System",
    "check",
    "check_formulas",
    "check_machines",
    "check_standard",
    "check_termination",
    "check_unbounded",
    "decide_standard",
    "parse_channel",
    "system_of",
    "terminates",
]
