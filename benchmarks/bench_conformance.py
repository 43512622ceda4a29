"""Complete test suites and learning, beside AALpy's W-method, Wp-method and random walks.

The agent of INTERACT(n, k = 3) that answers, with counters and stop rule, as a Mealy machine; its
inputs are five tags that may come and eight outcomes of MATCH, AGREE and revision. Every column is
measured in this run, on the same machine, CPU seconds. Learned is right if it answers every word
as the agent does, which is decided exactly. A method that has no result after `LIMIT` CPU seconds
is stopped there.

Read the comparison for what it is. Our oracle knows the table that the agent is to be equal to, and
tests for that; AALpy's oracles are told no more than how many states there are, and look for
whatever machine it is. That is another question, and without a table theirs is the one to ask.

    python benchmarks/bench_conformance.py [TRIES]
"""

from __future__ import annotations

import asyncio
import random
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, TypeVar

from aalpy import SUL, run_KV, run_Lstar
from aalpy.oracles import RandomWalkEqOracle, WMethodEqOracle, WpMethodEqOracle

from pxp_fsm.plugins.conformance.learning import Algorithm, learn
from pxp_fsm.plugins.conformance.mealy import Mealy, access_words, difference, minimal
from pxp_fsm.plugins.conformance.session_agent import INPUTS, InSession, counted
from pxp_fsm.plugins.conformance.suites import characterising_set, wp_suite
from pxp_fsm.plugins.conformance.testing import Simulated, conform
from pxp_fsm.protocol.rules import Interact

SIZES = (5, 10, 20, 40)
LIMIT = 10
Machine = Mealy[Any, Any]
T = TypeVar("T")
LEARNERS: dict[Algorithm, Callable[..., Any]] = {"KV": run_KV, "L*": run_Lstar}
WALK = 5_000  # steps of random walks in each round; AALpy's own default


class Enough(Exception):
    """More time than a method is given here."""


def stop(_signal: int, _frame: object) -> None:
    raise Enough


class Simulation(SUL):  # type: ignore[misc] # AALpy is untyped
    """A machine as AALpy asks it."""

    def __init__(self, machine: Machine) -> None:
        super().__init__()
        self.machine = machine
        self.asked = 0

    def pre(self) -> None:
        self.state = self.machine.initial

    def post(self) -> None:
        pass

    def step(self, letter: int) -> object:
        self.asked += 1
        output = self.machine.outputs[self.state][letter]
        self.state = self.machine.successors[self.state][letter]
        return output


def read(hypothesis: Any, machine: Machine) -> Machine:
    states = list(hypothesis.states)
    letters = range(len(machine.inputs))
    return Mealy(
        machine.inputs,
        tuple(tuple(states.index(s.transitions[i]) for i in letters) for s in states),
        tuple(tuple(s.output_fun[i] for i in letters) for s in states),
        states.index(hypothesis.initial_state),
    )


def timed(work: Callable[[], T]) -> tuple[T, float]:
    started = time.process_time()
    return work(), time.process_time() - started


