"""Every line of docs/papers.md, run as it stands, with a scripted server and smaller sizes."""

from __future__ import annotations

import csv
import re
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from PIL import Image
from pytest_httpserver import HTTPServer

from backends.databases import SqlBlackboard, calls_of_session
from pxp_fsm.experiments import members
from pxp_fsm.experiments.plan_data import stored_deviations, stored_plan
from pxp_fsm.experiments.reports.contents import gather
from pxp_fsm.protocol.intelligibility import DEFINITIONS, holds_for, two_way
from pxp_fsm.tasks.task import find_task
from tests.command_line import pxp
from tests.experiments.report_pages import unfolded
from tests.experiments.scripted_server import Body, Expert, Table, as_sent, is_equal, judging
from tests.plugins.drug.test_drug_pathways import ROWS as ROUTES
from tests.plugins.drug.test_drug_pathways import SHOP

pytestmark = pytest.mark.deep

PAGE = Path(__file__).parents[2] / "docs" / "papers.md"
PAPERS = {"C-drug": (1024, None), "C-rad": (300, None), "B-drug": (1024, 0.3), "B-rad": (300, 1.0)}
"""Longest answer and temperature of each preset."""

RUNS = {
    "rad-1": "C-rad",
    "drug-2": "C-drug",
    "drug-3": "C-drug",
    "drug-4": "C-drug",
    "rad-5": "B-rad",
    "drug-6": "B-drug",
    "rad-7": "B-rad",
    "drug-8": "B-drug",
    "drug-9": "B-drug",
}
"""The runs of the page, in order, each with its preset."""

SHORT = {
    "Atelectasis": "ATCS",
    "Cardiomegaly": "CRDM",
    "Pleural Effusion": "PLEF",
    "Pneumonia": "PNUM",
    "Pneumothorax": "PNTX",
}
"""How the authors' table abbreviates its labels."""

CATALOGUE = """
[[server]]
models = "openai:*@*"
can = ["temperature", "seed", "schema", "images"]
[[price]]
models = "openai:*@*"
input = 1.0
output = 4.0
as_of = 2026-01-01
"""


def _lines() -> list[str]:
    """The commands in the rows of the page's tables, in order."""
    _, _, tables = PAGE.read_text("utf-8").partition("\n### ")
    rows = [line for line in tables.splitlines() if line.startswith("|")]
    return [command for row in rows for command in re.findall(r"`(pxp [^`]+)`", row.split("|")[2])]


