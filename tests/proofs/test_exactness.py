"""Decision functions of which symbols would say what is not so of numbers: UNKNOWN, and where."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from itertools import count
from types import FunctionType
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.check import answer, check
from proofs.check import prove as prove_protocol
from proofs.claims.theorems import THEOREMS, prove
from proofs.core.results import Status
from proofs.induction import exact as exactness
from proofs.induction.exact import exact
from proofs.induction.numbers import (
    Argument,
    Inexact,
    LinearAtom,
    NumberCase,
    Numbers,
    Unknown,
    Whole,
)
from proofs.induction.source import Source, read
from proofs.requests import Request
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol import decisions
from pxp_fsm.protocol.interfaces import Decisions
from pxp_fsm.protocol.messages import Answer, Question
from pxp_fsm.protocol.relations import Outcome
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.session import Session
from tests.proofs.exact_functions import roundabout
from tests.proofs.inexact_functions import (
    SEEN_BY_SOURCE,
    SEEN_BY_TYPE,
    Computed,
    Intercepted,
    by_a_default,
    by_its_identity,
    by_its_type,
    cached,
    calling_itself,
    changed,
    elsewhere,
    in_a_dictionary,
    in_a_set,
    partly,
)

NUMBERS = Numbers()


@pytest.mark.parametrize("attack", SEEN_BY_SOURCE, ids=lambda one: one.__name__)
def test_the_source_is_refused_with_file_line_and_construct(attack: Callable[..., bool]) -> None:
    with pytest.raises(Unknown) as refused:
        read(changed("done", attack))
    lines, first = inspect.getsourcelines(attack)
    places = {
        f"{inspect.getsourcefile(attack)}:{first + i}: {attack.__name__}: '"
        for i in range(1, len(lines))
    }
    assert any(str(refused.value).startswith(place) for place in places), refused.value


@pytest.mark.parametrize("attack", [cached, partly, calling_itself, by_a_default, Unknown])
def test_what_remembers_or_may_not_end_is_refused(attack: Callable[..., bool]) -> None:
    with pytest.raises(Unknown, match=r"nothing is proved|calls itself"):
        read(changed("done", attack))


def test_a_closure_is_refused() -> None:
    seen: list[int] = []

    def closed(sent: int, n: int, stopped: bool) -> bool:
        return stopped or (sent + 1 > n and not seen)

    with pytest.raises(Unknown, match="done has values that are not seen"):
        read(changed("done", closed))


@pytest.mark.parametrize("sly", [Computed(), Intercepted(**vars(decisions))])
def test_functions_that_are_computed_are_refused(sly: Any) -> None:
    assert sly.done is decisions.done  # the first times
    with pytest.raises(Unknown, match=r"is computed by (Computed|Intercepted)"):
        read(sly)


def test_global_names_that_may_be_computed_are_refused() -> None:
    with pytest.raises(Unknown, match="done has values that are not seen"):
        read(changed("done", elsewhere))


@pytest.mark.parametrize("attack", SEEN_BY_TYPE, ids=lambda one: getattr(one, "__name__", "?"))
@pytest.mark.parametrize("sent", [3, None])
def test_symbols_refuse_it_too(attack: Callable[..., bool], sent: int | None) -> None:
    """The second defence does not need the first, nor does it matter which number is a symbol."""

    def run(case: NumberCase) -> bool:
        given = [Argument(case, case.named(x).terms, 0) for x in ("sent", "n")]
        return attack(given[0] if sent is None else sent, given[1], False)

    with pytest.raises(Inexact):
        for _, answer in NUMBERS.cases((), run, {}):
            assert answer in (True, False)


@pytest.mark.parametrize("attack", [by_its_type, by_its_identity])
def test_a_difference_between_symbols_and_numbers_is_found_without_the_source(
    attack: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third defence: the source is taken for one that names the number 20, and admitted."""
    lenient = Source(["taken for granted", attack.__name__], frozenset({1, 20}), {})
    monkeypatch.setattr(exactness, "read", lambda functions: lenient)
    functions = changed("done", attack)
    with pytest.raises(Unknown, match=r"done\(.*\) is (True|False), but"):
        exact(functions)


@pytest.mark.parametrize("attack", [in_a_set, by_its_type, cached, in_a_dictionary])
def test_nothing_false_is_proved(attack: Callable[..., bool]) -> None:
    with pytest.raises(Unknown, match="so nothing is proved of it"):
        prove([THEOREMS["interact.terminates"]], functions=changed("done", attack))


def test_what_is_false_for_one_large_number_is_not_proved() -> None:
    (proof,) = prove([THEOREMS["interact.terminates"]], functions=changed("done", but_at_one_bound))
    assert not proof.proved
    assert "1000003" in str(proof.obstacle)


def but_at_one_bound(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and n != 1_000_003)


def squares(n: int, k: int) -> None:
    if n * n < 1: raise UsageError(f"{n} and {k} are too small")  # fmt: skip # noqa: E701


def test_what_is_refused_beside_a_message_is_not_taken_for_it() -> None:
    with pytest.raises(Unknown, match=r"squares|check_bounds: arithmetic or a comparison"):
        exact(changed("check_bounds", squares))


