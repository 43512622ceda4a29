"""Tables edited as text: faults with their lines, what is written, and what is refused."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pxp_fsm.automata.serialization import to_toml
from pxp_fsm.automata.tables import load_automaton
from pxp_fsm.errors import PXPError, UsageError
from pxp_fsm.web.editing import MOST_STATES, Editor

TABLE = to_toml(load_automaton("pxp"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "my.toml"
    found.write_text(TABLE, "utf-8", newline="")
    return found


def replaced(old: str, new: str) -> str:
    assert old in TABLE
    return TABLE.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (replaced('initial = "IDLE"', 'initial = "NOWHERE"'), "NOWHERE"),
        (replaced('send = "INIT"', 'sent = "INIT"'), 'sent = "INIT"'),
        (TABLE + "\n[[broken\n", "[[broken"),
        (replaced('name = "pxp"', 'name = "pxp"\nextra = 1'), "extra = 1"),
    ],
)
def test_a_fault_names_its_line(path: Path, text: str, part: str) -> None:
    editor = Editor((str(path),), None)
    before = editor.subject
    (fault, *_) = editor.edit(0, text)
    assert part in text.splitlines()[fault.line - 1]
    assert str(path) not in fault.text
    assert editor.subject == before
    assert editor.edit(0, TABLE) == ()


def test_a_fault_between_tables_names_the_line_of_the_edited_one(
    path: Path, tmp_path: Path
) -> None:
    partner = tmp_path / "partner.toml"
    partner.write_text(TABLE, "utf-8")
    editor = Editor((f"a={path}", f"b={partner}"), "fifo:1")
    text = TABLE.replace('send = "INIT"', 'send = "INIT", partner = "HELLO"')
    faults = editor.edit(0, text)
    assert faults
    assert all("HELLO" in text.splitlines()[one.line - 1] for one in faults if one.line)
    assert any(one.line for one in faults)
    assert [table.members for table in editor.tables] == [("a",), ("b",)]
    assert editor.edit(0, TABLE.replace('"INIT"', '"HELLO"')) == ()
    (finding, *_) = editor.subject.system().findings
    assert "sends HELLO, which pxp receives in no state" in finding.message


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_is_saved_is_what_was_typed(path: Path, start: bytes, newline: str) -> None:
    path.write_bytes(start + TABLE.replace("\n", newline).encode())
    editor = Editor((str(path),), None)
    typed = TABLE + "# é, by hand\n"
    assert editor.edit(0, typed) == ()
    assert not editor.tables[0].saved
    assert path.read_bytes() == start + TABLE.replace("\n", newline).encode()
    editor.save(0)
    assert editor.tables[0].saved
    assert path.read_bytes() == start + typed.replace("\n", newline).encode()
    assert editor.edit(0, TABLE) == ()
    editor.save(0)
    assert path.read_bytes() == start + TABLE.replace("\n", newline).encode()


def test_a_file_that_somebody_else_changed_is_not_written(path: Path) -> None:
    editor = Editor((str(path),), None)
    editor.edit(0, TABLE + "# mine\n")
    path.write_text(TABLE + "# theirs\n", "utf-8")
    with pytest.raises(UsageError, match="changed by another program"):
        editor.save(0)
    path.unlink()
    with pytest.raises(UsageError, match="cannot be written"):
        editor.save(0)
    assert not path.exists()


def test_a_text_with_a_fault_is_not_saved(path: Path) -> None:
    editor = Editor((str(path),), None)
    assert editor.edit(0, "")
    editor.save(0)
    assert path.read_text("utf-8") == TABLE


def test_what_is_too_large_to_be_drawn_and_what_is_no_table_are_refused(path: Path) -> None:
    many = [f"S{number}" for number in range(MOST_STATES + 1)]
    listed = ", ".join(f'{{ name = "{name}" }}' for name in many)
    rows = ", ".join(f'{{ from = "{a}", to = "{b}", event = "E" }}' for a, b in pairwise(many))
    text = (
        f'format = 1\nname = "x"\ntitle = "x"\ninitial = "S0"\nfinal = ["{many[-1]}"]\n'
        f"states = [{listed}]\nrows = [{rows}]\n"
    )
    editor = Editor((str(path),), None)
    (fault,) = editor.edit(0, text)
    assert "too many to be drawn" in fault.text
    with pytest.raises(UsageError, match="there is no table 1"):
        editor.edit(1, TABLE)
    with pytest.raises(UsageError, match="no table of this system is in a file"):
        Editor(("pxp", "pxp"), None)


@settings(max_examples=20, deadline=None)
@given(
    at=st.integers(0, len(TABLE)),
    cut=st.integers(0, 40),
    put=st.text("[]{}=\"'\n#.,\\x0 aZ\u202e", max_size=8),
)
def test_any_edit_is_taken_or_has_a_reason(
    tmp_path_factory: pytest.TempPathFactory, at: int, cut: int, put: str
) -> None:
    path = tmp_path_factory.mktemp("edit") / "my.toml"
    path.write_text(TABLE, "utf-8")
    editor = Editor((str(path),), None)
    text = TABLE[:at] + put + TABLE[at + cut :]
    try:
        faults = editor.edit(0, text)
    except PXPError as error:  # nothing else is raised
        pytest.fail(str(error))
    lines = text.count("\n") + 1
    assert all(one.text and 0 <= one.line <= lines for one in faults)
    assert faults or editor.tables[0].text == text
    assert path.read_text("utf-8") == TABLE


def test_an_edited_table_keeps_the_partners_that_the_system_file_gives(tmp_path: Path) -> None:
    rows = {
        "caller": 'rows = [{ from = "A", to = "B", send = "CALL", partner = "server" }]',
        "callee": 'rows = [{ from = "A", to = "B", receive = "CALL", partner = "client" }]',
    }
    head = 'format = 1\nname = "NAME"\ntitle = "NAME"\ninitial = "A"\nfinal = ["B"]\n'
    head += 'states = [{ name = "A" }, { name = "B" }]\n'
    for name, row in rows.items():
        (tmp_path / f"{name}.toml").write_text(f"{head.replace('NAME', name)}{row}\n", "utf-8")
    system = tmp_path / "system.toml"
    members = [("agent", "caller", "server", "tool"), ("tool", "callee", "client", "agent")]
    lines = [
        f'[[members]]\nname = "{name}"\ntable = "{table}.toml"\npartners.{old} = "{new}"\n'
        for name, table, old, new in members
    ]
    system.write_text('format = 1\nname = "system"\n' + "".join(lines), "utf-8")
    editor = Editor((str(system),), None)
    text = editor.tables[0].text
    assert editor.edit(0, text + "# a comment\n") == ()
    [fault] = editor.edit(0, text.replace('"server"', '"sever"'))
    assert "no row of caller names the partner server; its rows name sever" in fault.text
