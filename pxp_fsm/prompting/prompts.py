"""Prompts as data (ASSEMBLE_PROMPT): texts with named slots, validated from a TOML file.

A slot is `$name`, as in Python's `string.Template`; `$$` is a dollar sign. What fills a slot is
never itself looked at for slots, and no slot is more than a name: nothing in a prompt is executed.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from string import Template
from types import MappingProxyType
from typing import Any

from pxp_fsm.errors import DataError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.framing import CLOSING, OPENING
from pxp_fsm.prompting.model import Image
from pxp_fsm.protocol.decisions import Category
from pxp_fsm.protocol.messages import Answer, Instance, text_problem

MOST_TOKENS = 1_000_000

_EACH = {"tags": "tag", "categories": "category"}
_HEADING = re.compile(r"[A-Za-z][A-Za-z ]{0,30}")

SLOTS: dict[str, dict[str, tuple[set[str], set[str]]]] = {
    "answer": {
        "system": ({"query", "labels", "typed", "form"}, set()),
        "question": ({"query", "instance", "x"}, set()),
        "received": ({"meaning", "category", "message", "prediction", "explanation"}, set()),
        "again": (set(), {"reason"}),
        "context": (set(), {"context"}),
        "over": (set(), set()),
    },
    "judge": {
        "system": (set(), {"form"}),
        "question": (set(), {"first", "second"}),
        "again": (set(), {"reason"}),
    },
}
"""Each text's slots: those that it may have, and those that it must have."""

LEFT_OUT = {
    "context": "This is known besides:\n$context",
    "over": "That exchange is over, and no answer to it is wanted. The next one begins here.",
}
"""The texts that a file may leave out, and what stands in their place."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """How one thing is asked: its texts by name, and the settings of the request.

    `temperature` and `effort` of None are the server's own. `headings` are those of a reply in
    plain text, such as Prediction and Explanation; without them a reply is JSON.
    """

    texts: Mapping[str, str]
    max_tokens: int
    temperature: float | None = None
    effort: str | None = None
    headings: tuple[str, ...] = ()

    def fill(self, text: str, **slots: str) -> str:
        """The text of that name with its slots filled; slots that it has not are left out."""
        return Template(self.texts.get(text) or LEFT_OUT[text]).substitute(slots)

    def has(self, text: str, slot: str) -> bool:
        """Whether the text of that name has the slot."""
        return slot in Template(self.texts[text]).get_identifiers()


@dataclass(frozen=True)
class Prompts:
    """How a task's models are asked for answers and its judges for verdicts.

    `tags` says what a received tag means, `categories` what is wrong where the other found the
    category A, B, C or D.
    """

    answer: Prompt
    judge: Prompt
    tags: Mapping[str, str]
    categories: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of every text and every setting; comments and order do not change it."""
        parts = [
            [dict(prompt.texts), prompt.max_tokens, prompt.temperature]
            + ([] if prompt.effort is None else [prompt.effort])
            + [*prompt.headings]
            for prompt in (self.answer, self.judge)
        ]
        later = [dict(self.categories)] if self.categories else []
        content = json.dumps([*parts, dict(self.tags), *later], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()


Slots = Mapping[str, tuple[set[str], set[str]]]
"""A prompt's texts by name: the slots that each may have, and those that it must have."""


_TABLES = {"answer", "judge", "tags", "categories"}


def read_prompts(source: str, where: str, task: str = "") -> Prompts:
    """The prompts that are written in `source`; raises `DataError`, which names `where`.

    A file for several tasks has a table for each, such as `[rad.answer]` and `[drug.answer]`: of
    these, that of `task` is read.
    """
    raw = _raw(source, where)
    if raw and not raw.keys() & _TABLES and all(isinstance(entry, dict) for entry in raw.values()):
        if task not in raw:
            raise DataError(
                f"{where}: there is no table [{task or 'TASK'}.answer]; there are prompts of: "
                f"{quoted(', '.join(raw))}"
            )
        raw, where = raw[task], f"{where}, {task}"
    _keys(raw, _TABLES, where)
    answer, judge = (_prompt(raw, name, SLOTS[name], where, headed=True) for name in SLOTS)
    _check_answer(answer, f"{where}, [answer]")
    if judge.headings:
        raise DataError(f"{where}, [judge]: its reply is yes or no; leave out headings")
    tags, categories = (_sentences(raw, name, where) for name in ("tags", "categories"))
    _keys(categories, set(Category), f"{where}, [categories]")
    return Prompts(answer, judge, tags, categories)


def _check_answer(answer: Prompt, here: str) -> None:
    """Raise `DataError` where a model is not told its reply's form, or nothing of what was said."""
    told = f"{answer.texts['system']} {answer.texts['question']}"
    written = answer.headings and all(f"{heading}:" in told for heading in answer.headings)
    if not answer.has("system", "form") and not written:
        raise DataError(
            f"{here} system lacks $form; without it, headings must be set and written, with a "
            f"colon, in system or question"
        )
    if not any(answer.has("received", slot) for slot in ("message", "prediction", "explanation")):
        raise DataError(
            f"{here} received lacks $message, or in its place $prediction or $explanation"
        )


def read_each(
    source: str,
    where: str,
    wanted: Mapping[str, Slots],
    default: Mapping[str, Prompt] = MappingProxyType({}),
) -> Mapping[str, Prompt]:
    """The prompts, by name, that are written in `source`: all that are `wanted`, and no others.

    What it leaves out is as in `default`. Raises `DataError`, which names `where`.
    """
    raw = _raw(source, where)
    _keys(raw, set(wanted), where)
    left = {name: default[name] for name in wanted if name in default and name not in raw}
    read = {name: _prompt(raw, name, wanted[name], where) for name in wanted if name not in left}
    return MappingProxyType({**left, **read})


def _raw(source: str, where: str) -> Mapping[str, Any]:
    problem = text_problem(source)
    if problem is not None:
        raise DataError(f"{where}: {problem}")
    try:
        return tomllib.loads(source)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(f"{where} is not TOML: {error}") from error


def _prompt(
    raw: Mapping[str, Any], name: str, wanted: Slots, where: str, *, headed: bool = False
) -> Prompt:
    table, here = raw.get(name), f"{where}, [{name}]"
    if not isinstance(table, dict):
        raise DataError(f"{where}: there is no table [{name}]")
    more = {"headings"} if headed else set()
    _keys(table, {*wanted, "max_tokens", "temperature", "effort", *more}, here)
    texts = {
        text: _text(table.get(text), f"{here} {text}", *wanted[text])
        for text in wanted
        if text in table or text not in LEFT_OUT
    }
    most = table.get("max_tokens")
    if type(most) is not int or not 1 <= most <= MOST_TOKENS:
        raise DataError(f"{here}: max_tokens must be a whole number from 1, not {quoted(most)}")
    temperature = table.get("temperature")
    if temperature is not None:
        if type(temperature) not in (int, float) or not math.isfinite(temperature):
            raise DataError(f"{here}: temperature must be a number, not {quoted(temperature)}")
        temperature = float(temperature)
    effort = table.get("effort")
    if effort is not None and not isinstance(effort, str):
        raise DataError(f'{here}: effort must be a text such as "low", not {quoted(effort)}')
    headings = _headings(table.get("headings", []), here)
    return Prompt(MappingProxyType(texts), most, temperature, effort, headings)


def _headings(value: object, here: str) -> tuple[str, ...]:
    """The headings of a plain reply: none, or one word for each of its two parts."""
    values = value if isinstance(value, list) else [value]
    words = tuple(
        heading for heading in values if isinstance(heading, str) and _HEADING.fullmatch(heading)
    )
    if words and len({word.casefold() for word in words}) == 2 == len(values):
        return words
    if not values:
        return ()
    raise DataError(
        f'{here}: headings must be two different words, such as ["Prediction", "Explanation"], '
        f"not {quoted(value)}"
    )


def _text(text: object, here: str, may: set[str], must: set[str]) -> str:
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"{here} is missing; it must be a text")
    template = Template(text)
    if not template.is_valid():
        raise DataError(f"{here} has a $ that does not begin a slot; write $$ for a dollar sign")
    slots = set(template.get_identifiers())
    known = f"its slots are {', '.join(f'${slot}' for slot in sorted(may | must)) or 'none'}"
    if slots - may - must:
        raise DataError(f"{here} has {quoted('$' + min(slots - may - must))}; {known}")
    if must - slots:
        raise DataError(f"{here} lacks ${min(must - slots)}; {known}")
    if OPENING in text or CLOSING in text:
        raise DataError(f"{here} holds {OPENING} or {CLOSING}; only what fills a slot is framed")
    return text.strip()


