"""System files: what they say is what is built, and each fault has its file, line and remedy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import pxp_fsm as pxp
from pxp_fsm.automata.system_files import (
    is_system_file,
    read_system,
    respondent_problem,
)
from pxp_fsm.errors import TableError

CLIENT = """\
format = 1
name = "client"
title = "Client"
initial = "IDLE"
final = ["DONE"]
states = [{ name = "IDLE" }, { name = "WAIT" }, { name = "DONE" }]
rows = [
  { from = "IDLE", to = "WAIT", send = "ASK", partner = "server" },
  { from = "WAIT", to = "DONE", receive = "REPLY", partner = "server" },
]
"""
SERVER = """\
format = 1
name = "server"
title = "Server"
initial = "IDLE"
final = ["DONE"]
states = [{ name = "IDLE" }, { name = "BUSY" }, { name = "DONE" }]
rows = [
  { from = "IDLE", to = "BUSY", receive = "ASK", partner = "client" },
  { from = "BUSY", to = "DONE", send = "REPLY", partner = "client" },
]
[payloads.REPLY]
type = "integer"
examples = [3]
"""
SYSTEM = """\
format = 1
name = "asking"
channel = "fifo:1"

[[members]]
name = "client"
table = "client.toml"
respondent = "random"

[[members]]
name = "server"
table = "server.toml"
respondent = "random"

[[properties]]
formula = "F ended"
"""


def written(folder: Path, system: str = SYSTEM, client: str = CLIENT) -> Path:
    """A folder with the files; the path of the system's."""
    for name, text in (("client", client), ("server", SERVER), ("asking", system)):
        (folder / f"{name}.toml").write_text(text, "utf-8")
    return folder / "asking.toml"


def faults(path: Path) -> str:
    with pytest.raises(TableError) as caught:
        pxp.System.load(path)
    return str(caught.value).replace(f"{path.parent}/", "")


