"""Study files: who takes part in what, what they are told and asked, in TOML.

Arms and tasks are parts of a `Plan`, whose published schema theirs is made from. Nothing in a file
is ever imported or run.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pxp_fsm import documents
from pxp_fsm.errors import DataError, Fault, FileError, Place, UsageError, quoted
from pxp_fsm.experiments import plan_data, plans
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.plugins.studies.schema import OF_ARM, OF_TASK, schema


@dataclass(frozen=True, slots=True)
class Consent:
    """What a participant agrees to: the text with its version, and what the law wants said.

    `providers` receive what is typed; `copy` is how to get a copy of what was stored.
    """

    version: str
    text: str
    providers: tuple[str, ...]
    retention: str
    contact: str
    copy: str


@dataclass(frozen=True, slots=True)
class Item:
    """A question to a participant; one with an `answer` is a training item, explained after it."""

    name: str
    text: str
    kind: str = "text"
    choices: tuple[str, ...] = ()
    required: bool = True
    answer: str = ""
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Arm:
    """With whom, and how: fields of a `Plan`, or the condition of a study of networks.

    `about` is what the debrief says of it. Of a `blinded` arm the page says nothing before.
    """

    name: str
    about: str
    blinded: bool = False
    condition: str = ""
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class StudyTask:
    """What a run of a participant is about: fields of a `Plan`, or a task of networks."""

    name: str
    about: str = ""
    network: str = ""
    settings: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Payment:
    """How participants are paid: the parameters they come with, and the links they leave by.

    `parameters` are the names in the address by which a panel says who somebody is; `codes` are
    those for `done`, `declined` and `withdrawn`; `link` has a place {code}.
    """

    parameters: tuple[str, ...] = ()
    link: str = ""
    codes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def leaving(self, outcome: str) -> str:
        """The link by which somebody leaves; "" where there is none."""
        code = self.codes.get(outcome, "")
        return self.link.replace("{code}", code) if code else ""


@dataclass(frozen=True, slots=True)
class Study:
    """What a study file says; `raw` is all of it, `text` the file as it was written."""

    path: Path
    raw: Mapping[str, Any] = field(repr=False)
    text: str = field(repr=False)
    name: str
    title: str
    seed: int
    experts: int
    design: str
    names_tags: bool
    tools: str
    pasting: bool
    deadline: float
    slots: tuple[float, float]
    longest: int
    consent: Consent
    instructions: str
    training: tuple[Item, ...]
    attempts: int
    before: tuple[Item, ...]
    after: tuple[Item, ...]
    debrief: str
    attribution: str
    payment: Payment
    arms: tuple[Arm, ...]
    tasks: tuple[StudyTask, ...]

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of what the file means, every default left as it is written."""
        return hashlib.sha256(json.dumps(self.raw, sort_keys=True).encode()).hexdigest()

    @property
    def run(self) -> str:
        """The name of the study on a blackboard: that of the file."""
        return self.name

    def plan(self, arm: Arm, task: StudyTask, subject: str) -> Plan:
        """The plan of one participant's run; raises `UsageError` for a study of networks."""
        if task.network:
            raise UsageError(
                f"{task.name} is about a network: pxp lan runs it, and no session does"
            )
        way = "browser" if self.names_tags else "browser:relations"
        given = {"seed": self.seed} | dict(task.settings) | dict(arm.settings)
        plan = plans.build_plan(given | {"human": way}, self.path.absolute().parent)
        if plan.assistants:
            raise UsageError("no assistant takes part in a study; name a model", "machine")
        return replace(plan, subject=subject)


def load_study(path: str | Path) -> Study:
    """The study in the file `path`; nothing is stored.

    Raises `FileError` with every fault, each with its line: also where an arm or a task makes no
    plan, or its data cannot be used.
    """
    path = Path(path)
    text = documents.text_of(path, "a study")
    raw = documents.read(text, path.name)
    found = documents.faults(raw, schema(), _in_words) or list(_faults(raw))
    if not found:
        study = _built(path, raw, text)
        found = list(_unusable(study))
        if not found:
            return study
    raise FileError(documents.located(found, text, str(path)))


def _in_words(error: Any) -> str | None:
    """What a violation means to somebody who edits a study file."""
    if error.validator != "pattern":
        return None
    if error.absolute_path and error.absolute_path[-1] == "link":
        return "link: an address that begins with https:// and has a place {code}"
    return f"{quoted(error.instance)}: a name has lower-case letters, digits and -, at most 40"


