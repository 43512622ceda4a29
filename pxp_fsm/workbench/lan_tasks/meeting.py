"""A task's criteria as what decides that an output will do, in training and on earlier examples."""

from __future__ import annotations

from collections.abc import Iterable

from pxp_fsm.lan.running import Run
from pxp_fsm.relations import NOISY, TOLERANCE, Assumption, Outcome
from pxp_fsm.workbench.lan_tasks.judging import CriterionJudge
from pxp_fsm.workbench.lan_tasks.reading import Example, LanTask
from pxp_fsm.workbench.lan_tasks.scoring import scored


class Meets:
    """Whether an output meets all criteria, for the example whose good output is given.

    Fills `Relation`: the left text is an output, the right one a good output. Where several
    examples have the same one, it must meet the criteria for each; a judge without a verdict is
    unsure.
    """

    def __init__(
        self, task: LanTask, examples: Iterable[Example], judge: CriterionJudge | None = None
    ) -> None:
        self._task = task
        self._judge = judge
        self._by_truth: dict[str, list[Example]] = {}
        for example in examples:
            self._by_truth.setdefault(example.truth, []).append(example)

    @property
    def name(self) -> str:
        by = "" if self._judge is None else f" and {self._judge.name}"
        return f"the criteria of {self._task.name}, by a program{by}"

    @property
    def assumptions(self) -> frozenset[Assumption]:
        """A judge may say something else each time; programs do not, but have a side."""
        given = NOISY if self._judge is not None else TOLERANCE
        return given - {Assumption.SYMMETRIC, Assumption.REFLEXIVE}

    async def holds(self, left: str, right: str) -> Outcome:
        passes = [
            (await scored(self._task, example, left, self._judge)).passes
            for example in self._by_truth.get(right, ())
        ]
        if not passes or False in passes:
            return Outcome.NO
        return Outcome.UNSURE if None in passes else Outcome.YES

    async def will_do(self, run: Run, truth: str) -> bool:
        """Whether the output of a run will do; a developer's word on it. Unsure counts as no."""
        here = [one for one in self._by_truth.get(truth, ()) if one.input == run.external]
        if not here:
            return False
        return (await scored(self._task, here[0], run.output, self._judge)).passes is True
