"""Every check of any table is explained, with an example that fails as it says."""

from __future__ import annotations

import doctest
import json
import re
import shlex
from pathlib import Path

import pytest

from proofs.check import explain, known_properties
from proofs.claims.catalogue import assumptions_of
from proofs.refinement.relations import TITLES
from proofs.requests import NamedProperty
from proofs.subjects import NAMES, explain_check
from tests.command_line import pxp

EXAMPLE_HOLDS = {"machine-agrees-with-table"}
"""A failure would be a fault of the package."""


@pytest.mark.parametrize("name", NAMES)
def test_a_check_says_why_what_to_do_and_shows_an_example(name: str) -> None:
    text = explain_check(name)
    assert "\nWhy it matters: " in text
    assert "\nWhat to do: " in text
    [example] = [doctest.DocTestParser().get_doctest(text, {}, name, None, None)]
    assert ("\nHOLDS" if name in EXAMPLE_HOLDS else "\nFAILS") in text
    assert doctest.DocTestRunner().run(example).failed == 0


def test_what_fails_names_the_page_that_explains_it(tmp_path: Path) -> None:
    rows = '[{ from = "WAIT", to = "END", receive = "GO" }]'
    table = (
        f'format = 1\nname = "x"\ntitle = "x"\ninitial = "WAIT"\nfinal = ["END"]\nrows = {rows}\n'
    )
    (tmp_path / "x.toml").write_text(table + 'states = [{ name = "WAIT" }, { name = "END" }]\n')
    files = ("-o", "x.sarif", "-o", "x.xml")
    done = pxp("check", "x.toml", "--property", "no-deadlock", *files, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "Explained by: pxp help no-deadlock"
    assert done.stdout.splitlines()[-1] in (tmp_path / "x.xml").read_text()
    page = pxp("help", "no-deadlock", cwd=tmp_path).stdout
    own, *others = page.rstrip("\n").split("\n\nno-deadlock, of ")
    assert own == explain_check("no-deadlock")
    subjects = {known.subject for known in known_properties() if known.name == "no-deadlock"}
    assert {other.partition(":")[0] for other in others} == subjects - {"any table"}
    [rule] = json.loads((tmp_path / "x.sarif").read_text())["runs"][0]["tool"]["driver"]["rules"]
    assert rule["help"]["text"] == explain_check("no-deadlock")
    listed = pxp("list", "checks", cwd=tmp_path).stdout.splitlines()[1:]
    assert [line.split()[0] for line in listed] == [*NAMES]
    assert explain_check("strong-once") == ""


def test_a_relation_is_explained_by_its_name(tmp_path: Path) -> None:
    for name, says in TITLES.items():
        shown = pxp("help", name, cwd=tmp_path).stdout
        assert shown.startswith(f"{name}, of X and Y: {says}.\n")
        assert "pxp compare X Y" in shown


@pytest.mark.parametrize("known", known_properties(), ids=lambda one: f"{one.subject}.{one.name}")
def test_whatever_has_a_name_is_explained(known: NamedProperty) -> None:
    assert known.about.strip()
    assert known.about in explain(known.name)
    shown = re.findall(r"`pxp check (\S+) --property (.+?)(?: --relations (.+?))?`", known.about)
    for subject, name, relations in shown:
        assert subject in (known.subject, known.subject.partition("(")[0])
        assert shlex.split(name)[0] in (known.name, f"{known.subject}.{known.name}")
        assert not relations or assumptions_of(shlex.split(relations)[0]) is not None
