"""Oracles that decide MATCH and AGREE, or RAT, REF, REV and REJ directly.

The chemistry relations load RDKit when they are first used, not when this package is imported.
"""

from guards.chemistry import InvalidSmiles, Reactants
from guards.chosen import AskPerson, Chance, FreeChoice, Person, Script
from guards.direct import Direct
from guards.findings import SameFindings
from guards.judge import Judge, Scope
from guards.labels import InvalidLabels, LabelSets
from guards.reactions import SameReaction
from guards.scripted import ChanceRelation, ScriptedRelation
from guards.text import Exact, NormalisedText
from pxp_fsm.functions import FunctionRelation
from pxp_fsm.situation import Derived

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
    "InvalidSmiles",
    "Judge",
    "LabelSets",
    "NormalisedText",
    "Person",
    "Reactants",
    "SameFindings",
    "SameReaction",
    "Scope",
    "Script",
    "ScriptedRelation",
]
