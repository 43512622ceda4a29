"""How RAD's machine sees a radiograph: what it measures there, without key or network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version

from guards.labels import label_set
from pxp_fsm.artifacts import package_fingerprint
from pxp_fsm.errors import DataError, NoAnswer
from pxp_fsm.plugins.rad.radiograph.explanation import LABELS, explained
from pxp_fsm.plugins.rad.radiograph.measures import Measures, measured
from pxp_fsm.prompting.model import Image
from pxp_fsm.protocol.messages import Instance
from pxp_fsm.tasks.labels.images import grey
from pxp_fsm.tasks.labels.neighbours import LabelledCase, Squares

_FILES = ("explanation.py", "fields.py", "measures.py", "predictor.py")
_LIBRARIES = ("numpy", "pillow", "scikit-image")


class Radiograph:
    """Sees a chest radiograph as its measures, and says what it measured.

    Fills `Sight` of `pxp_fsm.tasks.labels.neighbours`; `picture` shows an instance. The distance of
    two radiographs is the root mean square of the differences of their measures, each in units of
    its spread among those that were known first.
    """

    def __init__(self, picture: Callable[[Instance], Image | None]) -> None:
        self._picture = picture

    @property
    def name(self) -> str:
        """With a fingerprint of what is measured: files and libraries."""
        images = package_fingerprint("pxp_fsm.tasks.labels", ("images.py",), _versions())
        return f"radiograph ({package_fingerprint(__package__, _FILES, images)})"

    def see(self, instance: Instance) -> Measures:
        """What is measured; raises `NoAnswer` where no lungs are visible."""
        try:
            image = self._picture(instance)
            measures = _measured(image) if image is not None else None
        except DataError as error:
            raise NoAnswer(str(error)) from error
        if measures is None:
            raise NoAnswer(f"no lung fields are visible in the image of {instance.key[:80]}")
        return measures

    def squares(self, known: Sequence[Measures], cases: Sequence[Measures]) -> Squares[Measures]:
        """Mean squares of differences, in units of the spread among those `known`."""
        import numpy as np

        spread = np.std([measures.vector() for measures in known], axis=0)
        scale = np.where(spread > 0, spread, 1.0)  # what never differs has no spread
        vectors = np.array([measures.vector() for measures in cases]) / scale

        def squares(seen: Measures) -> list[float]:
            apart = np.array(seen.vector()) / scale - vectors
            return [float(square) for square in (apart**2).mean(axis=1)]

        return squares

    def explained(
        self, prediction: str, seen: Measures, _nearest: LabelledCase[Measures] | None
    ) -> str:
        """Each predicted finding with the values that were measured for it."""
        return explained(label_set(prediction, LABELS), seen)


@cache
def _versions() -> str:
    """The versions of the libraries that measure and classify, as far as they are installed."""
    versions = []
    for name in _LIBRARIES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"no {name}")
    return ", ".join(versions)


@lru_cache(maxsize=256)
def _measured(image: Image) -> Measures | None:
    return measured(grey(image))
