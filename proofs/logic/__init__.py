"""Temporal logic over any model: CTL, LTL, LTLf and what mixes them, with fairness."""

from proofs.logic.checking import Checker, Runs
from proofs.logic.fairness import Class, Fairness, Strength
from proofs.logic.formulas import Formula
from proofs.logic.parsing import parse
from proofs.logic.session_monitor import SessionMonitor

__all__ = ["Checker", "Class", "Fairness", "Formula", "Runs", "SessionMonitor", "Strength", "parse"]
