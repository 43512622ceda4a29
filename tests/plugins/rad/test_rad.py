"""RAD: its data, how it is asked, and what its agents do with it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from phantoms.contents import REMARK, SETS, SIDED, STRENGTHS, phantoms
from phantoms.draw import TOLD
from phantoms.drawing import drawn
from PIL import Image as Pillow

from backends.databases import SqlBlackboard
from backends.databases.blackboard import Proxy
from guards.labels import format_labels, label_set
from pxp_fsm.errors import DataError, UsageError
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.plugins.rad import SameFindings, task
from pxp_fsm.plugins.rad.data import (
    bundled,
    bundled_path,
    path_of,
    picture,
    published,
    training,
)
from pxp_fsm.plugins.rad.radiograph import LABELS, predictor
from pxp_fsm.plugins.rad.relations import read_findings
from pxp_fsm.plugins.rad.task import (
    PROBLEM,
    RAD,
    accuracy,
    reader,
    untaught,
)
from pxp_fsm.protocol.messages import Instance, Question
from pxp_fsm.protocol.relations import LEARN, Outcome
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.sessions.learning import Gate, Gated, Keep
from pxp_fsm.sessions.session import Session
from pxp_fsm.tasks.labels.neighbours import Predictor, predictions, right, taught
from pxp_fsm.tasks.labels.pictures import reference
from pxp_fsm.tasks.labels.task import ANSWERS
from pxp_fsm.tasks.task import DataRow
from tests.command_line import pxp

ROOT = Path(__file__).parents[3]
AUTHORS = Path(
    os.environ.get("PXP_AUTHORS_DATA")
    or next(ROOT.parent.glob("*/data/interact"), "the authors' data")
)
"""The authors' published data: named by the variable, or in a folder beside this repository."""
SHIPPED = "e0b3b41c955ca766a2ba6139da49afe1410e71aa71b075d651cb4fbf9b9f126c"
"""SHA-256 of the bundled phantoms and their table: they are not drawn anew unnoticed."""
HEADER = "case,label,label_short,img_path,report,link\n"
ROW = "case_1,Pneumonia,PNUM,data/xrays/one.png,Pneumonia on the left.,https://x\n"

sets = st.frozensets(st.sampled_from(LABELS))


def test_the_fingerprint_of_the_machine_is_of_its_files_and_of_what_it_has_seen() -> None:
    folder = Path(predictor.__file__).parent
    here = {path.name for path in folder.iterdir() if path.is_file()}
    assert here - {"__init__.py"} == set(predictor._FILES)
    seen = training()[:2]
    names = {reader(known).name for known in ((), seen, seen[:1], seen[::-1])}
    assert len(names) == 4
    machine = untaught()
    assert machine.copy().name == machine.name == untaught().name


