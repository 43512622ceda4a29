"""The attacks themselves run: a first round of each, and one that fails is told.

`python -m tests.attack 1000` makes many more rounds; what fails there is made again by its round.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.attack import __main__ as attack
from tests.attack.attacks import ATTACKS, SQLITE, Attack


def losing(seed: int, folder: Path, database: str) -> Counter[str]:
    """Fails in round 6."""
    assert database.startswith(f"sqlite:///{folder}")
    if seed == 6:
        raise AssertionError("a message is lost")
    return Counter({"struck": seed})


def test_an_attack_that_fails_is_told_with_how_to_make_it_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(ATTACKS, "losing", Attack(losing))
    assert attack.main(["5:8", "losing"]) == 1
    said = capsys.readouterr()
    assert "3 rounds on sqlite; struck 12 times:" in said.out
    assert "make it again with python -m tests.attack 6:7 losing --on sqlite" in said.out
    assert "a message is lost" in said.err
    assert attack.main(["5:6", "losing", "--on", SQLITE]) == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["0"], "rounds are N"),
        (["3:2"], "rounds are N"),
        (["1", "dors"], "there is no attack 'dors'; there are: labs, runs"),
        (["1", "labs", "--write"], "all attacks on both databases"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        attack.main(arguments)
    assert says in capsys.readouterr().err


@pytest.mark.deep
@pytest.mark.parametrize("name", ATTACKS)
def test_a_first_round_of_each_attack(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert attack.main(["1", name, "--on", SQLITE]) == 0, capsys.readouterr()
    assert "FAILED" not in capsys.readouterr().out
