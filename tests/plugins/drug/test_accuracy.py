"""The machine of a run on test data, by message: asked once, stored, capped, drawn."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner
from pytest_httpserver import HTTPServer

from backends.databases import SqlBlackboard
from backends.models.settings import Settings
from pxp_fsm.cli.main import commands
from pxp_fsm.errors import Halted, NoAnswer
from pxp_fsm.experiments import accuracy, costs, runs
from pxp_fsm.experiments.accuracy import Cut, Examination
from pxp_fsm.experiments.plan_data import gate_of, read_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.reports import contents
from pxp_fsm.plugins.drug.relations import canonical_reactants
from pxp_fsm.plugins.drug.retrosynthesis import Retrosynthesis
from pxp_fsm.plugins.drug.task import FEW
from pxp_fsm.protocol.messages import Episode
from pxp_fsm.sessions.session import Session
from pxp_fsm.tasks.task import MACHINE
from tests.experiments.scripted_server import Body, Table, agrees_when_convinced, frames, judging

DATA = read_plan(Plan("drug", instances="2"))[1]
RIGHT = {row.instance.x: row.answer.prediction for row in DATA.test}
ROWS = 3
ONE = Settings(in_flight=1)


def chemist(body: Body) -> str:
    """Methane, and the other's reactants when told; who has heard twice knows each second row."""
    told = frames(body)
    start = max(place for place, frame in enumerate(told) if "instance" in frame)
    instance, heard = told[start]["instance"], [f for f in told[start:] if "tag" in f]
    before = sum("tag" in frame for frame in told[:start])
    prediction = heard[-1]["prediction"] if heard else "C"
    if instance in RIGHT and before >= 2 and list(RIGHT).index(instance) % 2 == 0:
        prediction = RIGHT[instance]
    view = "You are right." if len(heard) > 1 else f"My view, {len(heard)}."
    return json.dumps({"prediction": prediction.split("."), "explanation": view})


@pytest.fixture
def table(httpserver: HTTPServer) -> Table:
    return Table(httpserver, chemist, agrees_when_convinced)


def carried(table: Table, board: SqlBlackboard, carry: bool) -> str:
    plan = Plan(
        "drug", instances="2", machine=table.model, judge=table.model, carry=carry, order="fixed"
    )
    run = runs.start(plan, board, settings=ONE)
    run.execute()
    table.asked.clear()
    return run.name


def examined(board: SqlBlackboard, run: str, settings: Settings = ONE) -> Examination:
    async def asked() -> Examination:
        meter = costs.meter_of(board, run)
        async with costs.serving_of(board, run, settings, meter, lambda _why: None) as serving:
            found = accuracy.of_run(board, run, settings, serving.model)
            await found.ask(ROWS)
        return found

    return asyncio.run(asked())


def naive(bodies: list[Body]) -> dict[int, list[bool]]:
    """Right or not, by the messages heard of the first session and of the second."""
    found = dict[int, list[bool]]()
    for body in bodies:
        told = frames(body)
        prediction = json.loads(chemist(body))["prediction"]
        right = canonical_reactants(RIGHT[told[-1]["instance"]])
        heard = sum("tag" in frame for frame in told)
        found.setdefault(heard, []).append(canonical_reactants(".".join(prediction)) == right)
    return found