def test_the_bundled_phantoms_are_as_they_were_shipped() -> None:
    digest = hashlib.sha256()
    for path in sorted(bundled_path("phantoms.csv").parent.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    assert digest.hexdigest() == SHIPPED


@pytest.mark.parametrize("part", SETS)
def test_every_finding_is_there_in_every_strength(part: str) -> None:
    chosen = list(phantoms(part))
    single = {(p.findings[0].label, p.findings[0].strength) for p in chosen if len(p.findings) == 1}
    assert single == {(label, one) for label in (*SIDED, "Cardiomegaly") for one in STRENGTHS}
    assert sorted(len(p.findings) for p in chosen) == [0] * 3 + [1] * 15 + [2] * 2


def test_a_phantom_can_be_drawn_again() -> None:
    phantom = next(phantoms("sessions"))
    with Pillow.open(bundled_path(f"{phantom.name}.png")) as shipped:
        before = np.asarray(shipped, dtype=float) / 255
    again = drawn(phantom.findings, phantom.name)
    rows = slice(20, -20)  # between the marks that are written on it
    assert np.abs(again - before)[rows].mean() < 0.002  # NumPy may round another way one day


def test_phantoms_say_that_they_are_and_not_what_they_show() -> None:
    data = bundled()
    rows = [*data.sessions, *data.validation, *data.test, *training()]
    assert len({row.instance.key for row in rows}) == len({row.instance.x for row in rows}) == 80
    assert "synthetic" in data.origin
    for row in rows:
        path = path_of(row.instance)
        assert path.name.startswith("phantom-")
        assert row.answer.explanation.endswith(REMARK)
        with Pillow.open(path) as shown:
            assert shown.info == {"Description": TOLD}
        assert not any(label.lower() in row.instance.x.lower() for label in LABELS)


def test_reports_name_what_was_drawn_and_where() -> None:
    for part in SETS:
        rows = training() if part == "training" else getattr(bundled(), part)
        for phantom, row in zip(phantoms(part), rows, strict=True):
            assert labels_of(row) == phantom.labels
            sides = {one.label: {-1: "right", 1: "left"}[one.side] for one in phantom.findings}
            read = read_findings(row.answer.explanation)
            assert set(read) == (phantom.labels or {"nothing"})
            for label in phantom.labels & set(SIDED):
                assert read[label] <= {sides[label]}, row.answer.explanation


@pytest.mark.deep
def test_the_untaught_machine_is_as_good_as_the_documents_say() -> None:
    data, machine = bundled(), untaught()
    after = taught(machine, data.sessions)
    assert right(machine, data.sessions) == pytest.approx(14, abs=1)
    assert right(machine, data.validation) == pytest.approx(14, abs=1)
    assert right(machine, data.test) == pytest.approx(11, abs=1)
    assert right(after, data.sessions) == 20
    assert right(after, data.validation) == pytest.approx(12, abs=1)
    assert right(after, data.test) == pytest.approx(13, abs=1)
    lines = "\n".join(accuracy(data))
    assert "before learning" in lines
    assert "synthetic" in lines


def labels_of(row: DataRow) -> frozenset[str]:
    """The labels, or yes or no, that count as right for `row`."""
    return label_set(row.answer.prediction, (*LABELS, *ANSWERS))


def first_wrong() -> DataRow:
    """The first phantom of the sessions that the untaught machine is wrong about."""
    rows = bundled().sessions
    said = predictions(untaught(), rows)
    return next(
        row for row, one in zip(rows, said, strict=True) if one != format_labels(labels_of(row))
    )


@pytest.mark.deep
def test_a_session_learns_the_labels_that_it_is_told() -> None:
    data = bundled()
    machine, human = task.agents(data, memo=True)
    wrong = first_wrong()
    session = Session(Interact(n=10, k=3), {"m": machine, "h": human}, instance=wrong.instance)
    asyncio.run(session.run())
    first, second, third = session.history[:3]
    assert (first.tag, second.tag) == ("INIT", "REFUTE")
    assert third.tag == "REVISE"
    assert label_set(third.answer.prediction, LABELS) == labels_of(wrong)


@pytest.mark.deep
def test_machine_and_report_can_agree() -> None:
    machine, found = untaught(), []
    for row in training():
        answer = asyncio.run(machine.answer(Question("", row.instance)))
        assert label_set(answer.prediction, LABELS) == labels_of(row)
        found.append(asyncio.run(SameFindings().holds(answer.explanation, row.answer.explanation)))
    assert found.count(Outcome.YES) >= 17  # where it mistakes the side, it does not agree
    assert Outcome.UNSURE not in found


@given(sets)
def test_a_prediction_is_the_same_as_json_and_as_text(labels: frozenset[str]) -> None:
    text = PROBLEM.from_json(sorted(labels, reverse=True))
    Draft202012Validator(PROBLEM.prediction).validate(sorted(labels))
    assert PROBLEM.from_text(text) == text
    assert label_set(text, LABELS) == labels


@pytest.mark.parametrize(
    "value",
    [
        "Pneumonia",
        None,
        {},
        ["none"],
        [""],
        ["Pneumonia, Pneumothorax"],
        ["Effusion"],
        [1],
        [["Pneumonia"]],
    ],
)
def test_what_is_no_list_of_labels_is_refused(value: object) -> None:
    with pytest.raises(DataError):
        PROBLEM.from_json(value)


def test_a_model_is_shown_the_picture_and_not_its_name() -> None:
    instance = bundled().sessions[0].instance
    assert PROBLEM.described(instance) is None
    shown = PROBLEM.picture(instance)
    assert shown is not None
    assert shown.data == path_of(instance).read_bytes()
    assert json.dumps(PROBLEM.prediction)
    assert PROBLEM.labels == LABELS


@pytest.mark.parametrize(
    "x",
    ["", "/etc/passwd", "/etc/passwd#sha256=0123456789abcdef", "a\x00b#sha256=0123456789abcdef"],
)
def test_a_path_from_elsewhere_is_not_opened_for_show(x: str) -> None:
    with pytest.raises(DataError):
        picture(Instance("x", x))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="the file does not exist"):
        reference(tmp_path / "pipe")
    with pytest.raises(DataError, match="the file does not exist"):
        picture(Instance("x", f"{tmp_path / 'pipe'}#sha256=0123456789abcdef"))


