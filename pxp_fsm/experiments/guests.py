"""People, and assistants, in the roles of a task: at the terminal, or at a server's desk."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from backends.people import PersonsRelation, TerminalPerson, WhyNot
from backends.people.browser import Assistant, BrowserPerson, Desk, DeskRelation, QuestionKind
from guards.decisions import AskPerson
from pxp_fsm.artifacts import write_atomically
from pxp_fsm.automata.system_files import MCP
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments.plans import RELATIONS, Plan
from pxp_fsm.prompting.model import Image
from pxp_fsm.prompting.problem import Problem
from pxp_fsm.protocol.messages import Instance
from pxp_fsm.protocol.situation import Derived, Guards
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.tasks.task import Task

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


def check_guests(plan: Plan, task: Task) -> None:
    """Raise `UsageError` where the plan has a person or an assistant, and the task asks none."""
    if task.problem is not None:
        return
    if plan.person is not None:
        raise UsageError(f"task {task.name} has no questions for a person", "human")
    for role in plan.assistants:
        raise UsageError(f"task {task.name} has no questions for an assistant", role)


def unserved(plan: Plan) -> UsageError:
    """Why a plan in which somebody is served cannot be carried on without a server."""
    for role, way in plan.assistants.items():
        return UsageError(f"{role} {way} is an assistant; pxp mcp asks it", role)
    return UsageError(f"human {plan.human} is a person on a page; pxp serve asks them", "human")


def with_person(
    human: Agent, plan: Plan, problem: Problem, where: Path | Desk, why_not: WhyNot | None
) -> Agent:
    """`human` with a person in its role: at a desk, or at the terminal.

    What they look at there, and what they leave unsent, is kept in the folder `where`; `why_not`
    answers their question why the machine does not predict the same.
    """
    if not isinstance(where, Path):
        guest = BrowserPerson(where, why_not)
        return replace(
            human,
            respondent=guest,
            guards=AskPerson(guest) if plan.names_tags else Derived(),
            match=DeskRelation(where, QuestionKind.MATCH),
            agree=DeskRelation(where, QuestionKind.AGREE),
        )
    folder = where
    pictures = Pictures(problem, folder / "pictures")
    person = TerminalPerson(problem, pictures, folder / "drafts", why_not or (lambda *_: None))
    guards: Guards = AskPerson(person) if plan.names_tags else Derived()
    return replace(
        human,
        respondent=person,
        guards=guards,
        match=PersonsRelation(person, "prediction"),
        agree=PersonsRelation(person, "explanation, in what it says"),
    )


def with_assistant(agent: Agent, way: str, name: str, desk: Desk) -> Agent:
    """`agent`, which is called `name` in its sessions, with an assistant in its role."""
    guest = Assistant(desk, name)
    guards: Guards = AskPerson(guest, guest.name) if way == MCP else Derived()
    agent = replace(agent, respondent=guest, guards=guards)
    if not way.endswith(RELATIONS):
        return agent
    match, agree = (
        DeskRelation(desk, one, name) for one in (QuestionKind.MATCH, QuestionKind.AGREE)
    )
    return replace(agent, match=match, agree=agree)
