"""Monitors: microseconds a message, beside a DFA of automata-lib and beside code written by hand.

One property, "each REFUTE of the responder is answered by a REVISE of the initiator, sooner or
later", on the same 2,000 random sessions of INTERACT(10, 3). Ours twice: over what the protocol
still allows, and by the formula alone. The DFA says only how the property stands if the session
ended here, so does the code by hand; and the formula alone must agree with both at every message.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from automata.fa.dfa import DFA

from proofs.logic import parse
from proofs.logic.monitor import MonitorVerdict
from proofs.monitor import EventMonitor
from proofs.sessions.model import SessionModel, action_of, tag_of
from proofs.sessions.relational import Theory
from pxp_fsm.automata.actions import Exchange
from pxp_fsm.protocol.messages import Tag
from pxp_fsm.protocol.relations import NOISY
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.sessions.events import Event

FORMULA = "G (2.REFUTE -> F 1.REVISE)"
RULES = Interact(10, 3)
SESSIONS, ROUNDS = 2_000, 5


class Said(NamedTuple):
    """A message: the event, and what the others read of it."""

    event: Event
    sender: str
    tag: str


Sessions = list[list[Said]]
Way = Callable[[list[Said]], Iterator[bool]]


def sessions() -> Sessions:
    """Complete random sessions, as events."""
    chance, model = random.Random(0), SessionModel(RULES, Theory(NOISY), observes=False)
    conversations = []
    for _ in range(SESSIONS):
        state, sent = next(iter(model.initial())), list[Said]()
        while not state.over:
            step = chance.choice(list(model.successors(state)))
            who, tag = action_of(step).agent, tag_of(step)
            other = "h" if who == "m" else "m"
            sent.append(Said(Event(len(sent) + 1, Exchange(who, other, tag)), who, tag))
            state = step.target
        conversations.append(sent)
    return conversations


def by_monitor(monitor: EventMonitor) -> Way:
    """Four verdicts; told here is the one if the session ended now."""
    positive = {outlook: outlook.positive for outlook in MonitorVerdict}

    def way(sent: list[Said]) -> Iterator[bool]:
        hear = monitor.watch().hear
        return (positive[hear(message.event)] for message in sent)

    return way


def by_dfa() -> Way:
    """The property as an automaton over AGENT:TAG symbols, stepped by automata-lib."""
    symbols = {f"{who}:{tag}" for who in "mh" for tag in Tag}
    waits = {"h:REFUTE": "waiting", "m:REVISE": "fine"}
    moves = {
        state: {symbol: waits.get(symbol, state) for symbol in symbols}
        for state in ("fine", "waiting")
    }
    dfa = DFA(
        states={"fine", "waiting"},
        input_symbols=symbols,
        transitions=moves,
        initial_state="fine",
        final_states={"fine"},
    )

    def way(sent: list[Said]) -> Iterator[bool]:
        read = (f"{message.sender}:{message.tag}" for message in sent)
        states = dfa.read_input_stepwise(read, ignore_rejection=True)  # type: ignore[arg-type] # any symbols, not only characters of a text
        next(states)
        return (state == "fine" for state in states)

    return way


def by_hand(sent: list[Said]) -> Iterator[bool]:
    """What one would write without any of it."""
    waiting = False
    for message in sent:
        if message.sender == "h" and message.tag == "REFUTE":
            waiting = True
        elif message.sender == "m" and message.tag == "REVISE":
            waiting = False
        yield not waiting


def seconds(way: Way, heard: Sessions) -> float:
    started = time.perf_counter()
    for sent in heard:
        for _ in way(sent):
            pass
    return time.perf_counter() - started


def main() -> None:
    heard = sessions()
    messages = sum(map(len, heard))
    formula = parse(FORMULA)
    started = time.perf_counter()
    over = EventMonitor(formula, RULES)
    built = time.perf_counter() - started
    alone = EventMonitor(formula, RULES, alone=True)
    ways: dict[str, Way] = {
        "monitor over the protocol": by_monitor(over),
        "monitor of the formula alone": by_monitor(alone),
        "automata-lib DFA": by_dfa(),
        "code by hand": by_hand,
    }
    for sent in heard:  # over the protocol a settled verdict is what the session must come to
        answers = [list(way(sent)) for name, way in ways.items() if "protocol" not in name]
        if not answers[0] == answers[1] == answers[2]:
            raise SystemExit(f"they do not agree: {answers}")
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, way in ways.items():
            times[name].append(seconds(way, heard))
    peer = statistics.median(times["automata-lib DFA"])
    print(f"{FORMULA}, {SESSIONS:,} sessions, {messages:,} messages, median of {ROUNDS}")
    print("| | µs a message | times automata-lib | verdicts |")
    print("|---|--:|--:|--:|")
    for name, values in times.items():
        middle = statistics.median(values)
        verdicts = 4 if name.startswith("monitor") else 2
        shown = f"{middle / messages * 1e6:.2f} | {middle / peer:.2f} | {verdicts}"
        print(f"| {name} | {shown} |")
    print(f"The monitor over the protocol was made in {built * 1e3:.0f} ms.")


if __name__ == "__main__":
    main()
