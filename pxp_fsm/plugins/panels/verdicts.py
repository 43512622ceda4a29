"""What can be said of a panel, from its blackboard alone: verdicts, who persuaded whom, classes.

Nobody is asked anything: that two pairs match and agree is known where their texts are the same, or
where MATCH and AGREE have said so in the session.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pxp_fsm.plugins.panels.board import ChannelStatus, Pair, PanelLayout
from pxp_fsm.plugins.panels.panel import WINDOW, Panel, PanelVerdict
from pxp_fsm.protocol.intelligibility import DEFINITIONS, holds_for
from pxp_fsm.protocol.messages import Answer, Message, Overview, Tag
from pxp_fsm.protocol.relations import Outcome, digest
from pxp_fsm.protocol.rules import AGREE, MATCH
from pxp_fsm.sessions.events import Event


class KnownAnswers:
    """What MATCH and AGREE have said in a session: the latest judgement of each two texts."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], bool] = {}
        self._seen = 0

    def note(self, events: Sequence[Event]) -> None:
        """Take in the judgements of the events that it has not seen."""
        if len(events) < self._seen:
            self._known, self._seen = {}, 0
        for event in events[self._seen :]:
            for judgement in event.judgements:
                if judgement.relation in (MATCH, AGREE):
                    self._known[judgement.relation, judgement.left, judgement.right] = (
                        judgement.outcome is Outcome.YES
                    )
                    self._known[judgement.relation, judgement.right, judgement.left] = (
                        judgement.outcome is Outcome.YES
                    )
        self._seen = len(events)

    def alike(self, left: Pair, right: Pair) -> bool:
        """Whether two answers match and agree: the same text does, others as was judged last."""
        if not isinstance(left, Answer) or not isinstance(right, Answer):
            return False
        return self.matches(left.prediction, right.prediction) and self._holds(
            AGREE, left.explanation, right.explanation
        )

    def matches(self, left: str, right: str) -> bool:
        """Whether two predictions are the same text, or MATCH said yes last."""
        return self._holds(MATCH, left, right)

    def _holds(self, relation: str, left: str, right: str) -> bool:
        return left == right or self._known.get((relation, digest(left), digest(right)), False)


def verdicts_of(
    panel: Panel, names: Sequence[str], events: Sequence[Event], window: int = WINDOW
) -> frozenset[PanelVerdict]:
    """What can be said of a panel after `events`; of an impasse in the last `window` answers.

    >>> import pxp_fsm as pxp
    >>> def says(prediction):
    ...     def answer(question: pxp.Question) -> pxp.Answer:
    ...         return pxp.Answer(prediction, "I looked it up.")
    ...     return pxp.Agent(answer, match=pxp.exact, agree=pxp.exact)
    >>> panel = pxp.Panel(pxp.Pxp(k=2))
    >>> members = {"a": says("mammal"), "b": says("mammal"), "c": says("fish")}
    >>> session = pxp.Session(panel, members, instance="a whale").run_sync()
    >>> sorted(verdicts_of(panel, tuple(members), session.events))
    [<PanelVerdict.SPLIT: 'split'>]
    """
    layout, judged = PanelLayout(panel, names), KnownAnswers()
    boards = layout.read([event.carried for event in events])
    judged.note(events)
    verdicts = layout.verdicts(boards[-1], judged.alike, window)
    return verdicts | {PanelVerdict.OSCILLATION} if layout.recurs(boards) else verdicts


def overview_of(
    panel: Panel, names: Sequence[str], events: Sequence[Event], session: str = ""
) -> Overview:
    """The board after `events`: current pairs, their versions, and who owes whom a message.

    The name of the `session` says who speaks next where the schedule is free.

    >>> import pxp_fsm as pxp
    >>> whale = pxp.Answer("mammal", "It breathes.")
    >>> begun = pxp.Event.of_message(pxp.Message("s", 1, "a", "INIT", whale, "b"))
    >>> overview_of(pxp.Panel(pxp.Pxp()), "abc", [begun]).owed
    (('b', 'a'), ('a', 'c'), ('b', 'c'))
    """
    layout, messages = PanelLayout(panel, names), [event.carried for event in events]
    board = layout.read(messages)[-1]
    owed = layout.owed(board)
    return layout.overview(
        board, messages, owed, layout.drawn(board, layout.due(board, owed), session)
    )


