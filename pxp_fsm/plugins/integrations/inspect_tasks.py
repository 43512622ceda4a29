"""DRUG and RAD as tasks of Inspect: each sample is a session between its model and our agent.

They are the entry point `pxp_fsm` of the group `inspect_ai`, so that
`inspect eval pxp_fsm/drug --model PROVIDER/NAME` finds them. The extra `inspect` is required; no
other module of the package imports this one.

The whole session is in the store of its sample, under `STORED_AS`, as the document that
`backends.databases.session_documents` defines: `pxp audit LOG.eval` reads it back from there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageUser, ModelOutput, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

from backends.databases import RunRecord, SqlBlackboard
from backends.databases.records import CONCLUDED, session_record
from backends.databases.session_documents import (
    STORED_AS,
    Transcript,
    session_document,
    session_part,
)
from backends.models.clients.inspect_model import InspectModel
from pxp_fsm import __version__, defaults
from pxp_fsm.errors import unknown_name
from pxp_fsm.experiments.members import Roles, Selection, prompts_of_plan
from pxp_fsm.experiments.plan_data import data_fingerprint, read_plan
from pxp_fsm.experiments.plans import Order, Plan, build_plan
from pxp_fsm.experiments.telemetry import TracedBoard
from pxp_fsm.protocol.intelligibility import ONE_WAY, STRONG, ULTRA_STRONG, Definition
from pxp_fsm.protocol.messages import Tag
from pxp_fsm.sessions.session import Session
from pxp_fsm.tasks.task import HUMAN, MACHINE, DataRow, DataSet
from pxp_fsm.tasks.task import Task as Subject

ROLES = {"machine": MACHINE, "human": HUMAN}
"""The roles that the evaluated model can have, with the name of the agent in the session."""

_JUDGE = "judge"
_UNCOUNTED = frozenset({Tag.INIT, Tag.TERM})


@task
def drug(
    instances: str | int | Sequence[str] | None = None,
    role: str = "machine",
    judge: bool = False,
    protocol: str = "interact",
    n: int | None = None,
    k: int | str | None = None,
    repetitions: int = 1,
    data: str | None = None,
    database: str | None = None,
) -> Task:
    """Retrosynthesis of drug molecules (arXiv 2410.20600, section 4.1), one session per sample.

    The evaluated model has the `role` machine (its partner is the database of the answers) or human
    (its partner is the package's machine, which begins each session untaught). With `judge`, AGREE
    is decided by the model of Inspect's role `judge`. `instances`, `data`, `protocol`, `n`, `k` and
    `repetitions` (epochs) are those of `pxp run`. `database` stores the sessions there too.
    """
    return _task("drug", role, judge, database, _given(locals()))


@task
def rad(
    instances: str | int | Sequence[str] | None = None,
    role: str = "machine",
    judge: bool = False,
    protocol: str = "interact",
    n: int | None = None,
    k: int | str | None = None,
    repetitions: int = 1,
    data: str | None = None,
    label: str | None = None,
    database: str | None = None,
) -> Task:
    """Diagnosis from chest X-rays (arXiv 2410.20600, section 4.1), one session per sample.

    The parameters are those of `drug`; with `label`, the model is asked whether the picture shows
    this label. The model must read images.
    """
    return _task("rad", role, judge, database, _given(locals()))


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a task that are fields of a plan, as far as they are set."""
    others = ("role", "judge", "database")
    return {key: value for key, value in values.items() if key not in others and value is not None}


def _task(
    name: str, role: str, judge: bool, database: str | None, settings: Mapping[str, Any]
) -> Task:
    if role not in ROLES:
        raise unknown_name("role", role, dict.fromkeys(ROLES, ""), "role")
    fields = {"task": name, "carry": False, "order": Order.FIXED.value, **settings}
    plan = build_plan({**fields, role: "inspect:model"}, Path())
    subject, data = read_plan(plan)
    samples = [
        Sample(
            id=row.instance.key,
            input=row.instance.x,
            target=row.answer.prediction,
            metadata={"position": position},
        )
        for position, row in enumerate(data.sessions, start=1)
    ]
    return Task(
        dataset=MemoryDataset(samples, name=name),
        solver=session(_Sessions(plan, subject, data, role, judge, database)),
        scorer=intelligibility(),
        epochs=plan.repetitions,
    )


class _Sessions:
    """The sessions of an evaluation: who takes part in them and where they are stored."""

    def __init__(
        self,
        plan: Plan,
        subject: Subject,
        data: DataSet,
        role: str,
        judge: bool,
        database: str | None,
    ) -> None:
        self.plan = plan
        self.subject = subject
        self.data = data
        self.role = role
        self.agent = ROLES[role]
        self._judge = judge
        self._database = database
        self._runs: dict[str, str] = {}

    async def run(self, position: int, epoch: int, model: InspectModel) -> dict[str, Any]:
        """The document of a session about the instance at `position`, from 1, with `model`."""
        if self._database is None:
            return await self._run(self.data.sessions[position - 1], position, epoch, model, None)
        with SqlBlackboard(self._database) as board:
            row = self.data.sessions[position - 1]
            return await self._run(row, position, epoch, model, board)

    async def _run(
        self,
        row: DataRow,
        position: int,
        epoch: int,
        model: InspectModel,
        stored: SqlBlackboard | None,
    ) -> dict[str, Any]:
        run = self.subject.name if stored is None else self._run_name(stored, model)
        transcript = Transcript(stored)
        board = TracedBoard(transcript)
        place, attempt = f"{run}/{epoch}/{position}", 1
        known = (
            set()
            if stored is None
            else {stored_session.session for stored_session in stored.sessions(run)}
        )
        while (name := place if attempt == 1 else f"{place}.{attempt}") in known:
            attempt += 1  # Inspect runs a sample again whose session is stored
        session = Session(
            self.plan.rules(),
            self._participants(model).agents(epoch),
            instance=row.instance,
            name=name,
            blackboard=board,
            update_context=self.subject.update_context,
        )
        later = (attempt - 1) * len(self.data.sessions)
        record = session_record(session, run, epoch, position + later)
        if stored is not None:
            stored.start_session(record)
        with board.session(record):
            await session.run()
        return session_document(session_part(record), transcript.messages, transcript.closing)

    def _participants(self, model: InspectModel) -> Roles:
        judge = InspectModel(get_model(role=_JUDGE)) if self._judge else None
        models = {self.role: model, _JUDGE: judge}
        prompts = prompts_of_plan(self.plan, self.subject)[1]
        selection = Selection(
            machine=self.role if self.role == "machine" else None,
            human=self.role if self.role == "human" else None,
            judge=_JUDGE if judge else None,
            prompts=prompts,
        )
        opened = {
            name: inspect_model
            for name, inspect_model in models.items()
            if inspect_model is not None
        }
        about = self.plan, self.subject, self.data, Path(defaults.OUTPUT)
        return Roles(*about, selection, opened.__getitem__)

    def _run_name(self, board: SqlBlackboard, model: InspectModel) -> str:
        """The run of the sessions with `model`; the first session records it."""
        if model.name not in self._runs:
            judge = InspectModel(get_model(role=_JUDGE)).name if self._judge else None
            machine = model.name if self.role == "machine" else None
            human = model.name if self.role == "human" else None
            plan = replace(self.plan, machine=machine, human=human, judge=judge)
            fingerprint = data_fingerprint(plan, self.data)
            name, seed = self.subject.name, plan.seed
            record = RunRecord(name, name, plan.as_json(), seed, __version__, fingerprint)
            self._runs[model.name] = board.start_numbered_run(record).run
        return self._runs[model.name]


@solver
def session(sessions: _Sessions) -> Solver:
    """A session of PXP or INTERACT about the sample, in which the model has its role."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        model = InspectModel(get_model())
        document = await sessions.run(state.metadata["position"], state.epoch, model)
        state.store.set(STORED_AS, document)
        for part in document["messages"]:
            state.messages.append(_message(part, sessions.agent))
        own = [part for part in document["messages"] if part["sender"] == sessions.agent]
        state.output = ModelOutput.from_content(
            str(state.model), own[-1]["prediction"] if own else ""
        )
        return state

    return solve


def _message(part: Mapping[str, Any], agent: str) -> Any:
    """A message of the session in Inspect's conversation: the model's own ones are its turns."""
    text = json.dumps(
        {key: part[key] for key in ("tag", "prediction", "explanation")}, ensure_ascii=False
    )
    about = {"agent": part["sender"], "number": part["number"]}
    if part["sender"] == agent:
        return ChatMessageAssistant(content=text, metadata=about)
    return ChatMessageUser(content=text, metadata=about)


def classes(document: Mapping[str, Any]) -> dict[str, bool] | None:
    """The classes of Table 1 that a session is in, by the names of its columns in the blackboard.

    None where the protocol did not end the session: such sessions are not in Table 1.
    """
    if document["closing"] is None or document["closing"]["ending"] not in CONCLUDED:
        return None
    first, second = (name for name, _description in document["session"]["agents"])
    sent = {
        role: frozenset(
            message["tag"] for message in document["messages"] if message["sender"] == agent
        )
        - _UNCOUNTED
        for role, agent in (("human", second), ("machine", first))
    }

    def holds(name: str, definition: Definition) -> dict[str, bool]:
        return {f"{name}_{role}": definition.holds(tags) for role, tags in sent.items()}

    return {
        **holds("one_way", ONE_WAY),
        "two_way": all(map(ONE_WAY.holds, sent.values())),
        **holds("strong", STRONG),
        **holds("ultra_strong", ULTRA_STRONG),
    }


@scorer(metrics={"*": [mean(), stderr()]})
def intelligibility() -> Scorer:
    """The classes of intelligibility of the session (arXiv 2410.20600, Definitions 1 and 2).

    A value is 1 if the session is in the class. A session that the protocol did not end (no usable
    answer, for example) is unscored, with its ending as the reason.
    """

    async def score(state: TaskState, target: Target) -> Score:
        document = state.store.get(STORED_AS)
        if document is None:
            return Score.unscored(reason="no session")
        tags = [f"{part['sender']} {part['tag']}" for part in document["messages"]]
        ending = "not over" if document["closing"] is None else document["closing"]["ending"]
        explanation = f"{', '.join(tags)}: {ending}"
        classes_of = classes(document)
        if classes_of is None:
            return Score.unscored(reason=ending, explanation=explanation)
        values = {name: int(value) for name, value in classes_of.items()}
        return Score(value=values, answer=state.output.completion, explanation=explanation)

    return score