@dataclass
class Made:
    """What the commands of the page printed, and what the server was asked in each."""

    folder: Path
    printed: dict[str, str] = field(default_factory=dict)
    asked: dict[str, list[Body]] = field(default_factory=dict)

    @property
    def database(self) -> str:
        return str(self.folder / "runs" / "blackboard.sqlite")

    @property
    def catalogue(self) -> Path:
        return self.folder / "servers.toml"

    def of(self, *words: str) -> list[str]:
        """The commands that hold all of `words`."""
        return [one for one in self.printed if all(word in one for word in words)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    folder = tmp_path_factory.mktemp("papers")
    (folder / "servers.toml").write_text(CATALOGUE)
    truth = _authors(folder / "authors") | _own_tables(folder)
    found = Made(folder)
    with HTTPServer(port=0) as server, pytest.MonkeyPatch.context() as patched:
        # there is no terminal in a test: the task's own human is in the person's place
        patched.setattr(members, "with_person", lambda human, *_: human)
        patched.setattr("pxp_fsm.cli.run.has_terminal", lambda: True)
        table = Table(server, Expert(truth), is_equal)
        for line in _lines():
            before = len(table.asked)
            done = pxp(*_arguments(line, table), cwd=folder)
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
            found.printed[line], found.asked[line] = done.stdout, table.asked[before:]
        yield found


def _arguments(line: str, table: Table) -> list[str]:
    """`line` as a reader would complete it, with smaller sizes."""
    own = {
        "MODEL": table.model,
        "AUTHORS": "authors",
        "ROUTES": "routes.csv",
        "SHOP": "shop.smi",
        "DRUGBANK": "drugbank.csv",
    }
    words = shlex.split(line)[1:]
    words = [
        re.sub(r"(?<![^=])[A-Z]{4,}(?=/|$)", lambda m: own.get(m[0], m[0]), word) for word in words
    ]
    sizes: dict[str, object] = {}
    if words[0] == "run":
        words = [re.sub(r"^(validation|test)=\d+$", r"\1=2", word) for word in words]
        sizes = {"instances": 2, "max-dollars": 9}
        if {"rad", "order=sampled"} & set(words):
            sizes["repetitions"] = 2
    if "--sample" in words:
        sizes = {"sample": 2}
    if "--per-label" in words:
        words[words.index("--per-label") + 1] = "1"
    if words[0] in ("run", "test", "report", "judge") or words[-2:-1] == ["--machine"]:
        sizes["models"] = "servers.toml"
    if words[0] == "export":
        sizes["models"] = "servers.toml"
    return [*words, *(f"--{name}={value}" for name, value in sizes.items())]


def _authors(folder: Path) -> dict[str, str]:
    """A folder like the authors', of 10 reactions and 10 films; the right prediction of each."""
    (folder / "data" / "xrays").mkdir(parents=True)
    rows = find_task("drug").load(None).sessions[:10]
    with (folder / "data" / "retro.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(("output", "input", "explanation"))
        for row in rows:
            table.writerow((row.answer.prediction, row.instance.x, row.answer.explanation))
    truth = {row.instance.x: row.answer.prediction for row in rows}
    for number, name in enumerate(("train", "val")):
        with (folder / "data" / f"{name}_xray_data.csv").open("w", encoding="utf-8") as file:
            print("case,label,label_short,img_path,report,link", file=file)
            for place, label in enumerate(sorted(SHORT)):
                path = f"data/xrays/{name}{place}.png"
                Image.new("L", (64, 64), 20 * number + place).save(folder / path)
                said = f"{label},{SHORT[label]},{path},{label} in film {place}."
                print(f"c{number}{place},{said},x", file=file)
                truth[as_sent(folder / path)] = label
    return truth


def _own_tables(folder: Path) -> dict[str, str]:
    (folder / "routes.csv").write_text(f"key,set,x,prediction,explanation\n{ROUTES}")
    (folder / "shop.smi").write_text("\n".join(SHOP))
    (folder / "drugbank.csv").write_text(
        "SMILES,name\nCC(=O)Nc1ccc(O)cc1,paracetamol\nCCO,ethanol\nCCOC(=O)c1ccc(N)cc1,benzocaine\n"
        "Cn1c(=O)c2c(ncn2C)n(C)c1=O,caffeine\n"
    )
    rows = csv.reader(ROUTES.splitlines())
    return {x: y if ">>" in y else f"{y}>>{x}" for _, _, x, y, _ in rows}


def test_the_runs_are_those_of_the_page(made: Made) -> None:
    with SqlBlackboard(made.database, create=False) as board:
        plans = {record.run: stored_plan(record) for record in board.runs()}
        assert {run: plan.preset for run, plan in plans.items()} == RUNS
        ends = Counter(record.ending for run in RUNS for record in board.sessions(run))
    subjects = [plans[run].subject for run in RUNS]
    assert subjects == [None, None, "h1", "h2", None, "chemist", None, None, None]
    assert plans["rad-7"].label == "Pneumonia"
    assert plans["drug-8"].materials is not None
    assert set(ends) == {"ratified"}


@pytest.mark.parametrize("preset", PAPERS)
def test_models_are_asked_as_in_the_paper(made: Made, preset: str) -> None:
    bodies = [
        body for line in made.of(f"--set agents.preset={preset} ") for body in made.asked[line]
    ]
    assert bodies
    for body in bodies:
        limit = body.get("max_tokens", body.get("max_completion_tokens"))
        tokens, temperature = PAPERS[preset]
        settings = (limit, body.get("temperature"))
        assert settings == ((10, 0.0) if judging(body) else (tokens, temperature))


def test_what_differs_is_said_before_each_run_and_stored(made: Made) -> None:
    for line in made.of("pxp run", "--set agents.preset=C-"):
        said = made.printed[line]
        assert said.count("Not as in the paper: ") >= 4
        assert "in the paper it is anthropic:claude-3-5-sonnet-latest" in said
    with SqlBlackboard(made.database, create=False) as board:
        assert all(len(stored_deviations(board.run(run))) >= 4 for run in RUNS)
        learned = {run: _learned(board, run) for run in RUNS}
    assert {run for run, outcomes in learned.items() if outcomes} == {"rad-1", "drug-2"}


def _learned(board: SqlBlackboard, run: str) -> list[Any]:
    return [
        judgement.outcome
        for session in board.sessions(run)
        for entry in board.events(session.session)
        for judgement in entry.judgements
        if judgement.relation == "LEARN"
    ]


def test_table_1_and_figure_2_are_those_of_the_sessions(made: Made) -> None:
    with SqlBlackboard(made.database, create=False) as board:
        for run in ("rad-1", "drug-2"):
            report = gather(board, board.run(run), catalogue=made.catalogue)
            found = {row.name: float(row.median) for row in report.statistics.classes()[1:]}
            assert found == _naive_table1(board, run)
            assert found["ultra-strong, machine"] == 2
            curve = report.performance.on_test_set
            assert not isinstance(curve, str)
            assert [j for j, _ in curve] == [0, 2, 4, 6, 8, 10]
            assert curve[0][1].median < curve[-1][1].median == 1


def test_every_call_is_in_the_costs_and_agree_is_asked_no_more_than_needed(made: Made) -> None:
    with SqlBlackboard(made.database, create=False) as board:
        costs = [cost for run in RUNS for cost in board.costs(run)]
        asked = [
            body
            for line in made.of()
            if line.split()[1] in ("run", "test")
            for body in made.asked[line]
        ]
        assert sum(cost.calls for cost in costs) == len(asked)
        assert all(cost.dollars and not cost.cached for cost in costs)
        for run in ("rad-1", "drug-2", "rad-5", "drug-9"):
            _agree_is_asked_no_more_than_needed(board, run)


def test_tables_figures_sessions_and_data_are_there(made: Made) -> None:
    for folder, runs in {"c": list(RUNS)[:4], "b": ["rad-5", "drug-6"]}.items():
        for run in runs:
            for kind in ("curves", "flow", "measured"):
                for form in ("svg", "pdf"):
                    assert (made.folder / folder / f"{run}-{kind}.{form}").stat().st_size > 0
        page = unfolded(made.folder / folder / "page.html")
        assert "Comments: what models were asked" in page
        assert (made.folder / folder / "page-table1.tex").exists()
    for line in made.of("show", "-v"):
        assert "was asked (answer)" in made.printed[line]
    assert (made.folder / "interact.svg").exists() and (made.folder / "pxp.svg").exists()
    short = (made.folder / "authors" / "data" / "short.csv").read_text("utf-8")
    rows = list(csv.DictReader(short.splitlines()))
    assert sorted(row["prediction"] for row in rows) == sorted(SHORT)
    assert all(row["explanation"].startswith("In short: ") for row in rows)
    checked = pxp("check", "authors/data/films.csv", "rad", cwd=made.folder)
    assert "sessions: 5 rows" in checked.stdout, checked.stderr
    with ZipFile(made.folder / "supplement.zip") as archive:
        prompts = archive.read("runs/drug-2/prompts.toml").decode()
    assert prompts.startswith("# Prompts of the papers, in our words.")
    (check,) = made.of("verify", "supplement.zip")
    assert "Table 1 counted again" in made.printed[check]


def _naive_table1(board: SqlBlackboard, run: str) -> dict[str, float]:
    """Table 1 from the stored tags, by the definitions."""
    counts = dict[int, Counter[str]]()
    for session in board.sessions(run):
        messages = [entry.carried for entry in board.events(session.session)]
        here = counts.setdefault(session.repetition, Counter())
        for name, role in (("one_way", "one-way"), ("strong", "strong"), ("ultra_strong", "")):
            for agent, who in (("h", "human"), ("m", "machine")):
                title = f"{role or 'ultra-strong'}, {who}"
                here[title] += holds_for(DEFINITIONS[name], messages, agent)
        here["two-way"] += two_way(messages, "m", "h")
    titles = {title for here in counts.values() for title in here}
    return {t: sum(here[t] for here in counts.values()) / len(counts) for t in titles}


def authors_calls(board: SqlBlackboard, run: str) -> int:
    """How often the authors' code asks AGREE in the sessions of `run`.

    At each message from the second on, and once more for Changed where MATCH holds of the agent's
    new and its own earlier prediction.
    """
    calls = 0
    for session in board.sessions(run):
        said = [entry.carried.answer for entry in board.events(session.session)]
        for place in range(1, len(said)):
            own = said[place - 2] if place > 1 else said[place]
            calls += 1 + (said[place].prediction == own.prediction)
    return calls


def _agree_is_asked_no_more_than_needed(board: SqlBlackboard, run: str) -> None:
    """Each ordered pair of different explanations once a session for each agent, at most."""
    costs = {cost.purpose: cost.calls for cost in board.costs(run)}
    assert costs["judge"] < authors_calls(board, run)
    for session in board.sessions(run):
        calls = calls_of_session(board, session.session)
        asked = sum(call.purpose == "judge" for call in calls)
        pairs = Counter[tuple[Any, ...]]()
        for entry in board.events(session.session):
            for one in entry.judgements:
                if one.relation == "AGREE" and one.asked:
                    pairs[entry.carried.sender, one.left, one.right] += 1
        assert asked == pairs.total()
        assert max(pairs.values(), default=1) == 1
