"""Certificates of systems: what a check says holds is certified."""

from __future__ import annotations

import ast
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proofs import recheck
from proofs.claims.system_certificates import (
    MOST_STATES,
    NotCertified,
    certify_system,
)
from proofs.core.limits import Effort
from proofs.core.results import Bound, Status, Verdict
from proofs.logic import Runs
from proofs.systems import (
    Channel,
    System,
    check_formulas,
    check_standard,
    check_unbounded,
)
from pxp_fsm.automata.serialization import to_toml
from pxp_fsm.automata.tables import load_automaton
from tests.proofs import test_compatibility as compatible
from tests.proofs.certified_systems import (
    CLIENT_SERVER_LOGGER,
    EXAMPLE_SYSTEMS,
    EXAMPLES,
    LOOP,
    STANDARD,
    accepts,
    asked,
    invariants,
    lettered,
    random_one,
    read,
    verdicts,
)
from tests.sampling import sampled

SEEDS = [*range(12), *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(12, 300))]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_holds_of_a_random_system_is_certified(seed: int) -> None:
    system = random_one(seed)
    if system is None:
        pytest.skip("a large system")
    formulas = invariants(system, random.Random(seed))
    results = asked(system, *formulas)
    certificate = certify_system(system, results)
    said = verdicts(results)
    assert set(certificate.claims) == {name for name, verdict in said.items() if verdict == "HOLDS"}
    stated = {one["name"]: one["verdict"] for one in certificate.document["claims"]}
    assert stated.items() <= said.items()
    assert stated.keys() >= set(STANDARD)
    assert accepts(read(certificate), system)


@pytest.mark.parametrize("seed", sampled(range(12), 3))
def test_a_formula_that_fails_is_refused_and_one_that_holds_is_not(seed: int) -> None:
    system = next(one for one in map(random_one, range(seed * 50, 5000)) if one is not None)
    certificate = read(certify_system(system))
    for formula in invariants(system, random.Random(seed)):
        [result] = check_formulas(system, [formula])
        for verdict in ("HOLDS", "FAILS"):
            claim = {"name": formula, "verdict": verdict}
            forged = certificate | {"claims": [*certificate["claims"], claim]}
            assert accepts(forged, system) is (result.status.value == verdict), formula


@pytest.mark.parametrize("system", EXAMPLE_SYSTEMS, ids=repr)
def test_what_holds_of_an_example_is_certified(system: System) -> None:
    results = asked(system, "G true")
    certificate = certify_system(system, results)
    held = {one.name for one in results if one.status is Status.HOLDS}
    assert set(certificate.claims) == held
    assert accepts(read(certificate), system)


UNBOUNDED = [
    CLIENT_SERVER_LOGGER,
    *map(
        lettered,
        (
            compatible.FOUR_PLAYER_GAME,
            compatible.BARGAIN,
            compatible.ALTERNATING_BIT,
            compatible.COMMIT,
        ),
    ),
]


@pytest.mark.parametrize("system", UNBOUNDED, ids=repr)
def test_what_holds_for_every_capacity_is_certified(system: System) -> None:
    results = [*check_unbounded(system)]
    held = {one.name for one in results if one.status is Status.HOLDS}
    if not held:
        with pytest.raises(NotCertified, match="no property holds"):
            certify_system(system, results)
        return
    certificate = certify_system(system, results)
    assert set(certificate.claims) == held
    stated = read(certificate)
    assert stated["channel"] == "fifo"
    assert accepts(stated, system)
    k = stated["k"]
    for other in (0, k - 1, str(k), True, float(k), None):
        assert not accepts(stated | {"k": other}, system)
    smaller = certify_system(system.over(Channel(k)), check_standard(system.over(Channel(k))))
    assert not accepts(stated | {"channel": f"fifo:{k}"}, system)
    assert not accepts(read(smaller) | {"channel": "fifo", "k": k}, system)


def test_the_capacity_that_suffices_is_that_of_the_results_that_have_one() -> None:
    """Beside them there may be results that hold up to another bound."""
    system = lettered(compatible.ALTERNATING_BIT)
    results = [*check_unbounded(system)]
    held = next(one for one in results if one.status is Status.HOLDS)
    beside = replace(held, name="beside", verdict=Verdict(Status.HOLDS, bound=Bound(steps=9)))
    expected = certify_system(system, results).text()
    assert certify_system(system, [beside, *results, beside]).text() == expected
    with pytest.raises(NotCertified, match="no property holds"):
        certify_system(system, [beside])


def test_what_the_checker_refuses_is_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_given: Any) -> Any:
        return iter([(False, "no-deadlock: it does not hold")])

    monkeypatch.setattr(recheck, "check_system", refuse)
    with pytest.raises(NotCertified, match="the independent checker refuses it: no-deadlock"):
        certify_system(LOOP)


def test_more_states_than_are_written_have_no_certificate() -> None:
    with pytest.raises(NotCertified, match="at most 5 states; more than 5 states"):
        certify_system(System.load("pxp", channel="fifo:2"), effort=Effort(5))
    assert MOST_STATES == 100_000


def test_what_only_some_runs_satisfy_is_no_invariant() -> None:
    [result] = check_formulas(LOOP, ["G !a@q2"], Runs.INFINITE)
    assert result.status is Status.HOLDS
    assert certify_system(LOOP, [result]).claims == certify_system(LOOP).claims


def test_the_checker_is_one_file_that_imports_nothing_of_ours() -> None:
    tree, found = ast.parse(Path(recheck.__file__).read_text("utf-8")), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module))
    assert {name.split(".")[0] for name in found} <= set(sys.stdlib_module_names)


def test_the_checker_runs_by_its_path_without_any_installed_package(tmp_path: Path) -> None:
    system = System.load("pxp")
    path = certify_system(system).write(tmp_path / "pxp.json")
    table = tmp_path / "pxp.toml"
    table.write_text(to_toml(load_automaton("pxp")), "utf-8")
    command = [sys.executable, "-I", "-S", recheck.__file__, str(path), str(table)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_checks_a_certificate_with_the_tables_in_any_order(tmp_path: Path) -> None:
    system = EXAMPLE_SYSTEMS[8]
    path = certify_system(system, asked(system)).write(tmp_path / "deal.json")
    files = []
    for name in ("seller", "buyer"):
        table = load_automaton(EXAMPLES / "own_protocol" / f"{name}.toml")
        (tmp_path / f"{name}.toml").write_text(to_toml(table), "utf-8")
        files.append(str(tmp_path / f"{name}.toml"))
    command = [sys.executable, "-I", "-S", recheck.__file__, str(path)]
    done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1] == "ok    no-deadlock HOLDS"
    refused = subprocess.run([*command, files[0]], capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "the tables that are given are not those of its members" in refused.stderr


def test_a_certificate_is_written_the_same_every_time() -> None:
    system = EXAMPLE_SYSTEMS[8]
    first, again = (certify_system(system, asked(system)).text() for _ in range(2))
    assert first == again


def test_a_certificate_shows_of_what_it_is() -> None:
    found = certify_system(System.load("pxp", channel="fifo:1"))
    assert repr(found).startswith("<Certificate of pxp1, pxp2 over fifo:1: ")