def test_the_system_in_a_file_is_that_of_its_tables_and_channel(tmp_path: Path) -> None:
    path = written(tmp_path)
    tables = [tmp_path / "client.toml", tmp_path / "server.toml"]
    same = pxp.System.load(*tables, channel="fifo:1")
    assert pxp.System.load(path) == same
    assert pxp.System.load(path).fingerprint == same.fingerprint
    assert pxp.System.load(path, channel="lossy:2") == same.over("lossy:2")
    assert is_system_file(path) and not any(map(is_system_file, tables))
    assert [one.formula for one in read_system(path).properties] == ["F ended"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'name = "server"',
            'name = "client"',
            "asking.toml, line 11: 2 members are called client; give each its own name",
        ),
        (
            'name = "server"',
            'name = "worker"',
            "client.toml, line 8: row 1 of client (IDLE +ASK to server): there is no member server",
        ),
        (
            'table = "server.toml"',
            'table = "sever.toml"',
            "asking.toml, line 12: sever.toml: cannot be read",
        ),
        (
            'respondent = "random"',
            'respondent = "mine:function"',
            "members[0].respondent: 'mine:function' looks like a Python function",
        ),
        (
            'respondent = "random"',
            "respondent = 3",
            "asking.toml, line 8: members[0].respondent: 3 is no respondent; write a model",
        ),
        (
            'respondent = "random"',
            'respondent = "someone"',
            "asking.toml, line 8: members[0].respondent: 'someone' is no respondent; write a model",
        ),
        ('channel = "fifo:1"', 'channel = "fofo:1"', "asking.toml, line 3: "),
        ("[[properties]]", "[[property]]", "unknown key property; known here: format, name"),
        (
            'formula = "F ended"',
            'expected = "FAILS"',
            "write exactly one of formula, check, never and step",
        ),
        ("[[properties]]", '[events]\nX = "soon"\n[[properties]]', "write after:SECONDS or chance"),
        ("[[properties]]", '[events]\nX = "chance:2"\n[[properties]]', "2 is no probability"),
    ],
)
def test_a_fault_is_told_with_its_line_and_a_remedy(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert said in faults(written(tmp_path, SYSTEM.replace(old, new, 1)))


def test_a_table_may_call_its_partners_as_its_own_protocol_does(tmp_path: Path) -> None:
    renamed = (
        SYSTEM.replace('name = "server"', 'name = "tool"')
        .replace('name = "client"', 'name = "agent"')
        .replace('table = "client.toml"', 'table = "client.toml"\npartners = { server = "tool" }')
        .replace('table = "server.toml"', 'table = "server.toml"\npartners.client = "agent"')
    )
    system = pxp.System.load(written(tmp_path, renamed))
    assert system.links == ((0, 1), (1, 0))
    plain = pxp.System.load(written(tmp_path))
    labels = [str(step.action) for step in _longest(plain)]
    new = [str(step.action) for step in _longest(system)]
    names = {"client": "agent", "server": "tool"}
    assert new == [re.sub("client|server", lambda one: names[one[0]], label) for label in labels]


def _longest(system: pxp.System) -> tuple[Any, ...]:
    [result] = pxp.check(system, "G !ended")
    assert result.trace is not None
    return tuple(result.trace.steps)


@pytest.mark.parametrize(
    ("partners", "said"),
    [
        ("{ sever = 'server' }", "no row of client names the partner sever; its rows name server"),
        ("{ server = 'a b' }", "'a b' is not a valid name"),
        ("{ server = 'hub' }", "there is no member hub"),
    ],
)
def test_a_partner_that_is_none_is_told(tmp_path: Path, partners: str, said: str) -> None:
    line = f'table = "client.toml"\npartners = {partners}'
    assert said in faults(written(tmp_path, SYSTEM.replace('table = "client.toml"', line)))


def test_two_partners_are_two_members() -> None:
    rows = [
        {"from": "A", "to": "B", "send": "X", "partner": "left"},
        {"from": "B", "to": "C", "send": "X", "partner": "right"},
    ]
    table = pxp.build_automaton("hub", rows, final=["C"])
    swapped = table.with_partners({"left": "right", "right": "left"})
    assert [row.partner for row in swapped.transitions] == ["right", "left"]
    assert swapped.with_partners({"left": "right", "right": "left"}) == table
    with pytest.raises(TableError, match="two partners of hub cannot both be right"):
        table.with_partners({"left": "right"})
    assert table.with_partners({}) == table
    with pytest.raises(TableError, match=r"names the partner hub; its rows name none$"):
        pxp.load_automaton("pxp").with_partners({"hub": "left"})


def test_a_table_in_the_place_of_a_system_is_told_to_be_one(tmp_path: Path) -> None:
    written(tmp_path)
    with pytest.raises(pxp.PXPError, match=r"client\.toml, line \d+: this is a table of one "):
        read_system(tmp_path / "client.toml")


def test_a_tag_that_nobody_receives_is_told_with_the_line_of_its_row(tmp_path: Path) -> None:
    path = written(tmp_path, client=CLIENT.replace('send = "ASK"', 'send = "BEG"'))
    (finding,) = pxp.System.load(path).findings
    said = str(finding).rpartition("/")[2]
    assert said.startswith("client.toml, line 8: client sends BEG to server, which server")


def test_a_fault_of_a_members_table_is_told_with_the_tables_own_line(tmp_path: Path) -> None:
    path = written(tmp_path, client=CLIENT.replace('to = "WAIT"', 'to = "WIAT"'))
    assert faults(path).startswith("client.toml, line 8: ")


def test_an_example_that_breaks_its_schema_is_told_with_the_tables_line(tmp_path: Path) -> None:
    path = written(tmp_path)
    table = tmp_path / "server.toml"
    table.write_text(SERVER.replace("[3]", '[3, "x"]'), "utf-8")
    said = "server.toml, line 11: the payload of REPLY has an example that does not fit: $: 'x' is"
    assert faults(path).startswith(said)


@pytest.mark.parametrize(
    "name", ["random", "terminal", "python", "script:a.toml", "program:./x", "openai:gpt@http://h"]
)
def test_respondents_have_these_names(name: str) -> None:
    assert respondent_problem(name) is None


@pytest.mark.parametrize("name", ["", "script:", "os.system", "os:system('x')", "agents.py", "me"])
def test_no_other_name_is_one(name: str) -> None:
    assert respondent_problem(name)


def test_a_system_in_another_format_is_taken_over_the_channel_that_is_asked_for(
    tmp_path: Path,
) -> None:
    pytest.importorskip("pxp_fsm.plugins.exports")
    file = tmp_path / "two.cfsm"
    text = ".outputs a\n.state graph\nq0 1 ! x q1\n.marking q0\n.end\n\n"
    text += ".outputs b\n.state graph\nq0 0 ? x q1\n.marking q0\n.end\n"
    file.write_text(text, "utf-8")
    plain = pxp.System.load(file)
    asked = pxp.System.load(file, channel="fifo:3")
    assert asked.channel.name == "fifo:3" != plain.channel.name
    assert asked.members == plain.members
