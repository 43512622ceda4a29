"""Certificates of systems: what a check says holds is certified, and no forgery is accepted."""

from __future__ import annotations

import ast
import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proofs import recheck, recheck_claims, recheck_systems
from proofs.claims.system_certificates import (
    MOST_STATES,
    NotCertified,
    SystemCertificate,
    certify_system,
)
from proofs.core.limits import Effort
from proofs.core.results import Result, Status
from proofs.logic import Runs
from proofs.logic.formulas import Atom
from proofs.systems import (
    Channel,
    Composition,
    Member,
    System,
    check_formulas,
    check_standard,
    check_termination,
    check_unbounded,
    parse_channel,
)
from proofs.systems.propositions import of_steps, vocabulary
from proofs.systems.reachability import reach
from proofs.systems.results import MACHINE, TITLES
from pxp_fsm.automata.automaton import Automaton, State
from pxp_fsm.automata.serialization import document, to_toml
from pxp_fsm.automata.tables import builtin, load_automaton
from tests.proofs import test_compatibility as compatible
from tests.proofs.random_systems import (
    CHANNELS,
    random_system,
    symmetric_system,
)
from tests.proofs.test_forgeries import places, tamper

EXAMPLES = Path(__file__).parents[2] / "examples"
STANDARD = [name for name in TITLES if name != MACHINE]
SMALL = Effort(150)


def read(certificate: SystemCertificate) -> Any:
    return json.loads(certificate.text())


def tables(system: System) -> list[Any]:
    found = {one.automaton.fingerprint: one.automaton for one in system.members}
    return [document(one) for one in found.values()]


def accepts(stated: Any, system: System) -> bool:
    """Whether the checker accepts; what it cannot read at all it does not accept."""
    try:
        return all(fine for fine, _ in recheck_claims.check(stated, *tables(system)))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False


def asked(system: System, *formulas: str) -> list[Result]:
    """What `pxp check` says of a system: standard checks, termination, formulas."""
    found = [*check_standard(system, STANDARD), *check_termination(system)]
    return [*found, *check_formulas(system, formulas)]


def verdicts(results: list[Result]) -> dict[str, str]:
    return {one.name: one.status.value for one in results}


def random_one(seed: int) -> System | None:
    """A system over each of the channels in turn; None where it is large."""
    chance, channel = random.Random(seed), parse_channel(CHANNELS[seed % len(CHANNELS)])
    guards = chance.choice((0, 0.5, 0.9))
    if seed % 5:
        system = random_system(chance, guards=guards, most=3)
    else:
        system = symmetric_system(chance, guards=guards)
    over = system.over(channel)
    unknown = Status.UNKNOWN in [one.status for one in check_standard(over, ["no-deadlock"], SMALL)]
    return None if unknown else over


def invariants(system: System, chance: random.Random) -> list[str]:
    """Formulas G p and AG p, written in several ways."""
    composition = Composition(system)
    names = sorted(vocabulary(composition) - of_steps(composition))

    def atom() -> Atom:
        return Atom(chance.choice(names))

    def text(depth: int) -> str:
        if depth == 0 or chance.random() < 0.2:
            return chance.choice((*[atom().name] * 4, f'"{atom().name}"', "true", "false"))
        left, right = text(depth - 1), text(depth - 1)
        sign = chance.choice(("&", "&&", "|", "||", "->", "<->"))
        found = f"{left} {sign} {right}"
        return chance.choice((found, f"({found})", f"!({found})", f"! {left}"))

    heads = ("G", "AG", "A G", "G ")
    return [f"{chance.choice(heads)} ({text(3)})" for _ in range(6)] + ["G ended", "AG !ended"]


SEEDS = [*range(27), *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(27, 400))]


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