def _faults(raw: Mapping[str, Any]) -> Iterator[Fault]:
    """What a schema cannot say: names that stand twice, parts that do not go together."""
    for key in ("arms", "tasks", "before", "after"):
        yield from _twice(raw.get(key, []), (key,))
    yield from _twice(raw.get("training", {}).get("items", []), ("training", "items"))
    slots = raw.get("slots", {"least": 1, "most": 1})
    if slots["least"] > slots["most"]:
        yield Fault(("slots", "least"), "least is more than most; a slot lasts from least to most")
    networks = "network" in raw["tasks"][0]
    for place, task in enumerate(raw["tasks"]):
        if ("network" in task) is not networks or ("task" in task) is networks:
            said = "a task has either task or network, and all tasks of a study the same"
            yield Fault(("tasks", place), said)
    for place, arm in enumerate(raw["arms"]):
        if ("condition" in arm) is not networks:
            said = "condition is for tasks that have network, and these need it"
            yield Fault(("arms", place), said)
        set_too = sorted(set(arm) & set(OF_ARM)) if networks else []
        if set_too:
            yield Fault(("arms", place, set_too[0]), f"{set_too[0]} has no effect on networks")
        yield from _unnamed(raw, place)
    for place, item in enumerate(raw.get("training", {}).get("items", [])):
        if "choices" in item and item["answer"] not in item["choices"]:
            said = f"answer: {quoted(item['answer'])} is none of the choices"
            yield Fault(("training", "items", place, "answer"), said)
    for key in ("before", "after"):
        for place, one in enumerate(raw.get(key, [])):
            if (one.get("kind", "choice") == "choice") is not ("choices" in one) and "kind" in one:
                yield Fault((key, place, "kind"), "choices and the kind choice go together")


def _unnamed(raw: Mapping[str, Any], place: int) -> Iterator[Fault]:
    """An arm whose model receives what is typed, where the consent names nobody who runs one."""
    for key in ("machine", "judge", "preset"):
        if key in raw["arms"][place] and not raw["consent"]["providers"]:
            said = f"{key}: a model receives what is typed; name who runs it in consent.providers"
            yield Fault(("arms", place, key), said)


def _twice(found: list[Mapping[str, Any]], where: Place) -> Iterator[Fault]:
    counted = Counter(one["name"] for one in found)
    for place, one in enumerate(found):
        if counted[one["name"]] > 1:
            said = f"{one['name']} stands {counted[one['name']]} times; give each its own name"
            yield Fault((*where, place, "name"), said)


def _unusable(study: Study) -> Iterator[Fault]:
    """Arms and tasks that make no plan, or whose data are not there; each is named once."""
    for task_at, task in enumerate(study.tasks):
        for arm_at, arm in enumerate(study.arms):
            if task.network:
                continue
            try:
                plan_data.read_plan(study.plan(arm, task, "p"))
            except (UsageError, DataError) as error:
                named = getattr(error, "field", None)
                of_arm = named is not None and named not in task.settings and named in OF_ARM
                at: Place = ("arms", arm_at) if of_arm else ("tasks", task_at)
                yield Fault((*at, named) if named else at, str(error))
                return


def _built(path: Path, raw: Mapping[str, Any], text: str) -> Study:
    slots = raw.get("slots", {"least": 20.0, "most": 40.0})
    training, consent = raw.get("training", {}), raw["consent"]
    return Study(
        path=path,
        raw=raw,
        text=text,
        name=raw["name"],
        title=raw["title"],
        seed=raw.get("seed", 0),
        experts=raw["experts"],
        design=raw.get("design", "within"),
        names_tags=raw.get("tags", "named") == "named",
        tools=raw.get("tools", "forbidden"),
        pasting=raw.get("pasting", True),
        deadline=float(raw.get("deadline", 14 * 86400)),
        slots=(float(slots["least"]), float(slots["most"])),
        longest=raw.get("longest", 1000),
        consent=Consent(**{**consent, "providers": tuple(consent["providers"])}),
        instructions=raw["instructions"],
        training=tuple(map(_item, training.get("items", []))),
        attempts=training.get("attempts", 2),
        before=tuple(map(_item, raw.get("before", []))),
        after=tuple(map(_item, raw.get("after", []))),
        debrief=raw["debrief"],
        attribution=raw.get("attribution", ""),
        payment=_payment(raw.get("payment", {})),
        arms=tuple(_arm(one) for one in raw["arms"]),
        tasks=tuple(_task(one) for one in raw["tasks"]),
    )


def _item(raw: Mapping[str, Any]) -> Item:
    choices = tuple(raw.get("choices", ()))
    kind = raw.get("kind", "choice" if choices else "text")
    return Item(**{**raw, "choices": choices, "kind": kind})


def _payment(raw: Mapping[str, Any]) -> Payment:
    codes = MappingProxyType(dict(raw.get("codes", {})))
    return Payment(tuple(raw.get("parameters", ())), raw.get("link", ""), codes)


def _arm(raw: Mapping[str, Any]) -> Arm:
    settings = {key: raw[key] for key in OF_ARM if key in raw}
    blinded, condition = raw.get("blinded", False), raw.get("condition", "")
    return Arm(raw["name"], raw["about"], blinded, condition, MappingProxyType(settings))


def _task(raw: Mapping[str, Any]) -> StudyTask:
    settings = {key: raw[key] for key in OF_TASK if key in raw}
    about, network = raw.get("about", ""), raw.get("network", "")
    return StudyTask(raw["name"], about, network, MappingProxyType(settings))


def pseudonym(place: int) -> str:
    """The pseudonym of the participant who came as number `place`, from 1."""
    return f"p{place:03d}"


def number_of(subject: str) -> int:
    """The place of a participant by their pseudonym."""
    return int(subject[1:])
