"""DRUG with pathways: lists of materials, data, the machine, models, and what people see."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from PIL import Image as Pillow
from pytest_httpserver import HTTPServer

from backends.databases import SqlBlackboard
from pxp_fsm.errors import DataError, FileError, NoAnswer, UsageError
from pxp_fsm.experiments import files, runs
from pxp_fsm.experiments.accuracy import normal_form
from pxp_fsm.experiments.plan_data import read_plan
from pxp_fsm.experiments.plans import Plan, build_plan
from pxp_fsm.experiments.reports.pictures import Gallery
from pxp_fsm.experiments.statistics import statistics_of
from pxp_fsm.plugins.drug.molecules import drawing
from pxp_fsm.plugins.drug.pathway_relations import PathwayPart, read_pathway
from pxp_fsm.plugins.drug.pathway_search import PathwayFinder
from pxp_fsm.plugins.drug.pathways import read_materials
from pxp_fsm.plugins.drug.relations import canonical_smiles
from pxp_fsm.plugins.drug.retrosynthesis import Retrosynthesis
from pxp_fsm.protocol.interfaces import CopyableLearner
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag
from tests.command_line import pxp
from tests.experiments.scripted_server import Body, Table, frames

PHENACETIN = "CCOc1ccc(NC(C)=O)cc1"
WAY = (
    "CC(=O)Cl.CCOc1ccc(N)cc1>>CCOc1ccc(NC(C)=O)cc1; "
    "CCOc1ccc([N+](=O)[O-])cc1>>CCOc1ccc(N)cc1; "
    "CCI.O=[N+]([O-])c1ccc(O)cc1>>CCOc1ccc([N+](=O)[O-])cc1"
)
SHOP = ["CC(=O)Cl", "CCI", "O=[N+]([O-])c1ccc(O)cc1", "Nc1ccccc1", "CC(=O)OC(C)=O", "CCO"]
ROWS = (
    f"phenacetin,sessions,{PHENACETIN},{WAY},"
    "Acylation of the amine. Reduction of the nitro group. Williamson ether synthesis.\n"
    "acetanilide,sessions,CC(=O)Nc1ccccc1,CC(=O)Cl.Nc1ccccc1,Acylation of aniline.\n"
    "ester,test,CCOC(C)=O,CC(=O)OC(C)=O.CCO,Esterification with the anhydride.\n"
)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    (tmp_path / "data.csv").write_text(f"key,set,x,prediction,explanation\n{ROWS}")
    (tmp_path / "shop.smi").write_text("# a shop\n" + "\n".join(f"{one} name" for one in SHOP))
    return Plan("drug", data=str(tmp_path), materials=str(tmp_path / "shop.smi"))


def test_a_list_of_materials_is_smiles_or_a_table(tmp_path: Path) -> None:
    plain, table = tmp_path / "a.smi", tmp_path / "a.csv"
    plain.write_text("OCC ethanol\n\n# salts\n[Na+].[Cl-]\n")
    table.write_text("name,smiles\nethanol,CCO\nsalt,[Cl-].[Na+]\n")
    assert read_materials(plain) == read_materials(table) == {"CCO", "[Na+]", "[Cl-]"}


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.smi", "CCO\nC1C ring\n=cmd()\n", "a.smi, line 2: 'C1C' is not a valid SMILES"),
        ("a.smi", "# nothing\n", "it lists no molecule"),
        ("a.csv", "smile\nCCO\n", "column smiles is missing"),
        ("a.csv", "smiles\nCCO,x\n", "line 2"),
        ("a.smi", None, "cannot be read"),
    ],
)
def test_what_is_no_list_is_refused_with_its_line(
    tmp_path: Path, name: str, text: str | None, problem: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises((DataError, FileError)) as raised:
        read_materials(tmp_path / name)
    assert problem in str(raised.value)


def test_rows_are_pathways_that_end_in_what_can_be_bought(plan: Plan, tmp_path: Path) -> None:
    task, data = read_plan(plan)
    found = {row.instance.key: row.answer.prediction for row in (*data.sessions, *data.test)}
    assert found == {
        "phenacetin": str(read_pathway(WAY)),
        "acetanilide": "CC(=O)Cl.Nc1ccccc1>>CC(=O)Nc1ccccc1",
        "ester": "CC(=O)OC(C)=O.CCO>>CCOC(C)=O",
    }
    shop = tmp_path / "shop.smi"
    shop.write_text(shop.read_text() + "\nNc1ccc(OCC)cc1")
    shorter = read_plan(plan)[1].sessions[0].answer.prediction
    assert shorter == "CC(=O)Cl.CCOc1ccc(N)cc1>>CCOc1ccc(NC(C)=O)cc1"
    shop.write_text("CC(=O)Cl\nCCI\nCCO")
    with pytest.raises(FileError) as raised:
        read_plan(plan)
    assert "phenacetin: " in str(raised.value)
    assert "does not list 'O=[N+]([O-])c1ccc(O)cc1'" in str(raised.value)
    assert "acetanilide: " in str(raised.value)
    assert task.problem is not None
    assert "which are not told" not in task.problem.form


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("a,,CCO,CC>>CCN,why", "line 2: column prediction: its first step makes 'CCN', not"),
        ("a,,CCO,CC>>CCO; CCO>>CC,why", "line 2: column prediction: 'CC' is made from itself"),
        ("a,,CCO,C1C>>CCO,why", "line 2: column prediction: step 1: 'C1C' is not a valid SMILES"),
    ],
)
def test_a_faulty_pathway_in_data_is_named_with_its_line(
    plan: Plan, tmp_path: Path, row: str, problem: str
) -> None:
    (tmp_path / "data.csv").write_text(f"key,set,x,prediction,explanation\n{row}\n")
    text = f'format = 1\ntask = "drug"\ndata = "."\nmaterials = "{plan.materials}"\n'
    (tmp_path / "routes.toml").write_text(text)
    shown = pxp("check", "routes.toml", cwd=tmp_path)
    assert shown.returncode == 2
    assert problem in shown.stderr


def test_pathways_and_their_list_need_each_other(plan: Plan, tmp_path: Path) -> None:
    wrongs: list[tuple[Plan, str]] = [
        (replace(plan, materials=None), "materials"),
        (Plan("drug", match="materials"), "match"),
        (Plan("rad", materials=plan.materials), "materials"),
        (replace(plan, match="steps"), "match"),
    ]
    for wrong, field in wrongs:
        with pytest.raises(UsageError) as raised:
            read_plan(wrong)
        assert raised.value.field == field
    shown = pxp("check", str(tmp_path), "drug", cwd=tmp_path)
    assert shown.returncode == 2
    assert "name the list of what can be bought" in shown.stderr


def test_the_list_is_part_of_what_an_experiment_is(plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "e.toml"
    text = 'format = 1\ntask = "drug"\ndata = "."\nmaterials = "shop.smi"\n'
    path.write_text(text)
    first = files.load(path).fingerprint
    other = tmp_path / "elsewhere.smi"
    other.write_text("\n".join(reversed([*SHOP, "OCC"])))
    path.write_text(text.replace("shop", "elsewhere"))
    assert files.load(path).fingerprint == first
    path.write_text(text + 'match = "materials"\n')
    assert files.load(path).fingerprint != first
    other.write_text("\n".join([*SHOP, "CCCCO"]))
    path.write_text(text.replace("shop", "elsewhere"))
    assert files.load(path).fingerprint != first
    with SqlBlackboard(":memory:") as board:
        run = runs.start(plan, board)
        (tmp_path / "shop.smi").write_text("\n".join([*SHOP, "CCCCO"]))
        with pytest.raises(DataError, match="have changed since it began"):
            runs.resume(run.name, board)


def test_only_what_was_there_before_is_in_a_plan_without_pathways() -> None:
    assert not {"materials", "match"} & build_plan({"task": "drug"}, Path()).meaning().keys()


@pytest.mark.parametrize(
    "part",
    [
        PathwayPart.WHOLE,
        pytest.param(PathwayPart.LAST_STEP, marks=pytest.mark.deep),
        pytest.param(PathwayPart.MATERIALS, marks=pytest.mark.deep),
    ],
)
def test_the_machine_takes_up_a_pathway_that_it_is_told(plan: Plan, part: PathwayPart) -> None:
    with SqlBlackboard(":memory:") as board:
        run = runs.start(replace(plan, match=str(part), instances="phenacetin"), board)
        run.execute()
        [session] = board.sessions(run.name)
        said = [entry.carried for entry in board.events(session.session)]
        counts = {row.name: row.median for row in statistics_of(board, run.name).classes()}
        remarks = [*run.opening.notes, *run.opening.task.accuracy(run.opening.data)]
    assert f"MATCH=pathways by {part}" in session.agents[0][1]
    assert [message.tag for message in said[-2:]] == [Tag.RATIFY, Tag.RATIFY]
    ways = [read_pathway(message.answer.prediction) for message in said]
    assert ways[-1].part(part) == read_pathway(WAY).part(part)
    assert all(way.materials <= set(map(canonical_smiles, SHOP)) for way in ways)
    assert counts["two-way"] == 1
    assert any("MATCH compares" in line for line in remarks)
    assert any("1 lead back to what can be bought" in line for line in remarks)


def test_the_machine_learns_each_step_and_forgets_nothing_else() -> None:
    bought = frozenset(map(canonical_smiles, SHOP))
    machine = PathwayFinder(Retrosynthesis(), bought)
    assert isinstance(machine, CopyableLearner)
    before = machine.predict(PHENACETIN)
    apart = machine.copy()
    for tag, text in ((Tag.REJECT, WAY), (Tag.REFUTE, "nonsense"), (Tag.REFUTE, "CC>>C")):
        message = Message("s", 2, "h", tag, Answer(text, "why"), "m")
        apart.learn(Instance("p", PHENACETIN), message)
        assert apart.predict(PHENACETIN) == before
    message = Message("s", 2, "h", Tag.REFUTE, Answer(WAY, "why"), "m")
    apart.learn(Instance("p", PHENACETIN), message)
    assert apart.predict(PHENACETIN) == str(read_pathway(WAY)) != before
    assert machine.predict(PHENACETIN) == before
    assert machine.name == apart.name != PathwayFinder(Retrosynthesis(), bought - {"CCI"}).name
    assert "rank 1 of" in apart.why_not(PHENACETIN, WAY)
    said = asyncio.run(apart.answer(Question("", Instance("p", PHENACETIN))))
    assert [said.explanation.count(f"Step {number}: ") for number in range(1, 5)] == [1, 1, 1, 0]


def test_a_pathway_that_nothing_can_be_bought_for_is_one_step_and_a_molecule_may_have_none() -> (
    None
):
    machine = PathwayFinder(Retrosynthesis(), frozenset(["[He]"]))
    assert len(read_pathway(machine.predict(PHENACETIN)).steps) == 1
    with pytest.raises(NoAnswer):
        machine.predict("C")


def chemist(body: Body) -> str:
    """A step at first, then what the other says, as JSON or in plain form."""
    heard = [frame for frame in frames(body) if "tag" in frame]
    text = heard[-1]["prediction"] if heard else f"CC=C=O.CCO>>{PHENACETIN}"
    if "Pathway:" in body["messages"][0]["content"]:
        return f"Pathway: {text}\nExplanation: As it is."
    steps = [step.partition(">>") for step in text.split("; ")]
    said = [{"product": product, "reactants": one.split(".")} for one, _, product in steps]
    return json.dumps({"prediction": said, "explanation": "As it is."})


@pytest.mark.parametrize("preset", [None, pytest.param("C-drug", marks=pytest.mark.deep)])
def test_a_model_is_asked_for_pathways_in_both_forms_of_reply(
    plan: Plan, httpserver: HTTPServer, preset: str | None
) -> None:
    table = Table(httpserver, chemist, lambda _body: "yes" if preset else '{"consistent": "yes"}')
    plan = replace(plan, instances="phenacetin", machine=table.model, judge=table.model)
    with SqlBlackboard(":memory:") as board:
        run = runs.start(replace(plan, preset=preset), board)
        run.execute()
        [session] = board.sessions(run.name)
        said = [entry.carried.answer.prediction for entry in board.events(session.session)]
    assert said[0] == f"CC=C=O.CCO>>{PHENACETIN}"
    assert said[2] == str(read_pathway(WAY))
    system = table.asked[0]["messages"][0]["content"]
    assert "leads back to what can be bought: " in system
    assert all(canonical_smiles(one) in system for one in SHOP)


def test_the_form_of_a_reply_allows_what_was_said_and_is_read_back(plan: Plan) -> None:
    problem = read_plan(plan)[0].problem
    assert problem is not None
    value = problem.to_json(WAY)
    Draft202012Validator(problem.prediction).validate(value)
    assert problem.from_json(value) == problem.from_text(WAY) == str(read_pathway(WAY))
    wrongs: list[object] = [[], {}, "x", [{"product": "C"}], [[]]]
    for wrong in (*wrongs, [{"product": 1, "reactants": ["C"]}]):
        with pytest.raises(DataError):
            problem.from_json(wrong)
    for reactants in ("C", [], [1], ["C1"]):
        with pytest.raises(DataError):
            problem.from_json([{"product": "CO", "reactants": reactants}])


def test_right_on_test_data_is_right_by_match(plan: Plan) -> None:
    other = WAY.replace("CCI", "CCO")
    for part, equal in ((PathwayPart.WHOLE, False), (PathwayPart.LAST_STEP, True)):
        normal = normal_form(read_plan(replace(plan, match=str(part)))[0])
        assert (normal(WAY) == normal(other)) is equal
        assert normal("no pathway") == "no pathway"


def test_each_step_is_drawn_for_people_and_in_reports() -> None:
    with Pillow.open(BytesIO(drawing(Instance("p", WAY)).data)) as drawn:
        assert drawn.size == (900, 660)
        colours = drawn.convert("L").crop((0, 440, 900, 660)).getcolors()
        assert colours is not None
        assert len(colours) > 2
    gallery = Gallery()
    shown = gallery.drawings("predictions", WAY)
    assert shown is not None
    assert len(gallery.symbols) == 3
    assert gallery.drawings("predictions", "C1C>>CC<script>") is None
    assert gallery.drawings("predictions", f"{'C' * 6000}>>C") is None


@pytest.mark.deep
@pytest.mark.parametrize("after", [1, 3, 6])
def test_a_run_that_was_stopped_goes_on_with_what_it_had_learned(plan: Plan, after: int) -> None:
    def said(board: SqlBlackboard, run: str) -> list[tuple[str, Answer]]:
        return [
            (entry.carried.tag, entry.carried.answer)
            for session in board.sessions(run)
            for entry in board.events(session.session)
        ]

    seen = 0

    def stop(step: runs.Progress) -> None:
        nonlocal seen
        seen += step.event is not None
        if seen == after:
            raise KeyboardInterrupt

    with SqlBlackboard(":memory:") as board:
        whole = runs.start(plan, board)
        whole.execute()
        stopped = runs.start(plan, board)
        with pytest.raises(KeyboardInterrupt):
            stopped.execute(stop)
        assert said(board, stopped.name) != said(board, whole.name)
        runs.resume(stopped.name, board).execute()
        assert said(board, stopped.name) == said(board, whole.name)