@pytest.mark.parametrize("seed", range(12))
def test_a_formula_that_fails_is_refused_and_one_that_holds_is_not(seed: int) -> None:
    system = next(one for one in map(random_one, range(seed * 50, 5000)) if one is not None)
    certificate = read(certify_system(system))
    for formula in invariants(system, random.Random(seed)):
        [result] = check_formulas(system, [formula])
        for verdict in ("HOLDS", "FAILS"):
            claim = {"name": formula, "verdict": verdict}
            forged = certificate | {"claims": [*certificate["claims"], claim]}
            assert accepts(forged, system) is (result.status.value == verdict), formula


def lettered(system: System) -> System:
    """The system with states q0, q1, ... for 0, 1, ...: names that a table's file can have."""

    def renamed(table: Automaton) -> Automaton:
        rows = [replace(t, source=f"q{t.source}", target=f"q{t.target}") for t in table.transitions]
        states = tuple(State(f"q{one.name}") for one in table.states)
        final = frozenset(f"q{name}" for name in table.final)
        return replace(
            table, states=states, initial=f"q{table.initial}", final=final, transitions=tuple(rows)
        )

    members = (Member(one.name, renamed(one.automaton)) for one in system.members)
    return replace(system, members=tuple(members))


def example_systems() -> Iterator[System]:
    for name in ("interact", "pxp"):
        for channel in ("sync", "fifo:2", "lossy:1", "reordering:2"):
            yield System.load(name, channel=channel)
    folder = EXAMPLES / "own_protocol"
    for channel in ("sync", "fifo:2"):
        yield System.load(str(folder / "buyer.toml"), str(folder / "seller.toml"), channel=channel)
    for system in (CLIENT_SERVER_LOGGER, lettered(compatible.ALTERNATING_BIT)):
        for channel in ("sync", "lossy:1", "lossy+duplicating:1"):
            yield system.over(parse_channel(channel))


CLIENT_SERVER_LOGGER = lettered(compatible.CLIENT_SERVER_LOGGER)
EXAMPLE_SYSTEMS = list(example_systems())


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


# Forgeries


LOOP = compatible.system(
    a="q0 b!ping q1; q1 b?pong q0; q0 b!stop q2", b="q0 a?ping q1; q1 a!pong q0; q0 a?stop q2"
)


def test_forged_termination_with_a_loop_is_refused() -> None:
    """a may ping for ever, and be fair to its row that stops only where fairness is strong."""
    said = verdicts(asked(LOOP))
    assert said["ends-if-strong-rows"] == "HOLDS"
    assert said["ends-if-weak-rows"] == said["always-ends"] == "FAILS"
    results = asked(LOOP)
    honest = read(certify_system(LOOP, results))
    (strong,) = (one for one in honest["claims"] if one["name"] == "ends-if-strong-rows")
    assert accepts(honest, LOOP)
    plain = [claim for claim in honest["claims"] if "ranks" not in claim]
    states = len(honest["states"])
    over = [number for number, rank in enumerate(strong["ranks"]) if rank is None]
    stop = "a: q0 q2 ⊤ +stop to b"
    assert any(stop in json.dumps(rank, ensure_ascii=False) for rank in strong["ranks"])
    forged: list[Any] = [
        [None if n in over else [[rank(n), helpful]] for n in range(states)]
        for rank in (lambda n: 0, lambda n: n, lambda n: -n, lambda n: states - n)
        for helpful in (None, stop, "a", "b", "", "a: q0 q1 ⊤ +ping to b", "b: q1 q0 ⊤ +pong to a")
    ]
    forged += [[None] * states, [], None, strong["ranks"]]
    for name in (
        "ends-if-weak-rows",
        "ends-if-weak-agents",
        "always-ends",
        "ends-if-strong-agents",
    ):
        for ranks in forged:
            claim = {"name": name, "verdict": "HOLDS", "ranks": ranks}
            assert not accepts(honest | {"claims": [*plain, claim]}, LOOP), (name, ranks)
            assert not accepts(honest | {"claims": [*plain, claim | {"verdict": "FAILS"}]}, LOOP)


