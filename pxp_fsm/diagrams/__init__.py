"""Diagrams of automata and sessions: a neutral model is extracted, then rendered."""

from pxp_fsm.diagrams.extract import actions_chart, sequence_chart, state_diagram
from pxp_fsm.diagrams.model import (
    Arrow,
    Diagram,
    Edge,
    EdgeRow,
    Lifeline,
    Node,
    SequenceChart,
    StateDiagram,
)
from pxp_fsm.diagrams.render import FORMATS, SUFFIXES, render, svg, write
from pxp_fsm.diagrams.style import Style

__all__ = [
    "FORMATS",
    "SUFFIXES",
    "Arrow",
    "Diagram",
    "Edge",
    "EdgeRow",
    "Lifeline",
    "Node",
    "SequenceChart",
    "StateDiagram",
    "Style",
    "actions_chart",
    "render",
    "sequence_chart",
    "state_diagram",
    "svg",
    "write",
]
