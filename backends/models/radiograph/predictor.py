"""A local agent for RAD: measures a radiograph and classifies it, with no key and no network."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from backends.models.radiograph.classifier import CERTAIN, Case, Classifier
from backends.models.radiograph.explanation import LABELS, explained
from backends.models.radiograph.images import grey
from backends.models.radiograph.measures import Measures, measured
from pxp_fsm.errors import DataError, NoAnswer
from pxp_fsm.messages import Answer, Instance, Message, Question, Tag
from pxp_fsm.models import Image

NONE = "none"
"""What a prediction says where there is no finding."""


class Radiograph:
    """Predicts which findings a chest radiograph shows, and says what it measured.

    Fills `Respondent` and `Learner` of `pxp_fsm.interfaces`. `picture` shows an instance; `known`
    are labelled pictures that it has seen before it learns anything. y is labels out of `LABELS`,
    sorted and joined with ", ", or "none". It learns cases: the measures of a picture with the
    labels that the other agent gave it; its classifier is grown anew from all cases.
    """

    def __init__(
        self,
        picture: Callable[[Instance], Image | None],
        known: Sequence[tuple[Image, frozenset[str]]] = (),
        told: Mapping[str, Case] | None = None,
    ) -> None:
        self._picture = picture
        self._known = tuple(known)
        self._told = dict(told or {})
        self._classifier: Classifier | None = None

    @property
    def name(self) -> str:
        return "radiograph"

    @property
    def told(self) -> Mapping[str, Case]:
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
        labels = self._classify(measures)
        return Answer(", ".join(sorted(labels)) or NONE, explained(labels, measures))

    def labels(self, instance: Instance) -> frozenset[str]:
        """The labels that it predicts for `instance`; raises `NoAnswer`."""
        return self._classify(self._measures(instance))

    def probabilities(self, instance: Instance) -> Mapping[str, float]:
        """How probable each label is to it; raises `NoAnswer`."""
        return self._fitted().of(self._measures(instance).vector())

    def learn(self, instance: Instance, message: Message) -> None:
        """Remember the labels of `message` for the picture, in place of any told before.

        REJECT and TERM teach nothing; labels that are not in `LABELS` and pictures that cannot be
        measured are passed over.
        """
        labels = _read(message.answer.prediction)
        if message.tag in (Tag.REJECT, Tag.TERM) or labels is None:
            return
        try:
            case = Case(self._measures(instance).vector(), labels)
        except NoAnswer:
            return
        if self._told.get(instance.key) != case:
            self._told[instance.key] = case
            self._classifier = None

    def _classify(self, measures: Measures) -> frozenset[str]:
        chances = self._fitted().of(measures.vector())
        return frozenset(label for label, chance in chances.items() if chance > CERTAIN)

    def _fitted(self) -> Classifier:
        if self._classifier is None:
            known = [
                Case(measures.vector(), labels)
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
            raise NoAnswer(f"no lung fields can be made out in the picture of {instance.key[:80]}")
        return measures


def _read(prediction: str) -> frozenset[str] | None:
    """The labels of a prediction in its canonical form, or None where it is not."""
    if prediction == NONE:
        return frozenset()
    labels = prediction.split(", ")
    return frozenset(labels) if set(labels) <= set(LABELS) else None


@lru_cache(maxsize=256)
def _measured(image: Image) -> Measures | None:
    return measured(grey(image))
