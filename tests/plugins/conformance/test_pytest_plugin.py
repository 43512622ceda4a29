"""The plug-in of pytest: agents against tables, traces, a project's checks; off unless used."""

from __future__ import annotations

import importlib.metadata
import os
import random
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from transitions import Machine

import pxp_fsm as pxp
from proofs.systems.product import Composition
from pxp_fsm.automata.actions import Choose
from pxp_fsm.automata.serialization import to_toml
from pxp_fsm.errors import TableError, UsageError
from pxp_fsm.plugins.conformance import assert_allowed, assert_conforms, checks_in
from tests.plugins.conformance.test_conform import OWN

ROOT = Path(__file__).parents[3]
PLUGIN = "pxp_fsm.plugins.conformance.pytest_plugin"

TABLE = pxp.build_automaton(
    "door",
    [
        {"from": "OPEN", "to": "SHUT", "event": "CLOSE"},
        {"from": "SHUT", "to": "OPEN", "event": "OPEN"},
        {"from": "SHUT", "to": "GONE", "event": "LEAVE"},
    ],
    final=["GONE"],
)

ROWS = {("OPEN", "CLOSE"): "SHUT", ("SHUT", "OPEN"): "OPEN", ("SHUT", "LEAVE"): "GONE"}


class Door:
    """A right agent; `rows` is what it does."""

    rows = ROWS

    def __init__(self) -> None:
        self.at = "OPEN"

    def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
        after = self.rows.get((self.at, request.get("name", "")))
        if request["do"] != "event" or after is None:
            return {"refused": "not now"}
        self.at = after
        return {"did": f"!{request['name']}"}


class Wrong(Door):
    """It can be opened when it is open."""

    rows = ROWS | {("OPEN", "OPEN"): "OPEN"}


