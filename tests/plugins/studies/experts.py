"""Simulated experts: what they do is drawn from a seed, and each is carried through a study."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from backends.databases import SqlBlackboard
from backends.databases.drafts import Timing
from backends.people.browser import OWN, SEND, Given, QuestionKind, SeatQuestion, accepted
from pxp_fsm.errors import PXPError
from pxp_fsm.experiments import runs
from pxp_fsm.plugins.studies.conduct import Conduct
from pxp_fsm.plugins.studies.files import Item, Study, TrainingItem, load_study
from pxp_fsm.plugins.studies.lifecycles import OVER
from pxp_fsm.plugins.studies.views import page_bytes, participant_page
from pxp_fsm.prompting.prompts import Problem
from pxp_fsm.sessions.actors import Intent, Turn

DRUG = Path("examples/studies/drug.toml")
SHORT = {
    'instances = ["paracetamol", "lidocaine"]': 'instances = ["paracetamol"]',
    'instances = ["sotalol", "propranolol"]': 'instances = ["propranolol"]',
    "up to ten messages": "up to five messages",
    "n = 10": "n = 5",
}
"""Changes by which a participant is soon through it."""


def drug(folder: Path, **changed: str) -> Study:
    """The example's study with short slots; `changed` are replacements in its text."""
    text = DRUG.read_text("utf-8").replace("least = 20, most = 40", "least = 0.001, most = 0.002")
    for before, after in changed.items():
        assert before in text, before
        text = text.replace(before, after)
    path = folder / "drug.toml"
    path.write_text(text, "utf-8")
    return load_study(path)


def answers(
    items: tuple[Item | TrainingItem, ...], draw: random.Random, *, right: bool = True
) -> dict[str, Any]:
    """Answers to questions; to training items `right` ones."""
    found: dict[str, Any] = {}
    for item in items:
        if isinstance(item, TrainingItem):
            wrong = next((one for one in item.choices if one != item.answer), "?")
            found[item.name] = item.answer if right else wrong
        elif item.kind in ("number", "scale"):
            found[item.name] = draw.randint(1, 7)
        else:
            found[item.name] = draw.choice(item.choices or ("yes", "no"))
    return found


class Expert:
    """An expert at every device of theirs; fills `Desk`."""

    def __init__(self, conduct: Conduct, subject: str, seed: int, fate: str = "") -> None:
        self.conduct, self.subject, self.fate = conduct, subject, fate
        self.draw = random.Random(f"{seed}/{subject}")
        self.seen: Counter[str] = Counter()
        self.answered = 0
        self.carrying: asyncio.Task[None] | None = None
        self.problem: Problem | None = None

    @property
    def status(self) -> str:
        return self.conduct.status(self.subject)

    def look(self) -> dict[str, Any]:
        """What their page shows, which is noted."""
        found = participant_page(self.conduct, self.subject)
        assert found["status"] == self.status
        self.seen[self.status] += 1
        assert len(page_bytes(found)) % 4096 == 0
        return found

    def listener(self, _session: str) -> None:
        """Nobody sees in a study what is being written."""

    async def ask(self, asked: SeatQuestion) -> Given:
        """Answer when the page says that it is their turn; go away, or lose the partner, as fated.

        Who goes away is never heard of again in this life of the run.
        """
        goes = {"leaves": 2, "withdraws": 2, "loses": 1}.get(self.fate, -1) == self.answered
        if goes and self.carrying is not None and asked.step is QuestionKind.ANSWER:
            self.carrying.cancel()
            await asyncio.sleep(3600)
        given = Given(SEND)
        if asked.step is QuestionKind.ANSWER:
            while self.conduct.follow(self.subject).until is not None:
                await asyncio.sleep(0.001)
            assert self.look()["status"] == "ANSWERING"
            self.answered += 1
            given = Given(OWN, self.draw.choice(["OCC", "CC(=O)O.Nc1ccccc1"]), "It is easily made.")
            if asked.offers and self.draw.random() < 0.7:
                given = Given(self.draw.choice([*asked.offers]))
        elif asked.step is QuestionKind.TAG:
            given = Given(self.draw.choice([one.guard for one in asked.choices if one.allowed]))
        elif asked.step is not QuestionKind.LOOK:
            given = Given(self.draw.choice(["yes", "no"]))
        assert self.problem is not None
        return accepted(asked, self.problem, given)

    async def decide(self, turn: Turn) -> Intent | None:
        """Nothing: they are in no run of a system."""
        raise AssertionError(turn)

    async def at_task(self, board: SqlBlackboard) -> None:
        """Carry the run of the present task on, as the server would, until it is over or cut."""
        run, _does, plan = self.conduct.task(self.subject)
        there = {record.run for record in board.runs()}
        begun = runs.resume(run, board) if run in there else runs.start(plan, board, name=run)
        self.problem = begun.opening.task.problem
        self.carrying = asyncio.create_task(begun.carry(self))
        with suppress(asyncio.CancelledError):
            await self.carrying
        if self.fate == "loses" and self.answered == 1:
            self.conduct.lose(self.subject)
            self.fate = ""
        while self.look() and self.conduct.follow(self.subject).until is not None:
            await asyncio.sleep(0.001)

    def act(self) -> None:
        """What a page other than that of a task offers, done once; a second click is refused."""
        study, status = self.conduct.study, self.status
        self.look()
        doing: dict[str, tuple[str, Any]] = {
            "CONSENTING": ("CONSENT", {"version": study.consent.version}),
            "READING": ("READ", None),
            "TRAINING": (
                "TRAINED",
                answers(study.training, self.draw, right=self.fate != "fails"),
            ),
            "BEFORE": ("ANSWERED", answers(study.before, self.draw)),
            "AFTER": ("ANSWERED", answers(study.after, self.draw)),
            "BREAK": ("CONTINUE", None),
            "ABANDONED": ("CONTINUE", None),
            "DEBRIEF": ("SEEN", None),
            "LAPSED": ("RETURN", None),
        }
        label, payload = doing[status]
        if status == "CONSENTING" and self.fate == "declines":
            label, payload = "DECLINE", None
        self.conduct.act(self.subject, label, payload, Timing(1.5, 0.5, 3, 0, "1"))
        if self.status != status:
            with suppress(PXPError):  # a second device, or a second click
                self.conduct.act(self.subject, label, payload)


async def carried(expert: Expert, board: SqlBlackboard) -> str:
    """The status in which an expert stops: the end, or where their fate has them stop."""
    while expert.status not in (*OVER, "DONE", "READY", "INVITED"):
        if expert.status not in ("WAITING", "ANSWERING"):
            expert.act()
            continue
        await expert.at_task(board)
        if expert.answered == 2 and expert.fate == "withdraws":
            expert.conduct.act(expert.subject, "WITHDRAW")
        if expert.answered == 2 and expert.fate == "leaves":
            break
    expert.look()
    return expert.status


def experts(conduct: Conduct, seed: int, fates: list[str]) -> Iterator[Expert]:
    """Those who come, each by a link of a panel, and twice by the same one."""
    for number, fate in enumerate(fates, 1):
        who = {"PROLIFIC_PID": f"panel-{seed}-{number}"}
        subject = conduct.join(who)
        assert conduct.join(who) == subject
        yield Expert(conduct, subject, seed, fate)