def truths(stated: Any, system: System) -> None:
    """Assert that all that an accepted certificate says is true, by exploring what it is of."""
    known = {one.automaton.fingerprint: one.automaton for one in system.members}
    members = tuple(Member(one["name"], known[one["fingerprint"]]) for one in stated["members"])
    if stated["channel"] == "fifo":
        said = verdicts([*check_unbounded(System(members))])
    else:
        over = System(members, parse_channel(stated["channel"]))
        formulas = [one["name"] for one in stated["claims"] if one["name"][0] in "GA"]
        said = verdicts(asked(over, *formulas))
        assert len(stated["states"]) == len(reach(Composition(over)).states)
    assert {one["name"]: one["verdict"] for one in stated["claims"]}.items() <= said.items()


def tampered(stated: Any, paths: list[Any], draw: random.Random) -> Any:
    """The certificate with something else in it: anything, or what somebody would forge."""
    found = json.loads(json.dumps(stated))
    number = draw.randrange(len(found["states"]))
    match draw.randrange(8):
        case 0:
            found["states"].pop(number)
        case 1:
            found["states"].insert(number, draw.choice(stated["states"]))
        case 2:
            found["channel"] = draw.choice((*CHANNELS, "fifo", "fifo:3", "fifo:0", "", None))
        case 3:
            claim = draw.choice(found["claims"])
            claim["verdict"] = {"HOLDS": "FAILS", "FAILS": "HOLDS"}[claim["verdict"]]
        case 4:
            ranked = [claim for claim in found["claims"] if "ranks" in claim] or [{"ranks": [0]}]
            ranks = draw.choice(ranked)["ranks"]
            ranks[number % len(ranks)] = draw.choice((None, [[0, None]], *ranks))
        case 5:
            values = draw.choice([*found["distances"].values()])
            values[number] = draw.choice((None, 0, 1, *values))
        case 6:
            one, other = draw.choice(found["members"]), draw.choice(stated["members"])
            one[draw.choice(("name", "fingerprint"))] = other[draw.choice(("name", "fingerprint"))]
        case _:
            found = tamper(stated, paths, draw)
    return found


TAMPERED = [
    EXAMPLE_SYSTEMS[0],
    EXAMPLE_SYSTEMS[8],
    LOOP.over(Channel(1)),
    CLIENT_SERVER_LOGGER,
    *(one for one in map(random_one, (2, 6, 16, 21, 28)) if one is not None),
]


@pytest.mark.parametrize("tamperings", [60, pytest.param(600, marks=pytest.mark.deep)])
@pytest.mark.parametrize("place", range(len(TAMPERED)))
def test_no_tampering_is_accepted_unless_it_is_still_true(place: int, tamperings: int) -> None:
    system, draw, kept = TAMPERED[place], random.Random(place), 0
    unbounded = system is CLIENT_SERVER_LOGGER
    results = [*check_unbounded(system)] if unbounded else asked(system, "G true")
    stated = read(certify_system(system, results))
    paths = [path for path in places(stated) if len(path) < 5]
    for _ in range(tamperings):
        other = tampered(stated, paths, draw)
        if other != stated and accepts(other, system):
            kept += 1
            truths(other, system)
    assert kept < tamperings / 4


