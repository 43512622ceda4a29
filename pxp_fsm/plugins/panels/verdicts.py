"""What can be said of a panel, from its blackboard alone: verdicts, who persuaded whom, classes.

Nobody is asked anything: that two pairs match and agree is known where their texts are the same, or
where MATCH and AGREE have said so in the session.
"""

from __future__ import annotations

from collections.abc import Sequence

from pxp_fsm.plugins.panels.board import Pair, PanelLayout
from pxp_fsm.plugins.panels.panel import WINDOW, Panel, PanelVerdict
from pxp_fsm.protocol.messages import Answer
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
            for one in event.judgements:
                if one.relation in (MATCH, AGREE):
                    self._known[one.relation, one.left, one.right] = one.outcome is Outcome.YES
                    self._known[one.relation, one.right, one.left] = one.outcome is Outcome.YES
        self._seen = len(events)

    def alike(self, left: Pair, right: Pair) -> bool:
        """Whether two answers match and agree: the same text does, others as was judged last."""
        if not isinstance(left, Answer) or not isinstance(right, Answer):
            return False
        return self._holds(MATCH, left.prediction, right.prediction) and self._holds(
            AGREE, left.explanation, right.explanation
        )

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
    found = layout.verdicts(boards[-1], judged.alike, window)
    return found | {PanelVerdict.OSCILLATION} if layout.recurs(boards) else found
