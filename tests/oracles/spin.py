"""Models and formulas for SPIN: a second model checker, by others, to compare verdicts with.

Many graphs stand in one file, since each file is compiled. A run draws a graph in its first step
and enters its state 0 in the second; the never claim that SPIN makes of a formula about graph 3
waits for the two steps, and for graph 3. A graph's step is one indivisible step of SPIN's. Where a
run ends, `alive` becomes false in one more step, after which SPIN repeats the last state for ever.
So that our finite runs mean what they mean here, X, N, U and R ask for `alive` (De Giacomo and
Vardi, IJCAI 2013, translate LTLf so). SPIN is often built without X: every step turns `tick`, and
the next state is where it has turned.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from proofs.logic.formulas import And, Atom, Formula, Next, Not, Or, Release, Truth, Until, WeakNext
from tests.oracles.graphs import NAMES, Graph
from tests.oracles.model_checkers import C_COMPILER

Pair = tuple[Graph, Formula]

COMPILE = (C_COMPILER, "-w", "-DNOREDUCE", "-DMEMLIM=1024", "-o", "pan", "pan.c")


def promela(pairs: Sequence[Pair], folder: Path) -> str:
    """One process that draws a graph and walks in it, and a never claim for each pair."""
    draws = [f"  :: d_step {{ graph = {place + 1} }}" for place in range(len(pairs))]
    enters = [
        f"  :: d_step {{ graph == {place + 1} -> alive = 1; {_true(graph, 0)} }}"
        for place, (graph, _) in enumerate(pairs)
    ]
    steps = [line for place, (graph, _) in enumerate(pairs) for line in _steps(place, graph)]
    walk = ["  if", *draws, "  fi;", "  if", *enters, "  fi;", "end:", "  do", *steps, "  od"]
    return "\n".join(
        [
            "byte graph, state;",
            f"bit alive, tick, {', '.join(NAMES)};",
            "active proctype walk()\n{",
            *walk,
            "}",
            *(_claim(place, formula, folder) for place, (_, formula) in enumerate(pairs)),
        ]
    )


def _steps(place: int, graph: Graph) -> Iterator[str]:
    for state, targets in enumerate(graph.edges):
        here = f"graph == {place + 1} && state == {state} && alive"
        for target in targets:
            turned = f"state = {target}; tick = 1 - tick; {_true(graph, target)}"
            yield f"  :: d_step {{ {here} -> {turned} }}"
        if not targets:
            yield f"  :: d_step {{ {here} -> alive = 0; tick = 1 - tick }}"


def _claim(place: int, formula: Formula, folder: Path) -> str:
    """SPIN's never claim of the formula's negation, after the two steps that come before."""
    made = _run(folder, "spin", "-f", f"!({translated(formula)})")
    first = re.search(r"^(\w+):", made, re.MULTILINE)
    body = made[made.index("{") + 1 :]
    assert first is not None, made
    return (
        f"never f{place} {{\n"
        f"drawing:\n\tdo\n\t:: (graph == 0) -> goto entering\n\tod;\n"
        f"entering:\n\tdo\n\t:: (graph == {place + 1}) -> goto {first[1]}\n\tod;\n{body}"
    )


def _true(graph: Graph, state: int) -> str:
    return "; ".join(f"{name} = {int(name in graph.true[state])}" for name in NAMES)


def translated(formula: Formula) -> str:  # noqa: PLR0911 - a case for each kind of formula
    """The formula in SPIN's words, of runs that are finite where `alive` ends."""
    match formula:
        case Truth(value):
            return "true" if value else "false"
        case Atom(name):
            return name
        case Not(of):
            return f"(!{translated(of)})"
        case And(left, right):
            return f"({translated(left)} && {translated(right)})"
        case Or(left, right):
            return f"({translated(left)} || {translated(right)})"
        case Next(of):
            return _next(f"(alive && {translated(of)})")
        case WeakNext(of):
            return _next(f"(!alive || {translated(of)})")
        case Until(left, right):
            return f"({translated(left)} U (alive && {translated(right)}))"
        case Release(left, right):
            return f"({translated(left)} V (!alive || {translated(right)}))"
    raise AssertionError(f"SPIN has no {formula}")


def _next(said: str) -> str:
    return f"((tick && (tick U (!tick && {said}))) || (!tick && ((!tick) U (tick && {said}))))"


def verdicts(pairs: Sequence[Pair], folder: Path) -> list[bool]:
    """For each pair whether SPIN says that every run of the graph satisfies the formula."""
    (folder / "walk.pml").write_text(promela(pairs, folder), "utf-8")
    _run(folder, "spin", "-a", "walk.pml")
    _run(folder, *COMPILE)
    return [_holds(folder, place) for place in range(len(pairs))]


def _holds(folder: Path, place: int) -> bool:
    """SPIN's verdict on one formula: it must have searched to the end, or have found an error."""
    told = _run(folder, "./pan", "-a", "-n", "-w12", "-m10000", "-N", f"f{place}")
    errors = re.search(r"errors: (\d+)", told)
    if errors is None or "max search depth too small" in told:
        raise AssertionError(told)
    return errors[1] == "0"


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode and command[0] != "./pan":
        raise AssertionError(done.stdout + done.stderr)
    return done.stdout