@pytest.mark.deep
@pytest.mark.parametrize("carry", [True, pytest.param(False, marks=pytest.mark.deep)])
def test_a_model_is_asked_with_what_it_had_heard(table: Table, carry: bool) -> None:
    with SqlBlackboard(":memory:") as board:
        run = carried(table, board, carry)
        lengths = [record.messages for record in board.sessions(run)]
        found = examined(board, run)
        asked = list(table.asked)
        assert not any(map(judging, asked))
        sessions = 2 if carry else 1
        about = [sum("instance" in frame for frame in frames(body)) for body in asked]
        assert set(about) == {1, sessions + 1}  # untaught, and with all it carries
        by_heard = naive(asked)
        assert lengths == [7, 7]
        for j, point in found.curve():
            heard = by_heard[min(j, 6) // 2 * sessions]
            assert point.median == Fraction(sum(heard), len(heard))
        assert [float(point.median) for _, point in found.curve()][:1] == [0.0]
        assert float(found.curve()[-1][1].median) == pytest.approx(2 / 3)
        assert {cost.purpose: cost.calls for cost in board.costs(run)}["test"] == len(asked)
        report = contents.gather(board, board.run(run))
        assert report.performance.on_test_set == found.curve()
        assert f"Of {len(DATA.test)} test rows {ROWS} were asked after every message." in (
            report.missing
        )
        table.asked.clear()
        assert examined(board, run).curve() == found.curve()
        assert table.asked == []


def test_a_cap_stops_it_and_nothing_is_asked_twice(table: Table) -> None:
    with SqlBlackboard(":memory:") as board:
        run = carried(table, board, True)
        spent = board.spending(run).calls
        with pytest.raises(Halted, match="the cap of"):
            examined(board, run, Settings(in_flight=1, calls=spent + 4))
        assert len(table.asked) == 4
        said = contents.gather(board, board.run(run)).performance.on_test_set
        assert said == f"the model was not asked its test rows; pxp test {run} does that"
        found = examined(board, run)
        assert len(table.asked) == len(found.cuts) * ROWS
        asked = [json.dumps(body["messages"]) for body in table.asked]
        assert len(set(asked)) == len(asked)


def test_a_predictor_that_carries_nothing_is_asked_after_each_session() -> None:
    plan = Plan("drug", instances="3", carry=False, n=4)
    with SqlBlackboard(":memory:") as board:
        run = runs.run(plan, board).name
        report = contents.gather(board, board.run(run), test_set=True)
        curve = dict(report.performance.on_test_set)  # type: ignore[arg-type]
        for j in (0, 2, 4):
            shares = []
            for record in board.sessions(run):
                machine = Retrosynthesis.beginning_with(FEW, "0/1")
                for entry in board.events(record.session)[:j]:
                    if entry.carried.sender == "h":
                        machine.learn(record.instance, entry.carried)
                shares.append(sum(_right(machine, x, y) for x, y in RIGHT.items()) / len(RIGHT))
            assert float(curve[j].median) == pytest.approx(sum(shares) / len(shares))


def _right(machine: Retrosynthesis, x: str, y: str) -> bool:
    try:
        first = next(iter(machine.rank(x, 1)))
    except (NoAnswer, StopIteration):
        return False
    return canonical_reactants(first.reactants) == canonical_reactants(y)


@pytest.mark.parametrize(
    "plan",
    [
        Plan("drug", instances="3", repetitions=2, n=5),
        Plan("drug", instances="3", n=6, carry=False),
        Plan("drug", instances="2", n=4, learn="never", gate="context"),
        pytest.param(
            Plan("drug", instances="2", n=4, learn="likelihood", gate="context"),
            marks=pytest.mark.deep,
        ),
    ],
    ids=["carries", "alone", "never", "likelihood"],
)
def test_one_replay_brings_the_machine_to_every_cut(plan: Plan) -> None:
    """As a replay of its own for each cut does: what was learned, the context, the session."""
    with SqlBlackboard(":memory:") as board:
        run = runs.run(plan, board).name
        examination = accuracy.from_record(board, run, plan, *read_plan(plan), 6)
    reached = dict[Cut, object]()
    for number in examination.repetitions:
        for cuts in examination._reached_together(number):
            for cut, machine, earlier, name in examination._brought_to(tuple(cuts)):
                assert isinstance(machine.respondent, Retrosynthesis)
                reached[cut] = machine.respondent.lessons, earlier, name
    assert reached == {cut: replayed_alone(examination, cut) for cut in examination.cuts}


def replayed_alone(examination: Examination, cut: Cut) -> object:
    """What the machine has learned at `cut`, its context, and the session if it is of one."""
    number, heard = cut
    members = examination._sit.agents(number)
    gate = gate_of(examination.plan, examination.data)
    members = {**members, MACHINE: replace(members[MACHINE], gate=gate)}
    earlier, names = list[Episode](), []
    for (row, name, entries), many in zip(examination.repetitions[number], heard, strict=True):
        if many:
            session = Session(examination.plan.rules(), members, instance=row.instance, name=name)
            session.replay(entries[:many])
            earlier.append(session.episodes()[MACHINE])
            names.append(name)
    machine = members[MACHINE].respondent
    assert isinstance(machine, Retrosynthesis)
    return machine.lessons, tuple(earlier), names[0] if len(names) == 1 else ""


@pytest.mark.deep
def test_the_command_asks_and_prints(table: Table, tmp_path: Path) -> None:
    where = str(tmp_path / "b.sqlite")
    with SqlBlackboard(where) as board:
        run = carried(table, board, True)
    command = ["test", run, "--limit", "2", "--database", where]
    said = CliRunner().invoke(commands, command)
    assert said.exit_code == 0, said.output
    assert f"2 of {len(DATA.test)} test rows were asked after every message." in said.output
    assert "Run drug-1: 2 test rows, 10 of 10 questions to be asked" in said.output
    again = CliRunner().invoke(commands, command)
    assert "0 of 10 questions to be asked" in again.output
    with SqlBlackboard(where) as board:
        assert not any(cost.cached for cost in board.costs(run))
    stopped = CliRunner().invoke(commands, [*command[:2], "--max-calls", "1", "--database", where])
    assert stopped.exit_code == 2
    assert "pxp test drug-1 asks the rest" in stopped.stderr
    missing = CliRunner().invoke(commands, ["test", "drug-9", "--database", where])
    assert (missing.exit_code, "has no run 'drug-9'" in missing.stderr) == (2, True)
