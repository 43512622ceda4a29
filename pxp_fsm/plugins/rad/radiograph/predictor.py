"""A local agent for RAD, which measures and classifies a radiograph, without key or network."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version

from pxp_fsm.artifacts import package_fingerprint
from pxp_fsm.errors import DataError, NoAnswer
from pxp_fsm.plugins.rad.radiograph.explanation import LABELS, explained
from pxp_fsm.plugins.rad.radiograph.images import grey
from pxp_fsm.plugins.rad.radiograph.measures import Measures, measured
from pxp_fsm.prompting.model import Image
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag

_FILES = ("explanation.py", "fields.py", "images.py", "measures.py", "predictor.py")
_LIBRARIES = ("numpy", "pillow", "scikit-image")

Labels = frozenset[str]
"""What a picture shows: a set out of `LABELS`."""

NEARNESS = 4
"""The power of the distance by which cases count less; chosen on the phantoms alone."""

_SAME = 1e-18
"""A squared distance below which two cases are the same one."""


@dataclass(frozen=True, slots=True)
class LabelledRadiograph:
    """A radiograph that somebody has labelled: what was measured in it, and its labels."""

    vector: tuple[float, ...]
    labels: Labels


class SimilarCases:
    """What labelled cases say of others, the more the more alike they are.

    A case votes for its own set of labels, with the weight 1 / d ** `NEARNESS`, where d is the
    root mean square of the differences of the measures, each in units of its spread among the
    cases that were `known` first (Shepard, 1968: interpolation by inverse distances). So a case
    that is met again is answered as it was told, and every lesson changes what is said of films
    like it. One more vote is spread over all sets of labels: no set is impossible.
    """

    def __init__(
        self, known: Sequence[LabelledRadiograph], told: Sequence[LabelledRadiograph] = ()
    ) -> None:
        import numpy as np

        self._cases = (*known, *told)
        self._sets = sorted({case.labels for case in self._cases}, key=sorted)
        if self._cases:
            spread = np.std([case.vector for case in known or told], axis=0)
            self._scale = np.where(spread > 0, spread, 1.0)  # what never differs has no spread
            self._vectors = np.array([case.vector for case in self._cases]) / self._scale
            self._votes = np.array(
                [[case.labels == one for one in self._sets] for case in self._cases], dtype=float
            )

    def shares(self, *vectors: tuple[float, ...]) -> list[dict[Labels, float]]:
        """For what was measured in each picture, the share of the votes that each set has.

        Sets that no case has are left out; there are none without cases.
        """
        import numpy as np

        if not self._cases or not vectors:
            return [{} for _ in vectors]
        apart = (np.array(vectors) / self._scale)[:, None] - self._vectors
        squares = np.maximum((apart**2).mean(axis=2), _SAME)
        # A nearest case has the weight 1: powers of tiny distances would overflow.
        weights = (squares.min(axis=1, keepdims=True) / squares) ** (NEARNESS / 2)
        shares = weights @ self._votes / weights.sum(axis=1, keepdims=True)
        return [dict(zip(self._sets, map(float, row), strict=True)) for row in shares]

    def probability(self, shares: Mapping[Labels, float], labels: Iterable[Labels]) -> float:
        """How probable it is that one of `labels` is right, by those shares of the votes."""
        wanted = set(labels)
        cases = len(self._cases)
        voted = cases * math.fsum(shares.get(one, 0.0) for one in wanted)
        return (voted + len(wanted) / (1 << len(LABELS))) / (cases + 1)


NONE = "none"
"""What a prediction says where there is no finding."""


class Radiograph:
    """Predicts which findings a chest radiograph shows, and says what it measured.

    Fills `Respondent` and `Learner` of `pxp_fsm.protocol.interfaces`. `picture` shows an instance;
    `known` are labelled pictures that it has seen before it learns anything. y is labels out of
    `LABELS`, sorted and joined with ", ", or "none". It learns cases: the measures of a picture
    with the labels that the other agent gave it. It predicts what similar cases have; of a picture
    that it was told about, what it was told.
    """

    def __init__(
        self,
        picture: Callable[[Instance], Image | None],
        known: Sequence[tuple[Image, Labels]] = (),
        told: Mapping[str, LabelledRadiograph] | None = None,
    ) -> None:
        self._picture = picture
        self._known = tuple(known)
        self._told = dict(told or {})
        self._cases: SimilarCases | None = None

    @property
    def name(self) -> str:
        """With a fingerprint of what the answers depend on: files, libraries and known pictures."""
        also = f"{_versions()} {_digest(self._known)}"
        return f"radiograph {package_fingerprint(__package__, _FILES, also)}"

    @property
    def told(self) -> Mapping[str, LabelledRadiograph]:
        """The cases that were learned, by the instance's key."""
        return dict(self._told)

    def untouched(self) -> Radiograph:
        """The same predictor as it was before it learned anything."""
        return Radiograph(self._picture, self._known)

    def copy(self) -> Radiograph:
        """The same predictor with what it has learned, to learn on from apart."""
        same = Radiograph(self._picture, self._known, self._told)
        same._cases = self._cases
        return same

    async def answer(self, question: Question) -> Answer:
        measures = self._measures(question.instance)
        labels = self._predicted(question.instance, measures)
        return Answer(", ".join(sorted(labels)) or NONE, explained(labels, measures))

    def labels(self, instance: Instance) -> Labels:
        """The labels that it predicts for `instance`; raises `NoAnswer`."""
        return self._predicted(instance, self._measures(instance))

    def labels_of_all(self, instances: Sequence[Instance]) -> list[Labels | None]:
        """The labels that it predicts for each of `instances`, None where it has no answer."""
        found = list[Labels | None]()
        for instance in instances:
            try:
                found.append(self.labels(instance))
            except NoAnswer:
                found.append(None)
        return found

    async def log_likelihood(self, question: Question, prediction: str) -> float:
        """The natural logarithm of the probability that `prediction` has to it."""
        labels = _read(prediction)
        return self.log_probability(question.instance, () if labels is None else [labels])

    def log_probability(self, instance: Instance, labels: Iterable[Labels]) -> float:
        """The natural logarithm of the probability that one of the sets `labels` is right.

        What cannot be measured, and no set at all, are as probable as any one set without cases.
        """
        cases, wanted = self._fitted(), set(labels)
        shares: Mapping[Labels, float] = {}
        with suppress(NoAnswer):
            [shares] = cases.shares(self._measures(instance).vector())
        return math.log(cases.probability(shares, wanted or {frozenset(LABELS)}))

    def shares(self, instance: Instance) -> Mapping[Labels, float]:
        """The share of votes that each set of labels has to it; raises `NoAnswer`."""
        [shares] = self._fitted().shares(self._measures(instance).vector())
        return shares

    def learn(self, instance: Instance, message: Message) -> None:
        """Remember the labels of `message` for the picture, in place of any told before.

        REJECT and TERM teach nothing; labels that are not in `LABELS` and pictures that cannot be
        measured are passed over.
        """
        labels = _read(message.answer.prediction)
        if message.tag in (Tag.REJECT, Tag.TERM) or labels is None:
            return
        try:
            case = LabelledRadiograph(self._measures(instance).vector(), labels)
        except NoAnswer:
            return
        if self._told.get(instance.key) != case:
            self._told[instance.key] = case
            self._cases = None

    def _predicted(self, instance: Instance, measures: Measures) -> Labels:
        told = self._told.get(instance.key)
        if told is not None and told.vector == measures.vector():
            return told.labels
        [shares] = self._fitted().shares(measures.vector())
        return max(shares, key=shares.__getitem__, default=frozenset())

    def _fitted(self) -> SimilarCases:
        if self._cases is None:
            known = [
                LabelledRadiograph(measures.vector(), labels)
                for image, labels in self._known
                if (measures := _measured(image)) is not None
            ]
            self._cases = SimilarCases(known, [case for _, case in sorted(self._told.items())])
        return self._cases

    def _measures(self, instance: Instance) -> Measures:
        try:
            image = self._picture(instance)
            measures = _measured(image) if image is not None else None
        except DataError as error:
            raise NoAnswer(str(error)) from error
        if measures is None:
            raise NoAnswer(f"no lung fields are visible in the image of {instance.key[:80]}")
        return measures


def _read(prediction: str) -> Labels | None:
    """The labels of a prediction in its canonical form, or None where it is not."""
    if prediction == NONE:
        return frozenset()
    labels = prediction.split(", ")
    return frozenset(labels) if set(labels) <= set(LABELS) else None


@cache
def _versions() -> str:
    """The versions of the libraries that measure and classify, as far as they are installed."""
    found = []
    for name in _LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    return ", ".join(found)


@lru_cache(maxsize=4)
def _digest(known: tuple[tuple[Image, Labels], ...]) -> str:
    """SHA-256 (hex) of labelled pictures, in their order."""
    digest = hashlib.sha256()
    for image, labels in known:
        said = ", ".join(sorted(labels)).encode()
        digest.update(b"%d %s %d %s" % (len(image.data), image.data, len(said), said))
    return digest.hexdigest()


@lru_cache(maxsize=256)
def _measured(image: Image) -> Measures | None:
    return measured(grey(image))
