"""A local agent for RAD, which measures and classifies a radiograph, without key or network."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
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
_LIBRARIES = ("numpy", "pillow", "scikit-image", "scikit-learn")

TREES = 100
SEED = 0
CERTAIN = 0.5
"""The share of trees above which a label is predicted."""


@dataclass(frozen=True, slots=True)
class LabelledRadiograph:
    """A radiograph that somebody has labelled: what was measured in it, and its labels."""

    vector: tuple[float, ...]
    labels: frozenset[str]


class Classifier:
    """What `cases` say about every one of `labels`; the same for the same cases in their order.

    Trees are grown until they tell all cases apart, so that a remembered case is answered as it was
    told; others are answered by the measures that it shares with them.
    """

    def __init__(self, cases: Sequence[LabelledRadiograph], labels: Sequence[str]) -> None:
        from sklearn.ensemble import ExtraTreesClassifier

        self._labels = tuple(labels)
        self._trees: ExtraTreesClassifier | None = None
        if cases:
            grown = ExtraTreesClassifier(TREES, max_features=None, random_state=SEED)
            has = [[label in case.labels for label in labels] for case in cases]
            self._trees = grown.fit([case.vector for case in cases], has)

    def of(self, *vectors: tuple[float, ...]) -> list[dict[str, float]]:
        """For what was measured in each picture, the share of trees that give it each label.

        It is 0 without cases. Many pictures at once take little longer than one.
        """
        if self._trees is None or not vectors:
            return [dict.fromkeys(self._labels, 0.0) for _ in vectors]
        shares = self._trees.predict_proba(list(vectors))
        places = [
            list(known).index(True) if True in known else None for known in self._trees.classes_
        ]
        return [
            {
                label: 0.0 if place is None else float(share[number][place])
                for label, share, place in zip(self._labels, shares, places, strict=True)
            }
            for number in range(len(vectors))
        ]


NONE = "none"
"""What a prediction says where there is no finding."""


class Radiograph:
    """Predicts which findings a chest radiograph shows, and says what it measured.

    Fills `Respondent` and `Learner` of `pxp_fsm.protocol.interfaces`. `picture` shows an instance;
    `known` are labelled pictures that it has seen before it learns anything. y is labels out of
    `LABELS`, sorted and joined with ", ", or "none". It learns cases: the measures of a picture
    with the labels that the other agent gave it; its classifier is grown anew from all cases.
    """

    def __init__(
        self,
        picture: Callable[[Instance], Image | None],
        known: Sequence[tuple[Image, frozenset[str]]] = (),
        told: Mapping[str, LabelledRadiograph] | None = None,
    ) -> None:
        self._picture = picture
        self._known = tuple(known)
        self._told = dict(told or {})
        self._classifier: Classifier | None = None

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
        same._classifier = self._classifier
        return same

    async def answer(self, question: Question) -> Answer:
        measures = self._measures(question.instance)
        [labels] = self._classify(measures)
        return Answer(", ".join(sorted(labels)) or NONE, explained(labels, measures))

    def labels(self, instance: Instance) -> frozenset[str]:
        """The labels that it predicts for `instance`; raises `NoAnswer`."""
        [labels] = self._classify(self._measures(instance))
        return labels

    def labels_of_all(self, instances: Sequence[Instance]) -> list[frozenset[str] | None]:
        """The labels that it predicts for each of `instances`, None where it has no answer."""
        found: dict[int, Measures] = {}
        for number, instance in enumerate(instances):
            with suppress(NoAnswer):
                found[number] = self._measures(instance)
        known = dict(zip(found, self._classify(*found.values()), strict=True))
        return [known.get(number) for number in range(len(instances))]

    def probabilities(self, instance: Instance) -> Mapping[str, float]:
        """How probable each label is to it; raises `NoAnswer`."""
        [chances] = self._fitted().of(self._measures(instance).vector())
        return chances

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
            self._classifier = None

    def _classify(self, *measures: Measures) -> list[frozenset[str]]:
        chances = self._fitted().of(*(one.vector() for one in measures))
        return [
            frozenset(label for label, chance in one.items() if chance > CERTAIN) for one in chances
        ]

    def _fitted(self) -> Classifier:
        if self._classifier is None:
            known = [
                LabelledRadiograph(measures.vector(), labels)
                for image, labels in self._known
                if (measures := _measured(image)) is not None
            ]
            told = [case for _, case in sorted(self._told.items())]
            self._classifier = Classifier([*known, *told], LABELS)
        return self._classifier

    def _measures(self, instance: Instance) -> Measures:
        try:
            image = self._picture(instance)
            measures = _measured(image) if image is not None else None
        except DataError as error:
            raise NoAnswer(str(error)) from error
        if measures is None:
            raise NoAnswer(f"no lung fields are visible in the image of {instance.key[:80]}")
        return measures


def _read(prediction: str) -> frozenset[str] | None:
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
def _digest(known: tuple[tuple[Image, frozenset[str]], ...]) -> str:
    """SHA-256 (hex) of labelled pictures, in their order."""
    digest = hashlib.sha256()
    for image, labels in known:
        said = ", ".join(sorted(labels)).encode()
        digest.update(b"%d %s %d %s" % (len(image.data), image.data, len(said), said))
    return digest.hexdigest()


@lru_cache(maxsize=256)
def _measured(image: Image) -> Measures | None:
    return measured(grey(image))