def suites(machines: dict[int, Machine]) -> None:
    print("Test suites\n")
    print("| n | states | extra | Wp tests | Wp inputs | made in s | W tests | W inputs | Wp : W |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for n, machine in machines.items():
        for extra in (0, 1):
            suite, seconds = timed(partial(wp_suite, machine, extra))
            tests, inputs = w_suite(machine, extra)
            own = sum(map(len, suite))
            print(
                f"| {n} | {machine.size} | {extra} | {len(suite):,} | {own:,} | {seconds:.3f} "
                f"| {tests:,} | {inputs:,} | {own / inputs:.2f} |"
            )


def w_suite(machine: Machine, extra: int) -> tuple[int, int]:
    """Tests and inputs of the W suite, by the same characterising set; beginnings left out."""
    letters = range(len(machine.inputs))
    whole = characterising_set(machine)
    cover = [(*word, letter) for word in access_words(machine).values() for letter in letters]
    tests = {
        reached + middle + word
        for reached in cover
        for length in range(extra + 1)
        for middle in product(letters, repeat=length)
        for word in whole
    }
    tests -= {test[:length] for test in tests for length in range(len(test))}
    return len(tests), sum(map(len, tests))


def learning(machines: dict[int, Machine], tries: int) -> None:
    print(f"\nLearned back ({tries} tries where there is chance)\n")
    print("| n | learner | oracle | right | inputs | CPU s | inputs, ours = 1 |")
    print("|--:|---|---|--:|--:|--:|--:|")
    for n, machine in machines.items():
        asked = 0
        for name in LEARNERS:
            ours, seconds = timed(partial(learn, machine, Simulated(machine), 0, name))
            asked = asked or ours.inputs
            print(
                f"| {n} | {name} | the table's Wp suite | {int(ours.difference is None)} of 1 "
                f"| {ours.inputs:,} | {seconds:.2f} | {ours.inputs / asked:.1f} |"
            )
        for name, run in LEARNERS.items():
            peers(n, machine, name, run, asked, tries)


def peers(
    n: int, machine: Machine, name: str, run: Callable[..., Any], asked: int, tries: int
) -> None:
    letters = list(range(len(machine.inputs)))
    oracles: dict[str, Callable[[Simulation], Any]] = {
        "AALpy random walks": lambda sul: RandomWalkEqOracle(letters, sul, WALK),
        "AALpy W-method": lambda sul: WMethodEqOracle(letters, sul, machine.size),
        "AALpy Wp-method": lambda sul: WpMethodEqOracle(letters, sul, machine.size),
    }
    for oracle, make in oracles.items():
        right = done = steps = stopped = 0
        spent = 0.0
        for seed in range(tries if "random" in oracle else 1):
            random.seed(seed)
            sul = Simulation(machine)
            started = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, LIMIT)
            try:
                learned = run(letters, sul, make(sul), "mealy", print_level=0)
                right += difference(read(learned, machine), machine) is None
            except Enough:
                stopped += 1
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            spent += time.process_time() - started
            steps += sul.asked
            done += 1
        result = "stopped" if stopped == done else f"{right} of {done}"
        print(
            f"| {n} | {name} | {oracle} | {result} | {steps // done:,} "
            f"| {spent / done:.2f} | {steps / done / asked:.1f} |",
            flush=True,
        )


def small(count: int = 500) -> None:
    """Random machines of at most 5 states; the oracles are told how many there are."""
    print(f"\n{count} random machines of at most 5 states, their size told to the oracle\n")
    print("| learner | AALpy W-method, wrong | AALpy Wp-method, wrong | the table's, wrong |")
    print("|---|--:|--:|--:|")
    for name, run in LEARNERS.items():
        chance = random.Random(3)
        wrong = {WMethodEqOracle: 0, WpMethodEqOracle: 0}
        ours = 0
        for _ in range(count):
            machine = drawn(chance)
            letters = list(range(len(machine.inputs)))
            for oracle in wrong:
                sul = Simulation(machine)
                learned = run(
                    letters, sul, oracle(letters, sul, machine.size), "mealy", print_level=0
                )
                wrong[oracle] += difference(read(learned, machine), machine) is not None
            ours += learn(machine, Simulated(machine), 0, name).difference is not None
        print(f"| {name} | {wrong[WMethodEqOracle]} | {wrong[WpMethodEqOracle]} | {ours} |")


def drawn(chance: random.Random) -> Machine:
    states, inputs = chance.randint(1, 5), range(chance.randint(1, 3))
    return minimal(
        Mealy(
            tuple(inputs),
            tuple(tuple(chance.randrange(states) for _ in inputs) for _ in range(states)),
            tuple(tuple(chance.random() < 0.15 for _ in inputs) for _ in range(states)),
        )
    )


def running() -> None:
    """The agent in real sessions, not its table: suite and learning."""
    print("\nThe running agent\n")
    print("| n | suite passed | inputs | CPU s | learned (KV) | inputs | CPU s |")
    print("|--:|---|--:|--:|---|--:|--:|")
    with asyncio.Runner() as runner:
        for n in SIZES:
            rules = Interact(n, 3)
            machine = counted(rules, initiator=False)
            agent = InSession(rules, initiator=False, run=runner.run)
            report, tested = timed(partial(conform, machine, agent, 0))
            back, spent = timed(partial(learn, machine, agent))
            print(
                f"| {n} | {report.conforms} | {report.inputs:,} | {tested:.2f} "
                f"| {back.difference is None} | {back.inputs:,} | {spent:.2f} |",
                flush=True,
            )


def main() -> None:
    tries = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    machines = {n: minimal(counted(Interact(n, 3), initiator=False)) for n in SIZES}
    print(f"{len(INPUTS)} inputs\n")
    signal.signal(signal.SIGPROF, stop)
    suites(machines)
    small()
    running()
    learning(machines, tries)


if __name__ == "__main__":
    main()
