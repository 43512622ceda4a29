"""What is under test: anything that can be started anew and answers one stimulus at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from proofs.conformance.mealy import Mealy
from proofs.conformance.stimuli import Answer
from pxp_fsm.errors import NoAnswer, PXPError

I_contra = TypeVar("I_contra", contravariant=True)
I = TypeVar("I")  # noqa: E741 - the field's letter for an input


@dataclass(frozen=True, slots=True)
class Fault:
    """What came in place of an answer: it crashed, it said what is none. Nothing comes after it."""

    said: str

    def __str__(self) -> str:
        return self.said


Output = Answer | Fault
"""An answer, or what came in place of one."""


class Subject(Protocol[I_contra]):
    """A running agent as a black box; deterministic, or nothing can be said of it."""

    def reset(self) -> None:
        """Start anew, as if nothing had happened."""

    def step(self, given: I_contra) -> Output:
        """What it answers to `given`; raises `NoAnswer` where it says nothing in time."""


@dataclass
class Simulated(Subject[I]):
    """A Mealy machine as a subject; answers are those of the machine."""

    machine: Mealy[I, Output]

    def __post_init__(self) -> None:
        self._state = self.machine.initial
        self._place = {given: place for place, given in enumerate(self.machine.inputs)}

    def reset(self) -> None:
        self._state = self.machine.initial

    def step(self, given: I) -> Output:
        place = self._place[given]
        said = self.machine.outputs[self._state][place]
        self._state = self.machine.successors[self._state][place]
        return said


def answered(subject: Subject[I], given: I) -> Output:
    """What `subject` answers: whatever it raises, but for `NoAnswer`, is an answer too.

    An error of this package is a refusal; any other is a `Fault`.
    """
    try:
        return subject.step(given)
    except NoAnswer:
        raise
    except PXPError:
        return None
    except Exception as error:  # noqa: BLE001 - whatever a wrong agent raises is the finding
        return Fault(f"{type(error).__name__}: {error}")


def alike(one: Output, other: Output) -> bool:
    """Whether two answers are the same; faults are, however they are told."""
    return one == other or (isinstance(one, Fault) and isinstance(other, Fault))
