"""An audit of many recorded sessions, beside following them through `transitions` machines.

    python benchmarks/bench_audit.py [SESSIONS ...]     (1000 10000 unless told)

INTERACT sessions with every judgement, of judges that are equality, a tolerance or a coin, go into
an SQLite database. `pxp audit` looks at all of it, with the page, in a process of its own. The peer
reads the same sessions and does the least that a conformance check can: it moves two machines of
the library `transitions` by each message and says which are refused. It looks at no judgement, no
bound, no ending and no class.
"""

from __future__ import annotations

import json
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from bench_report import REPETITIONS, Made, in_bulk
from transitions import Machine, MachineError

from backends.databases import SessionRecord, SqlBlackboard
from backends.databases.transfer import import_rows
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.automata.tables import builtin
from pxp_fsm.protocol.decisions import category
from pxp_fsm.protocol.messages import Answer, Instance, Message
from pxp_fsm.protocol.relations import Judgement, Outcome, digest
from pxp_fsm.protocol.rules import Interact

RULES = Interact(10, 3)
TAGS = {"RAT": "RATIFY", "REF": "REFUTE", "REV": "REVISE", "REJ": "REJECT"}
JUDGES = ("equality", "equality", "equality", "tolerance", "coin")


def sessions(number: int) -> Iterator[Made]:
    """So many sessions with a judge of one of three kinds, tagged by the decision functions."""
    table, choose = builtin("interact"), random.Random(0)
    for place in range(number):
        repetition, position = place % REPETITIONS + 1, place // REPETITIONS + 1
        name = f"drug-1/{repetition}/{position}"
        about = Instance(f"i{position}", "C")
        where = (name, "drug-1", repetition, position, about, "interact", RULES.n, RULES.k)
        agents = tuple((agent, "x guards=derived MATCH=x AGREE=x") for agent in ("m", "h"))
        record = SessionRecord(*where, table.name, table.fingerprint, True, (), agents)
        exchanged = list(messages(name, choose.choice(JUDGES), choose))
        ending = RULES.ending([message for message, _ in exchanged])
        if ending is not None:  # it always is: messages go on until there is one
            yield record, ending.value, exchanged


def messages(
    name: str, judge: str, choose: random.Random
) -> Iterator[tuple[Message, list[Judgement]]]:
    """The messages of a session, with what was judged to arrive at each."""
    near: dict[frozenset[str], bool] = {}

    def judged(relation: str, left: str, right: str) -> Judgement:
        same = left == right
        if not same and judge == "tolerance":
            same = near.setdefault(frozenset((left, right)), choose.random() < 0.4)
        if judge == "coin":
            same = choose.random() < 0.5
        outcome = Outcome.YES if same else Outcome.NO
        return Judgement(relation, digest(left), digest(right), outcome, True, 0.1)

    history: list[Message] = []
    while not history or RULES.ending(history) is None:
        number = len(history) + 1
        sender, receiver = ("m", "h") if number % 2 else ("h", "m")
        fresh = Answer(f"y{choose.randrange(4)}", f"e{choose.randrange(4)}")
        asked: list[Judgement] = []
        tag = "INIT"
        if history:
            got, own = history[-1].answer, history[-2].answer if number > 2 else fresh
            asked = [
                judged("MATCH", got.prediction, own.prediction),
                judged("AGREE", got.explanation, own.explanation),
            ]
            held = [judgement.outcome is Outcome.YES for judgement in asked]
            pair_category, changed = category(*held), False
            if RULES.depends_on_revision(pair_category, number):
                asked.append(judged("MATCH", fresh.prediction, own.prediction))
                if asked[-1].outcome is Outcome.YES:
                    asked.append(judged("AGREE", fresh.explanation, own.explanation))
                changed = asked[-1].outcome is Outcome.NO
            tag = TAGS[RULES.guard(pair_category, changed, number)]
        history.append(Message(name, number, sender, tag, fresh, receiver))
        yield history[-1], asked


def followed(database: Path) -> int:
    """The peer: how many messages two `transitions` machines refuse."""
    table = builtin("interact")
    rows = [
        {"trigger": t.action, "source": t.source, "dest": t.target}
        for t in table.transitions
        if t.kind is not Kind.EVENT
    ]
    pair = {
        agent: Machine(
            states=[state.name for state in table.states],
            transitions=rows,
            initial=table.initial,
            auto_transitions=False,
        )
        for agent in ("m", "h")
    }
    refused = 0
    query = "SELECT session, member, partner, label FROM events ORDER BY session, number"
    for _, entries in groupby(sqlite3.connect(database).execute(query), key=lambda row: row[0]):
        for machine in pair.values():
            machine.set_state(table.initial)
        for _, sender, receiver, tag in entries:
            try:
                pair[sender].trigger(f"+{tag}")
                pair[receiver].trigger(f"-{tag}")
            except (MachineError, AttributeError):
                refused += 1
                break
    return refused


def measure(number: int, folder: Path) -> tuple[str, ...]:
    database, page = (folder / f"{number}.{suffix}" for suffix in ("sqlite", "html"))
    with SqlBlackboard(str(database)) as board:
        import_rows(board.engine, in_bulk(sessions(number)), "the benchmark")
    command = [sys.executable, "-m", "pxp_fsm.cli", "audit", str(database)]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    data = subprocess.run([*command, "-o", page, "--json"], check=True, capture_output=True).stdout
    took = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    started, working = time.perf_counter(), time.process_time()
    refused = followed(database)
    peer, peer_busy = time.perf_counter() - started, time.process_time() - working
    report = json.loads(data)
    possible = report["possible"]
    return (
        f"{number:,}",
        f"{report['messages']:,}",
        f"{took:.1f}",
        f"{busy:.1f}",
        f"{peer:.1f}",
        f"{peer_busy:.1f}",
        f"{busy / peer_busy:.2f}",
        f"{refused:,}",
        f"{possible['equivalence']:,}",
        f"{possible['tolerance']:,}",
        f"{possible['noisy']:,}",
        f"{page.stat().st_size / 1e6:.1f}",
    )


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or [1000, 10_000]
    headings = (
        *("sessions", "messages", "audit s", "CPU s", "machines s", "CPU s"),
        *("CPU ratio", "refused"),
        *("equivalent", "tolerant", "noisy", "page MB"),
    )
    print(" ".join(f"{heading:>10}" for heading in headings))
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            shown = measure(size, Path(folder))
            print(" ".join(f"{cell:>10}" for cell in shown), flush=True)


if __name__ == "__main__":
    main()