def make(folder: Path, text: str, validation: str | None = None) -> Path:
    """A data folder like the authors', with one image and the given tables."""
    (folder / "xrays").mkdir(parents=True)
    Pillow.new("L", (64, 64), 90).save(folder / "xrays" / "one.png")
    (folder / "xrays" / "two.png").write_text("no image")
    (folder / "train_xray_data.csv").write_text(text, "utf-8")
    (folder / "val_xray_data.csv").write_text(validation or HEADER + ROW, "utf-8")
    return folder


def test_a_changed_picture_is_not_taken_for_the_one_it_was(tmp_path: Path) -> None:
    folder = make(tmp_path / "data", HEADER + ROW)
    (row,) = published(tmp_path).sessions
    assert path_of(row.instance) == folder / "xrays" / "one.png"
    before = published(tmp_path).fingerprint
    Pillow.new("L", (64, 64), 91).save(folder / "xrays" / "one.png")
    with pytest.raises(DataError, match="is not that of instance case_1"):
        picture(row.instance)
    assert published(tmp_path).fingerprint != before


def test_both_layouts_load_and_a_case_may_occur_twice(tmp_path: Path) -> None:
    folder = make(tmp_path / "data", HEADER + ROW + ROW)
    for place in (tmp_path, folder):
        data = published(place)
        assert [row.instance.key for row in data.sessions] == ["case_1", "case_1-2"]
        assert data.validation[0].answer.prediction == "Pneumonia"
        assert not data.in_sample


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (HEADER + ROW + ROW.replace("one", "two"), "line 3: column img_path: .*neither a PNG"),
        (HEADER + ROW.replace("one", "three"), "line 2: column img_path: there is no .*three"),
        (HEADER + ROW.replace("xrays/one.png", "../one.png"), "line 2: .*in the folder"),
        (HEADER + ROW.replace("data/xrays/one.png", "/etc/passwd"), "line 2: .*in the folder"),
        (
            HEADER + ROW.replace("Pneumonia,", "Pneumonitis,"),
            "line 2: column label: .*'Pneumonitis'",
        ),
        (HEADER + ROW.replace("PNUM", "PLEF"), "line 2: .*label_short 'PLEF', not PNUM"),
        (HEADER + ROW.replace("Pneumonia,", ","), "line 2: column label is empty"),
        (HEADER.replace("report", "said") + ROW, "line 1: column report is missing"),
        (HEADER, "has no films"),
        ("", "line 1: .*the file is empty"),
    ],
)
def test_a_malformed_table_is_refused_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    make(tmp_path / "data", text)
    with pytest.raises(DataError, match=says):
        published(tmp_path)


def test_folders_and_files_that_are_missing_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such folder"):
        published(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"there is no train_xray_data\.csv in it"):
        published(tmp_path)
    folder = make(tmp_path / "data", HEADER + ROW)
    (folder / "val_xray_data.csv").unlink()
    with pytest.raises(DataError, match=r"val_xray_data\.csv: cannot be read"):
        published(folder)


needs_authors = pytest.mark.skipif(not AUTHORS.is_dir(), reason="the authors' data are not here")


@needs_authors
def test_the_authors_films_load_as_they_are() -> None:
    data = published(AUTHORS)
    assert (len(data.sessions), len(data.validation), len(data.test)) == (20, 27, 0)
    assert len({row.instance.key for row in data.sessions}) == 20
    for row in (*data.sessions, *data.validation):
        assert labels_of(row) <= set(read_findings(row.answer.explanation))


@pytest.mark.deep
@needs_authors
def test_the_machine_knows_no_real_film_and_says_so() -> None:
    data = published(AUTHORS)
    machine = untaught()
    assert None not in predictions(machine, data.validation)
    assert right(machine, data.validation) <= 9  # no better than always saying one label
    assert "never a real film" in "\n".join(accuracy(data))
    films = (*data.sessions, *data.validation)
    told = sum(
        right(taught(machine, [one for one in films if one is not film]), [film]) for film in films
    )
    assert told < 14  # no better than the commonest answer, whatever it is told


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pxp_fsm.errors.find_spec", lambda _name: None)
    with pytest.raises(UsageError, match=r"pxp-fsm\[rad\]"):
        RAD.load(None)


