"""Prompts as data (ASSEMBLE_PROMPT): texts with named slots, validated from a TOML file.

A slot is `$name`, as in Python's `string.Template`; `$$` is a dollar sign. What fills a slot is
never itself looked at for slots, and no slot is more than a name: nothing in a prompt is executed.
"""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from string import Template
from types import MappingProxyType
from typing import Any

from pxp_fsm.errors import DataError, quoted
from pxp_fsm.prompting.framing import CLOSING, OPENING
from pxp_fsm.protocol.messages import text_problem

MOST_TOKENS = 1_000_000

SLOTS: dict[str, dict[str, tuple[set[str], set[str]]]] = {
    "answer": {
        "system": ({"query", "labels"}, {"form"}),
        "question": ({"query", "instance"}, set()),
        "received": ({"meaning"}, {"message"}),
        "again": (set(), {"reason"}),
        "context": (set(), {"context"}),
    },
    "judge": {
        "system": (set(), {"form"}),
        "question": (set(), {"first", "second"}),
        "again": (set(), {"reason"}),
    },
}
"""Each text's slots: those that it may have, and those that it must have."""

LEFT_OUT = {"context": "This is known besides:\n$context"}
"""The texts that a file may leave out, and what stands in their place."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """How one thing is asked: its texts by name, and the settings of the request.

    `temperature` and `effort` of None are the server's own.
    """

    texts: Mapping[str, str]
    max_tokens: int
    temperature: float | None = None
    effort: str | None = None

    def fill(self, text: str, **slots: str) -> str:
        """The text of that name with its slots filled; slots that it has not are left out."""
        return Template(self.texts.get(text) or LEFT_OUT[text]).substitute(slots)

    def has(self, text: str, slot: str) -> bool:
        """Whether the text of that name has the slot."""
        return slot in Template(self.texts[text]).get_identifiers()


@dataclass(frozen=True, slots=True)
class Prompts:
    """How a task's models are asked for answers and its judges for verdicts.

    `tags` says what a received tag means.
    """

    answer: Prompt
    judge: Prompt
    tags: Mapping[str, str]

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of every text and every setting; comments and order do not change it."""
        parts = [
            [dict(prompt.texts), prompt.max_tokens, prompt.temperature]
            + ([] if prompt.effort is None else [prompt.effort])
            for prompt in (self.answer, self.judge)
        ]
        said = json.dumps([*parts, dict(self.tags)], sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()


Slots = Mapping[str, tuple[set[str], set[str]]]
"""A prompt's texts by name: the slots that each may have, and those that it must have."""


def read_prompts(source: str, where: str) -> Prompts:
    """The prompts that are written in `source`; raises `DataError`, which names `where`."""
    raw = _raw(source, where)
    _keys(raw, {"answer", "judge", "tags"}, where)
    answer, judge = (_prompt(raw, name, SLOTS[name], where) for name in SLOTS)
    return Prompts(answer, judge, _tags(raw.get("tags", {}), where))


def read_each(source: str, where: str, wanted: Mapping[str, Slots]) -> Mapping[str, Prompt]:
    """The prompts, by name, that are written in `source`: all that are `wanted`, and no others.

    Raises `DataError`, which names `where`.
    """
    raw = _raw(source, where)
    _keys(raw, set(wanted), where)
    return MappingProxyType({name: _prompt(raw, name, wanted[name], where) for name in wanted})


def _raw(source: str, where: str) -> Mapping[str, Any]:
    problem = text_problem(source)
    if problem is not None:
        raise DataError(f"{where}: {problem}")
    try:
        return tomllib.loads(source)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(f"{where} is not TOML: {error}") from error


def _prompt(raw: Mapping[str, Any], name: str, wanted: Slots, where: str) -> Prompt:
    table, here = raw.get(name), f"{where}, [{name}]"
    if not isinstance(table, dict):
        raise DataError(f"{where}: there is no table [{name}]")
    _keys(table, {*wanted, "max_tokens", "temperature", "effort"}, here)
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
    return Prompt(MappingProxyType(texts), most, temperature, effort)


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


def _tags(table: object, where: str) -> Mapping[str, str]:
    here = f"{where}, [tags]"
    if not isinstance(table, dict) or not all(isinstance(said, str) for said in table.values()):
        raise DataError(f"{here}: each tag needs a sentence")
    if any(OPENING in said or CLOSING in said for said in table.values()):
        raise DataError(f"{here} holds {OPENING} or {CLOSING}; only what fills a slot is framed")
    return MappingProxyType(dict(table))


def _keys(table: Mapping[str, object], known: set[str], here: str) -> None:
    unknown = sorted(set(table) - known)
    if unknown:
        raise DataError(
            f"{here}: {quoted(unknown[0])} is unknown; there are: {', '.join(sorted(known))}"
        )
