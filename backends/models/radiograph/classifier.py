"""From measures to labels: extremely randomised trees, grown over remembered cases.

P. Geurts, D. Ernst, L. Wehenkel, Extremely randomized trees, Machine Learning 63 (2006), 3-42.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

TREES = 100
SEED = 0
CERTAIN = 0.5
"""The share of trees above which a label is predicted."""


@dataclass(frozen=True, slots=True)
class Case:
    """A radiograph that somebody has labelled: what was measured in it, and its labels."""

    vector: tuple[float, ...]
    labels: frozenset[str]


class Classifier:
    """What `cases` say about every one of `labels`; the same for the same cases in their order.

    Trees are grown until they tell all cases apart, so that a remembered case is answered as it was
    told; others are answered by the measures that it shares with them.
    """

    def __init__(self, cases: Sequence[Case], labels: Sequence[str]) -> None:
        from sklearn.ensemble import ExtraTreesClassifier

        self._labels = tuple(labels)
        self._trees: ExtraTreesClassifier | None = None
        if cases:
            grown = ExtraTreesClassifier(TREES, max_features=None, random_state=SEED)
            has = [[label in case.labels for label in labels] for case in cases]
            self._trees = grown.fit([case.vector for case in cases], has)

    def of(self, vector: tuple[float, ...]) -> dict[str, float]:
        """For each label, the share of trees that give it to what was measured; 0 without cases."""
        if self._trees is None:
            return dict.fromkeys(self._labels, 0.0)
        shares = self._trees.predict_proba([vector])
        return {
            label: float(share[0][list(known).index(True)]) if True in known else 0.0
            for label, share, known in zip(self._labels, shares, self._trees.classes_, strict=True)
        }