@pytest.mark.deep
def test_it_runs_at_once_and_says_what_it_ran_on(tmp_path: Path) -> None:
    done = pxp("run", "rad", "-v", "--instances", "3", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for told in ("synthetic pictures drawn by this package", "RAD", "Exactly the right labels"):
        assert told in " ".join(done.stdout.split())
    assert (tmp_path / "runs" / "rad-1-table.md").is_file()


@pytest.mark.deep
def test_an_interrupted_run_learns_again_what_it_had_learned(tmp_path: Path) -> None:
    boards = [SqlBlackboard(f"sqlite:///{tmp_path / name}.sqlite") for name in ("whole", "cut")]
    plan = Plan("rad", instances="5", seed=3)
    runs.start(plan, boards[0]).execute()
    seen: list[runs.Progress] = []

    def stop(step: runs.Progress) -> None:
        seen.append(step)
        if len(seen) == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runs.start(plan, boards[1]).execute(stop)
    runs.resume("rad-1", boards[1]).execute()
    told = [
        [entry.carried for number in range(1, 6) for entry in board.events(f"rad-1/1/{number}")]
        for board in boards
    ]
    assert told[0] == told[1]
    assert len(told[0]) > 9
    for board in boards:
        board.close()


@pytest.mark.deep
@pytest.mark.parametrize("gate", ["revision", "context"])
def test_under_control_a_lesson_that_lowers_accuracy_is_refused(gate: str) -> None:
    plan = Plan("rad", instances="phantom-sessions-03", n=4, learn="better", gate=gate)
    with SqlBlackboard(":memory:") as board:
        run = runs.start(plan, board)
        run.execute()
        entries = board.events(f"{run.name}/1/1")
    decided = {
        entry.carried: (judgement.outcome, json.loads(judgement.detail))
        for entry in entries
        for judgement in entry.judgements
        if judgement.relation == LEARN and judgement.detail
    }
    assert decided
    for message, (outcome, weighed) in decided.items():
        assert weighed["of"] == len(run.opening.data.validation)
        assert weighed["unanswered"] == 0
        assert outcome is Outcome.NO
        assert weighed["after"] <= weighed["before"]
        assert message.answer == entries[0].carried.answer  # what it had said stands


@pytest.mark.deep
def test_control_keeps_what_is_right_and_refuses_what_is_wrong() -> None:
    """A human who is always wrong teaches little, and nothing that lowers accuracy."""
    data = bundled()
    other = {row: sorted({*LABELS} - labels_of(row))[0] for row in data.sessions}
    rows = [(row.instance, row.answer.prediction) for row in data.validation]
    kept = dict[str, int]()
    for human in ("right", "wrong"):
        machine = replace(
            task.agents(data, memo=True)[0], gate=Gate(Keep.LIKELIHOOD, Gated.CONTEXT, rows)
        )
        before = right(cast(Predictor, machine.respondent), data.validation)
        kept[human] = 0
        for row in data.sessions:
            said = row.answer if human == "right" else replace(row.answer, prediction=other[row])
            answers = Proxy({row.instance.key: said})
            database = replace(task.agents(data, memo=True)[1], respondent=answers)
            members = {"m": machine, "h": database}
            session = Session(Interact(n=10, k=3), members, instance=row.instance)
            asyncio.run(session.run())
            kept[human] += any(
                one.relation == LEARN and one.asked and one.outcome is Outcome.YES
                for event in session.events
                for one in event.judgements
            )
        assert right(cast(Predictor, machine.respondent), data.validation) >= before
    assert kept["right"] >= 5
    assert kept["wrong"] <= kept["right"] // 2


@pytest.mark.deep
def test_a_copy_of_the_machine_learns_apart() -> None:
    machine, wrong = untaught(), first_wrong()
    before = machine.prediction(wrong.instance)
    again = taught(machine, [wrong])
    assert set(again.told) == {wrong.instance.key}
    assert again.copy().told == again.told
    assert machine.told == {}
    assert machine.prediction(wrong.instance) == before
