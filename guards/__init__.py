"""Oracles that decide MATCH and AGREE, or RAT, REF, REV and REJ directly."""

from guards.decisions import AskPerson, ChanceGuards, Direct, FreeChoice, Person, ScriptedGuards
from guards.judge import Judge, Scope
from guards.labels import LabelSets
from guards.terms import KeyTerms
from guards.text import ChanceRelation, Exact, NormalisedText, ScriptedRelation
from pxp_fsm.protocol.situation import Derived
from pxp_fsm.sessions.functions import FunctionRelation

__all__ = [
    "AskPerson",
    "ChanceGuards",
    "ChanceRelation",
    "Derived",
    "Direct",
    "Exact",
    "FreeChoice",
    "FunctionRelation",
    "Judge",
    "KeyTerms",
    "LabelSets",
    "NormalisedText",
    "Person",
    "Scope",
    "ScriptedGuards",
    "ScriptedRelation",
]

__distribution__ = "pxp-fsm"
