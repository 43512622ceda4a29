"""A guard that has been chosen and whose message cannot be received, in what is exported."""

from __future__ import annotations

import random

from proofs.core.explore import explore
from proofs.core.limits import Effort
from proofs.systems import (
    Composition,
)
from proofs.systems.propositions import Noting
from pxp_fsm.plugins.exports.network import network
from tests.plugins.exports.test_exchange_systems import Interpreted
from tests.proofs.random_systems import random_channel, random_system


def test_what_other_checkers_are_given_is_the_same() -> None:
    """The commands that are written out take the steps of the system, of two members or more."""
    for seed in range(60):
        chance = random.Random(seed)
        system = random_system(chance, guards=0.7)
        composition = Composition(system.over(random_channel(chance, system)))
        try:
            space = explore(composition, effort=Effort(200))
        except Exception as error:  # noqa: BLE001 - too large
            assert "more than" in str(error)
            continue
        model = Interpreted(network(composition))
        theirs = explore(model)
        assert (theirs.states, theirs.transitions) == (space.states, space.transitions), seed
        ended = [state for state in theirs.steps if "ended" in model.propositions(state)]
        noting = Noting(composition, ["ended"])
        ours = [one for one in explore(noting).steps if noting.propositions(one)]
        assert len(ended) == len(ours)
