"""A study as files without names: pseudonyms in the data, a data dictionary, identifiers apart.

Text that people typed is as they typed it, and may hold names: whoever publishes it reads it first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from backends.databases import SqlBlackboard, disclosure
from backends.databases.drafts import Timing, timings_of
from pxp_fsm.artifacts import atomic_path, write_atomically
from pxp_fsm.defaults import RESEARCH_ONLY
from pxp_fsm.diagrams.latex import Cell
from pxp_fsm.errors import NotThere, UsageError
from pxp_fsm.experiments.reports.write import as_csv
from pxp_fsm.plugins.studies.assignment import Assigned
from pxp_fsm.plugins.studies.files import Study
from pxp_fsm.plugins.studies.participations import (
    NOBODY,
    Participation,
    assigned,
    began,
    check_stored,
    read,
    run_name,
    runs_of,
)
from pxp_fsm.plugins.studies.tasks import TaskSessions
from pxp_fsm.tasks.task import HUMAN

_WHO = {"participant": "the pseudonym: the order in which they came"}
_HOW = {
    "active": "seconds in which they did something before they sent it",
    "idle": "seconds in which they did not",
    "edits": "how often the text was changed",
    "pastes": "how often something was pasted",
    "page": "the version of the page",
    "consent": "the version of the consent that they gave",
}
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "participants": {
        **_WHO,
        "status": "the state of the participant's table at the export",
        "consent": "the version of the consent that they gave; empty: none",
        "tasks": "how many tasks they were given",
        "order": "task and arm of each place, in order",
    },
    "answers": {
        **_WHO,
        "part": "training, before or after",
        "attempt": "the attempt at the training, from 1; else 1",
        "question": "its name in the study file",
        "answer": "as it was given",
        **_HOW,
    },
    "messages": {
        **_WHO,
        "place": "the place of the task, from 1",
        "task": "its name in the study file",
        "arm": "the name of the arm",
        "position": "the session within the task, from 1",
        "instance": "the name of what it is about",
        "number": "the message in its session, from 1",
        "sender": "participant or partner",
        "tag": "the tag of the message",
        "prediction": "as it was sent; (erased) where it was erased",
        "explanation": "as it was sent",
        "slots": "of a partner's message in a blinded arm: how many slots went by",
        "ending": "how the session ended; empty: it is not over",
        **_HOW,
    },
}
"""The columns of each table, with what they mean: the data dictionary."""


def export_study(study: Study, board: SqlBlackboard, folder: Path) -> tuple[Path, ...]:
    """Write the tables, the data dictionary, the study file and a README into the new `folder`.

    It is noted with each run of the study that they were given out. Raises `NotThere` where the
    study is not on the blackboard, and `UsageError` where the folder is there.
    """
    stored = {record.run: record for record in board.runs()}
    if study.run not in stored:
        raise NotThere(f"{board.shown} has no study {study.run}")
    check_stored(study, stored[study.run])
    if folder.exists():
        raise UsageError(f"{folder} already exists; give another name, or remove it")
    people = participations(study, board)
    tables: dict[str, list[Sequence[Cell]]] = {
        "participants": [_participant(study, person) for person in people],
        "answers": [row for person in people for row in _answers(board, person)],
        "messages": [row for person in people for row in _messages(study, board, person)],
    }
    texts = {f"{name}.csv": as_csv([*COLUMNS[name]], rows) for name, rows in tables.items()}
    texts["dictionary.csv"] = as_csv(
        ("table", "column", "meaning"),
        [(name, *column) for name, columns in COLUMNS.items() for column in columns.items()],
    )
    texts["study.toml"] = study.file.text
    texts["README.txt"] = _readme(study)
    with atomic_path(folder) as part:
        part.mkdir()
        for name, text in texts.items():
            (part / name).write_text(text, "utf-8", newline="")
    tasks = (run for person in people for run in runs_of(study, person) if run in stored)
    runs = [study.run, *tasks]
    disclosure.note_export(board, runs, "study", folder)
    return tuple(folder / name for name in texts)


def export_identifiers(study: Study, board: SqlBlackboard, path: Path) -> int:
    """Write who the participants are into the file `path` alone, for the owner's eyes; how many.

    Raises `UsageError` where the file is there.
    """
    if path.exists():
        raise UsageError(f"{path} already exists; give another name, or remove it")
    known = disclosure.identifiers_of(board, study.run)
    rows = [(who, name, value) for who, all_of in known.items() for name, value in all_of.items()]
    write_atomically(path, as_csv(("participant", "identifier", "value"), rows))
    path.chmod(0o600)
    disclosure.note_export(board, [study.run], "identifiers", path)
    return len(known)


def participations(study: Study, board: SqlBlackboard) -> tuple[Participation, ...]:
    """Every participation of the study as it is stored, in the order in which they came."""
    names = (record.session for record in board.sessions(study.run))
    subjects = [name.removeprefix(f"{study.run}/") for name in names]
    return tuple(read(board, study.run, subject) for subject in subjects if subject != NOBODY)


def _consent(participation: Participation) -> str:
    messages = participation.messages("CONSENT")
    value = _value(messages[0].json) if messages else None
    return str(value["version"]) if isinstance(value, dict) else ""


def _value(text: str) -> Any:
    """What a message carried; None where it was erased."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _participant(study: Study, participation: Participation) -> Sequence[Cell]:
    does = assigned(study, participation)
    order = "; ".join(
        f"{assigned_task.task.name}: {assigned_task.arm.name}" for assigned_task in does
    )
    return (
        participation.subject,
        participation.status,
        _consent(participation),
        len(participation.messages("TASK")),
        order,
    )