FORGERIES: dict[str, Callable[[Any], Any]] = {
    "no format": lambda d: {k: v for k, v in d.items() if k != "format"},
    "a truth value for a format": lambda d: d | {"format": True},
    "something else besides": lambda d: d | {"comment": "proved"},
    "no claims": lambda d: d | {"claims": []},
    "the claims but one": lambda d: d | {"claims": d["claims"][1:]},
    "a claim twice": lambda d: d | {"claims": [*d["claims"], d["claims"][0]]},
    "another order of the claims": lambda d: d | {"claims": d["claims"][::-1]},
    "a claim that there is none of": lambda d: (
        d | {"claims": [*d["claims"], {"name": "live", "verdict": "HOLDS"}]}
    ),
    "a claim with a comment": lambda d: d | {"claims": [one | {"by": "us"} for one in d["claims"]]},
    "no states": lambda d: d | {"states": []},
    "the first state alone": lambda d: d | {"states": d["states"][:1]},
    "states that come from themselves": lambda d: (
        d | {"states": [[*one[:3], n] for n, one in enumerate(d["states"])]}
    ),
    "states with a note": lambda d: d | {"states": [[*one, ""] for one in d["states"]]},
    "no distances": lambda d: d | {"distances": {}},
    "distances of nothing": lambda d: d | {"distances": d["distances"] | {"sends x": []}},
    "true distances": lambda d: d | {"distances": {"end": [*map(bool, d["distances"]["end"])]}},
    "floats for distances": lambda d: (
        d | {"distances": {"end": [*map(float, d["distances"]["end"])]}}
    ),
    "no members": lambda d: d | {"members": []},
    "one member": lambda d: d | {"members": d["members"][:1]},
    "a third member": lambda d: d | {"members": [*d["members"], {**d["members"][0], "name": "x"}]},
    "members with a note": lambda d: d | {"members": [one | {"a": 1} for one in d["members"]]},
    "members without a name": lambda d: (
        d | {"members": [one | {"name": ""} for one in d["members"]]}
    ),
    "a k": lambda d: d | {"k": 1},
    "a channel of no room": lambda d: d | {"channel": "fifo:0"},
    "a list": lambda d: [d],
    "nothing": lambda d: None,
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_refused(name: str) -> None:
    system = EXAMPLE_SYSTEMS[8]
    stated = read(certify_system(system))
    assert accepts(stated, system)
    assert not accepts(FORGERIES[name](stated), system)


def test_tables_that_are_missing_superfluous_or_others_are_refused() -> None:
    system = EXAMPLE_SYSTEMS[8]
    stated, given = read(certify_system(system)), tables(system)
    for wrong in ([], given[:1], [*given, given[0]], [*given, document(builtin("pxp"))]):
        with pytest.raises(ValueError, match="table"):
            list(recheck_claims.check(stated, *wrong))
    renamed = [one | {"initial": one["final"][0]} for one in given]
    with pytest.raises(ValueError, match="table"):
        list(recheck_claims.check(stated, *renamed))
    twice = [one | {"rows": [*one["rows"], one["rows"][0]]} for one in given]
    with pytest.raises(ValueError, match="two rows"):
        list(recheck_claims.check(stated, *twice))


def test_more_states_than_are_written_have_no_certificate() -> None:
    with pytest.raises(NotCertified, match="at most 5 states; more than 5 states"):
        certify_system(System.load("pxp", channel="fifo:2"), effort=Effort(5))
    assert MOST_STATES == 100_000


def test_what_only_some_runs_satisfy_is_no_invariant() -> None:
    [result] = check_formulas(LOOP, ["G !a@q2"], Runs.INFINITE)
    assert result.status is Status.HOLDS
    assert certify_system(LOOP, [result]).claims == certify_system(LOOP).claims


def test_the_checker_imports_nothing_of_ours_but_itself() -> None:
    own = {recheck, recheck_claims, recheck_systems}
    for module in own:
        tree, found = ast.parse(Path(str(module.__file__)).read_text("utf-8")), set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                inner = node.module == "proofs"
                found |= {
                    f"proofs.{alias.name}" if inner else str(node.module) for alias in node.names
                }
        others = found - {one.__name__ for one in own}
        assert {name.split(".")[0] for name in others} <= set(sys.stdlib_module_names)


def test_the_command_checks_a_certificate_with_the_tables_in_any_order(tmp_path: Path) -> None:
    system = EXAMPLE_SYSTEMS[8]
    path = certify_system(system, asked(system)).write(tmp_path / "deal.json")
    files = []
    for name in ("seller", "buyer"):
        table = load_automaton(EXAMPLES / "own_protocol" / f"{name}.toml")
        (tmp_path / f"{name}.toml").write_text(to_toml(table), "utf-8")
        files.append(str(tmp_path / f"{name}.toml"))
    command = [sys.executable, "-m", "proofs.recheck", str(path)]
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
