"""Random panels, as the package runs them and as the naive second implementation reads them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pxp_fsm as pxp
from pxp_fsm.plugins.panels import PanelLayout
from pxp_fsm.plugins.panels.verdicts import verdicts_of
from pxp_fsm.protocol.messages import Answer
from pxp_fsm.protocol.relations import Outcome, digest
from pxp_fsm.sessions.events import Event
from tests.oracles import panels as naive

PREDICTIONS, EXPLANATIONS = ("y1", "y2", "y3"), ("e1", "e2")
MOST = 36


@dataclass
class Scripted:
    """A respondent that gives its answers one after the other, the last one for ever."""

    answers: Sequence[naive.Pair]
    asked: int = 0
    name: str = "scripted"

    async def answer(self, question: pxp.Question) -> Answer:
        self.asked += 1
        return Answer(*self.answers[min(self.asked, len(self.answers)) - 1])


@dataclass(frozen=True)
class Related:
    """A relation by the pairs of texts that are in it, beside each text and itself."""

    held: frozenset[tuple[str, str]]

    def __call__(self, left: str, right: str) -> bool:
        return left == right or (left, right) in self.held


@dataclass(frozen=True)
class RandomPanel:
    """A panel, what its agents answer, and the relations of each."""

    seed: int
    panel: pxp.Panel
    rules: naive.Rules
    answers: dict[str, tuple[naive.Pair, ...]]
    relations: dict[str, tuple[Related, Related]]

    def agents(self) -> dict[str, naive.Agent]:
        return {
            name: naive.Agent(answers, *self.relations[name])
            for name, answers in self.answers.items()
        }

    def run(self) -> pxp.Session:
        agents = {
            name: pxp.Agent(Scripted(answers), match=match, agree=agree)
            for name, answers in self.answers.items()
            for match, agree in [self.relations[name]]
        }
        return pxp.Session(
            self.panel, agents, instance="x", name=f"r/{self.seed}", limit=MOST
        ).run_sync()


def random_panel(seed: int) -> RandomPanel:
    chance = random.Random(seed)
    names = tuple("abcd"[: chance.choice((2, 3, 3, 3, 4))])
    links = [link if chance.random() < 0.7 else link[::-1] for link in combinations(names, 2)]
    if len(names) == 4 and chance.random() < 0.3:
        links = [links[0], links[3], links[5]]
    n, k = None, chance.choice((None, 1, 2))
    if chance.random() < 0.5:
        n, k = chance.randint(1, 7), chance.randint(1, 3)
    rules = pxp.Pxp(k=k) if n is None or k is None else pxp.Interact(n=n, k=k)
    schedule = chance.choice(("free", "fifo", "round-robin"))
    flags: Any = {name: chance.random() < 0.2 for name in ("call", "alone", "commit", "reopen")}
    limit = chance.choice((None, None, None, 0, 1, 2))
    stops = chance.sample(("consensus", "agreement", "split", "impasse:3", "oscillation"), 2)
    stops = stops[: chance.choice((0, 0, 0, 1, 2))]
    panel = pxp.Panel(rules, schedule, ",".join(stops), links, limit=limit, seed=seed, **flags)
    stop = tuple((one.partition(":")[0], int(one.partition(":")[2] or 4)) for one in stops)
    own = naive.Rules(names, tuple(links), n, k, schedule, limit=limit, stop=stop, **flags)
    few = chance.choice(((PREDICTIONS[:2], EXPLANATIONS[:1]), (PREDICTIONS, EXPLANATIONS)))
    cycles = 60 if chance.random() < 0.4 else 1  # waverers, whose answers come again
    answers = {
        name: cycles
        * tuple(
            (chance.choice(few[0]), chance.choice(few[1]))
            for _ in range(chance.randint(1, 3 if cycles > 1 else 14))
        )
        for name in names
    }
    shared, alike = chance.random() < 0.6, chance.choice((0.0, 0.0, 0.3))

    def related(texts: Sequence[str]) -> Related:
        pairs = [(a, b) for a in texts for b in texts if chance.random() < alike]
        return Related(frozenset(pairs))

    first = related(PREDICTIONS), related(EXPLANATIONS)
    relations = {
        name: first if shared else (related(PREDICTIONS), related(EXPLANATIONS)) for name in names
    }
    return RandomPanel(seed, panel, own, answers, relations)


def said_in(events: Sequence[Event]) -> list[naive.Said]:
    messages = [event.carried for event in events]
    return [
        naive.Said(m.sender, m.receiver, str(m.tag), (m.answer.prediction, m.answer.explanation))
        for m in messages
    ]


def differences(seed: int) -> Iterator[str]:
    """How the package and the naive reading differ about a random panel."""
    one = random_panel(seed)
    session = one.run()
    events, rules, names = session.events, one.rules, one.rules.names
    messages, agents = naive.Transcript(said_in(events)), one.agents()
    layout = PanelLayout(one.panel, names)
    boards = layout.read(session.history)
    for number, board in enumerate(boards):
        before = messages.beginning(number)
        owed = [(names[each.member], names[each.partner]) for each in layout.owed(board)]
        if owed != naive.owed(rules, before):
            yield f"{seed}: {owed} owe after {number}, not {naive.owed(rules, before)}"
        due = naive.due(rules, before)
        if due != [(names[each.member], names[each.partner]) for each in layout.due(board)]:
            yield f"{seed}: {due} are due after {number}"
        for place, name in enumerate(names):
            if board.changes[place] != naive.version(before, name):
                yield f"{seed}: the version of {name} after {number} is {board.changes[place]}"
        if number < len(messages):
            sent = messages[number]
            if (sent.sender, sent.receiver) not in due:
                yield f"{seed}: message {number + 1} is not due"
            expected = naive.reply(rules, before, agents, sent.sender, sent.receiver)
            if expected != sent:
                yield f"{seed}: message {number + 1} is {sent}, not {expected}"
    yield from _verdicts(one, events, messages, random.Random(seed))
    alike = naive.alike_of(_judged(events))
    ending = naive.ending(rules, messages, alike, MOST)
    ours = session.ending.value if session.ending else ""
    if ending.startswith("stopped: "):
        ours = f"stopped: {session.cause.partition(':')[0]}"
    if ending != ours:
        yield f"{seed}: ended {ours} ({session.cause}), not {ending}"


def _judged(events: Sequence[Event]) -> list[tuple[str, str, str, bool]]:
    """What was judged, of texts: each is found by its digest."""
    texts = {digest(text): text for text in (*PREDICTIONS, *EXPLANATIONS)}
    return [
        (one.relation, texts[one.left], texts[one.right], one.outcome is Outcome.YES)
        for event in events
        for one in event.judgements
        if one.relation in ("MATCH", "AGREE")
    ]


def _verdicts(
    one: RandomPanel, events: Sequence[Event], messages: naive.Transcript, chance: random.Random
) -> Iterator[str]:
    for number in {len(events), *(chance.randint(1, len(events)) for _ in range(4))}:
        window = chance.randint(1, 4)
        alike = naive.alike_of(_judged(events[:number]))
        expected = naive.verdicts(one.rules, messages.beginning(number), alike, window)
        found = verdicts_of(one.panel, one.rules.names, events[:number], window)
        if found != expected:
            yield f"{one.seed}: {set(found)} after {number}, not {expected} (window {window})"
