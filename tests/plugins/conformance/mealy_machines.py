"""Mealy machines by chance, and machines that are almost another one."""

from __future__ import annotations

import random

from pxp_fsm.plugins.conformance.mealy import Mealy, minimal

Machine = Mealy[int, str | None]
SAID = (None, "x", "y")


def machine(chance: random.Random, states: int, inputs: int, said: int = 2) -> Machine:
    """A machine of at most `states` states, all of them reachable."""
    every = range(states)
    return minimal(
        Mealy(
            tuple(range(inputs)),
            tuple(tuple(chance.randrange(states) for _ in range(inputs)) for _ in every),
            tuple(tuple(chance.choice(SAID[:said]) for _ in range(inputs)) for _ in every),
        )
    )


def mutant(chance: random.Random, of: Machine, extra: int, changes: int) -> Machine:
    """`of` with up to `extra` states doubled, and that many successors or outputs changed."""
    copies = list(range(of.size))
    copies += [chance.randrange(of.size) for _ in range(chance.randint(0, extra))]
    places = {state: [i for i, s in enumerate(copies) if s == state] for state in range(of.size)}
    successors = [[chance.choice(places[t]) for t in of.successors[s]] for s in copies]
    outputs = [list(of.outputs[s]) for s in copies]
    for _ in range(changes):
        state, given = chance.randrange(len(copies)), chance.randrange(len(of.inputs))
        if chance.random() < 0.5:
            successors[state][given] = chance.randrange(len(copies))
        else:
            outputs[state][given] = chance.choice(SAID)
    return Mealy(of.inputs, tuple(map(tuple, successors)), tuple(map(tuple, outputs)))
