"""One measured exploration in a process of its own, for `bench_exploration.py`: prints JSON."""

from __future__ import annotations

import json
import sys
import time

from pxp_fsm.protocol.rules import Interact


def over_values(rules: Interact, values: int) -> dict[str, float]:
    from proofs.sessions.compiled import reach
    from proofs.sessions.packed import PackedSessions

    reach(PackedSessions(rules, 1), compiled=True)  # compiles the loop, or loads it
    model = PackedSessions(rules, values)
    _ = model.controls
    before = time.process_time()
    reached = reach(model, compiled=True)
    states = reached.states
    search = time.process_time() - before
    trace = reached.find(lambda state: state.sent == rules.n)
    if trace is None or len(trace.steps) != rules.n:
        raise SystemExit("no shortest trace to the longest session")
    return {"states": states, "search": search, "before": before}


def with_symmetry(rules: Interact) -> dict[str, float]:
    from proofs.core.explore import explore
    from proofs.sessions.model import SessionModel
    from proofs.sessions.relational import Theory
    from pxp_fsm.protocol.relations import Assumption

    _ = rules.automaton  # reading the table is no part of the question
    before = time.process_time()
    space = explore(SessionModel(rules, Theory(frozenset(Assumption))))
    return {"states": space.states, "search": time.process_time() - before, "before": before}


if __name__ == "__main__":
    what, n, k, *values = sys.argv[1:]
    rules = Interact(int(n), int(k))
    found = over_values(rules, int(values[0])) if what == "values" else with_symmetry(rules)
    print(json.dumps(found))
