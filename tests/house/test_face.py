"""The one door: its names, their examples, how light it is, and what a notebook shows."""

from __future__ import annotations

import ast
import asyncio
import doctest
import inspect
import re
import subprocess
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from house import Module, modules

import pxp_fsm as pxp
from pxp_fsm import registry
from pxp_fsm.sessions.session import Session
from tests.sampling import sampled

NAMES = [
    "Actor",
    "Agent",
    "Answer",
    "Automaton",
    "Derived",
    "Event",
    "Faults",
    "Instance",
    "Intent",
    "Interact",
    "Machine",
    "Message",
    "NoAnswer",
    "PXPError",
    "Plan",
    "Pxp",
    "Question",
    "Result",
    "Session",
    "System",
    "Turn",
    "build_automaton",
    "check",
    "classify",
    "compare",
    "draw",
    "exact",
    "load_automaton",
    "normalised_text",
    "open_blackboard",
    "prove",
    "respondent",
    "run",
]
ROOMS = [
    "audits",
    "databases",
    "diagrams",
    "experiments",
    "guards",
    "logic",
    "models",
    "proofs",
    "registry",
    "tasks",
]
ROOT = Path(__file__).parents[2]


def test_the_names_are_these() -> None:
    added = registry.contributions("names")
    assert sorted({*pxp.__all__} - {*added}) == sorted([*NAMES, *ROOMS])
    assert set(pxp.__all__) <= set(dir(pxp))
    with pytest.raises(AttributeError, match="no attribute 'Sesion'"):
        _ = pxp.Sesion


@pytest.mark.parametrize("name", ROOMS)
def test_every_room_has_its_names(name: str) -> None:
    check_room(name)


def check_room(name: str) -> None:
    """The room's names are there, are told of, and stand in the place of no module."""
    room = getattr(pxp, name)
    assert len(set(room.__all__)) == len(room.__all__) > 0
    for public in room.__all__:
        assert getattr(room, public) is not None
    assert set(room.__all__) <= set(dir(room))
    beside = Path(inspect.getfile(room)).parent.iterdir()
    modules = {path.stem for path in beside if path.is_dir() or path.suffix == ".py"}
    assert modules.isdisjoint(room.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Sesion'"):
        _ = room.Sesion


@pytest.mark.parametrize("name", [name for name in NAMES if name != "run"])
def test_every_name_has_an_example_that_works(name: str) -> None:
    check_example(name)


def check_example(name: str) -> None:
    """What the name says of itself has an example, and it runs as it stands."""
    value = getattr(pxp, name)
    doc = inspect.getdoc(value) or ""
    test = doctest.DocTestParser().get_doctest(doc, {}, name, None, None)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


def lazy_packages() -> list[str]:
    """The packages whose names are loaded when they are first used."""
    return [
        name
        for name, module in modules().items()
        if module.path.name == "__init__.py" and "attach(" in module.text
    ]


@pytest.mark.parametrize("name", sampled(lazy_packages(), 8))
def test_what_is_loaded_is_what_a_type_checker_reads(name: str) -> None:
    package = import_module(name)
    typed = typed_imports(modules()[name])
    assert set(package.__all__) == typed.keys()
    for public, (module, there) in typed.items():
        inner = f"{module}.{there}"
        is_module = inner in modules() or not there
        wanted = import_module(inner if there else module) if is_module else None
        assert getattr(package, public) is (wanted or getattr(import_module(module), there))


def typed_imports(package: Module) -> dict[str, tuple[str, str]]:
    """The names that a package gives to type checkers alone: module and name there, or "".

    These it imports under a name (`X as X`); others it needs for itself.
    """
    found: dict[str, tuple[str, str]] = {}
    for block in package.tree.body:
        for node in block.body if isinstance(block, ast.If) else ():
            if isinstance(node, ast.Import):
                found |= {name.asname: (name.name, "") for name in node.names if name.asname}
            elif isinstance(node, ast.ImportFrom):
                module = str(node.module)
                found |= {name.asname: (module, name.name) for name in node.names if name.asname}
    return found


def test_importing_it_loads_none_of_its_modules() -> None:
    code = "import sys, pxp_fsm; print(*(m for m in sys.modules if m.startswith('pxp_fsm')))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert sorted(done.stdout.split()) == [
        "pxp_fsm",
        "pxp_fsm.lazy",
    ]


def whale(_question: pxp.Question) -> pxp.Answer:
    return pxp.Answer("mammal", "It breathes air.")


def session(respondent: Any = whale, rules: Any = None, **parts: Any) -> Session:
    agent = pxp.Agent(whale, match=pxp.exact, agree=pxp.normalised_text)
    parts = {"match": pxp.exact, "agree": pxp.exact, **parts}
    members = {"m": agent, "h": pxp.Agent(respondent, **parts)}
    return pxp.Session(rules or pxp.Interact(), members, instance="What is a whale?")


