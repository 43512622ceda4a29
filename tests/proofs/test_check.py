"""`check`, the one door: whoever asks gets the same results in the same order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pxp_fsm as pxp
from proofs.check import Results, answer, checkables, known_properties
from proofs.core.results import Result, Status, Verdict, table
from proofs.requests import Request
from proofs.subjects import Answer
from proofs.systems import Interrupted
from pxp_fsm.automata.system_files import read_system
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments.proved import proved
from pxp_fsm.protocol.relations import TOLERANCE
from pxp_fsm.web.checks import claim_results, standard_results
from pxp_fsm.web.subjects import subject_in
from tests import command_line

ROOT = Path(__file__).parents[2]
TWO_PHASE = str(ROOT / "examples/two_phase_commit/two_phase.toml")


def named(result: Any) -> tuple[str, ...]:
    return result.name, result.title, result.assumptions, str(result.status)


def by_command(*arguments: str) -> list[tuple[str, ...]]:
    done = command_line.pxp("check", *arguments, "--json", cwd=ROOT)
    keys = ("property", "title", "assumptions", "verdict")
    return [tuple(one[key] for key in keys) for one in json.loads(done.stdout)]


@pytest.mark.parametrize(
    ("results", "arguments", "count"),
    [
        (lambda: pxp.check("interact"), ("interact",), 71),
        (lambda: pxp.check("pxp_hang_up"), ("pxp_hang_up",), 7),
        (lambda: pxp.check(TWO_PHASE), (TWO_PHASE,), 10),
        pytest.param(
            lambda: pxp.check("interact", relations="tolerance", n=4, k=2),
            ("interact", "--relations", "tolerance", "--n", "4", "--k", "2"),
            30,
            marks=pytest.mark.deep,
        ),
        (
            lambda: pxp.check("pxp", "no-deadlock", "F ended", channels=["sync", "fifo:1"]),
            (
                "pxp",
                "--property",
                "no-deadlock",
                "--formula",
                "F ended",
                "--channel",
                "sync",
                "--channel",
                "fifo:1",
            ),
            4,
        ),
        (
            lambda: pxp.check("pxp", "F ended", relations="noisy", k=2),
            ("pxp", "--formula", "F ended", "--relations", "noisy", "--k", "2"),
            2,
        ),
    ],
)
def test_a_program_gets_what_the_command_prints(
    results: Callable[[], Results], arguments: tuple[str, ...], count: int
) -> None:
    found = [*map(named, results())]
    assert (found, len(found)) == (by_command(*arguments), count)


@pytest.mark.deep
def test_the_explorers_page_gets_the_same() -> None:
    subject = subject_in((TWO_PHASE,), None)
    assert [*map(named, standard_results(subject))] == by_command(TWO_PHASE)
    interact = subject_in(("machine=interact", "human=interact"), None)
    claims = pxp.check(pxp.Interact(n=5, k=1), relations="tolerance")
    assert [*map(named, claim_results(interact, TOLERANCE))] == [*map(named, claims)]
    of_command = by_command("interact", "--relations", "tolerance", "--n", "5", "--k", "1")
    assert [*map(named, claims)] == of_command[7:]  # without the standard checks of the tables


def test_what_is_proved_before_a_run_is_the_same(tmp_path: Path) -> None:
    system, file = pxp.System.load(TWO_PHASE), read_system(TWO_PHASE)
    known = proved(system, file, tmp_path / "proved.json").known
    names = [one.name for one in known]
    assert names[:3] == ["no-deadlock", "end-reachable-from-everywhere", "always-ends"]
    same = pxp.check(TWO_PHASE, *names)
    assert [(one.name, one.status) for one in known] == [
        (result.name, result.status) for result in same
    ]


def test_a_system_has_its_standard_checks_and_rules_their_claims() -> None:
    of_system = pxp.check(pxp.System.load("interact"))
    everything = pxp.check("interact")
    assert [*map(named, of_system)] == [*map(named, everything[:7])]
    of_rules = pxp.check(pxp.Interact(n=4, k=2))
    expected = [one.name for one in everything[7:] if one.assumptions == "noisy"]
    assert [one.name for one in of_rules if one.name in expected] == expected
    assert {str(one.bound) for one in of_rules if one.bound and not one.bound.is_all} <= {
        "n = 4, k = 2"
    }


def test_a_certificate_speaks_of_the_table_and_the_functions_that_it_is_of() -> None:
    shipped = pxp.check(pxp.Interact(n=4, k=2), "reject-after-k")[0]
    assert (shipped.status, str(shipped.bound)) == (Status.HOLDS, "for all n and k")
    interact = pxp.load_automaton("interact")
    own = replace(interact, transitions=interact.transitions[:-1])
    explored = pxp.check(pxp.Interact(n=4, k=2, table=own), "reject-after-k")[0]
    assert (explored.status, str(explored.bound)) == (Status.HOLDS_UP_TO, "n = 4, k = 2")


ONE = Result("s", "first", "t", "a", Verdict(Status.HOLDS), Status.HOLDS)
TWO = replace(ONE, name="second", verdict=Verdict(Status.FAILS))


def computed(*answers: Answer | BaseException) -> tuple[Results, list[str]]:
    """Results of which each is noted when it is computed."""
    noted: list[str] = []

    def compute() -> Iterator[Answer]:
        for one in answers:
            if isinstance(one, BaseException):
                raise one
            noted.append(getattr(one, "name", "?"))
            yield one

    return Results(compute()), noted


def test_results_are_computed_as_they_are_read_and_kept() -> None:
    results, noted = computed(ONE, TWO)
    assert noted == []
    assert (results[0], noted) == (ONE, ["first"])
    assert next(iter(results)) is ONE
    assert noted == ["first"]
    assert (len(results), results[-1], results[:1], list(results)) == (2, TWO, [ONE], [ONE, TWO])
    assert noted == ["first", "second"]
    with pytest.raises(IndexError):
        results[2]
    assert TWO in results


def test_results_show_themselves_as_the_table_of_the_command() -> None:
    results, _ = computed(ONE, TWO)
    assert repr(results) == "\n".join(table([ONE, TWO]))
    assert repr(results).endswith("2 verdicts, 1 not as expected: second (a)")
    html = results._repr_html_()
    assert html.count("<tr>") == 3
    assert "<td>second</td><td>a</td><td>FAILS</td>" in html


def test_results_are_neither_true_nor_false() -> None:
    results, _ = computed(ONE)
    with pytest.raises(TypeError, match=r"results\.as_expected"):
        bool(results)
    assert results.as_expected
    assert not computed(ONE, TWO)[0].as_expected


def test_an_error_is_raised_whenever_what_comes_after_it_is_read() -> None:
    results, _ = computed(ONE, UsageError("no"))
    assert results[0] is ONE
    for _ in range(2):
        with pytest.raises(UsageError, match="no"):
            len(results)
    assert results.computed == (ONE,)


def test_what_was_found_before_an_interrupt_is_kept() -> None:
    results, _ = computed(ONE, Interrupted(TWO))
    with pytest.raises(KeyboardInterrupt):
        len(results)
    assert results.computed == (ONE, TWO)


def test_a_request_of_nothing_that_a_subject_has_is_refused() -> None:
    for subject, name in ((pxp.Interact(), "no-deadlock"), ("pxp_hang_up", "terminates")):
        with pytest.raises(UsageError, match="is not a property of"):
            len(pxp.check(subject, name))
    with pytest.raises(UsageError, match="have their own n and k"):
        len(pxp.check(pxp.Interact(), channels="fifo:1"))


def test_each_property_has_one_title() -> None:
    known = known_properties()
    assert Counter((one.name, one.subject) for one in known).most_common(1)[0][1] == 1
    kinds = [kind.kind for kind in checkables()]
    assert (kinds[0], kinds[-1]) == ("protocol", "system")
    titles = {one.name: one.title for one in known if one.subject == "any table"}
    asked = answer(Request(("pxp",), names=tuple(titles)))
    assert {one.name: one.title for one in asked} == titles


def test_parameters_are_those_of_the_command() -> None:
    """`parameters=` and `--with` give the same results; a number is exactly an int."""
    texts = answer(Request(("interact",), formulas=("AF ended",), parameters=("n=3,k=2",)))
    given = pxp.check("interact", "AF ended", parameters={"n": 3, "k": 2})
    assert [replace(one, seconds=0.0) for one in given] == [
        replace(one, seconds=0.0) for one in texts
    ]
    for wrong, problem in (
        ({"n": 2.5, "k": 1}, "n is a whole number"),
        ({"n": 3, "k": True}, "k is a whole number"),
        ({"n": 3, "k": 1, "j": 1}, "no table of .* has a parameter j"),
    ):
        with pytest.raises(UsageError, match=problem):
            len(pxp.check("interact", "AF ended", parameters=wrong))
    with pytest.raises(UsageError, match="parameters are a mapping"):
        pxp.check("interact", parameters="n=3")  # type: ignore[arg-type] # a mistake
