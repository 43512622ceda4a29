"""An agent at a real channel as a subject; its peer may send any message."""

from __future__ import annotations

from pxp_fsm.automata.automaton import Automaton, Kind, State, Transition
from pxp_fsm.plugins.conformance.endpoints import Build, Connection, TableEnd
from pxp_fsm.plugins.conformance.mealy import Answer, Stimulus
from pxp_fsm.protocol.messages import Answer as Said
from pxp_fsm.protocol.messages import Message
from pxp_fsm.sessions.machine import Machine

_SESSION, _AGENT, _OTHER = "conformance", "agent", "anyone"


class AtChannel:
    """The agent that `build` makes for `automaton`, as a black box; see `stimuli`.

    Every tag goes through a `Connection`, and what that refuses is a refusal.
    """

    def __init__(self, automaton: Automaton, build: Build = TableEnd) -> None:
        self._automaton = automaton
        self._build = build
        self._heard: Automaton | None = None
        self.reset()

    def reset(self) -> None:
        self._end = self._build(_AGENT, self._automaton)
        if self._heard is not self._end.machine.automaton:
            self._heard = self._end.machine.automaton
            self._anyone = anyone(self._heard)
        ends = {_AGENT: self._end.machine, _OTHER: Machine(self._anyone)}
        self._connection = Connection(ends)
        self._sent = 0

    def step(self, stimulus: Stimulus) -> Answer:
        event = stimulus.event
        if event.kind is Kind.RECEIVE:
            self._carry(_OTHER, event.label, stimulus, Said("", ""))
            return str(event)
        if event.kind is Kind.EVENT:
            return self._end.machine.fire(event).action
        act = self._end.act(event, stimulus.valuation)
        if act.action[:1] != Kind.SEND:
            return self._end.machine.fire(event, stimulus.valuation).action
        self._carry(_AGENT, act.action[1:], stimulus, act.answer)
        return act.action

    def _carry(self, sender: str, tag: str, stimulus: Stimulus, answer: Said) -> None:
        receiver = _OTHER if sender == _AGENT else _AGENT
        message = Message(_SESSION, self._sent + 1, sender, tag, answer, receiver)
        self._connection.carry(message, stimulus.valuation)
        self._sent += 1
        self._end.carried(message)


def anyone(automaton: Automaton) -> Automaton:
    """A peer of `automaton` that in its only state sends and takes every tag that crosses."""
    kinds = {Kind.SEND: Kind.RECEIVE, Kind.RECEIVE: Kind.SEND}
    crossing = dict.fromkeys(
        (kinds[t.kind], t.label) for t in automaton.transitions if t.kind in kinds
    )
    return Automaton(
        name=automaton.peer or automaton.name,
        title="Anyone",
        states=(State("TALKING"),),
        initial="TALKING",
        final=frozenset({"TALKING"}),
        guards={},
        transitions=tuple(
            Transition(row, "TALKING", "TALKING", None, kind, tag)
            for row, (kind, tag) in enumerate(crossing, start=1)
        ),
        peer=automaton.name,
    )