def test_a_session_runs_with_and_without_a_loop() -> None:
    assert session().run_sync().ending == "ratified"

    async def cell() -> tuple[str | None, str | None]:
        return session().run_sync().ending, (await session().run()).ending

    assert asyncio.run(cell()) == ("ratified", "ratified")


async def slowly(question: pxp.Question) -> pxp.Answer:
    await asyncio.sleep(0)
    return whale(question)


async def alike(left: str, right: str) -> bool:
    return left[:2] == right[:2]


def test_plain_functions_sync_or_async_are_respondents_relations_and_guards() -> None:
    ran = session(slowly, match=alike, agree=lambda left, right: left == right).run_sync()
    assert [message.tag for message in ran.history] == ["INIT", "RATIFY", "RATIFY"]
    refuting = session(pxp.respondent(whale), pxp.Interact(n=2), guards=lambda situation: "REF")
    assert refuting.run_sync().history[-1].tag == "REFUTE"


def broken(*_: object) -> Any:
    raise ZeroDivisionError("mine")


@pytest.mark.parametrize(
    ("parts", "ending"),
    [
        ({"respondent": broken}, "no answer"),
        ({"agree": broken}, "broken"),
        ({"guards": broken}, "broken"),
        ({"rules": pxp.Pxp(term=broken)}, "broken"),
    ],
    ids=["respondent", "relation", "guards", "policy"],
)
def test_what_a_users_function_raises_comes_with_its_traceback(
    parts: dict[str, Any], ending: str
) -> None:
    other = parts.get("respondent", lambda _question: pxp.Answer("mammal", "It has lungs."))
    made = session(**{"respondent": other, **parts})
    with pytest.raises(ZeroDivisionError, match="mine") as raised:
        made.run_sync()
    assert traceback.extract_tb(raised.value.__traceback__)[-1].name == "broken"
    assert raised.value.__context__ is None
    assert made.ending is not None
    assert made.ending.value == ending
    assert "ZeroDivisionError: mine" in made.cause


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({"respondent": lambda _question: "mammal"}, "returned 'mammal': an answer is"),
        ({"agree": lambda left, right: "yes"}, "returned 'yes', not True or False"),
        ({"guards": lambda situation: None}, "returned None, not a guard's name"),
    ],
    ids=["respondent", "relation", "guards"],
)
def test_a_value_of_a_wrong_type_is_a_type_error_at_once(parts: dict[str, Any], error: str) -> None:
    other = parts.get("respondent", lambda _question: pxp.Answer("mammal", "It has lungs."))
    with pytest.raises(TypeError, match=error):
        session(**{"respondent": other, **parts}).run_sync()


class Nameless:
    """A relation without `holds`."""

    name = "nameless"


class Expert:
    name = "expert"

    async def answer(self, question: pxp.Question) -> pxp.Answer:
        return whale(question)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: session(match=Nameless()), r"is not a relation. A relation has a name"),
        (lambda: session(Expert), r"is not a respondent; write Expert\(\)"),
        (lambda: session(guards="REF"), "'REF' is not a source of guards"),
        (lambda: session(rules=pxp.load_automaton("pxp")), "follows Interact or Pxp"),
        (lambda: pxp.Session(pxp.Interact(), {}, instance="x"), "two agents by their names"),
        (
            lambda: pxp.Interact(table=pxp.load_automaton(ROOT / "examples" / "asking.toml")),
            "asking is a protocol of its own",
        ),
    ],
    ids=["relation", "class", "guards", "rules", "members", "table"],
)
def test_what_does_not_fit_is_refused_when_it_is_given(make: Any, error: str) -> None:
    with pytest.raises(pxp.PXPError, match=error):
        make()


def test_a_table_built_in_python_is_the_one_read_from_a_file() -> None:
    read = pxp.load_automaton(ROOT / "examples" / "asking.toml")
    rows = [
        {"from": t.source, "to": t.target, "send" if t.kind == "+" else "receive": t.label}
        | ({"guard": t.guard} if t.guard else {})
        for t in read.transitions
    ]
    built = pxp.build_automaton("asking", rows, final=["GONE"])
    assert built.fingerprint == read.fingerprint
    with pytest.raises(pxp.PXPError, match=r"asking, row 2 .*: unknown key sends"):
        pxp.build_automaton("asking", [rows[0], {**rows[1], "sends": "X"}], final=["GONE"])


