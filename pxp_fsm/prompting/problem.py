"""The problem of a task: its question and the form of answers, for models and people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pxp_fsm.prompting.model import Image
from pxp_fsm.protocol.messages import Instance


@dataclass(frozen=True)
class Problem:
    """The form of a task's questions and answers (spec: PXP, section 7).

    `prediction` is the JSON Schema of a prediction as a model gives it; `from_json` makes the text
    that a message carries out of such a value, and `from_text` out of what a person typed. Both
    raise `DataError`, saying what is wrong, for whatever the task does not allow. `to_json` is the
    value that `from_json` made such a text of. `normal` is the text that is the same for two
    predictions that are the same to the task; None where that is what `from_text` makes. `labels`
    are the words that a prediction is made of, where they are a closed list, and `none` is the word
    for no label at all, where that may be predicted. `picture` shows an instance, as an image, to
    whoever is asked; None where it has none. `drawing` is an image for people of an instance that a
    model reads as text. `described` is what the instance is in words, or None where it is told by
    its picture alone. `smiles` says that instances and predictions are SMILES, of molecules or of
    the steps of a pathway, which people are shown as structures. `form` tells, in a sentence or
    two, how a prediction is typed.
    """

    name: str
    query: str
    prediction: Mapping[str, object]
    from_json: Callable[[object], str]
    from_text: Callable[[str], str]
    to_json: Callable[[str], object] = lambda text: text
    labels: tuple[str, ...] = ()
    none: str | None = None
    picture: Callable[[Instance], Image | None] = lambda _instance: None
    drawing: Callable[[Instance], Image | None] = lambda _instance: None
    described: Callable[[Instance], str | None] = lambda instance: instance.x
    smiles: bool = False
    normal: Callable[[str], str] | None = None
    form: str = ""
