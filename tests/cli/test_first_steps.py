"""What people try first, as they try it: the right answer, or an error that says what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pxp_fsm as pxp
from pxp_fsm.cli.help import pages
from tests.command_line import pxp as command

ROOT = Path(__file__).parents[2]

HEAD = """format = 1
name = "{name}"
title = "{name}"
peer = "{peer}"
initial = "S"
final = ["E"]
states = [{{ name = "S" }}, {{ name = "W" }}, {{ name = "E" }}]
rows = [
  {{ from = "S", to = "W", {first} = "X" }},
  {{ from = "W", to = "E", {second} = "Z" }},
"""
FENCED = re.compile(r"^(`{3,})(.*?)\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)
NEEDS = {
    "drug": r"pxp (run|serve) drug|task = \"drug\"|Plan\(\"drug\"|studies/drug\.toml",
    "rad": r"pxp run rad",
    "report": r"pxp report|pxp audit .*-o",
    "web": r"pxp serve (?!.*--mcp)",
    "mcp": r"pxp serve .*--mcp",
    "inspect": r"inspect eval ",
}
"""What a reader cannot run without an extra."""


def blocks(page: str) -> str:
    """The code that a reader of a page would copy."""
    return "\n".join(found[3] for found in FENCED.finditer(pages()[page].read_text("utf-8")))


REQUIRED = [
    (page, extra)
    for page in pages()
    for extra, commands in NEEDS.items()
    if re.search(commands, blocks(page))
]
LEFT = HEAD.format(name="left", peer="right", first="send", second="receive")
RIGHT = HEAD.format(name="right", peer="left", first="receive", second="send")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "left.toml").write_text(f"{LEFT}]\n", "utf-8")
    (tmp_path / "right.toml").write_text(f"{RIGHT}]\n", "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "asked",
    [
        (),
        (
            "--property",
            "termination",
        ),
        ("--formula", "F ended"),
        ("--formula", "AG EF ended"),
    ],
)
def test_machines_that_get_stuck_pass_no_check(asked: tuple[str, ...], folder: Path) -> None:
    decides = LEFT.replace('name = "S" }', 'name = "S", guards = ["P", "Q"] }').replace(
        'send = "X"', 'guard = "P", send = "X"'
    )
    other = '  { from = "S", to = "W", guard = "Q", send = "Y" },\n]\n[guards]\nP = ""\nQ = ""\n'
    (folder / "left.toml").write_text(decides + other, "utf-8")
    never = '  { from = "W", to = "W", receive = "Y" },\n]\n'
    (folder / "right.toml").write_text(RIGHT + never, "utf-8")
    done = command("check", "left.toml", "right.toml", *asked, cwd=folder)
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"^! left; right .* FAILS ", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("channel", [(), ("--channel", "sync")])
def test_an_atom_has_the_same_names_with_and_without_a_channel(
    channel: tuple[str, ...], folder: Path
) -> None:
    formulas = ("--formula", "F right.Z", "--formula", "F 2.Z")
    done = command("check", "left.toml", "right.toml", *formulas, *channel, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("HOLDS") == 2


def test_a_table_needs_no_word_on_exclusive_or_complete_guards() -> None:
    for page in ("buyer.toml", "seller.toml"):
        assert "exclusive" not in (ROOT / "examples/own_protocol" / page).read_text("utf-8")
    assert pxp.System.load(*sorted((ROOT / "examples/own_protocol").glob("*er.toml"))).members


def test_long_names_leave_the_columns_in_line(folder: Path) -> None:
    long = " & ".join(["F ended"] * 30)
    asked = ("--formula", long, "--formula", "F ended")
    done = command("check", "left.toml", "right.toml", *asked, cwd=folder)
    header, _, short, _ = done.stdout.splitlines()
    assert short.index("HOLDS") == header.index("verdict")


def test_a_minimal_agent_needs_one_import() -> None:
    agent = pxp.Agent(
        pxp.respondent(lambda question: pxp.Answer("a", question.instance.key)),
        match=pxp.exact,
        agree=pxp.normalised_text,
    )
    session = pxp.Session(pxp.Interact(), {"m": agent, "h": agent}, instance="x").run_sync()
    assert session.ending is not None and session.ending.value == "ratified"
    assert {"Agent", "Session", "Interact", "check", "run"} <= set(dir(pxp))


@pytest.mark.parametrize(
    ("respondent", "error", "says"),
    [
        (lambda question: "a text", TypeError, "an answer is a prediction and an explanation"),
        (lambda question: 1 / 0, ZeroDivisionError, "division by zero"),
    ],
    ids=["a text", "raises"],
)
def test_what_a_respondent_does_wrong_is_raised_where_it_happens(
    respondent: object, error: type[Exception], says: str
) -> None:
    agent = pxp.Agent(pxp.respondent(respondent), match=pxp.exact, agree=pxp.exact)  # type: ignore[arg-type]
    session = pxp.Session(pxp.Interact(), {"m": agent, "h": agent}, instance="x")
    with pytest.raises(error, match=says):
        session.run_sync()


def test_a_relation_without_holds_is_refused_at_once() -> None:
    class Nothing:
        name = "nothing"

    silent = pxp.respondent(lambda question: pxp.Answer("a", "b"))
    with pytest.raises(pxp.PXPError, match=r"is not a relation.*holds\(left, right\)"):
        pxp.Agent(silent, match=Nothing(), agree=pxp.exact)  # type: ignore[arg-type]


def test_each_page_says_at_its_top_which_extras_it_needs() -> None:
    needed = {
        ("conformance", "conformance"),
        ("odds", "odds"),
        ("lan_measures", "lan"),
        ("blackboard", "postgresql"),
        ("models", "openai"),
        *REQUIRED,
    }
    told = set[tuple[str, str]]()
    for page in {page for page, _ in needed}:
        top = "\n".join((ROOT / "docs" / f"{page}.md").read_text("utf-8").splitlines()[:20])
        extras = ",".join(re.findall(r"pxp-fsm\[([a-z,]+)\]", top)).split(",")
        told |= {(page, extra) for extra in extras}
    assert needed - told == set()


def test_most_pages_need_no_extra_and_those_that_run_drug_do() -> None:
    assert {("drug", "drug"), ("rad", "rad"), ("reports", "report"), ("serving", "web")} <= {
        *REQUIRED
    }
    assert len({page for page, _ in REQUIRED}) < len(pages()) / 2


def test_only_one_place_has_the_address_of_the_repository() -> None:
    address = re.search(r'^Repository = "https://([^/"]+)', project := _project(), re.MULTILINE)
    assert address is not None
    assert project.count(address[1]) == 1
    written = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "CITATION.cff"]
    assert not [path for path in written if address[1] in path.read_text("utf-8")]


def test_every_file_of_a_release_has_its_version() -> None:
    assert f"\nversion: {pxp.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    (newest, *_) = re.findall(
        r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    assert newest == pxp.__version__


def _project() -> str:
    return (ROOT / "pyproject.toml").read_text("utf-8")
