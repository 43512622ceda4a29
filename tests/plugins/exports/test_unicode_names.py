"""Names beyond ASCII: Unicode identifiers in normal form C, everywhere that tables go."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

import pxp_fsm as pxp
from proofs import recheck
from pxp_fsm.analysis.exports import formats, of_systems, of_tables
from pxp_fsm.automata.serialization import document, to_json, to_toml
from pxp_fsm.automata.tables import parse_automaton
from pxp_fsm.errors import TableError
from pxp_fsm.plugins.exports.cfsm import from_cfsm
from tests import command_line

CLIENT = """\
format = 1
name = "client"
title = "Client"
initial = "待機"
final = ["Ende"]
states = [{ name = "待機" }, { name = "Prüfung" }, { name = "Ende" }]
rows = [
  { from = "待機", to = "Prüfung", send = "größer", partner = "сервер" },
  { from = "Prüfung", to = "Ende", receive = "да", partner = "сервер" },
]
"""
SERVER = """\
format = 1
name = "server"
title = "Server"
initial = "ά"
final = ["ω"]
states = [{ name = "ά" }, { name = "β" }, { name = "ω" }]
rows = [
  { from = "ά", to = "β", receive = "größer", partner = "client" },
  { from = "β", to = "ω", send = "да", partner = "client" },
]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "client.toml").write_text(unicodedata.normalize("NFC", CLIENT), "utf-8")
    (tmp_path / "server.toml").write_text(unicodedata.normalize("NFC", SERVER), "utf-8")
    return tmp_path


def test_such_tables_are_checked_and_certified(folder: Path) -> None:
    files = ("client.toml", "сервер=server.toml")
    done = command_line.pxp("check", *files, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    formula = 'G ("client@Prüfung" -> F "сервер@ω")'
    done = command_line.pxp("check", *files, "--formula", formula, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    system = pxp.System.load(
        folder / "client.toml", f"сервер={folder / 'server.toml'}", channel="fifo:1"
    )
    formula = 'G ("сервер@ω" -> "client@Prüfung" | client@Ende)'
    results = pxp.check(system, formula)
    certificate = pxp.proofs.certify_system(system, results)
    tables = [document(one.automaton) for one in system.members]
    lines = recheck.check_system(certificate.document, *tables)
    assert all(fine for fine, _ in lines)


@pytest.mark.parametrize("form", sorted({*of_tables(), *of_systems()}))
def test_such_tables_are_exported(folder: Path, form: str) -> None:
    export = formats()[form]
    files = ("client.toml", "сервер=server.toml") if export.system else ("client.toml",)
    target = f"out{export.ending}"
    done = command_line.pxp("export", *files, "-o", target, "--format", form, cwd=folder)
    assert done.returncode == 0, done.stderr
    text = (folder / target).read_text("utf-8")
    if form in ("promela", "prism", "smv", "tla"):
        code = re.sub(r"/\*.*?\*/|(//|--|\\\*)[^\n]*", "", text, flags=re.DOTALL)
        assert code.isascii()


def test_such_tables_are_written_and_read_back(folder: Path) -> None:
    table = pxp.load_automaton(folder / "client.toml")
    assert parse_automaton(to_toml(table)) == table
    assert parse_automaton(to_json(table), "x.json") == table
    assert pxp.exports.from_scxml(pxp.exports.to_scxml(table)) == table


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("Prüfung", unicodedata.normalize("NFD", "Prüfung"), 6, "normal form C; write Prüfung"),
        ("größer", "groß→", 8, "'groß→' is not a valid name"),
        ("待機", "²待機", 6, "is not a valid name"),
        ("待機", "１待機", 6, "is not a valid name"),
    ],
)
def test_what_is_no_identifier_is_refused_with_its_line(
    old: str, new: str, line: int, said: str
) -> None:
    text = unicodedata.normalize("NFC", CLIENT).replace(old, new)
    with pytest.raises(TableError) as raised:
        parse_automaton(text, "client.toml")
    assert raised.value.problems[0].startswith(f"client.toml, line {line}: ")
    assert said in raised.value.problems[0]


def test_such_names_of_others_are_kept() -> None:
    text = "-- 甲 = 0\n.outputs\n.state graph\nä 1 ! größer ä\n.marking ä\n.end\n"
    text += "-- 乙 = 1\n.outputs\n.state graph\nö 0 ? größer ö\n.marking ö\n.end\n"
    system = from_cfsm(unicodedata.normalize("NFC", text))
    assert [member.name for member in system.members] == ["甲", "乙"]
    assert [row.action for row in system.members[0].automaton.transitions] == ["+größer to 乙"]