def test_objects_show_themselves_in_a_notebook() -> None:
    interact, ran = pxp.load_automaton("interact"), session().run_sync()
    system = pxp.System.load(interact)
    for shown in (interact, system, ran):
        svg = str(shown._repr_svg_())  # type: ignore[union-attr] # what each of them has
        assert svg.lstrip().startswith("<?xml")
        assert "</svg>" in svg
    assert repr(interact) == "<Automaton interact: 4 states, 12 transitions>"
    assert repr(system) == "<System interact1, interact2 over sync>"
    assert repr(ran) == "<Session own/1: interact between m and h, 3 messages, ratified>"
    [result] = pxp.check(system, "AG !ended")
    assert result.trace is not None
    assert result.trace._repr_markdown_().startswith("1. `interact1>interact2 INIT`")
    assert result._repr_markdown_().startswith("**FAILS** `AG !ended`")
    assert repr(result.trace) == "<Trace of 2 steps: interact1>interact2 INIT, ! CLOSE>"
    assert repr(result).startswith("<Result interact1, interact2: AG !ended")


@pytest.mark.parametrize(
    "page", [*ROOT.glob("docs/*.md"), ROOT / "README.md"], ids=lambda p: p.name
)
def test_pages_come_in_by_the_door(page: Path) -> None:
    inner = re.compile(r"(?:>>> )?(?:from|import) (?:guards|backends|proofs|pxp_fsm\.)")
    lines = page.read_text("utf-8").splitlines()
    assert [line for line in lines if inner.match(line)] == []


@pytest.mark.parametrize("example", [*ROOT.glob("examples/**/*.py")], ids=lambda p: p.name)
def test_examples_come_in_by_the_door(example: Path) -> None:
    inner = re.compile(r"(?:from|import) (?:guards|backends|proofs)")
    assert inner.search(example.read_text("utf-8")) is None


def test_a_session_of_ones_own_is_stored_with_its_agents(tmp_path: Path) -> None:
    agent = pxp.Agent(whale, match=pxp.exact, agree=pxp.exact)
    members = {"m": agent, "h": agent}
    with pxp.open_blackboard(tmp_path / "mine.sqlite") as board:
        for name in ("lab/1", "lab/2"):
            pxp.Session(
                pxp.Interact(), members, instance="a whale", name=name, blackboard=board
            ).run_sync()
        again = pxp.Session(
            pxp.Interact(), members, instance="a whale", name="lab/1", blackboard=board
        )
        with pytest.raises(pxp.PXPError, match=r"holds a session 'lab/1' already.*name="):
            again.run_sync()
        stored = board.session("lab/2")
        assert pxp.classify(stored.history) == {"m": ("one_way", "one_way_any", "strong")} | {
            "h": ("one_way", "one_way_any", "strong")
        }
        assert (stored.record.run, stored.record.position) == ("lab", 2)
        assert dict(stored.record.agents)["m"] == agent.describe()
        assert pxp.draw(stored, tmp_path / "lab.mmd").read_text("utf-8").count("RATIFY") == 2


call: Any = pxp
"""The same door for calls that a type checker would refuse."""


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: call.Session(pxp.Interact(), {"m": whale, "h": whale}, instance="x"), "pxp.Agent"),
        (lambda: call.System("a", "b"), "System.load"),
        (lambda: call.check(["a"]), "System.load"),
        (lambda: call.check("pxp", pxp.load_automaton("pxp")), "System.load"),
        (lambda: pxp.check("pxp", "F ended", reduction="x"), "there is no reduction 'x'"),
        (lambda: call.draw(3, "x.svg"), "can be drawn, not"),
        (lambda: call.classify(session()), "session.history"),
        (lambda: call.run("animals", "x.sqlite"), "open_blackboard"),
    ],
)
def test_a_wrong_argument_is_told_with_what_to_give(wrong: Any, said: str) -> None:
    with pytest.raises(pxp.PXPError) as raised:
        list(wrong())
    assert said in str(raised.value)


def test_a_guard_that_is_none_is_a_users_fault() -> None:
    other = lambda _question: pxp.Answer("mammal", "It has lungs.")  # noqa: E731
    with pytest.raises(TypeError, match="'REFUTE'; there are: RAT, REF, REV, REJ"):
        session(respondent=other, guards=lambda _situation: "REFUTE").run_sync()


def test_an_endless_run_says_so_as_data_and_in_a_notebook() -> None:
    [result] = pxp.check("pxp", "F ended")
    assert result.cycle == 2
    assert "The last 2 steps go on for ever." in result._repr_markdown_()


def test_a_counterexample_is_drawn_from_its_result(tmp_path: Path) -> None:
    [endless] = pxp.check("pxp", "F ended")
    drawn = pxp.draw(endless, tmp_path / "endless.mmd").read_text("utf-8")
    assert drawn.count("RATIFY") == 2
    assert "the last 2 of 3 steps go on for ever" in drawn
    [session_trace] = pxp.check(pxp.Interact(n=5, k=2), "F ended.ratified")
    assert "REJECT" in pxp.draw(session_trace, tmp_path / "session.mmd").read_text("utf-8")
    [proved] = pxp.check("pxp", "AG EF ended")
    with pytest.raises(pxp.PXPError, match="has no trace to draw: HOLDS"):
        pxp.draw(proved, tmp_path / "none.svg")
