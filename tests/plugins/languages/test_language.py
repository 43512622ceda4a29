"""`pxp language`: counts, comparisons, recordings and pictures of tag sequences."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from backends.databases import SqlBlackboard
from pxp_fsm.cli.main import commands
from tests.analysis.published_sessions import stored

SEQUENCES = [
    ("INIT", "RATIFY", "RATIFY"),
    ("INIT", "REFUTE", "REFUTE", "RATIFY", "RATIFY"),
    ("INIT", "REFUTE", "REVISE", "REJECT"),
    ("INIT", "RATIFY", "REFUTE", "REVISE", "REJECT"),
]
"""Recorded sessions: the first and third are possible for all judges, the last for noisy alone."""


def language(*arguments: str, code: int = 0) -> Result:
    done = CliRunner().invoke(commands, ["language", *arguments], prog_name="pxp")
    assert done.exit_code == code, done.output
    return done


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("recorded") / "lab.sqlite"
    with SqlBlackboard(str(path)) as board:
        stored(board, SEQUENCES)
    return str(path)


def test_counts_stand_side_by_side_for_the_three_named_relations() -> None:
    lines = language("interact(4,2)").output.splitlines()
    assert lines[0] == "(1) interact(n = 4, k = 2), equivalence"
    assert lines[4].split() == ["sequences", "8", "10", "36"]
    assert lines[-1].split() == ["of", "4", "messages", "6", "8", "32"]


@pytest.mark.deep
def test_json_holds_exact_numbers_as_text() -> None:
    found = json.loads(language("interact(100,3)", "--json").output)[-1]
    assert found["count"] == "30430279415683380213572994656898362447495163"
    assert found["states"] == 198
    assert sum(map(int, found["lengths"])) == int(found["count"])


@pytest.mark.deep
def test_one_is_compared_with_another_by_shortest_witnesses() -> None:
    told = language("interact/tolerance", "equivalence").output
    assert "The first and the second: includes it.\n" in told
    assert "the shortest (sent by the real machines):\n  m:INIT h:REFUTE m:REFUTE h:RATIFY" in told
    found = json.loads(language("pxp/equivalence", "pxp/tolerance", "--json").output)
    assert (found["verdict"], found["only_left"]["witness"]) == ("equal", None)
    both = language("interact/noisy", "pxp(2)/noisy").output
    assert "neither includes the other" in both
    cut = language("interact(3,1)/noisy", "interact(4,1)/noisy").output
    assert "Only in the first: 8; the shortest" in cut


def test_recorded_sessions_are_a_language_too(recorded: str) -> None:
    same, similar, noisy = (
        json.loads(language(recorded, f"interact/{name}", "--json").output)
        for name in ("equivalence", "tolerance", "noisy")
    )
    assert same["only_left"] == {
        "count": "2",
        "witness": ["m:INIT", "h:RATIFY", "m:REFUTE", "h:REVISE", "m:REJECT"],
        "replayed": False,
    }
    assert similar["only_left"]["count"] == "1"
    assert noisy["verdict"] == "included, and not equal"
    assert noisy["only_right"]["replayed"] is True
    listed = language(recorded, "--limit", "9", "--run", "drug-1").output.splitlines()
    assert [len(line.split()) for line in listed] == [3, 4, 5, 5]
    assert "no run 'x'" in language(recorded, "--run", "x", code=2).output


def test_a_file_of_the_published_code_is_a_recording_too(tmp_path: Path) -> None:
    file = tmp_path / "tags.txt"
    file.write_text(
        "sessionID-a, mol-C ::: tags-['Machine: init', 'Human: refute', 'Machine: refute', "
        "'Human: ratify', 'Machine: ratify']\n"
        "sessionID-b, mol-N ::: tags-['Machine: init', 'Human: ratify', 'Machine: ratify']\n",
        "utf-8",
    )
    (counts,) = json.loads(language(str(file), "--json").output)
    assert (counts["count"], counts["lengths"]) == ("2", ["0", "0", "0", "1", "0", "1"])
    left = language(str(file), "--minus", "published/tolerance", "--limit", "9").output
    assert left == "m:INIT h:REFUTE m:REFUTE h:RATIFY m:RATIFY\n"
    assert "includes it" in language("published/noisy", str(file)).output
    assert "has no runs" in language(str(file), "--run", "x", code=2).output


def test_the_published_code_is_a_protocol_to_compare_with() -> None:
    lines = language("published").output.splitlines()
    assert lines[0] == "(1) published code (5 rounds, k = 3), equivalence"
    assert lines[4].split() == ["sequences", "7,125", "7,125", "81,315"]
    told = language("published(2)/noisy", "interact(5,3)/noisy").output
    assert "The first and the second: equal." in told
    assert (
        "any number of rounds" in language("published(any)/tolerance", "interact", "--json").output
    )


def test_classes_and_other_languages_cut_one_down(recorded: str) -> None:
    once = language("interact(any,3)/tolerance", "--and", "strong:human", "--limit", "5").output
    assert once == "m:INIT h:RATIFY m:RATIFY\n"
    left = language(recorded, "--minus", "interact/tolerance", "--and", "two_way", "--limit", "5")
    assert left.output == ""
    only = language("interact/noisy", "--minus", "tolerance", "--limit", "1").output
    assert only == "m:INIT h:RATIFY m:REFUTE h:REJECT\n"


@pytest.mark.deep
def test_the_automaton_is_drawn(tmp_path: Path) -> None:
    file = tmp_path / "any.svg"
    language("interact(any,3)/tolerance", "-o", str(file))
    assert "infinitely many tag sequences" in file.read_text("utf-8")
    refused = language("interact(100,3)", "-o", str(file), code=2)
    assert "cannot be read" in refused.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nosuch.sqlite",), "there is no database nosuch.sqlite"),
        (("interact(0,3)",), "n is a whole number from 1 to 1,000, or 'any'; it was '0'"),
        (("interact(٣,3)",), "n is a whole number"),
        (("pxp(4,2)",), "or pxp(k)"),
        (("interact", "--n", "4"), "--n is no option: write 'interact(N,K)'"),
        (("interact", "--compare", "pxp"), "--compare is no option: write the other language"),
        (("strong:x",), "there is no class 'strong:x'"),
        (("tolerance",), "names relations without a protocol; write interact/tolerance"),
        (("interact/like",), "there are no assumptions 'like'"),
        (("interact(4)",), "write interact(n,k)"),
        (("published(x)",), "the number of rounds is a whole number"),
        (("published/without shared",), "is known for equivalence, tolerance and noisy"),
        (("interact", "two_ways"), "there is no database two_ways"),
        (("intract",), "nor is a language called that; languages are: interact (sessions of"),
        (("interact", "pxp", "--limit", "3"), "`--minus pxp --limit 3` lists"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: tuple[str, ...], told: str) -> None:
    assert told in language(*arguments, code=2).output


def test_more_than_can_be_explored_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from proofs.languages import protocols

    monkeypatch.setattr(protocols, "LARGEST", 50)
    done = language("interact(23,5)/noisy", code=2)
    assert "more than 50 states; take a smaller n or k" in done.output
