"""Calls to models in a session: the papers' procedure taken literally, what is needed, and ours.

Literally: Procedure 2 (arXiv 2410.20600) evaluates four categories and Changed, each with its own
AGREE, from left to right (AGREE is not asked where MATCH has decided). Needed: every two different
texts that an agent must compare, once. Ours: what a model behind `Judge` was in fact asked. All
three on the same 20 scripted DRUG sessions of at most 6 messages; nothing is sent anywhere.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from backends.databases.blackboard import Proxy
from backends.models import ModelRespondent
from guards import Derived
from guards.judge import Judge
from pxp_fsm.plugins.drug import Reactants
from pxp_fsm.plugins.drug.data import bundled
from pxp_fsm.plugins.drug.relations import canonical_reactants
from pxp_fsm.plugins.drug.task import PROBLEM
from pxp_fsm.prompting.framing import unframed
from pxp_fsm.prompting.model import Capability, ModelRequest, Reply
from pxp_fsm.protocol.decisions import category
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.session import Session
from pxp_fsm.tasks.prompts import prompts_of

N, K, SESSIONS = 6, 3, 20


@dataclass
class Played:
    """A model by a rule: of its answers, every `patience`-th takes over what it has heard."""

    patience: int
    name: str = "played"
    capabilities: frozenset[Capability] = frozenset({Capability.SCHEMA})
    asked: int = 0

    async def reply(self, request: ModelRequest) -> Reply:
        self.asked += 1
        data = [frame for turn in request.turns for frame in unframed(turn.text)]
        if request.purpose == "judge":
            left, right = (str(frame["explanation"]) for frame in data[:2])
            same = "convinced" in left + right and "not" not in left + right
            return Reply(json.dumps({"consistent": "yes" if same else "no"}))
        heard = [frame for frame in data if "tag" in frame]
        if len(heard) < self.patience:
            view = f"I am not so sure, {len(heard) // 2}."
            taken = self.patience % 2 and heard
            reactants = str(heard[-1]["prediction"]).split(".") if taken else ["C"]
        else:
            view, reactants = "I am convinced.", str(heard[-1]["prediction"]).split(".")
        return Reply(json.dumps({"prediction": reactants, "explanation": view}))


@dataclass(frozen=True)
class Counted:
    """Calls in one session: its messages, the generator's, and AGREE counted in three ways."""

    messages: int
    generator: int
    literal: int
    needed: int
    ours: int


def same(left: str, right: str) -> bool:
    return canonical_reactants(left) == canonical_reactants(right)


def by_formula(session: Session, agrees: dict[tuple[str, str], bool]) -> tuple[int, int]:
    """AGREE calls that the literal procedure makes, and those that are needed."""
    literal, needed = 0, set()
    answers = [message.answer for message in session.history]
    for number in range(2, len(answers) + 1):
        fresh, received = answers[number - 1], answers[number - 2]
        own = answers[number - 3] if number > 2 else fresh
        match = same(received.prediction, own.prediction)
        literal += 2  # of the four categories MATCH leaves two, and each asks for itself
        compared = [(received.explanation, own.explanation)]
        kept = same(fresh.prediction, own.prediction)
        literal += kept
        agree = received.explanation == own.explanation or agrees.get(compared[0], False)
        if kept and Interact(N, K).depends_on_revision(category(match, agree), number):
            compared.append((fresh.explanation, own.explanation))
        speaker = session.history[number - 1].sender
        needed |= {(speaker, *pair) for pair in compared if pair[0] != pair[1]}
    return literal, len(needed)


def counted(number: int) -> Counted:
    """One session, played; `number` picks its molecule and how soon the machine is convinced."""
    row = bundled().sessions[number]
    chemist, judge = Played(1 + number % 4), Played(0)
    asked = prompts_of("drug")
    verdicts: dict[tuple[str, str], bool] = {}

    def agent(name: str, respondent: ModelRespondent | Proxy, guards: Derived) -> Agent:
        agree = Judge(judge, asked, owner=name)
        return Agent(respondent, match=Reactants(), agree=agree, guards=guards, query=PROBLEM.query)

    members = {
        "m": agent("m", ModelRespondent(chemist, PROBLEM, asked), Derived()),
        "h": agent("h", Proxy({row.instance.key: row.answer}), Derived(revises=False)),
    }
    session = Session(Interact(N, K), members, instance=row.instance)

    async def play() -> None:
        await session.run()
        texts = {message.answer.explanation for message in session.history}
        for pair in ((left, right) for left in texts for right in texts if left != right):
            sample = await Judge(Played(0), asked).sample(*pair)
            verdicts[pair] = sample.outcome.value == "yes"

    asyncio.run(play())
    literal, needed = by_formula(session, verdicts)
    return Counted(len(session.history), chemist.asked, literal, needed, judge.asked)


def measured() -> Sequence[Counted]:
    return [counted(number) for number in range(SESSIONS)]


def main() -> None:
    rows = measured()
    lengths = Counter(row.messages for row in rows)
    print(f"{SESSIONS} sessions, n = {N}, k = {K}; messages: {dict(sorted(lengths.items()))}")
    print(f"{'':24}{'in all':>8}{'a session':>11}")
    for title, name in (
        ("generator", "generator"),
        ("AGREE, literally", "literal"),
        ("AGREE, needed", "needed"),
        ("AGREE, ours", "ours"),
    ):
        total = sum(getattr(row, name) for row in rows)
        print(f"{title:24}{total:>8}{total / SESSIONS:>11.1f}")


if __name__ == "__main__":
    main()