def _how(timing: Timing | None, consent: str) -> Sequence[Cell]:
    if timing is None:
        return None, None, None, None, None, consent
    return timing.active, timing.idle, timing.edits, timing.pastes, timing.page, consent


def _answers(board: SqlBlackboard, participation: Participation) -> Iterator[Sequence[Cell]]:
    timings, consent = timings_of(board, participation.name), _consent(participation)
    trained, part = 0, "before"
    for event in participation.history:
        message = event.message
        if message is None:
            continue
        if message.tag == "ASK_AFTER":
            part = "after"
        if message.tag not in ("TRAINED", "ANSWERED"):
            continue
        trained += message.tag == "TRAINED"
        of, attempt = ("training", trained) if message.tag == "TRAINED" else (part, 1)
        answers = _value(message.json)
        for question, answer in answers.items() if isinstance(answers, dict) else ():
            how = _how(timings.get(event.number), consent)
            yield participation.subject, of, attempt, question, answer, *how


def _messages(
    study: Study, board: SqlBlackboard, participation: Participation
) -> Iterator[Sequence[Cell]]:
    does = assigned(study, participation)
    for assigned_task in does[: len(participation.messages("TASK"))]:
        if not assigned_task.task.network:
            yield from _of_task(study, board, participation, assigned_task)


def _of_task(
    study: Study, board: SqlBlackboard, participation: Participation, does: Assigned
) -> Iterator[Sequence[Cell]]:
    run = run_name(study, participation.subject, does.place)
    before, consent = began(board, participation, does.place), _consent(participation)
    sessions = TaskSessions(study, board, participation.subject, does, run, 0, before)
    for record in board.sessions(run):
        timings, messages = timings_of(board, record.session), sessions.timed(record, before)
        before = messages[-1].release.at if messages else sessions.opened(record, before)
        for message, release in messages:
            yield (
                participation.subject,
                does.place,
                does.task.name,
                does.arm.name,
                record.position,
                record.instance.key,
                message.number,
                "participant" if message.sender == HUMAN else "partner",
                str(message.tag),
                message.answer.prediction,
                message.answer.explanation,
                release.slots or None,
                record.ending or "",
                *_how(timings.get(message.number), consent),
            )


def _readme(study: Study) -> str:
    return (
        f"{study.title}\n\n{RESEARCH_ONLY}\n\n"
        f"Study {study.name}, fingerprint {study.fingerprint}.\n"
        f"Consent version {study.consent.version}. Tools such as language models: {study.tools}.\n"
        f"Tags: {'named by the participant' if study.names_tags else 'MATCH and AGREE answered'}.\n"
        "Participants have pseudonyms; who they are is in no file of this folder. What people\n"
        "typed is as they typed it, and may hold names. dictionary.csv says what the columns are.\n"
    )
