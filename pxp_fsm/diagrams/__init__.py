"""Diagrams of automata and sessions: a neutral model is extracted, then rendered."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.diagrams.extract import actions_chart as actions_chart
    from pxp_fsm.diagrams.extract import sequence_chart as sequence_chart
    from pxp_fsm.diagrams.extract import state_diagram as state_diagram
    from pxp_fsm.diagrams.model import Arrow as Arrow
    from pxp_fsm.diagrams.model import Diagram as Diagram
    from pxp_fsm.diagrams.model import Edge as Edge
    from pxp_fsm.diagrams.model import EdgeRow as EdgeRow
    from pxp_fsm.diagrams.model import Lifeline as Lifeline
    from pxp_fsm.diagrams.model import Node as Node
    from pxp_fsm.diagrams.model import SequenceChart as SequenceChart
    from pxp_fsm.diagrams.model import StateDiagram as StateDiagram
    from pxp_fsm.diagrams.rendering import FORMATS as FORMATS
    from pxp_fsm.diagrams.rendering import SUFFIXES as SUFFIXES
    from pxp_fsm.diagrams.rendering import render as render
    from pxp_fsm.diagrams.rendering import svg as svg
    from pxp_fsm.diagrams.rendering import write as write
    from pxp_fsm.diagrams.style import Style as Style

__getattr__, __dir__ = attach(
    globals(),
    {
        "pxp_fsm.diagrams.extract": "actions_chart sequence_chart state_diagram",
        "pxp_fsm.diagrams.model": "Arrow Diagram Edge EdgeRow Lifeline Node SequenceChart "
        "StateDiagram",
        "pxp_fsm.diagrams.rendering": "FORMATS SUFFIXES render svg write",
        "pxp_fsm.diagrams.style": "Style",
    },
)
