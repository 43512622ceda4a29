"""LABELS: runs about a table of one's own, by the offline machine, a script of a model, people."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from PIL import Image as Pillow
from pytest_httpserver import HTTPServer

from backends.databases import SqlBlackboard
from pxp_fsm.errors import DataError, UsageError
from pxp_fsm.experiments import plan_data, runs
from pxp_fsm.experiments.plans import Plan, build_plan
from pxp_fsm.protocol.messages import Question
from pxp_fsm.protocol.relations import Outcome
from pxp_fsm.tasks.labels.task import (
    LABELS,
    accuracy,
    agents,
    load,
    machine_of,
    one_label,
    problem_of,
    seen_first,
)
from pxp_fsm.tasks.task import DataRow, find_task, task_names
from tests.command_line import pxp
from tests.experiments.scripted_server import Body, Table, agrees_when_convinced
from tests.tasks.test_labels_table import table
from tests.terminals import Terminal

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "labels"

SEVERAL = ("id", "text", "labels", "explanation")
FREE = ("id", "text", "answer", "explanation")


def several(folder: Path) -> Path:
    """A table of rows with none, one and two labels."""
    said = ("late", "broken", "late, broken", "none")
    words = ("came too late", "is broken", "came too late and is broken", "is all right")
    rows = [
        (f"m{n}", f"Order {n} {words[n % 4]}", said[n % 4], f"It {words[n % 4]}.")
        for n in range(24)
    ]
    (folder / "data.csv").write_text(table(*rows, header=SEVERAL))
    return folder


def free(folder: Path) -> Path:
    """A table of sums, with numbers as answers."""
    rows = [
        (f"m{n}", f"What is {n % 4} and {n % 3}? ({n})", str(n % 4 + n % 3), f"I count to {n % 5}.")
        for n in range(24)
    ]
    (folder / "data.csv").write_text(table(*rows, header=FREE))
    return folder


def test_the_task_is_there_without_any_plug_in_and_asks_for_a_table() -> None:
    assert "labels" in task_names()
    assert find_task("labels") is LABELS
    with pytest.raises(UsageError, match=r"a table of your own; give its folder \(pxp help labels"):
        load(None)


@pytest.mark.deep
def test_the_example_is_run_from_its_folder_by_both_settings_and_reported(tmp_path: Path) -> None:
    done = pxp("run", "labels", "--data", str(EXAMPLE), "--both", "-v", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    for told in (
        "data.csv (12 sessions, 9 validation, 9 test, 6 examples, drawn)",
        "controlled by accuracy",
        "Right first answers to 9 test rows, before and after",
        "AGREE is an approximation",
        "the machine having seen 6 examples",
    ):
        assert told in said
    assert (tmp_path / "runs" / "labels-1-table.csv").is_file()
    checked = pxp("check", str(EXAMPLE), "labels", cwd=tmp_path)
    assert "sessions: 12 rows: account 3, delivery 3, payment 3, product 3" in checked.stdout
    report = pxp("report", "runs/blackboard.sqlite", "-o", "r.html", cwd=tmp_path)
    assert report.returncode == 0, report.stderr
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "labels-1" in page
    assert "labels of your own texts or pictures" in page


@pytest.mark.parametrize("make", [several, free])
def test_a_run_ends_by_the_protocol_whatever_predictions_are_made_of(
    tmp_path: Path, make: object
) -> None:
    assert callable(make)
    plan = Plan("labels", data=str(make(tmp_path)), learn="likelihood", gate="context")
    with SqlBlackboard(":memory:") as board:
        run = runs.run(plan, board)
        endings = {record.ending for record in board.sessions(run.name)}
    assert endings <= {"ratified", "rejected", "bound"}


def test_a_machine_that_was_told_a_row_is_right_about_it_and_learns_of_others(
    tmp_path: Path,
) -> None:
    data = load(several(tmp_path))
    machine, human = agents(data, memo=True)
    told = machine_of(data)
    assert machine.respondent.name == told.name
    said = accuracy(data)
    assert said[0].startswith("Exactly the right labels")
    assert "always the same answer" in said[-1]
    row = data.sessions[0]
    answer = asyncio.run(human.respondent.answer(Question("", row.instance)))
    assert answer == row.answer
    assert asyncio.run(machine.match.holds("broken, late", "LATE,broken")) is Outcome.YES
    every = ["none", "broken", "late", "broken, late"]
    log = [asyncio.run(told.log_likelihood(Question("", row.instance), one)) for one in every]
    assert math.fsum(map(math.exp, log)) == pytest.approx(1)


def test_predictions_of_each_kind_are_the_same_as_json_and_as_text(tmp_path: Path) -> None:
    one = problem_of(load(EXAMPLE))
    assert one.query.startswith("Which one of these labels fits this text: account, delivery,")
    assert one.from_json("Payment") == one.from_text(" payment ") == "payment"
    assert one.none is None
    sets = problem_of(load(several(tmp_path)))
    assert sets.from_json(["late", "broken"]) == sets.from_text("late,broken") == "broken, late"
    assert sets.from_json([]) == sets.from_text("none") == sets.none == "none"
    text = problem_of(load(free(tmp_path)))
    assert text.from_json("4,5 \n kg") == text.from_text("4,5 kg") == "4,5 kg"
    assert text.labels == ()
    for problem, value in ((one, "payment"), (sets, ["late"]), (text, "4")):
        Draft202012Validator(problem.prediction).validate(value)
        assert problem.to_json(problem.from_json(value)) == value
    for problem, wrong in (
        (one, ["payment"]),
        (one, "none"),
        (one, "payment, account"),
        (one, "money"),
        (sets, "late"),
        (sets, ["late, broken"]),
        (sets, [1]),
        (text, 4),
        (text, " "),
        (text, "a\u202eb"),
    ):
        with pytest.raises(DataError):
            problem.from_json(wrong)


def test_one_label_alone_is_asked_about_yes_or_no(tmp_path: Path) -> None:
    plan = Plan("labels", data=str(several(tmp_path)), label="LATE")
    task, data = plan_data.read_plan(plan)
    assert task.problem is not None
    assert (
        task.problem.query == "Does the label late fit this text? Predict yes or no. Explain why."
    )
    assert {row.answer.prediction for row in (*data.sessions, *data.examples)} == {"yes", "no"}
    machine = machine_of(data)
    assert machine.prediction(data.examples[0].instance) == data.examples[0].answer.prediction
    with pytest.raises(UsageError, match="its answers are texts"):
        one_label(load(free(tmp_path)), "late")


def test_without_examples_the_offline_machine_says_what_to_write(tmp_path: Path) -> None:
    header = ("text", "label", "explanation", "set")
    rows = [(f"text {n}", "ab"[n % 2], "x", "sessions") for n in range(4)]
    (tmp_path / "data.csv").write_text(table(*rows, header=header))
    plan = Plan("labels", data=str(tmp_path))
    with pytest.raises(UsageError, match="write examples in the column set of some rows"):
        plan_data.read_plan(plan)
    plan_data.read_plan(replace(plan, machine="script:none"))


def test_a_machine_begins_with_few_examples_that_the_draw_chooses() -> None:
    def begun(draw: str, precedents: str = "few:3") -> Sequence[DataRow]:
        plan = Plan("labels", data=str(EXAMPLE), precedents=precedents)
        _, data = plan_data.read_plan(plan)
        return seen_first(replace(data, draw=draw), data.examples)

    every = begun("0/1", "all")
    draws = [begun(f"0/1/m{number}") for number in range(1, 7)]
    assert all(len({*drawn}) == 3 and {*drawn} < {*every} for drawn in draws)
    assert draws[0] == begun("0/1/m1")
    assert len({frozenset(row.instance.key for row in drawn) for drawn in draws}) > 1
    for wrong in ("others", f"few:{len(every) + 1}"):
        with pytest.raises(UsageError, match=f"has {len(every)} examples to begin with"):
            begun("0/1", wrong)


def test_key_terms_and_kind_are_part_of_what_a_run_depends_on(tmp_path: Path) -> None:
    plan = Plan("labels", data=str(several(tmp_path)))
    _, data = plan_data.read_plan(plan)
    other = replace(data, terms=(("late",),))
    first, second = (plan_data.data_fingerprint(plan, one) for one in (data, other))
    assert first != second


def sorter(_body: Body) -> str:
    """A model that says of every text that it is about money."""
    return json.dumps({"prediction": "payment", "explanation": "Money is asked for."})


def test_models_are_asked_by_the_prompts_beside_the_table_and_shown_its_examples(
    tmp_path: Path, httpserver: HTTPServer
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "data.csv").write_bytes((EXAMPLE / "data.csv").read_bytes())
    own = (ROOT / "pxp_fsm/tasks/labels/prompts/labels.toml").read_text()
    changed = own.replace("You classify with care", "You sort mail at a shop")
    (mine / "prompts.toml").write_text(changed)
    plan = build_plan({"task": "labels", "data": "mine", "machine": "script:none"}, tmp_path)
    assert plan.prompts == changed
    assert build_plan({"task": "labels", "data": "mine"}, tmp_path).prompts is None
    person = {"task": "labels", "data": "mine", "human": "terminal"}
    assert build_plan(person, tmp_path).prompts is None
    table = Table(httpserver, sorter, agrees_when_convinced)
    done = pxp(
        *(
            "run",
            "labels",
            "--data",
            "mine",
            "--machine",
            table.model,
            "--set",
            f"agents.judge={table.model}",
        ),
        *("--instances", "2"),
        cwd=tmp_path,
        OPENAI_API_KEY="none",
    )
    assert done.returncode == 0, done.stderr
    first = table.asked[0]
    system, *turns = (turn["content"] for turn in first["messages"])
    assert "You sort mail at a shop" in system
    assert (
        "Which one of these labels fits this text: account, delivery, payment, product?" in system
    )
    assert "A prediction is one of the labels." in system
    assert len(turns) == 2 * 6 + 1  # six examples with their answers
    assert table.purposes["judge"] > 0
    _, data = plan_data.load(plan, LABELS)
    assert len(data.examples) == 6
    (mine / "prompts.toml").write_text("[answer]\n")
    with pytest.raises(DataError, match=r"prompts.toml"):
        build_plan({"task": "labels", "data": "mine", "machine": "script:none"}, tmp_path)


def pictures(folder: Path) -> Path:
    """A table of 24 pictures: bars of two colours, each in another place."""
    rows = []
    for n in range(24):
        colour, left = ("red", "blue")[n % 2], 5 + n
        image = Pillow.new("RGB", (64, 48), "white")
        image.paste(colour, (left, 5 + n % 5, left + 20, 40))
        image.save(folder / f"{n}.png")
        rows.append((f"p{n}", f"{n}.png", colour, f"The bar is {colour}."))
    header = ("id", "picture", "label", "explanation")
    (folder / "data.csv").write_text(table(*rows, header=header, separator=";"))
    return folder


def test_pictures_are_classified_and_shown(tmp_path: Path) -> None:
    task, data = plan_data.read_plan(Plan("labels", data=str(pictures(tmp_path))))
    problem = task.problem
    assert problem is not None
    instance = data.sessions[0].instance
    shown = problem.picture(instance)
    assert shown is not None
    assert shown.media_type == "image/png"
    assert problem.described(instance) is None
    assert "fits this picture: blue, red?" in problem.query
    machine = machine_of(data)
    rows: tuple[DataRow, ...] = (*data.validation, *data.test)
    found = [machine.prediction(row.instance) == row.answer.prediction for row in rows]
    assert sum(found) >= 10
    assert len(found) == 12
    plan = Plan("labels", data=str(tmp_path), instances="3")
    with SqlBlackboard(":memory:") as board:
        run = runs.run(plan, board)
        assert {record.ending for record in board.sessions(run.name)} == {"ratified"}


@pytest.mark.deep
def test_a_person_at_the_terminal_classifies_a_text(tmp_path: Path) -> None:
    options = ("--data", str(EXAMPLE), "--instances", "m02", "--human", "terminal")
    desk = Terminal(tmp_path, "run", "labels", *options)
    shown = desk.sees("Your answer (theirs, edit):")
    for told in (
        "A prediction is one of the labels.",
        "You booked my credit card twice",
        "a prediction is one of: account, delivery, payment, product",
    ):
        assert told in shown
    desk.types("edit")
    desk.sees("Your prediction:")
    desk.types("money")  # no label: refused with the reason, and cleared
    desk.sees("'money' is not one")
    desk.types("delivery")
    desk.sees("Your explanation")
    desk.types("It is late.", "")
    desk.sees("Your tag:")
    desk.types("REFUTE")
    desk.sees("why tells why the other agent does not predict this.")
    desk.types("why")
    desk.sees("The nearest rows that it knows are")
    desk.types("send")
    desk.sees("Your answer (theirs, mine, edit):")
    desk.types("theirs")
    desk.sees("Your tag:")
    desk.types("RATIFY")
    assert "why tells" not in desk.sees("send or edit?")  # it does predict this now
    desk.types("send")
    assert desk.ends() == 0


def test_a_run_of_labels_is_stored_as_any_other(tmp_path: Path) -> None:
    plan = Plan("labels", data=str(EXAMPLE), instances="2")
    with SqlBlackboard(str(tmp_path / "b.sqlite")) as board:
        run = runs.run(plan, board)
        stored = json.loads(board.run(run.name).plan)
        assert stored["data"] == str(EXAMPLE.absolute())
        assert runs.resume(run.name, board).finished == 2