def _sentences(raw: Mapping[str, Any], name: str, where: str) -> Mapping[str, str]:
    table, here = raw.get(name, {}), f"{where}, [{name}]"
    if not isinstance(table, dict) or not all(
        isinstance(sentence, str) for sentence in table.values()
    ):
        raise DataError(f"{here}: each {_EACH[name]} needs a sentence")
    if any(OPENING in sentence or CLOSING in sentence for sentence in table.values()):
        raise DataError(f"{here} holds {OPENING} or {CLOSING}; only what fills a slot is framed")
    return MappingProxyType(dict(table))


def _keys(table: Mapping[str, object], known: set[str], here: str) -> None:
    unknown = sorted(set(table) - known)
    if unknown:
        raise DataError(
            f"{here}: {quoted(unknown[0])} is unknown; there are: {', '.join(sorted(known))}"
        )


@dataclass(frozen=True)
class Problem:
    """The form of a task's questions and answers (spec: PXP, section 7).

    `prediction` is the JSON Schema of a prediction as a model gives it; `from_json` makes the text
    that a message carries out of such a value, and `from_text` out of what a person typed. Both
    raise `DataError`, saying what is wrong, for whatever the task does not allow. `to_json` is the
    value that `from_json` made such a text of. `normal` is the text that is the same for two
    predictions that are the same to the task; None where that is what `from_text` makes. `labels`
    are the words that a prediction is made of, where they are a closed list, and `none` is the word
    for no label at all, where that may be predicted. `topics` are what a model is told to know
    about (the slot `$labels`): the labels, or where yes or no is predicted those of the data.
    `examples` are instances with right answers, which a model is shown before it is asked.
    `picture` shows an instance, as an image, to whoever is asked; None where it has none. `drawing`
    is an image for people of an instance that a model reads as text. `described` is what the
    instance is in words, or None where it is told by its picture alone. `smiles` says that
    instances and predictions are SMILES, of molecules or of the steps of a pathway, which people
    are shown as structures. `form` tells, in a sentence or two, how a prediction is typed.
    """

    name: str
    query: str
    prediction: Mapping[str, object]
    from_json: Callable[[object], str]
    from_text: Callable[[str], str]
    to_json: Callable[[str], object] = lambda text: text
    labels: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    examples: tuple[tuple[Instance, Answer], ...] = ()
    none: str | None = None
    picture: Callable[[Instance], Image | None] = lambda _instance: None
    drawing: Callable[[Instance], Image | None] = lambda _instance: None
    described: Callable[[Instance], str | None] = lambda instance: instance.x
    smiles: bool = False
    normal: Callable[[str], str] | None = None
    form: str = ""
