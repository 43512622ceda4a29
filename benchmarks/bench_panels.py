"""What a message costs in a panel, beside the session of two.

Agents say what they always say, with equality as MATCH and AGREE, and nobody ratifies: each session
goes on to its bound. It is stored in SQLite, as a run's sessions are. The subjects take turns in
one process; of each the best of the rounds counts, in CPU time, of short sessions and of long ones:
what a message costs is the difference, so that opening database and session count for nothing.
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pxp_fsm as pxp
from backends.databases import SqlBlackboard

SHORT, LONG, ROUNDS = 60, 300, 7
TWO = "session of two"


def subject(rules: type[pxp.Interact | pxp.Pxp], agents: int, messages: int) -> pxp.Panel:
    """A panel whose channels have so many messages together."""
    each = messages // (agents * (agents - 1) // 2)
    if rules is pxp.Interact:
        return pxp.Panel(pxp.Interact(n=each, k=each))
    return pxp.Panel(pxp.Pxp(term=lambda _received, _own: False))


def run(place: Path, rules: type[pxp.Interact | pxp.Pxp], agents: int, messages: int) -> float:
    """CPU seconds of a session of so many messages; of no agents it is that of two."""
    panel = subject(rules, agents or 2, messages)

    def sits(name: str) -> pxp.Agent:
        answer = pxp.Answer(f"what {name} predicts", f"why {name} does")
        return pxp.Agent(lambda _question: answer, match=pxp.exact, agree=pxp.exact)

    members = {name: sits(name) for name in "abcde"[: agents or 2]}
    with SqlBlackboard(str(place)) as board:
        followed = panel if agents else panel.rules
        session = pxp.Session(
            followed, members, instance="x", name="bench/1", blackboard=board, limit=messages
        )
        started = time.process_time()
        session.run_sync()
        taken = time.process_time() - started
    assert session.length == messages, session.length  # noqa: S101 - else nothing is compared
    return taken


def main() -> None:
    subjects = {TWO: 0, **{f"panel of {agents}": agents for agents in (2, 3, 4, 5)}}
    for rules in (pxp.Interact, pxp.Pxp):
        best: dict[tuple[str, int], float] = {}
        with TemporaryDirectory() as folder:
            for number in range(ROUNDS):
                for name, agents in subjects.items():
                    for messages in (SHORT, LONG):
                        place = Path(folder) / f"{name}-{messages}-{number}.sqlite"
                        taken = run(place, rules, agents, messages)
                        key = name, messages
                        best[key] = min(best.get(key, taken), taken)
        cost = {
            name: (best[name, LONG] - best[name, SHORT]) / (LONG - SHORT) * 1e6 for name in subjects
        }
        print(f"\n| {rules.__name__} | CPU µs a message | times that of two |\n|---|--:|--:|")
        for name, each in cost.items():
            print(f"| {name} | {each:.0f} | {each / cost[TWO]:.2f} |")


if __name__ == "__main__":
    main()
