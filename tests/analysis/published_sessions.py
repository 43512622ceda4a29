"""Sessions that have exactly the published counts: found by a solver, run, and stored.

What a session counts for depends on its tags alone. Every tag sequence that INTERACT allows is
enumerated (judges may say anything), sequences that count for the same are one kind, and Z3 finds
how many of each kind make a published column.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import z3

from backends.databases import RunRecord, SessionRecord, SqlBlackboard
from guards import ScriptedRelation
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.protocol.intelligibility import ONE_WAY, STRONG, ULTRA_STRONG
from pxp_fsm.protocol.messages import Answer, Instance, Question
from pxp_fsm.protocol.relations import Outcome
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.session import Session

RULES = Interact(10, 3)
TAGS = {"RAT": "RATIFY", "REF": "REFUTE", "REV": "REVISE", "REJ": "REJECT"}
YES, NO = Outcome.YES, Outcome.NO
SAYS = {
    "RATIFY": ([YES], [YES]),
    "REFUTE": ([NO, YES], [YES, YES]),  # category C, and the answer did not change
    "REVISE": ([NO, NO], [YES]),  # category C, and it did
    "REJECT": ([NO], [NO]),
}
"""What MATCH and AGREE must say for a tag, in the order in which they are asked."""


def tag_sequences(human_revises: bool, rules: Interact = RULES) -> Iterator[tuple[str, ...]]:
    """Every complete tag sequence of INTERACT for judges that may say anything."""
    waiting = deque[tuple[str, ...]]([("INIT",)])
    while waiting:
        tags = waiting.popleft()
        if tags[-1] == "REJECT" or tags[-2:] == ("RATIFY", "RATIFY") or len(tags) == rules.n:
            yield tags
            continue
        number = len(tags) + 1
        for guard in rules.allowed(number):
            if human_revises or number % 2 or guard != "REV":
                waiting.append((*tags, TAGS[guard]))


@dataclass(frozen=True)
class Kind:
    """What a session counts for: the rows of Table 1, and three things that the text tells."""

    classes: tuple[bool, ...]
    human_by_3: bool
    ratified_within_3: bool
    ratified_later: bool


def kind(tags: Sequence[str]) -> Kind:
    """What a session with these tags counts for; the machine sends the odd ones."""
    machine, human = (frozenset(tags[start::2]) - {"INIT"} for start in (0, 1))
    one_way = [ONE_WAY.holds(sent) for sent in (human, machine)]
    ratified = tuple(tags[-2:]) == ("RATIFY", "RATIFY")
    return Kind(
        (
            *one_way,
            all(one_way),
            *(each.holds(sent) for each in (STRONG, ULTRA_STRONG) for sent in (human, machine)),
        ),
        ONE_WAY.holds(frozenset(tags[1:3:2])),
        ratified and len(tags) <= 3,
        ratified and len(tags) > 3,
    )


@cache
def representatives(human_revises: bool) -> dict[Kind, tuple[str, ...]]:
    """The shortest tag sequence of each kind."""
    found: dict[Kind, tuple[str, ...]] = {}
    for tags in tag_sequences(human_revises):
        found.setdefault(kind(tags), tags)
    return found


def column(
    counts: Sequence[int],
    among: dict[Kind, tuple[str, ...]],
    *,
    by_3: int | None = None,
    ratified: tuple[int, int] | None = None,
    tolerance: bool = False,
) -> list[tuple[str, ...]] | None:
    """Twenty tag sequences with exactly these counts, or None where there are none.

    `tolerance` demands what holds of the responder for relations that are deterministic, reflexive,
    symmetric and shared (`pxp check`): RATIFY at message 2 is answered by RATIFY, which is the end.
    """
    usable = {
        what: tags
        for what, tags in among.items()
        if not tolerance or what.human_by_3 == what.ratified_within_3
    }
    solver = z3.Solver()
    solver.set("random_seed", 1)
    numbers = {what: z3.Int(f"k{place}") for place, what in enumerate(usable)}
    solver.add([number >= 0 for number in numbers.values()])
    wanted = [(z3.Sum(list(numbers.values())), 20)]
    for place, count in enumerate(counts):
        wanted.append((z3.Sum([n for w, n in numbers.items() if w.classes[place]] or [0]), count))
    if by_3 is not None:
        wanted.append((z3.Sum([n for w, n in numbers.items() if w.human_by_3]), by_3))
    if ratified is not None:
        within, later = ratified
        wanted.append((z3.Sum([n for w, n in numbers.items() if w.ratified_within_3]), within))
        wanted.append((z3.Sum([n for w, n in numbers.items() if w.ratified_later]), later))
    solver.add([total == count for total, count in wanted])
    if solver.check() != z3.sat:
        return None
    model = solver.model()
    return [
        tags
        for what, tags in usable.items()
        for _ in range(model.eval(numbers[what], model_completion=True).as_long())
    ]


class Says:
    """A respondent whose answers nobody looks at: the judges are scripted."""

    name = "says"

    async def answer(self, question: Question) -> Answer:
        return Answer("O", f"answer {len(question.history)}")


def agent(tags: Sequence[str]) -> Agent:
    """An agent whose MATCH and AGREE say what makes it send `tags`."""
    scripts = [
        ScriptedRelation(outcome for tag in tags for outcome in SAYS[tag][place])
        for place in (0, 1)
    ]
    return Agent(Says(), match=scripts[0], agree=scripts[1], memo=False)


def stored(board: SqlBlackboard, sequences: Sequence[Sequence[str]], task: str = "drug") -> None:
    """Run a session for each tag sequence, through the real machines, into the run `TASK-1`."""
    plan = Plan(task, instances=None)
    run = f"{task}-1"
    board.start_run(RunRecord(run, task, plan.as_json(), 0, "0", "f"))
    for position, tags in enumerate(sequences, start=1):
        name = f"{run}/1/{position}"
        members = {"m": agent(tags[2::2]), "h": agent(tags[1::2])}
        about = Instance(f"i{position}", "C")
        table = RULES.automaton
        place = (name, run, 1, position, about, "interact", RULES.n, RULES.k)
        described = tuple((each, one.describe()) for each, one in members.items())
        board.start_session(
            SessionRecord(*place, table.name, table.fingerprint, False, (), described)
        )
        session = Session(RULES, members, instance=about, name=name, blackboard=board)
        asyncio.run(session.run())
        assert tuple(message.tag for message in session.history) == tuple(tags)
