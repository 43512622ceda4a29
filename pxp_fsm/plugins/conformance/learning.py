"""Automata learning of a running agent as a black box, by AALpy, with a complete oracle.

AALpy (extra `conformance`) is loaded when something is learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Literal, TypeVar

from pxp_fsm.errors import NoAnswer, require_extra
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.conformance.mealy import Answer, Mealy, Word, difference, minimal
from pxp_fsm.plugins.conformance.suites import wp_suite
from pxp_fsm.plugins.conformance.testing import BlackBox, Output, ProgramFault, alike, answered

I = TypeVar("I")  # noqa: E741 - the field's letter for an input

Algorithm = Literal["L*", "KV"]


@dataclass(frozen=True)
class Learned(Generic[I]):
    """The machine that was learned, minimal, and where it differs from the expected one.

    `difference` is a shortest word on which the two differ, None if they are the same. `rounds` are
    hypotheses, `resets` and `inputs` what was asked of the subject for them and to test them.
    """

    machine: Mealy[I, Output]
    difference: Word | None
    rounds: int
    resets: int
    inputs: int


def learn(
    expected: Mealy[I, Answer],
    subject: BlackBox[I],
    extra: int = 0,
    algorithm: Algorithm = "KV",
) -> Learned[I]:
    """Learn `subject` over the inputs of `expected`, and compare.

    `difference` is None if and only if `subject` answers as `expected` does, always, provided that
    it is deterministic and has at most n + `extra` states, n those of the minimal form of
    `expected`. A hypothesis that differs from `expected` is asked for the shortest word that shows
    it; one that does not is held against the Wp suite of `expected`, complete for that many states.
    So an equal machine is never returned for a subject that is not, and what is returned as
    different differs on a word that the subject itself has answered; how such a subject goes on
    elsewhere has been held against its own Wp suite for no extra state. (Random walks, the usual
    oracle, promise none of this.)

    Raises `UsageError` without AALpy, or where the suite is too large; `NoAnswer` where the subject
    says nothing in time, or not the same to the same word.
    """
    require_extra("conformance", "learning", {"aalpy": "AALpy"})
    from aalpy import run_KV, run_Lstar

    least = minimal(expected)
    asked = _Asked(least, subject)
    oracle = _Complete(least, asked, wp_suite(least, extra))
    learned, told = (run_Lstar if algorithm == "L*" else run_KV)(
        list(range(len(least.inputs))),
        _System(asked),
        oracle,
        "mealy",
        cache_and_non_det_check=False,
        return_data=True,
        print_level=0,
    )
    machine = minimal(_read(learned, least))
    return Learned(
        machine, difference(machine, least), told["learning_rounds"], asked.resets, asked.steps
    )


class _Node:
    """Where the subject has been: for each input that followed, the answer and what came then."""

    def __init__(self) -> None:
        self.after: dict[int, tuple[Output, _Node]] = {}


class _Asked(Generic[I]):
    """The subject with every answer kept, so that no word is asked twice.

    Raises `NoAnswer` where it gives another answer than it once gave.
    """

    def __init__(self, machine: Mealy[I, Answer], subject: BlackBox[I]) -> None:
        self._inputs = machine.inputs
        self._subject = subject
        self._root = _Node()
        self.resets = self.steps = 0

    def answers(self, word: Word) -> tuple[Output, ...]:
        """What the subject answers to `word`; after a fault it answers nothing but that."""
        node, outputs = self._root, list[Output]()
        for letter in word:
            if letter not in node.after:
                self._ask(word)
                return self.answers(word)
            answer, node = node.after[letter]
            outputs.append(answer)
        return tuple(outputs)

    def _ask(self, word: Word) -> None:
        self._subject.reset()
        self.resets += 1
        node = self._root
        output: Output = None
        for letter in word:
            if not isinstance(output, ProgramFault):
                self.steps += 1
                output = answered(self._subject, self._inputs[letter])
            known, after = node.after.setdefault(letter, (output, _Node()))
            if not alike(known, output):
                raise NoAnswer("it answered one sequence of inputs in two ways")
            output, node = known, after


class _System:
    """The subject as AALpy asks it: in whole words."""

    def __init__(self, asked: _Asked[Any]) -> None:
        self._asked = asked
        self.num_queries = self.num_steps = self.num_cached_queries = 0

    def query(self, word: Sequence[int]) -> list[Output]:
        return list(self._asked.answers(tuple(word)))


class _Complete:
    """The oracle of `learn`; its counterexamples end at their first difference."""

    def __init__(
        self, expected: Mealy[Any, Answer], asked: _Asked[Any], suite: Sequence[Word]
    ) -> None:
        self._expected, self._asked, self._suite = expected, asked, suite
        self.num_queries = self.num_steps = 0

    def find_cex(self, hypothesis: Any) -> Word | None:
        learned = _read(hypothesis, self._expected)
        shown = difference(learned, self._expected)
        own = () if shown is None else wp_suite(learned)
        for word in (shown or (), *self._suite, *own):
            place = _first(learned.answers(word), self._asked.answers(word))
            if place is not None:
                return word[: place + 1]
        return None


def _first(first: Sequence[Output], other: Sequence[Output]) -> int | None:
    pairs = enumerate(zip(first, other, strict=True))
    return next((place for place, (a, b) in pairs if a != b), None)


def _read(hypothesis: Any, expected: Mealy[I, Answer]) -> Mealy[I, Output]:
    """AALpy's machine as ours."""
    number = {state: place for place, state in enumerate(hypothesis.states)}
    letters = range(len(expected.inputs))
    return Mealy(
        expected.inputs,
        tuple(tuple(number[s.transitions[i]] for i in letters) for s in number),
        tuple(tuple(s.output_fun[i] for i in letters) for s in number),
        number[hypothesis.initial_state],
    )