def test_other_builtins_are_not_taken_for_those_of_python() -> None:
    code = cast(FunctionType, least).__code__
    known = {"__builtins__": {"min": lambda one, other: one}, "__name__": __name__}
    other = FunctionType(code, known, "done")
    assert other(3, 2, False) is False
    assert least(3, 2, False) is True
    assert read(changed("done", other)).digest != read(changed("done", least)).digest


def least(sent: int, n: int, stopped: bool) -> bool:
    return stopped or min(sent, n) == n


def test_a_check_of_such_functions_is_unknown_with_file_and_line() -> None:
    rules = Interact(4, 2, functions=changed("done", in_a_set))
    results = {result.name: result for result in check(rules)}
    stops = results["stops-as-written"]
    assert stops.status is Status.UNKNOWN
    assert stops.reason.startswith(f"{inspect.getsourcefile(in_a_set)}:")
    assert "in_a_set: '{20}' is not exact" in stops.reason
    assert results["terminates"].status is Status.HOLDS_UP_TO


def test_a_check_and_a_proof_of_the_protocols_are_unknown_with_such_functions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decisions, "done", in_a_set)
    (proof,) = prove_protocol("interact", "terminates")
    (line,) = answer(Request(("interact",), ("terminates",)))
    for result in (proof, line):
        assert result.status is Status.UNKNOWN
        assert "in_a_set: '{20}' is not exact arithmetic" in result.reason


class Always:
    """A relation with one answer."""

    assumptions: frozenset[Any] = frozenset()

    def __init__(self, outcome: Outcome) -> None:
        self.name, self._outcome = f"always {outcome}", outcome

    async def holds(self, left: str, right: str) -> Outcome:
        return self._outcome


def test_the_session_of_which_termination_was_proved_does_not_end_at_its_bound() -> None:
    numbers = count()

    def answer(question: Question) -> Answer:
        return Answer("y", f"e{next(numbers)}")

    agents = {
        name: Agent(answer, match=Always(Outcome.YES), agree=Always(Outcome.NO)) for name in "mh"
    }
    rules = Interact(20, 1, functions=changed("done", in_a_set))
    session = Session(rules, agents, instance="x")
    for _ in range(41):
        asyncio.run(session.step())
    assert len(session.history) == 41


# What is exact goes through, and says the same of numbers and of symbols.


def test_exact_functions_are_admitted_and_do_the_same() -> None:
    functions = exact(changed("done", roundabout))
    for case, done in NUMBERS.cases(
        (),
        lambda case: functions.done(cast(int, case.named("x")), cast(int, case.named("n")), True),
        {},
    ):
        numbers = NUMBERS.example(case)
        assert roundabout(numbers["x"], numbers["n"], True) is done


def test_a_message_is_no_part_of_what_is_decided() -> None:
    functions = exact(decisions)
    taken = dict(NUMBERS.cases((), lambda case: _takes(functions, case.named("k")), {}))
    assert {str(case[0]): answer for case, answer in taken.items()} == {
        "k >= 1": True,
        "k <= 0": False,
    }


def _takes(functions: Decisions, k: Whole) -> bool:
    try:
        functions.check_bound(cast(int, k), "k is")
    except UsageError:
        return False
    return True


def test_an_answer_of_another_type_is_refused() -> None:
    with pytest.raises(Unknown, match="done answers int, not bool"):
        exact(changed("done", answers_a_number))


def answers_a_number(sent: int, n: int, stopped: bool) -> bool:
    return 1 if stopped else sent + 1 > n  # type: ignore[return-value] # an attack


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["<=", "==", "!="]),
    st.integers(-4, 4),
    st.integers(-30, 30),
    st.integers(0, 5),
    st.integers(-40, 40),
)
def test_of_a_comparison_and_its_contrary_one_holds(
    relation: Any, factor: int, constant: int, modulus: int, value: int
) -> None:
    modulus = 0 if relation == "<=" else modulus
    atom = LinearAtom((("x", factor),), constant, relation, modulus)
    assert atom.holds({"x": value}) is not atom.contrary().holds({"x": value})


@pytest.mark.parametrize("other", [12.5, 12.0, 1j, float("nan"), [1], {1}, object()])
def test_a_number_is_compared_with_nothing_but_whole_numbers(other: Any) -> None:
    x = NUMBERS.named("x")
    compared: list[Callable[[], object]] = [
        *(lambda: x <= other, lambda: x < other, lambda: x == other, lambda: x != other),
        *(lambda: other >= x, lambda: x + other, lambda: x - other, lambda: other - x),
        *(lambda: x * other, lambda: x % 2 == other, lambda: x % other, lambda: x.at_most(other)),
    ]
    for compare in compared:
        with pytest.raises(Inexact):
            compare()


def test_a_count_that_nobody_has_read_is_unknown_with_what_was_found() -> None:
    request = Request(("interact",), ("sequences-at-3-1",), relations="without symmetric")
    (result,) = answer(request)
    assert result.status is Status.UNKNOWN
    assert result.verdict.reason.startswith("9 sequences; the reading says how many for")


def test_a_claim_that_fails_is_not_offered_as_a_proof() -> None:
    with pytest.raises(UsageError, match=r"there is no proof of interact\.ends-agreed") as raised:
        list(prove_protocol("interact", "ends-agreed"))
    assert str(raised.value).count("ends-agreed") == 1