def window_start(
    panel: Panel, names: Sequence[str], events: Sequence[Event], window: int = WINDOW
) -> int | None:
    """The number of the first of the answers that make an impasse after `events`; None of none."""
    if PanelVerdict.IMPASSE not in verdicts_of(panel, names, events, window):
        return None
    board = PanelLayout(panel, names).read([event.carried for event in events])[-1]
    return min(talk.numbers[-window] for talk in board.talks if talk.status is ChannelStatus.OPEN)


class Persuasion(NamedTuple):
    """At message `number`, `agent` took over the prediction that `by` had told it last."""

    number: int
    agent: str
    by: str


def persuasions(events: Sequence[Event]) -> tuple[Persuasion, ...]:
    """Who persuaded whom, in order.

    An agent is persuaded by another where a message of it carries another prediction than its
    message before, and that matches what the other had told it last, as its prediction before did
    not. Several may have said the same.

    >>> import pxp_fsm as pxp
    >>> whale, fish = pxp.Answer("mammal", "It breathes."), pxp.Answer("fish", "It swims.")
    >>> sent = [("a", "INIT", whale, "b"), ("b", "INIT", fish, "c"), ("b", "REVISE", whale, "a")]
    >>> persuasions([
    ...     pxp.Event.of_message(pxp.Message("s", number, *message))
    ...     for number, message in enumerate(sent, 1)
    ... ])
    (Persuasion(number=3, agent='b', by='a'),)
    """
    judged, persuasions = KnownAnswers(), list[Persuasion]()
    judged.note(events)
    current: dict[str, str] = {}
    told: dict[str, dict[str, str]] = {}
    for event in events:
        message = event.carried
        name, new = message.sender, message.answer.prediction
        old = current.get(name, new)
        if new != old:
            persuasions += [
                Persuasion(message.number, name, other)
                for other, prediction in told.get(name, {}).items()
                if judged.matches(prediction, new) and not judged.matches(prediction, old)
            ]
        current[name] = new
        told.setdefault(message.receiver, {})[name] = new
    return tuple(persuasions)


def first_correct(
    names: Sequence[str], events: Sequence[Event], is_correct: Callable[[str], bool]
) -> dict[str, int | None]:
    """The message with each agent's first correct prediction; None where it had none."""
    first_right: dict[str, int | None] = dict.fromkeys(names)
    for event in events:
        message = event.carried
        if first_right[message.sender] is None and is_correct(message.answer.prediction):
            first_right[message.sender] = message.number
    return first_right


def directions(messages: Sequence[Message]) -> dict[tuple[str, str], tuple[str, ...]]:
    """The classes of what each agent sent to each other: one-way, strong, …, by the two names."""
    sent: dict[tuple[str, str], list[Message]] = {}
    for message in messages:
        sent.setdefault((message.sender, message.receiver), []).append(message)
    return {
        ends: tuple(
            definition.name
            for definition in DEFINITIONS.values()
            if holds_for(definition, sent_messages, ends[0])
        )
        for ends, sent_messages in sent.items()
    }


def agent_classes(messages: Sequence[Message]) -> dict[str, tuple[str, ...]]:
    """Remark 6 of arXiv 2301.01819 for each agent: strong, ultra_strong, of its conversations.

    Strong: every conversation that it has begun or was drawn into is one-way intelligible for it;
    ultra-strong: it has also sent a REVISE. Channels that were never opened count for nothing. A
    panel is in a class if all its agents are.
    """
    told = directions(messages)
    classes: dict[str, tuple[str, ...]] = {}
    for name in dict.fromkeys(name for m in messages for name in (m.sender, m.receiver)):
        others = {other for ends in told for other in ends if name in ends} - {name}
        strong = all("one_way" in told.get((name, other), ()) for other in others)
        revised = any(m.sender == name and m.tag == Tag.REVISE for m in messages)
        classes[name] = ("strong",) * strong + ("ultra_strong",) * (strong and revised)
    return classes
