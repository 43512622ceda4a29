"""Conformance tests of a subject against a machine, with a shortest failing sequence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import Generic, Protocol, TypeVar

from pxp_fsm.errors import NoAnswer, PXPError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.conformance.mealy import Answer, Mealy, Word, access_words, minimal
from pxp_fsm.plugins.conformance.suites import wp_suite

I_contra = TypeVar("I_contra", contravariant=True)
I = TypeVar("I")  # noqa: E741 - the field's letter for an input


@dataclass(frozen=True, slots=True)
class ProgramFault:
    """What came in place of an answer: it crashed, it said what is none. Nothing comes after it."""

    said: str

    def __str__(self) -> str:
        return self.said


Output = Answer | ProgramFault
"""An answer, or what came in place of one."""


class BlackBox(Protocol[I_contra]):
    """A running agent as a black box; deterministic, or nothing can be said of it."""

    def reset(self) -> None:
        """Start anew, as if nothing had happened."""

    def step(self, stimulus: I_contra) -> Output:
        """What it answers to `stimulus`; raises `NoAnswer` where it says nothing in time."""


@dataclass
class Simulated(BlackBox[I]):
    """A Mealy machine as a subject; answers are those of the machine."""

    machine: Mealy[I, Output]

    def __post_init__(self) -> None:
        self._state = self.machine.initial
        self._place = {stimulus: place for place, stimulus in enumerate(self.machine.inputs)}

    def reset(self) -> None:
        self._state = self.machine.initial

    def step(self, stimulus: I) -> Output:
        place = self._place[stimulus]
        output = self.machine.outputs[self._state][place]
        self._state = self.machine.successors[self._state][place]
        return output


def answered(subject: BlackBox[I], stimulus: I) -> Output:
    """What `subject` answers: whatever it raises, but for `NoAnswer`, is an answer too.

    An error of this package is a refusal; any other is a `ProgramFault`.
    """
    try:
        return subject.step(stimulus)
    except NoAnswer:
        raise
    except PXPError:
        return None
    except Exception as error:  # noqa: BLE001 - whatever a wrong agent raises is the finding
        return ProgramFault(f"{type(error).__name__}: {error}")


def alike(first: Output, other: Output) -> bool:
    """Whether two answers are the same; faults are, however they are told."""
    return first == other or (isinstance(first, ProgramFault) and isinstance(other, ProgramFault))


SEARCHED = 100_000
"""How many inputs are spent on the search for a shorter sequence."""

REPLAYED = 3
"""How many times a difference is replayed before it is reported."""


@dataclass(frozen=True)
class AnswerDifference(Generic[I]):
    """A sequence whose last input is answered otherwise than expected; it was replayed.

    `none_below`: no sequence of fewer inputs than this differs, all of them were tried; where it is
    the length of `inputs`, this is a shortest one.
    """

    inputs: tuple[I, ...]
    expected: tuple[Answer, ...]
    got: tuple[Output, ...]
    none_below: int

    @property
    def shortest(self) -> bool:
        """Whether it is known that no shorter sequence differs."""
        return self.none_below >= len(self.inputs)


@dataclass(frozen=True)
class ConformanceReport(Generic[I]):
    """What the tests found.

    `states` is the size of the minimal machine. A subject that passed (no `difference`, nothing
    `unknown`) answers as the machine does for ever, if it is deterministic, a reset is one, and it
    has at most `states` + `extra` states. `unknown` is why no verdict was reached, at the last of
    the inputs `during`.
    """

    states: int
    extra: int
    tests: int
    inputs: int
    difference: AnswerDifference[I] | None = None
    unknown: str = ""
    during: tuple[I, ...] = ()

    @property
    def conforms(self) -> bool:
        """Whether every test was passed."""
        return self.difference is None and not self.unknown


class _Changed(Exception):
    """The subject answered one sequence in two ways."""


class _Tester(Generic[I]):
    """Runs words on a subject and compares; counts what it did."""

    def __init__(self, machine: Mealy[I, Answer], subject: BlackBox[I]) -> None:
        self.machine, self.subject = machine, subject
        self.tests = self.inputs = 0
        self.asked: Word = ()

    def failing(self, word: Sequence[int]) -> tuple[Word, tuple[Output, ...]] | None:
        """The beginning of `word` up to the first answer that is not the expected one, if any."""
        self.tests += 1
        self.asked = ()
        self.subject.reset()
        got: list[Output] = []
        state = self.machine.initial
        for place, letter in enumerate(word):
            self.inputs += 1
            self.asked = tuple(word[: place + 1])
            output = answered(self.subject, self.machine.inputs[letter])
            got.append(output)
            if isinstance(output, ProgramFault) or output != self.machine.outputs[state][letter]:
                return self.asked, tuple(got)
            state = self.machine.successors[state][letter]
        return None

    def first(self, words: Iterable[Word]) -> tuple[Word, tuple[Output, ...]] | None:
        return next(filter(None, map(self.failing, words)), None)


def conform(
    machine: Mealy[I, Answer], subject: BlackBox[I], extra: int = 1, searched: int = SEARCHED
) -> ConformanceReport[I]:
    """Test `subject` against `machine` by the Wp-method; a difference is then made short.

    All sequences that are shorter than the one found are tried, by length, until that has taken
    `searched` inputs; then inputs are left out of it one by one. Raises `UsageError` for a suite
    that is too large (see `wp_suite`).
    """
    least = minimal(machine)
    suite = wp_suite(least, extra)
    tester = _Tester(least, subject)
    try:
        failed = tester.first(suite)
        difference = None if failed is None else _shortened(tester, *failed, searched)
        unknown = ""
    except (NoAnswer, _Changed) as error:
        difference, unknown = None, str(error)
    during = tuple(least.inputs[letter] for letter in tester.asked) if unknown else ()
    return ConformanceReport(
        least.size, extra, tester.tests, tester.inputs, difference, unknown, during
    )


def conform_by_examples(
    machine: Mealy[I, Answer], subject: BlackBox[I], extra: int = 0, searched: int = SEARCHED
) -> ConformanceReport[I]:
    """Test `subject` on examples that Hypothesis chooses, by the profile that is loaded.

    An example is a few cases, each a state of `machine` and an input there, reached by a shortest
    way; a difference is then made short as by `conform`. Before, each case is tried by itself (the
    first `_ALONE`), so that a wrong answer in one is found each time. Without a difference nothing
    is proved.
    """
    from hypothesis import HealthCheck, example, given, settings
    from hypothesis import strategies as st
    from hypothesis.errors import FlakyFailure

    least = minimal(machine)
    ways = [access_words(replace(least, initial=state)) for state in range(least.size)]
    cases = st.tuples(st.integers(0, least.size - 1), st.integers(0, len(least.inputs) - 1))
    tester, failed = _Tester(least, subject), list[tuple[Word, tuple[Output, ...]]]()

    @settings(
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=(
            *settings().suppress_health_check,
            HealthCheck.too_slow,  # a slow machine is no fault of the subject
        ),
    )
    @given(st.lists(cases, min_size=1, max_size=_CASES))
    def attempt(chosen: list[tuple[int, int]]) -> None:
        at, word = least.initial, list[int]()
        for state, given_there in chosen:
            way = ways[at].get(state, ())
            word += (*way, given_there)
            at = least.after((*way, given_there), at)
        wrong = tester.failing(word)
        if wrong is not None:
            failed.append(wrong)
            raise _Differs

    every = product(range(least.size), range(len(least.inputs)))
    for case in islice(every, _ALONE):
        attempt = example([case])(attempt)
    difference, unknown = None, ""
    try:
        attempt()
    except _Differs:
        try:
            difference = _shortened(
                tester, *min(failed, key=lambda failure: len(failure[0])), searched
            )
        except _Changed as error:
            unknown = str(error)
    except FlakyFailure:
        unknown = "it answered one sequence of inputs in two ways"
    except NoAnswer as error:
        unknown = str(error)
    during = tuple(least.inputs[given_last] for given_last in tester.asked) if unknown else ()
    return ConformanceReport(
        least.size, extra, tester.tests, tester.inputs, difference, unknown, during
    )


_CASES = 12
"""The most cases of an example."""

_ALONE = 1_000
"""So many cases are tried one by one."""


class _Differs(AssertionError):
    """An example was answered otherwise than expected."""


def _shortened(
    tester: _Tester[I], word: Word, got: tuple[Output, ...], searched: int
) -> AnswerDifference[I]:
    budget = tester.inputs + searched
    below = 1
    try:
        for shorter in _shorter(word, len(tester.machine.inputs)):
            below = len(shorter)
            if tester.inputs >= budget:
                word, got = _without(tester, word, got, below)
                break
            failure = tester.failing(shorter)
            if failure is not None:
                word, got = failure
                break
        else:
            below = len(word)
    except NoAnswer:  # something longer is known to differ, and that is told
        pass
    for _ in range(REPLAYED):
        again = tester.failing(word)
        if again is None or again[0] != word or not all(map(alike, again[1], got)):
            raise _Changed(
                "it answered one sequence of inputs in two ways; a test needs a program that does "
                "after each reset as it did before"
            )
    machine = tester.machine
    inputs = tuple(machine.inputs[letter] for letter in word)
    return AnswerDifference(inputs, machine.answers(word), got, below)


def _shorter(word: Word, inputs: int) -> Iterator[Word]:
    """All words shorter than `word`, by length; those that begin with its own inputs come first."""
    letters = dict.fromkeys((*sorted(word), *range(inputs)))
    for length in range(1, len(word)):
        yield from product(letters, repeat=length)


def _without(
    tester: _Tester[I], word: Word, got: tuple[Output, ...], below: int
) -> tuple[Word, tuple[Output, ...]]:
    """`word` with inputs left out, as long as what is left still differs."""
    again = True
    while again and len(word) > below:
        again = False
        for shorter in _one_less(word):
            failure = tester.failing(shorter)
            if failure is not None:
                (word, got), again = failure, True
                break
    return word, got


def _one_less(word: Word) -> Iterator[Word]:
    for place in range(len(word) - 1):
        yield word[:place] + word[place + 1 :]
