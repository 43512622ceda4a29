"""`pxp export` and `pxp import` in the formats of other checkers, as people use them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pxp_fsm.automata.tables import builtin, load_automaton
from tests.cli.test_exchange_commands import CLIENT, SERVER, pxp

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("client.toml").write_text(CLIENT, "utf-8")
    Path("server.toml").write_text(SERVER, "utf-8")


def test_a_system_is_exported_with_its_channel_members_and_formulas() -> None:
    done = pxp(
        *("export", "a=client.toml", "b=server.toml", "-o", "talk.prism"),
        *("--channel", "fifo:2", "--formula", "AG EF ended", "--formula", "F b@GONE"),
    )
    assert done.output == "Exported: talk.prism\nExported: talk.props\n"
    assert "channel fifo:2" in Path("talk.prism").read_text("utf-8")
    told = Path("talk.props").read_text("utf-8")
    assert "// AG EF ended" in told
    assert 'P>=1 [ F ("is_b_GONE") ]' in told


def test_a_system_is_exported_as_its_rules_decide() -> None:
    for path in (ROOT / "examples" / "with_rules").glob("polls*.toml"):
        Path(path.name).write_text(path.read_text("utf-8"), "utf-8")
    done = pxp("export", "polls.toml", "-o", "free.pml")
    assert "Warning: rules left out: polls_client: most has no value\n" in done.output
    with Path("polls.toml").open("a", encoding="utf-8") as file:
        file.write("\n[parameters]\nmost = 2\n")
    assert pxp("export", "polls.toml", "-o", "ruled.pml").output == "Exported: ruled.pml\n"
    free, ruled = (Path(name).read_text("utf-8") for name in ("free.pml", "ruled.pml"))
    assert "polls_2" not in free
    assert "client_HOLDING_polls_2" in ruled
    assert "client_HOLDING_polls_3" not in ruled


def test_a_hostile_scxml_file_is_refused_with_its_line_and_nothing_is_written() -> None:
    bomb = "<!DOCTYPE s [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]>\n<scxml>&b;</scxml>"
    Path("bomb.scxml").write_text(bomb, "utf-8")
    done = pxp("import", "bomb.scxml")
    assert done.exit_code == 2
    assert "bomb.scxml, line 1, column 13: a document type" in done.output
    Path("large.scxml").write_text("<scxml>" + " " * 1_000_001, "utf-8")
    done = pxp("import", "large.scxml")
    assert (done.exit_code, "a table has at most 1,000,000" in done.output) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("export", "pxp", "interact", "--format", "toml"), "toml holds one table; promela"),
        (
            ("export", "pxp", "--format", "toml", "--channel", "fifo:1"),
            "require a format of promela, prism",
        ),
        (
            ("export", "pxp", "--format", "toml", "--formula", "F ended"),
            "require a format of promela, prism",
        ),
        (
            ("export", "pxp", "--format", "smv", "--database", "x"),
            "--database has no effect: pxp is a table",
        ),
        (("export", "pxp", "-o", "x.tla", "--format", "smv"), "x.tla must end in .smv"),
        (("export", "pxp", "-o", "a-b.tla"), "a TLA+ module is called as its file"),
        (("export", "pxp", "-o", "Integers.tla"), "cannot be one's own"),
        (("export", "pxp", "-o", "no/x.smv"), "there is no folder no"),
        (("export", "pxp", "-o", "x.pml", "--formula", "EF ended"), "it speaks of some run"),
        (("export", "pxp", "-o", "x.pml", "--channel", "fifo"), "needs a capacity"),
        (("export", "none.toml", "-o", "x.smv"), "there is no file none.toml"),
        (("export", "client.toml", "-o", "x.smv"), "names server as its peer"),
        (("import", "client.toml", "-o", "x.mmd"), "x.mmd must end in .toml or .json or .scxml"),
        (
            ("export", "pxp", "-o", "x.smv", "--formula", "F pxp1.RATFY"),
            "there is no 'pxp1.RATFY'; did you mean pxp1.RATIFY",
        ),
    ],
)
def test_what_cannot_be_done_is_said(arguments: tuple[str, ...], said: str) -> None:
    done = pxp(*arguments)
    assert (done.exit_code, said in done.output) == (2, True), done.output
    assert {path.name for path in Path().iterdir()} == {"client.toml", "server.toml"}


@pytest.mark.parametrize("ending", [".scxml"])
def test_what_is_exported_is_imported_as_the_same_table(ending: str) -> None:
    assert pxp("export", "interact", "-o", f"mine{ending}").exit_code == 0
    assert pxp("check", f"mine{ending}").exit_code in (0, 1)  # read as it is, too
    done = pxp("import", f"mine{ending}", "-o", "back.toml")
    assert done.output == (
        "Imported as back.toml: INTERACT, 4 states, 12 transitions, fingerprint 17fdc5d6f5be\n"
    )
    assert load_automaton("back.toml") == load_automaton(f"mine{ending}") == builtin("interact")
