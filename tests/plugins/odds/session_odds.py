"""Players for the tests of the odds, sessions enumerated by the rules alone, and real ones."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction

from hypothesis import strategies as st

from guards import FunctionRelation
from pxp_fsm.automata.automaton import Valuation
from pxp_fsm.plugins.odds import Behaviour, Player
from pxp_fsm.plugins.odds.behaviour import REVISING, Cell
from pxp_fsm.protocol.decisions import Category
from pxp_fsm.protocol.intelligibility import DEFINITIONS, holds_for, two_way
from pxp_fsm.protocol.messages import Answer, Message, Question
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.protocol.situation import Situation
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.session import Session

TAGS = {"RAT": "RATIFY", "REF": "REFUTE", "REV": "REVISE", "REJ": "REJECT"}
CLASSES = {"one-way": "one_way", "strong": "strong", "ultra-strong": "ultra_strong"}
CLASSES["one-way (any)"] = "one_way_any"
ROLES = {"human": "h", "machine": "m"}
Pair = tuple[Player, Player]


def behaviour(a: str, b: str, c: str, d: str, *revise: str) -> Behaviour:
    """A behaviour by its numbers; one revision for all categories, or one each."""
    categories = dict(zip(Category, map(Fraction, (a, b, c, d)), strict=True))
    shares = map(Fraction, revise * 3 if len(revise) == 1 else revise)
    return Behaviour(categories, dict(zip(REVISING, shares, strict=True)))


M = Player(behaviour("1/2", "0.1", "0.2", "0.2", "2/3"))
H = Player(behaviour("0.4", "0.2", "0.1", "0.3", "1/2"))


@st.composite
def behaviours(draw: st.DrawFn) -> Behaviour:
    shares = draw(st.lists(st.integers(0, 6), min_size=4, max_size=4).filter(any))
    categories = {c: Fraction(s, sum(shares)) for c, s in zip(Category, shares, strict=True)}
    revise: dict[Category, Fraction] = {c: Fraction(draw(st.integers(0, 5)), 5) for c in REVISING}
    return Behaviour(categories, revise)


@st.composite
def players(draw: st.DrawFn) -> Player:
    tags = draw(st.sets(st.sampled_from(["INIT", "RATIFY", "REFUTE", "REVISE"]), max_size=2))
    return Player(draw(behaviours()), {tag: draw(behaviours()) for tag in sorted(tags)})


def message(number: int, tag: str) -> Message:
    sender, receiver = "mh" if number % 2 else "hm"
    return Message("s", number, sender, tag, Answer("y", "e"), receiver)


def enumerated(pair: Pair, rules: Interact) -> Iterator[tuple[tuple[Message, ...], str, Fraction]]:
    """Every session that chance can make under the rules that sessions follow, and how probable."""

    def after(
        history: tuple[Message, ...], chance: Fraction
    ) -> Iterator[tuple[tuple[Message, ...], str, Fraction]]:
        ending = rules.ending(history)
        if ending is not None:
            yield history, ending, chance
            return
        number = len(history) + 1
        player = pair[0 if number % 2 else 1]
        shares = defaultdict[str, Fraction](Fraction)
        for cell, share in player.answering(history[-1].tag).cells().items():
            shares[TAGS[rules.guard(*cell, number)]] += share
        for tag, share in shares.items():
            if share:
                yield from after((*history, message(number, tag)), chance * share)

    yield from after((message(1, "INIT"),), Fraction(1))


def holds(outcome: str, history: Sequence[Message], ending: str) -> bool:
    """Whether a session is what `outcome` says, by the definitions that sessions are counted by."""
    if outcome == "two-way":
        return two_way(history, "m", "h")
    name, comma, role = outcome.partition(", ")
    if not comma:
        return ending == outcome
    return holds_for(DEFINITIONS[CLASSES[name]], history, ROLES[role])


class Drawing:
    """Guards by chance: category and revision are drawn, the protocol's own functions decide."""

    name = "drawing"
    follows_relations = False

    def __init__(self, player: Player, drawn: random.Random) -> None:
        self._player, self._drawn = player, drawn

    async def decide(self, situation: Situation) -> Valuation:
        cells = self._player.answering(situation.received.tag).cells()
        found: Cell = self._drawn.choices(list(cells), list(map(float, cells.values())))[0]
        return situation.choosing(situation.rules.guard(*found, situation.number))


class Says:
    """A respondent whose answers nobody looks at."""

    name = "says"

    async def answer(self, question: Question) -> Answer:
        return Answer("y", f"answer {len(question.history)}")


def played(pair: Pair, rules: Interact, sessions: int, seed: int) -> Counter[tuple[str, ...]]:
    """How many of so many real sessions, through the real machines, took each tag sequence."""
    drawn = random.Random(seed)
    same = FunctionRelation("same", lambda left, right: left == right)
    found: Counter[tuple[str, ...]] = Counter()
    members = {
        name: Agent(Says(), match=same, agree=same, guards=Drawing(player, drawn))
        for name, player in zip("mh", pair, strict=True)
    }

    async def play() -> None:
        for number in range(sessions):
            session = Session(rules, members, instance="x", name=f"s{number}")
            await session.run()
            found[tuple(str(each.tag) for each in session.history)] += 1

    asyncio.run(play())
    return found
