"""Oracles that decide MATCH and AGREE, or RAT, REF, REV and REJ directly.

The chemistry relations load RDKit when they are first used, not when this package is imported.
"""

from guards.chemistry import InvalidSmiles, Reactants
from guards.chosen import AskPerson, Chance, FreeChoice, Person, Script
from guards.derived import Derived
from guards.direct import Direct
from guards.reactions import SameReaction
from guards.scripted import ChanceRelation, FunctionRelation, ScriptedRelation
from guards.text import Exact, NormalisedText

__all__ = [
    "AskPerson",
    "Chance",
    "ChanceRelation",
    "Derived",
    "Direct",
    "Exact",
    "FreeChoice",
    "FunctionRelation",
    "InvalidSmiles",
    "NormalisedText",
    "Person",
    "Reactants",
    "SameReaction",
    "Script",
    "ScriptedRelation",
]