def function_of(kind: type[Door]) -> Any:
    doors: list[Door] = []

    def agent(request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "reset":
            doors[:] = [kind()]
            return {"did": "reset"}
        return doors[0](request)

    return agent


def async_of(kind: type[Door]) -> Any:
    inner = function_of(kind)

    async def agent(request: dict[str, Any]) -> dict[str, Any]:
        reply: dict[str, Any] = inner(request)
        return reply

    return agent


@pytest.mark.parametrize(
    ("made", "by"),
    [(lambda kind: kind, "hypothesis"), (function_of, "suite"), (async_of, "suite")],
)
def test_a_class_a_function_and_an_async_function_are_agents(made: Any, by: Any) -> None:
    assert_conforms(made(Door), TABLE, by=by, extra_states=1)
    with pytest.raises(AssertionError) as raised:
        assert_conforms(made(Wrong), TABLE, by=by)
    lines = str(raised.value).splitlines()
    assert "DIFFERS from door" in lines[0]
    assert lines[1:] == [
        "  step  input       expected  got",
        "! 1     event OPEN  refused   !OPEN",
        "No shorter sequence of inputs shows a difference.",
        "Rule: no row of door takes event OPEN in OPEN, so it is refused",
        "door (> the way, * where it is now):",
        " * OPEN  !CLOSE → SHUT",
        "   SHUT  !OPEN → OPEN",
        "   SHUT  !LEAVE → GONE",
    ]


@pytest.fixture
def without_chosen_examples() -> Iterator[None]:
    profile = settings.get_current_profile_name()
    settings.register_profile("explicit", phases=[Phase.explicit])
    settings.load_profile("explicit")
    yield
    settings.load_profile(profile)


@pytest.mark.usefixtures("without_chosen_examples")
@pytest.mark.parametrize("missing", sorted(ROWS))
def test_one_wrong_answer_is_found_each_time(missing: tuple[str, str]) -> None:
    lacking = type("Lacking", (Door,), {"rows": {case: ROWS[case] for case in {*ROWS} - {missing}}})
    with pytest.raises(AssertionError, match="DIFFERS"):
        assert_conforms(lacking, TABLE, by="hypothesis")


def test_a_difference_behind_some_steps_is_shown_with_its_rule() -> None:
    class Late(Door):
        def __init__(self) -> None:
            super().__init__()
            self.rows = {place: to for place, to in ROWS.items() if place != ("SHUT", "LEAVE")}

    with pytest.raises(AssertionError) as raised:
        assert_conforms(Late, TABLE)
    told = str(raised.value)
    assert re.search(r"! 2 +event LEAVE +!LEAVE +refused", told)
    assert "Rule: row 3: SHUT !LEAVE → GONE" in told
    assert ">  OPEN  !CLOSE → SHUT  (step 1)" in told


def test_a_command_and_an_agent_at_a_channel_are_agents() -> None:
    assert_conforms(OWN, "interact", timeout=60, by="suite")
    assert_conforms(pxp.conformance.AgentEnd, "interact", by="suite")


@pytest.mark.parametrize(
    ("agent", "problem"),
    [
        (3, "an agent is a command, a URL, a function of a request, or a class, not 3"),
        (lambda: None, "it raised TypeError"),
        (lambda _request: object(), "which is no reply"),
        ("no-such-program-anywhere", "no-such-program-anywhere"),
    ],
)
def test_what_is_no_agent_is_told(agent: Any, problem: str) -> None:
    with pytest.raises((UsageError, AssertionError), match=problem):
        assert_conforms(agent, TABLE)


@pytest.mark.parametrize("by", ["suite", "hypothesis"])
def test_an_agent_that_does_not_answer_alike_is_unknown(by: Any) -> None:
    opened = iter(range(10**9))

    class Fickle(Door):
        def __init__(self) -> None:
            super().__init__()
            self.rows = ROWS if next(opened) % 2 else ROWS | {("OPEN", "OPEN"): "OPEN"}

    with pytest.raises(AssertionError, match="UNKNOWN whether it conforms to door"):
        assert_conforms(Fickle, TABLE, by=by, extra_states=1)


def test_a_recorded_trace_is_allowed_or_not() -> None:
    assert_allowed(["!CLOSE", "!OPEN", "!CLOSE", "!LEAVE"], TABLE, ended=True)
    assert_allowed(["+INIT", "-REFUTE", "+REVISE"], "interact")
    with pytest.raises(AssertionError) as raised:
        assert_allowed(["!CLOSE", "!CLOSE"], TABLE)
    assert str(raised.value).splitlines() == [
        "action 2, !CLOSE, is not allowed by door in SHUT; allowed there: !OPEN, !LEAVE",
        "door (> the way, * where it is now):",
        ">  OPEN  !CLOSE → SHUT  (step 1)",
        " * SHUT  !OPEN → OPEN",
        " * SHUT  !LEAVE → GONE",
    ]
    with pytest.raises(AssertionError, match=r"stops in SHUT, which is no end \(GONE\)"):
        assert_allowed(["!CLOSE"], TABLE, ended=True)
    with pytest.raises(UsageError, match="action 1 of the trace is 'CLOSE'"):
        assert_allowed(["CLOSE"], TABLE)
    with pytest.raises(TableError):
        assert_allowed([], "nowhere.toml")


def test_a_trace_of_a_system_is_allowed_or_not() -> None:
    system = pxp.System.load("pxp", channel="fifo:1")
    assert_allowed(["pxp1>pxp2 +INIT", "pxp1>pxp2 -INIT"], system)
    with pytest.raises(AssertionError, match=r"^action 2, pxp2>pxp1 -INIT, is not allowed by pxp1"):
        assert_allowed(["pxp1>pxp2 +INIT", "pxp2>pxp1 -INIT"], system)
    with pytest.raises(AssertionError, match="which is no end"):
        assert_allowed(["pxp1>pxp2 +INIT"], system, ended=True)
    with pytest.raises(UsageError, match="action 1 of the trace is 3"):
        assert_allowed([3], system)  # type: ignore[list-item]


def test_what_the_model_of_a_system_does_is_allowed_by_it() -> None:
    """Also where a guard that was settled ahead is not recorded."""
    for channel in ("sync", "fifo:1"):
        system = pxp.System.load("interact", channel=channel)
        model, rng = Composition(system), random.Random(1)
        for _ in range(20):
            [state], trace = [*model.initial()], list[str]()
            while len(trace) < 12 and (steps := [*model.successors(state)]):
                step = rng.choice(steps)
                state = step.target
                trace += [] if isinstance(step.action, Choose) else [str(step.action)]
            assert_allowed(trace, system)


def test_each_table_of_a_policy_allows_its_own_events() -> None:
    policy = "examples/gateway/confirm.toml"
    assert_allowed(["!APPROVE", "!CHANGE", "!APPROVE"], policy)
    with pytest.raises(AssertionError, match="action 3, !CHANGE, is not allowed by change in NEW"):
        assert_allowed(["!APPROVE", "!CHANGE", "!CHANGE"], policy)
    with pytest.raises(UsageError, match="'!PAY', is of no table; they have: !APPROVE, !CHANGE"):
        assert_allowed(["!PAY"], policy)


def test_a_machine_of_another_library_is_a_table() -> None:
    machine = Machine(
        states=["CART", "PAID"], transitions=[["pay", "CART", "PAID"]], initial="CART"
    )
    assert_allowed(["!pay"], machine)
    with pytest.raises(AssertionError, match="action 2, !pay, is not allowed"):
        assert_allowed(["!pay", "!pay"], machine)
    with pytest.raises(UsageError, match="a table is"):
        assert_allowed([], pxp.Pxp(2))
    with pytest.raises(UsageError, match="one table"):
        assert_conforms(lambda _: {}, pxp.System.load("pxp"))


PROJECT = """
[tool.pxp]
check = ["door.toml", {what = "pxp", formulas = ["EF ended", "F ended"]}, "mine.toml"]
"""

TESTS = """
import pytest
from hypothesis import Phase, settings
from transitions import Machine

@pytest.mark.conforms("door.toml")
def test_marked(door):
    return door

@pytest.fixture
def door():
    from agent import Door
    return Door

@pytest.mark.conforms("door.toml")
def test_wrong():
    from agent import Wrong
    return Wrong

@pytest.mark.conforms("door.toml")
def test_nothing():
    pass

@pytest.mark.conforms
def test_unsaid(door):
    return door

@pytest.mark.conforms("door.toml", states=1)
def test_slip(door):
    return door

def test_fixture(conforms, door):
    conforms(door, "door.toml", by="suite")

def test_of_another_kind():
    pass
"""


@pytest.mark.deep
def test_marker_fixture_and_checks_in_a_project(tmp_path: Path) -> None:
    (tmp_path / "door.toml").write_text(to_toml(TABLE), "utf-8")
    (tmp_path / "mine.toml").write_text(to_toml(TABLE), "utf-8")
    (tmp_path / "pyproject.toml").write_text(PROJECT, "utf-8")
    (tmp_path / "test_door.py").write_text(TESTS, "utf-8")
    source = Path(__file__).read_text("utf-8")
    agents = source[source.index("ROWS = {") : source.index("def function_of")]
    (tmp_path / "agent.py").write_text(f"from typing import Any\n{agents}", "utf-8")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN, "--strict-markers"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "5 failed, 5 passed" in done.stdout, done.stdout
    failed = set(re.findall(r"^FAILED (\S+(?: \S+)?) - ", done.stdout, re.MULTILINE))
    assert failed == {
        "pyproject.toml::check pxp",
        "test_door.py::test_wrong",
        "test_door.py::test_nothing",
        "test_door.py::test_unsaid",
        "test_door.py::test_slip",
    }
    assert done.stdout.count("conforms takes a table, and of by, extra_states, timeout") >= 2
    assert "another exception" not in done.stdout
    assert "! 1     event OPEN  refused   !OPEN" in done.stdout
    assert "returns the agent" in done.stdout
    assert "the last 2 for ever" in done.stdout
    assert "pytest_plugin.py" not in done.stdout  # no traceback into the plug-in


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[tool.pxp]\ncheck = 3", "is a list"),
        ("[tool.pxp]\ncheck = [3]", "check 1 of tool.pxp is a name, a file"),
        ("[tool.pxp]\ncheck = [{what = 1}]", "what is a text, or a list of texts, not 1"),
        ("[tool.pxp]\ncheck = [{what = 'x', formula = 'y'}]", "has no key 'formula'"),
        ("[tool.pxp", "cannot be read"),
    ],
)
def test_faults_of_a_project_are_told(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text, "utf-8")
    with pytest.raises(UsageError, match=re.escape(problem)):
        list(checks_in(tmp_path / "pyproject.toml"))


def test_a_project_names_no_code(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool.pxp]\ncheck = ['antigravity:machine']", "utf-8")
    with pytest.raises(UsageError, match="nothing that a file names is imported"):
        next(checks_in(path)).failure()
    assert "antigravity" not in sys.modules


def test_the_plug_in_loads_nothing_until_it_is_used() -> None:
    code = (
        f"import sys, pytest; before = set(sys.modules); import {PLUGIN}; "
        f"print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == {
        "pxp_fsm",
        "pxp_fsm.lazy",
        "pxp_fsm.plugins",
        "pxp_fsm.plugins.conformance",
        PLUGIN,
    }


def test_pytest_finds_it_where_the_package_is_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    [(name, where)] = project["entry-points"]["pytest11"].items()
    assert (name, where) == ("pxp", PLUGIN)
    loaded = importlib.metadata.EntryPoint(name, where, "pytest11").load()
    assert loaded is sys.modules[PLUGIN]
