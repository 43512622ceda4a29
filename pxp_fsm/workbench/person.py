"""A person at the terminal in the human's seat: what they are shown, and how they decide."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from backends.people import PersonsRelation, TerminalPerson
from guards.chosen import AskPerson
from pxp_fsm.agent import Agent
from pxp_fsm.artifacts import write_atomically
from pxp_fsm.errors import UsageError
from pxp_fsm.messages import Instance
from pxp_fsm.models import Image
from pxp_fsm.problem import Problem
from pxp_fsm.situation import Derived, Guards
from pxp_fsm.workbench.tasks import Task

NAMES_TAGS, JUDGES = "terminal", "terminal:relations"
"""The ways of a person at the terminal: they name the tag, or answer MATCH and AGREE."""

_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg"}


@dataclass(frozen=True)
class Pictures:
    """The pictures of instances, left in `folder` for people to look at.

    A file's name is a digest of the instance, so that no text becomes a path.
    """

    problem: Problem
    folder: Path

    def __call__(self, instance: Instance) -> Path | None:
        """The file with the picture of `instance`, or None where there is none."""
        image: Image | None = self.problem.drawing(instance) or self.problem.picture(instance)
        if image is None:
            return None
        name = hashlib.sha256(f"{instance.key}\x00{instance.x}".encode()).hexdigest()[:16]
        path = self.folder / f"{name}{_SUFFIXES.get(image.media_type, '')}"
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, image.data)
        return path


def check_person(human: str | None, task: Task) -> None:
    """Raise `UsageError` where the task cannot ask a person."""
    if human is not None and task.problem is None:
        raise UsageError(f"task {task.name} does not say how a person is asked; leave out --human")


def seated(human: Agent, way: str, problem: Problem, folder: Path) -> Agent:
    """`human` with a person at the terminal in its seat.

    What they look at, and what they leave unsent, is kept in `folder`.
    """

    person = TerminalPerson(problem, Pictures(problem, folder / "pictures"), folder / "drafts")
    guards: Guards = AskPerson(person) if way == NAMES_TAGS else Derived()
    return replace(
        human,
        respondent=person,
        guards=guards,
        match=PersonsRelation(person, "prediction"),
        agree=PersonsRelation(person, "explanation, in what it says"),
    )
