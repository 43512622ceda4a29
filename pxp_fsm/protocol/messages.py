"""Messages of a channel: instances, answers, tags and messages (spec: PXP, sections 1 and 6)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, TypeGuard

from pxp_fsm.errors import WrongType
from pxp_fsm.lazy_dataclasses import dataclass


class Tag(StrEnum):
    """The message tags of PXP and INTERACT.

    A researcher's own table may use other tags; a tag is a string everywhere, and these members
    are equal to theirs.
    """

    INIT = "INIT"
    RATIFY = "RATIFY"
    REFUTE = "REFUTE"
    REVISE = "REVISE"
    REJECT = "REJECT"
    TERM = "TERM"


@dataclass(frozen=True, slots=True)
class Instance:
    """A data instance x: one session is about one instance.

    `key` names it within its data set; `x` is what is asked about (a SMILES, an image's path).

    >>> import pxp_fsm as pxp
    >>> pxp.Instance("aspirin", "CC(=O)Oc1ccccc1C(=O)O").key
    'aspirin'
    """

    key: str
    x: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A prediction y with its explanation e, both as text.

    What a prediction's text means (a set of reactants, a set of labels) is known to the task and
    to the relation MATCH, never to the machinery in between.

    >>> import pxp_fsm as pxp
    >>> pxp.Answer("mammal", "It breathes air.")
    Answer(prediction='mammal', explanation='It breathes air.')
    """

    prediction: str
    explanation: str


class Json(str):
    """A JSON value as the text that is stored: what a message of a system carries."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, handler: Callable[[Any], Any]) -> Any:
        """In a published schema, where a message is part of one, it is a text."""
        return handler(str)


NOTHING = Json("null")
"""The payload of a message that carries none."""


@dataclass(frozen=True, slots=True)
class Message:
    """One row (s, j, sender, (tag, y, e), receiver) of the message table M; j starts at 1.

    `payload` is what it carries: an `Answer` between two agents of PXP or INTERACT, any JSON value
    in another system. There `number` is that of the event that sent it.

    >>> import pxp_fsm as pxp
    >>> said = pxp.Answer("mammal", "It breathes air.")
    >>> pxp.Message("whale", 1, "m", "INIT", said, "h").answer.prediction
    'mammal'
    """

    session: str
    number: int
    sender: str
    tag: str
    payload: Answer | Json
    receiver: str

    @property
    def answer(self) -> Answer:
        """The answer that it carries; `WrongType` where that is a JSON value."""
        if isinstance(self.payload, Answer):
            return self.payload
        raise WrongType(f"{self.tag} of {self.sender} carries a JSON value, not an answer")

    @property
    def json(self) -> Json:
        """The JSON text that it carries; `WrongType` where that is an answer."""
        if isinstance(self.payload, Json):
            return self.payload
        raise WrongType(f"{self.tag} of {self.sender} carries an answer, not a JSON value")

    @property
    def value(self) -> Any:
        """What it carries: an `Answer`, or the JSON value.

        That is read anew each time, so that nobody changes what another member sees.
        """
        return json.loads(self.payload) if isinstance(self.payload, Json) else self.payload


@dataclass(frozen=True, slots=True)
class CurrentPair:
    """What the agent `name` has told somebody last, and how often that has changed."""

    name: str
    answer: Answer | None
    version: int


@dataclass(frozen=True, slots=True)
class Overview:
    """What everybody may see of a session of several agents.

    `pairs` are the current pairs, `owed` says who owes whom a message, `messages` are all so far;
    `next` is who speaks next, and to whom; None where nobody does.
    """

    pairs: tuple[CurrentPair, ...]
    owed: tuple[tuple[str, str], ...]
    messages: tuple[Message, ...] = field(repr=False)
    next: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Episode:
    """A conversation that went before: an instance, and messages about it in order.

    `context` is what UPDATE_CONTEXT added at each of them, `categories` as in a `Question`; both
    are empty where that is not known.
    """

    instance: Instance
    history: tuple[Message, ...]
    context: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What an agent is asked (ASK_AGENT): the query q, the instance x and the context C.

    `context` is C_(j-1): what UPDATE_CONTEXT added at messages 1 to j-1 of this session, in order.
    `history` is the messages themselves, for respondents that want them with their parts apart;
    `categories` is what the sender of each found the pair before it to be: A, B, C or D, and empty
    where no MATCH and AGREE were judged (message 1, or a person who named the tag).
    `earlier` is what the context holds about other instances: sessions that went before, where the
    context is carried on; and, where a validation instance is asked about, the session itself.
    `session` is the name of the session in which it is asked, and `purpose` what the answer is for:
    `answer`, `validation` where a lesson is weighed by it, or `test`. In a session of several
    agents `to` is whom the answer is sent to, and `overview` what everybody may see: people do.

    >>> import pxp_fsm as pxp
    >>> question = pxp.Question("", pxp.Instance("whale", "What is a whale?"))
    >>> question.instance.x, question.history
    ('What is a whale?', ())
    """

    query: str
    instance: Instance
    context: tuple[str, ...] = ()
    history: tuple[Message, ...] = field(default=(), repr=False)
    earlier: tuple[Episode, ...] = field(default=(), repr=False)
    session: str = field(default="", repr=False)
    purpose: str = field(default="answer", repr=False)
    categories: tuple[str, ...] = field(default=(), repr=False)
    to: str = field(default="", repr=False)
    overview: Overview | None = field(default=None, repr=False)

    @property
    def number(self) -> int:
        """The number of the message that carries the answer, in its session."""
        return number_after(self.history, self.overview)


def number_after(history: Sequence[Message], overview: Overview | None) -> int:
    """The number of the message that comes next in a session, of two or of several agents."""
    return len(history if overview is None else overview.messages) + 1


def text_problem(text: str) -> str | None:
    """Why `text` cannot be stored exactly in every database, or None if it can."""
    if "\x00" in text:
        return "a text holds the character NUL, which not every database can store"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "a text holds half a character (a lone surrogate), which is not valid Unicode"
    return None


def storable(text: str) -> str:
    """`text` with what cannot be stored (see `text_problem`) written as an escape.

    For what is said *about* a text, such as an error that quotes it; what an agent says is refused.
    """
    return text.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode()


def printable(text: str) -> str:
    """`text` as one line, with every character that could steer a terminal shown by its number."""
    if text.isprintable():  # most texts are, and lists are long
        return text
    return "".join(
        character if character.isprintable() else f"\\u{ord(character):04x}"
        for character in text.replace("\n", " ")
    )


def is_answer(value: object) -> TypeGuard[Answer]:
    """Whether `value` is an `Answer` of two texts."""
    return isinstance(value, Answer) and all(
        isinstance(text, str) for text in (value.prediction, value.explanation)
    )


def answer_problem(answer: object) -> str | None:
    """Why `answer` is not one that a message can carry, or None if it is."""
    if is_answer(answer):
        texts = (answer.prediction, answer.explanation)
        return next(filter(None, map(text_problem, texts)), None)
    if isinstance(answer, Answer):
        return "prediction and explanation are text"
    return "an answer is a prediction and an explanation, pxp.Answer(prediction, explanation)"
