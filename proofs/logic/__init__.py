"""Temporal logic over any model: CTL, LTL, LTLf and what mixes them, with fairness."""

from proofs.logic.checking import FormulaChecker, Runs
from proofs.logic.fairness import FairClass, Fairness, Strength
from proofs.logic.formulas import Formula
from proofs.logic.graph import Graph, graph_of
from proofs.logic.parsing import parse
from proofs.logic.satisfiability import WitnessRun, satisfying_run

__all__ = [
    "FairClass",
    "Fairness",
    "Formula",
    "FormulaChecker",
    "Graph",
    "Runs",
    "Strength",
    "WitnessRun",
    "graph_of",
    "parse",
    "satisfying_run",
]
