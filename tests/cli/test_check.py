"""`pxp check` and `pxp draw --counterexample`: what they print, write and refuse."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from proofs.check import answer
from proofs.claims.checking import Bounds
from proofs.core.results import Result, Status, Verdict
from proofs.requests import Request
from pxp_fsm.analysis import counterexamples
from pxp_fsm.cli.presentation import results
from pxp_fsm.errors import UsageError
from tests import command_line

ROOT = Path(__file__).parents[2]
ASKING = ROOT / "examples" / "asking.toml"
SOME = Request(("interact",), ("no-revise-at-2", "ends-agreed"))


def pxp(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return command_line.pxp(*arguments, cwd=cwd, HOME=str(cwd), XDG_DATA_HOME=str(cwd))


@pytest.fixture(scope="module")
def lines() -> tuple[Result, ...]:
    return tuple(answer(SOME))


@pytest.mark.parametrize(
    ("asked", "least"),
    [
        (("interact", "--property", "terminates", "--property", "ends-agreed"), 4),
        pytest.param(("--certificate", "proved"), 100, marks=pytest.mark.deep),
    ],
)
def test_check_decides_all_as_expected_and_writes_what_was_asked_for(
    asked: tuple[str, ...], least: int, tmp_path: Path
) -> None:
    files = ("-o", "traces", "-o", "j.xml", "-o", "s.sarif")
    done = pxp("check", *asked, *files, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    verdicts = re.search(r"^(\d+) verdicts .*, 0 not as expected$", done.stdout, re.MULTILINE)
    assert verdicts is not None
    assert int(verdicts[1]) >= least
    assert re.search(r"terminates +noisy +HOLDS +[0-9.]+  for all n and k", done.stdout)
    if "--certificate" in asked:
        written = {path.name for path in (tmp_path / "proved").iterdir()}
        assert written == {path.name for path in (ROOT / "proofs/claims/certificates").iterdir()}
    traces = [json.loads(path.read_text()) for path in (tmp_path / "traces").iterdir()]
    assert len(traces) == done.stdout.count(" FAILS ")
    assert "ends-agreed" in {trace["#meta"]["property"] for trace in traces}
    assert ET.parse(tmp_path / "j.xml").getroot().tag == "testsuites"  # noqa: S314 - our own
    assert json.loads((tmp_path / "s.sarif").read_text())["version"] == "2.1.0"


def test_check_writes_no_file_that_was_not_asked_for(tmp_path: Path) -> None:
    done = pxp("check", "--property", "strong-once", cwd=tmp_path)
    assert (done.returncode, "Certificate" in done.stdout) == (0, False), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_exit_codes_tell_fails_unknown_and_bad_input_apart(
    lines: tuple[Result, ...], tmp_path: Path
) -> None:
    assert results.exit_code(lines) == 0
    wrong = replace(lines[0], verdict=Verdict(Status.FAILS))
    unknown = replace(lines[0], verdict=Verdict(Status.UNKNOWN, "too large"))
    assert results.exit_code([*lines, unknown]) == 4
    assert results.exit_code([*lines, unknown, wrong]) == 1
    for bad in (
        ["--property", "no-such"],
        ["--relations", "without humour"],
        ["--values", "3", "--relations", "tolerance"],
        ["pxp", "--values", "3"],
        ["--n", "0"],
        ["nowhere.toml"],
        ["a.toml", "b.toml", "c.toml"],
    ):
        done = pxp("check", *bad, cwd=tmp_path)
        assert done.returncode == 2, (bad, done)
        assert "Traceback" not in done.stderr


@pytest.mark.deep
def test_any_set_of_assumptions_can_be_asked_for() -> None:
    for relations, status in (
        ("deterministic+symmetric+shared", Status.HOLDS),
        ("tolerance", Status.HOLDS),
        ("shared", Status.FAILS),
    ):
        request = replace(SOME, names=("ratified-at-3",), relations=relations, n=5, k=1)
        (line,) = answer(request)
        assert (line.verdict.status, line.as_expected) == (status, True)
        assert line.expected is not None


def test_several_tables_can_be_given() -> None:
    names = ("no-deadlock",)
    found = answer(Request(("interact", "pxp", "pxp_hang_up"), names))
    assert [line.subject for line in found] == [
        "interact1, interact2",
        "pxp1, pxp2",
        "pxp_hang_up1, pxp_hang_up2",
    ]


def test_json_has_each_verdict_and_its_trace_as_itf(lines: tuple[Result, ...]) -> None:
    records = json.loads(results.as_json(lines))
    assert [record["property"] for record in records] == [line.name for line in lines]
    for record in records:
        assert (record["itf"] is None) == (record["verdict"] != "FAILS")
        if record["itf"]:
            assert record["itf"]["#meta"]["property"] == record["property"]
            assert [state["action"] for state in record["itf"]["states"]][1:] == record["trace"]


SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {"driver": {"type": "object", "required": ["name"]}},
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message"],
                            "properties": {
                                "message": {"type": "object", "required": ["text"]},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "kind": {
                                    "enum": [
                                        *("notApplicable", "pass", "fail"),
                                        *("review", "open", "informational"),
                                    ]
                                },
                            },
                            "if": {"properties": {"kind": {"not": {"const": "fail"}}}},
                            "then": {"properties": {"level": {"const": "none"}}},
                        },
                    },
                },
            },
        },
    },
}
"""What the SARIF 2.1.0 standard (sections 3.13, 3.14, 3.18, 3.27) demands of what is used here."""


def troubled(lines: tuple[Result, ...]) -> list[Result]:
    """The lines, with one that failed and one that is unknown."""
    failed = replace(lines[0], verdict=Verdict(Status.FAILS))
    unknown = replace(lines[0], verdict=Verdict(Status.UNKNOWN, "why"))
    return [*lines, failed, unknown]


def test_sarif_is_what_the_standard_demands(lines: tuple[Result, ...]) -> None:
    document = json.loads(results.as_sarif(troubled(lines)))
    jsonschema.validate(document, SARIF)
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])
    assert [r["kind"] for r in run["results"]][-2:] == ["fail", "open"]
    assert {r["kind"] for r in run["results"][:-2]} == {"pass"}


def test_junit_counts_failures_and_errors_apart(lines: tuple[Result, ...]) -> None:
    suites = ET.fromstring(results.as_junit(troubled(lines)))  # noqa: S314 - our own
    (suite,) = suites
    cases = list(suite)
    assert {case.tag for case in cases} == {"testcase"}
    assert all({"name", "classname", "time"} <= set(case.attrib) for case in cases)
    for one in (suites, suite):
        assert [one.get(name) for name in ("tests", "failures", "errors")] == [
            str(len(lines) + 2), "1", "1",
        ]  # fmt: skip
    assert [child.tag for case in cases for child in case] == ["failure", "error"]


@pytest.mark.parametrize("suffix", ["svg", "png", "dot", "mmd"])
def test_a_counterexample_is_drawn_as_a_chart_and_on_both_automata(
    tmp_path: Path, suffix: str
) -> None:
    files = counterexamples.draw("ends-agreed", tmp_path / f"x.{suffix}", None, 10, 3, None)
    assert [file.name for file in files] == [f"x{end}.{suffix}" for end in ("", "-m", "-h")]
    assert all(file.stat().st_size > 300 for file in files)


def test_the_drawn_session_is_the_one_that_was_replayed() -> None:
    line, checker = counterexamples.counterexample("refuted-never", "tolerance", 5, 1)
    drawn = counterexamples.chart(line, checker.model(line.subject, line.assumptions))
    assert [f"{arrow.sender} {arrow.tag}" for arrow in drawn.arrows] == [
        "m INIT", "h REFUTE", "m REFUTE", "h RATIFY",
    ]  # fmt: skip
    assert drawn.arrows[3].texts == ("MATCH yes, AGREE yes",)
    assert "its answer has not changed" in drawn.arrows[2].texts
    assert "contradicts" in drawn.note
    way = counterexamples.way(line, checker.model(line.subject, line.assumptions), "h")
    taken = {row.text: row.taken for edge in way.edges for row in edge.rows if row.taken}
    assert sum(taken.values()) == 4
    lasso, checker = counterexamples.counterexample("pxp.terminates", None, 5, 1)
    chart = counterexamples.chart(lasso, checker.model("pxp", "equivalence"))
    assert "the last 2 messages for ever" in chart.note


def test_what_cannot_be_drawn_is_refused_with_a_reason(tmp_path: Path) -> None:
    for name, relations, told in (
        ("terminates", None, r"pxp\.terminates or pxp\(k\)\.terminates"),
        ("never-stuck", None, "no counterexample"),
        ("refuted-never", "equivalence", "equivalence: HOLDS UP TO"),
        ("no-such", None, "there is no claim"),
    ):
        with pytest.raises(UsageError, match=told):
            counterexamples.counterexample(name, relations, 5, 1)
    with pytest.raises(UsageError, match="has no agent"):
        counterexamples.draw("ends-agreed", tmp_path / "x.svg", None, 5, 1, "z")
    for bad in (["draw"], ["draw", "interact", "--counterexample", "ends-agreed"]):
        assert pxp(*bad, cwd=tmp_path).returncode == 2


def test_bounds_are_checked_before_anything_is_explored() -> None:
    with pytest.raises(UsageError):
        list(answer(Request(k=0)))
    assert Bounds().n == 10


def test_what_holds_of_pxp_k_with_noisy_relations_holds_for_every_k() -> None:
    names = ("never-stuck", "silent-end", "self-loops")
    found = answer(Request(("pxp",), names, relations="noisy"))
    told = {line.name: line.verdict for line in found if line.subject == "pxp(k)"}
    assert set(told) == set(names)
    assert {(v.status, v.detail) for v in told.values()} == {(Status.HOLDS, "for all k")}


def test_running_agents_are_compared_with_the_model(tmp_path: Path) -> None:
    done = pxp(
        "check",
        "--property",
        "running",
        "--n",
        "4",
        "--k",
        "1",
        "--relations",
        "tolerance",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[1:-1]]
    assert [row[:3] for row in rows] == [
        [protocol, "sessions-agree-with-model", "tolerance"]
        for protocol in ("interact", "pxp", "pxp(k)")
    ]
    assert "n = 4, k = 1; " in done.stdout
    assert "k = 1; 49 states, 71 messages" in done.stdout
    assert "HOLDS  " in done.stdout.splitlines()[2]  # PXP has no bound


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (("interact", "--property", "never-stuck"), "leave the other options out"),
        (("interact", "--values", "3"), "leave the other options out"),
        (("interact", "--formula", "F ended"), "leave the other options out"),
        ((str(ASKING),), f"sessions follow interact and pxp; {ASKING} is neither"),
        (("pxp", "--relations", "friendly"), "there are no assumptions 'friendly'"),
    ],
)
def test_what_does_not_go_with_running_agents_is_refused(
    options: tuple[str, ...], remedy: str, tmp_path: Path
) -> None:
    done = pxp("check", *options, "--property", "running", cwd=tmp_path)
    assert done.returncode == 2
    assert remedy in done.stderr


def test_what_is_unknown_is_told_what_may_decide_it(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "with_rules" / "net.toml").read_text("utf-8")
    for table in ("net_manager.toml", "net_bidder.toml"):
        text = text.replace(table, (ROOT / "examples" / "with_rules" / table).as_posix())
    net = tmp_path / "net.toml"
    net.write_text(text.replace("manager.ticks > deadline", "manager.ticks > 2"), "utf-8")
    done = pxp("check", "net.toml", "--channel", "sync", "--channel", "fifo:2", cwd=tmp_path)
    advice = [line for line in done.stdout.splitlines() if line.startswith("To decide ")]
    explored = [shlex.split(line.partition("explore one case: ")[2]) for line in advice]
    assert ["--with", "deadline=3", "--formula", "AG !(manager.ticks > 2)"] in explored
    assert ["--with", "deadline=3", "--formula", "AG !(left@HIRED & right@HIRED)"] in explored
    assert pxp("check", "net.toml", *explored[-1], cwd=tmp_path).returncode in (0, 1)
