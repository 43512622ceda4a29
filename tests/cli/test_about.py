"""`pxp list`, `pxp help`, `pxp doctor`: what there is, with meanings."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from backends.databases import SqlBlackboard
from backends.models.catalogue import catalogue
from proofs.claims.catalogue import CLAIMS, NAMED
from proofs.core.results import Result, Status, Verdict, table
from pxp_fsm.cli import doctor
from pxp_fsm.cli.help import pages
from pxp_fsm.cli.main import commands
from pxp_fsm.cli.options.about import KINDS
from pxp_fsm.errors import unknown_name
from pxp_fsm.protocol.relations import Assumption
from tests.command_line import pxp

ROOT = Path(__file__).parents[2]


def listed(kind: str, folder: Path) -> list[dict[str, Any]]:
    done = pxp("list", kind, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("runs", "costs")])
def test_every_name_has_a_meaning(kind: str, tmp_path: Path) -> None:
    rows = listed(kind, tmp_path)
    assert len(rows) > (kind != "tasks")  # the core has but one: that of these tests
    assert all(row["name"] and any(list(row.values())[1:]) for row in rows)
    assert len({(row["name"], row.get("of")) for row in rows}) == len(rows)
    shown = pxp("list", kind, cwd=tmp_path).stdout.splitlines()
    assert len(shown) == len(rows) + 1
    place = shown[0].index(list(rows[0])[1])
    assert all(line[place - 2 : place] in ("  ", "") for line in shown)


def test_without_an_argument_it_is_listed_what_can_be(tmp_path: Path) -> None:
    shown = pxp("list", cwd=tmp_path)
    assert shown.returncode == 0
    assert [line.split()[0] for line in shown.stdout.splitlines()] == ["name", *KINDS]
    for line in shown.stdout.splitlines()[1:]:
        asked = line.rpartition(": pxp ")[2].split()[0]
        assert pxp(asked, "--help", cwd=tmp_path).returncode == 0


def test_claims_are_listed_with_the_table_of_which_each_says_so(tmp_path: Path) -> None:
    found = {(row["name"], row["of"]): row["meaning"] for row in listed("claims", tmp_path)}
    assert found["terminates", "interact"] == "every session ends within n messages"
    assert found["terminates", "pxp"] == "every session ends"
    assert ("no-deadlock", "any table") not in found  # a check, which pxp list checks shows


def test_the_runs_of_a_database_are_listed(tmp_path: Path) -> None:
    with SqlBlackboard(str(tmp_path / "b.sqlite")):
        pass
    done = pxp("list", "runs", "--database", "b.sqlite", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "There are no runs.\n")
    assert pxp("list", "runs", cwd=tmp_path).stderr.startswith("Error: there is no database runs/")


def test_tables_and_systems_of_the_folder_are_listed_and_other_files_are_not(
    tmp_path: Path,
) -> None:
    for name in ("own_protocol/buyer.toml", "own_protocol/seller.toml", "controlled.toml"):
        source = ROOT / "examples" / name
        (tmp_path / source.name).write_text(source.read_text("utf-8"), "utf-8")
    (tmp_path / "pair.toml").write_text(
        'format = 1\nname = "pair"\n'
        'members = [{ name = "b", table = "buyer.toml" }, { name = "s", table = "seller.toml" }]\n'
    )
    (tmp_path / "broken.toml").write_bytes(b"\xff\x00[[")
    found = {row["name"]: row["kind"] for row in listed("systems", tmp_path)}
    assert {name: kind for name, kind in found.items() if name.endswith(".toml")} == {
        "buyer.toml": "table",
        "seller.toml": "table",
        "pair.toml": "system file",
    }


def test_every_claim_is_listed_under_the_name_that_check_takes(tmp_path: Path) -> None:
    assert {claim.name for claim in CLAIMS} <= {row["name"] for row in listed("claims", tmp_path)}


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("check --property strong-onse", "did you mean strong-once (the responder h is"),
        ("help chek", "did you mean check (check tables"),
        ("help symetric", "did you mean symmetric (where x is related to y"),
        ("list everything", "'everything' is not one of 'tasks', 'checks', 'claims'"),
    ],
)
def test_names_in_errors_come_with_meanings(command: str, says: str, tmp_path: Path) -> None:
    done = pxp(*command.split(), cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr


def test_a_long_name_that_is_none_is_quoted_in_part() -> None:
    text = str(unknown_name("claim", "x" * 10_000 + "\x1b[2J", {"a": "one"}))
    assert len(text) < 120
    assert text.endswith("…; there are: a (one)")


def test_every_page_that_a_help_names_is_there(tmp_path: Path) -> None:
    named = set[str]()
    for command in commands.entries:
        shown = pxp(command, "--help", cwd=tmp_path).stdout
        assert "docs/" not in shown, command
        named |= set(re.findall(r"pxp\s+help\s+(\w+)", shown))
    assert {"logic", "systems"} <= named <= pages().keys()
    source = "".join(path.read_text("utf-8") for path in (ROOT / "pxp_fsm").rglob("*.py"))
    assert set(re.findall(r"pxp help ([a-z_]+)", source)) - pages().keys() == set()


def test_a_page_is_printed_by_its_name_or_its_path(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "lan_measures.md").read_text("utf-8")
    for name in ("lan_measures", "lan-measures", "docs/lan_measures.md"):
        assert pxp("help", name, cwd=tmp_path).stdout == text
    assert pxp("help", "doctor", cwd=tmp_path).stdout.startswith("Usage: pxp doctor")
    shown = pxp("help", cwd=tmp_path).stdout
    assert all(re.search(rf"^  {name}  +\S", shown, re.MULTILINE) for name in pages())
    assert pxp("help", "../README", cwd=tmp_path).returncode == 2


def test_what_may_be_assumed_of_match_and_agree_is_explained(tmp_path: Path) -> None:
    for name in (*NAMED, *Assumption):
        shown = pxp("help", name, cwd=tmp_path).stdout
        assert shown.startswith(f"{name}, of MATCH and AGREE: "), name
        assert f"pxp check --relations {name};" in shown


def findings(folder: Path, **environment: str) -> dict[tuple[str, str], dict[str, str]]:
    found = json.loads(pxp("doctor", "--json", cwd=folder, **environment).stdout)
    return {(one["kind"], one["name"]): one for one in found}


def distributions(wanted: list[str], optional: dict[str, list[str]]) -> Iterator[str]:
    """What requirements install; an extra of ours stands for what is in it."""
    for one in map(Requirement, wanted):
        if one.name == "pxp-fsm":
            for extra in one.extras:
                yield from distributions(optional[extra], optional)
        else:
            yield one.name


def test_the_doctor_finds_what_is_installed() -> None:
    wanted = {one for _, names in doctor.EXTRAS.values() for one in names}
    there = {one for one in wanted if has_distribution(one)}
    assert "mcp" in there
    (first, *_) = [one for one in doctor._extras() if one.name == "mcp"]
    assert first.missing == ""
    found = {one for one in wanted if doctor._has(doctor.MODULES.get(one, one))}
    assert found == there


def has_distribution(name: str) -> bool:
    try:
        return bool(version(name))
    except PackageNotFoundError:
        return False


def test_the_doctor_knows_every_extra_and_what_it_installs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    optional = project["optional-dependencies"]
    extras = {
        name: tuple(sorted(distributions(wanted, optional)))
        for name, wanted in optional.items()
        if name not in ("dev", "build-data", "site")
    }
    assert extras == {name: wanted for name, (_, wanted) in doctor.EXTRAS.items()}
    base = {Requirement(one).name for one in project["dependencies"]}
    assert base.isdisjoint({"numpy", "rdkit", "pillow", "cryptography", "scipy"})
    assert requires("pxp-fsm") is not None


@pytest.mark.deep
def test_the_doctor_says_what_is_missing_and_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = findings(tmp_path, PATH="")
    assert found["tool", "SPIN"]["missing"] == "install SPIN (spin on the PATH)"
    assert found["extra", "drug"]["missing"] == ""
    hidden = {"numpy", "PIL"}
    monkeypatch.setattr(
        "pxp_fsm.cli.doctor.find_spec", lambda name: None if name in hidden else find_spec(name)
    )
    found = findings(tmp_path)
    assert found["extra", "lan"]["missing"] == "pip install 'pxp-fsm[lan]'"
    assert found["extra", "rad"]["missing"].endswith("(missing: numpy, pillow)")
    assert found["extra", "sign"]["missing"] == ""
    assert "--  extra    lan" in pxp("doctor", cwd=tmp_path).stdout


@pytest.mark.deep
def test_the_doctor_warns_of_prices_older_than_180_days(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Later(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Later:
            return cls(2040, 1, 1, tzinfo=tz)

    assert UTC is not None
    monkeypatch.setattr(doctor, "datetime", Later)
    missing = findings(tmp_path)["base", "catalogue"]["missing"]
    assert all(one.models in missing for one in catalogue().prices)


@pytest.mark.deep
def test_the_doctor_finds_what_shadows_a_package(tmp_path: Path) -> None:
    assert findings(tmp_path)["package", "guards"]["missing"] == ""
    (tmp_path / "guards.py").write_text("raise SystemExit\n")
    done = pxp("doctor", cwd=tmp_path)
    assert done.returncode == 1
    assert "guards.py of this folder shadows it; rename it" in done.stdout


@pytest.mark.deep
def test_the_doctor_names_the_distribution_that_installs_into_our_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners = {"proofs": ["pxp-fsm", "proofs"], "guards": ["pxp-fsm"]}
    monkeypatch.setattr(doctor, "packages_distributions", lambda: owners)
    found = findings(tmp_path)
    assert found["package", "proofs"]["missing"].startswith("proofs installs files into it; pip un")
    assert found["package", "guards"]["missing"] == ""


def test_expected_failures_are_counted() -> None:
    def result(status: Status, expected: Status | None) -> Result:
        return Result("interact", "a", "", "noisy", Verdict(status), expected)

    found = [
        result(Status.HOLDS, Status.HOLDS),
        result(Status.HOLDS_UP_TO, Status.HOLDS),
        result(Status.FAILS, Status.FAILS),
        result(Status.FAILS, None),
    ]
    *_, last = table(found)
    assert last == (
        "4 verdicts (2 hold, 1 fails as expected, 1 fails as allowed), 0 not as expected"
    )
    *_, last = table([*found[2:3], result(Status.FAILS, Status.HOLDS)])
    assert last == "2 verdicts (1 fails as expected), 1 not as expected: a (noisy)"


def test_commands_that_read_a_database_have_one_default(tmp_path: Path) -> None:
    for command in ("report", "show", "audit", "list costs", "verify", "upgrade", "list runs"):
        done = pxp(*command.split(), cwd=tmp_path)
        assert done.returncode == 2
        assert "there is no database runs/blackboard.sqlite" in done.stderr, command
