"""The registry of plug-ins: ours are found at once, others are looked for once."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from pxp_fsm import registry
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.serialization import to_toml
from pxp_fsm.automata.system import System
from pxp_fsm.automata.tables import build_automaton, builtin, is_built_in, load_automaton
from pxp_fsm.errors import PXPWarning, UsageError
from pxp_fsm.protocol.messages import Answer, Question
from pxp_fsm.protocol.relations import NOISY, Outcome
from pxp_fsm.protocol.rules import Ending
from pxp_fsm.registry import Format, Plugin
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.policy import Free
from pxp_fsm.sessions.session import Session
from pxp_fsm.tasks.task import find_task, task_names

MINE = Plugin(
    name="mine",
    about="a plug-in of a test",
    relations={"loud": f"{__name__}:loud", "louder": f"{__name__}:Louder"},
    subjects=(f"{__name__}:joined",),
    tasks={"mine": "tests.tasks.animals:ANIMALS", "rad": "nowhere:NOTHING"},
    tables=dict.fromkeys(("my_pxp", "pxp_hang_up"), "pxp_fsm.automata:data/pxp.toml"),
    formats={
        "written": Format(".written", table=f"{__name__}:loud"),
        "other": Format(".other", read=f"{__name__}:loud"),
        "rows": Format(".rows", read=f"{__name__}:row_by_row"),
    },
)


def row_by_row(text: str, name: str) -> Automaton:
    """A table of a plug-in's format: on each line what is sent next."""
    rows = [
        {"from": f"S{number}", "to": f"S{number + 1}", "send": tag}
        for number, tag in enumerate(text.split())
    ]
    return build_automaton(Path(name).stem, rows, final=[f"S{len(rows)}"], peer="other")


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The groups that were looked for; one plug-in is installed, with a name of one of ours."""
    asked: list[str] = []

    real = metadata.entry_points

    def entry_points(*, group: str) -> Any:
        if group != registry.GROUP:  # what other libraries look for
            return real(group=group)
        asked.append(group)
        return (EntryPoint("mine", f"{__name__}:MINE", group),)

    monkeypatch.setattr(metadata, "entry_points", entry_points)
    monkeypatch.setattr(registry, "_announced", lambda _path: True)
    registry._installed.cache_clear()
    yield asked
    registry._installed.cache_clear()


@pytest.mark.parametrize(
    ("value", "problem"),
    [("nowhere:PLUGIN", "nowhere"), (f"{__name__}:MINE.name", "no pxp_fsm.registry.Plugin")],
)
def test_a_plug_in_that_cannot_be_loaded_is_left_out_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, value: str, problem: str
) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda group: [EntryPoint("bad", value, group)])
    monkeypatch.setattr(registry, "_announced", lambda _path: True)
    registry._installed.cache_clear()
    with pytest.warns(PXPWarning, match=problem):
        assert "bad" not in [plugin.name for plugin in registry.plugins()]
    registry._installed.cache_clear()


def test_every_name_that_a_plug_in_adds_is_there() -> None:
    for plugin in registry._builtin():
        assert plugin.about
        mappings = (
            plugin.names,
            plugin.tasks,
            plugin.relations,
            plugin.pictures,
            plugin.options,
            plugin.pages,
        )
        names = [where for mapping in mappings for where in mapping.values()]
        names += [*plugin.checks, *plugin.subjects, *plugin.recordings]
        for entry in (*plugin.commands.values(), *plugin.lists.values()):
            names += [entry.body, *([entry.options] if entry.options else [])]
        for form in plugin.formats.values():
            names += [where for where in (form.table, form.system, form.read) if where]
        for where in names:
            assert registry.load(where) is not None, where


def loud(left: str, right: str) -> bool:
    return left.upper() == right.upper()


class Louder:
    """A relation that is a class of its own."""

    name = "louder"
    assumptions = NOISY

    async def holds(self, left: str, right: str) -> Outcome:
        return Outcome.YES if left.upper() == right.upper() else Outcome.NO


class Twice:
    """A subject of a plug-in: a table that talks with itself."""

    def __init__(self, table: str) -> None:
        self.table = table


def joined(given: object) -> tuple[System, Free] | None:
    if not isinstance(given, Twice):
        return None
    system = System.load(f"left={given.table}", f"right={given.table}")
    return system, Free(system, seed=1)


def test_a_session_runs_the_subject_of_a_plug_in(scans: list[str]) -> None:
    members = dict.fromkeys(("left", "right"), lambda turn: (turn.tags or turn.guards)[0])
    subject: Any = Twice("examples/own_protocol/deal.toml")
    session = Session(subject, members).run_sync()
    assert (session.ending, session.length > 1) == (Ending.FINISHED, True)
    assert isinstance(session.policy, Free)
    assert session.policy.seed == 1
    own = Free(session.system, seed=5)
    assert Session(subject, members, policy=own).policy is own
    with pytest.raises(UsageError, match="a session follows Interact or Pxp"):
        Session("nothing", members)  # type: ignore[arg-type]


def test_a_table_of_a_plug_in_is_built_in(scans: list[str]) -> None:
    assert is_built_in("my_pxp")
    assert not is_built_in("your_pxp")
    assert load_automaton("my_pxp") == builtin("pxp")
    builtin.cache_clear()
    assert builtin("pxp_hang_up").name == "pxp_hang_up"  # no plug-in takes a name from ours


def test_a_file_of_a_format_that_a_plug_in_reads_is_a_table(
    scans: list[str], tmp_path: Path
) -> None:
    (tmp_path / "greeting.rows").write_text("HELLO BYE")
    found = load_automaton(tmp_path / "greeting.rows")
    assert found.name == "greeting"
    assert [row.label for row in found.transitions] == ["HELLO", "BYE"]
    for name in ("plain", "plain.toml", "plain.written", "plain.unknown"):
        (tmp_path / name).write_text(to_toml(found))
        assert load_automaton(tmp_path / name) == found


def test_a_path_never_makes_us_look_what_is_installed(scans: list[str], tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(to_toml(builtin("pxp")))
    for path in (tmp_path / "own.toml", str(tmp_path / "own.toml")):
        assert load_automaton(path) == builtin("pxp")
    assert scans == []
    assert not is_built_in("your_pxp")
    assert scans == [registry.GROUP]


def test_an_agent_names_its_relations(scans: list[str]) -> None:
    def whale(_question: Question) -> Answer:
        return Answer("mammal", "It breathes air.")

    agent = Agent(whale, match="loud", agree="normalised-text")
    assert (agent.match.name, agent.agree.name) == ("loud", "normalised text")
    assert isinstance(Agent(whale, match="louder", agree="loud").match, Louder)
    with pytest.raises(UsageError, match=r"there is no relation 'lowd'; there are: .*loud"):
        Agent(whale, match="lowd", agree="exact")


def test_plug_ins_are_looked_for_once_until_the_path_changes(
    scans: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        assert find_task("mine").name == "animals"
        assert "mine" in task_names()
    assert scans == [registry.GROUP]
    with pytest.raises(UsageError, match="mine"):
        find_task("min")
    assert scans == [registry.GROUP]
    monkeypatch.syspath_prepend("somewhere")
    find_task("mine")
    assert scans == [registry.GROUP] * 2


def test_a_built_in_plug_in_that_is_absent_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "BUILTIN", ("absent", "absent_too"))
    registry._builtin.cache_clear()
    assert registry._builtin() == ()
    registry._builtin.cache_clear()
