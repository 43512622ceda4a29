"""Oracles that decide MATCH and AGREE, or RAT, REF, REV and REJ directly.

The chemistry relations load RDKit when they are first used, not when this package is imported.
"""

from guards.decisions import AskPerson, Chance, Direct, FreeChoice, Person, Script
from guards.relations.chemistry import InvalidSmiles, Reactants, SameReaction
from guards.relations.judge import Judge, Scope
from guards.relations.pathways import InvalidPathway, Part, SamePathway
from guards.relations.radiology import InvalidLabels, LabelSets, SameFindings
from guards.relations.text import ChanceRelation, Exact, NormalisedText, ScriptedRelation
from pxp_fsm.protocol.situation import Derived
from pxp_fsm.sessions.functions import FunctionRelation

__all__ = [
    "AskPerson",
    "Chance",
    "ChanceRelation",
    "Derived",
    "Direct",
    "Exact",
    "FreeChoice",
    "FunctionRelation",
    "InvalidLabels",
    "InvalidPathway",
    "InvalidSmiles",
    "Judge",
    "LabelSets",
    "NormalisedText",
    "Part",
    "Person",
    "Reactants",
    "SameFindings",
    "SamePathway",
    "SameReaction",
    "Scope",
    "Script",
    "ScriptedRelation",
]

__distribution__ = "pxp-fsm"
