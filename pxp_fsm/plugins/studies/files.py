"""Study files: who takes part in what, what they are told and asked, in TOML.

Arms and tasks are parts of a `Plan`. Nothing in a file is ever imported or run.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pxp_fsm import registry
from pxp_fsm.errors import DataError, Fault, FileError, Place, UsageError, quoted
from pxp_fsm.experiments import plan_data, plans
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import Option, given, option, outside
from pxp_fsm.plugins.studies.keys import read_keys
from pxp_fsm.schemas import FileContent, FileKind

OF_ARM = ("protocol", "n", "k", "memo", "machine", "judge", "preset", "effort", "scope", "votes")
OF_TASK = ("task", "data", "instances", "label", "order")
"""The options of a `Plan` that an arm sets, and those that a task sets."""

NETWORK_CONDITIONS = ("easylan", "manual")
"""What an arm of a study of networks does: supervise EasyLAN, or edit by hand."""

Name = Annotated[
    str,
    Option(
        pattern=r"^[a-z][a-z0-9-]{0,39}$(?!\n)",
        problem="is no name: a name has lower-case letters, digits and -, at most 40",
    ),
]
Text = Annotated[str, Option(least=1)]
Seconds = Annotated[float, Option(above=0, most=86_400)]


def network_tasks() -> dict[str, str]:
    """The tasks of networks of LLM agents by name, where the plug-in that has them is there."""
    entry = registry.contribution("lists", "networks")
    tasks: dict[str, str] = {} if entry is None else registry.load(entry.body)()
    return tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """What a participant agrees to: the text with its version, and what the law wants said."""

    version: Text
    text: Text
    providers: tuple[Text, ...] = option("Who receives what is typed.")
    retention: Text
    contact: Text
    copy: Text = option("How to get a copy of what was stored.")


@dataclass(frozen=True, slots=True)
class Item:
    """A question to a participant."""

    name: Name
    text: Text
    kind: str = option(
        "scale is a number from 1 to 7.",
        "",
        default="text, or choice where there are choices",
        choices=("text", "number", "choice", "scale"),
    )
    choices: tuple[Text, ...] = option("One of them is the answer.", (), least=2)
    required: bool = option("Whether it needs an answer.", True)

    def __post_init__(self) -> None:
        if not self.kind:
            object.__setattr__(self, "kind", "choice" if self.choices else "text")

    def problems(self) -> Iterator[Fault]:
        """Where its kind does not fit its choices."""
        if (self.kind == "choice") is not bool(self.choices):
            yield Fault(("kind",), "choices and the kind choice go together")


@dataclass(frozen=True, slots=True)
class TrainingItem:
    """A question before the first task; it is explained once it was answered."""

    name: Name
    text: Text
    answer: Text
    choices: tuple[Text, ...] = option("One of them is the answer.", (), least=2)
    explanation: str = option("What is told once it was answered.", "")

    @property
    def kind(self) -> str:
        """As of other questions."""
        return "choice" if self.choices else "text"

    @property
    def required(self) -> bool:
        """As of other questions."""
        return True

    def problems(self) -> Iterator[Fault]:
        """Where the answer cannot be given."""
        if self.choices and self.answer not in self.choices:
            message = f"answer: {quoted(self.answer)} is none of the choices"
            yield Fault(("answer",), message)


@dataclass(frozen=True, slots=True)
class Arm:
    """With whom, and how: fields of a `Plan`, or the condition of a study of networks.

    Of a `blinded` arm the page says nothing before the debrief.
    """

    name: Name
    about: str = option("What the debrief says of it.")
    blinded: bool = option("Whether the page keeps silent on the partner until the debrief.", False)
    condition: str = option(
        "In a study of networks: supervise EasyLAN, or edit by hand.",
        "",
        choices=NETWORK_CONDITIONS,
    )
    settings: Mapping[str, Any] = given(Plan, *OF_ARM)


@dataclass(frozen=True, slots=True)
class StudyTask:
    """What a run of a participant is about: fields of a `Plan`, or a task of networks."""

    name: Name
    about: str = option("What it is, in words.", "")
    network: str = option("A task of networks of LLM agents.", "")
    settings: Mapping[str, Any] = given(Plan, *OF_TASK)

    def problems(self) -> Iterator[Fault]:
        """Where there is no such task of networks."""
        if self.network and self.network not in network_tasks():
            there = ", ".join(network_tasks()) or "none"
            message = f"there is no task of networks {quoted(self.network)}; there are: {there}"
            yield Fault(("network",), message)


@dataclass(frozen=True, slots=True)
class LeavingCodes:
    """The code for each way to leave; "" where there is none."""

    done: Text
    declined: str = option(value="")
    withdrawn: str = option(value="")


JWT = "RS256"
"""The algorithm of a token (RFC 7519); the others sign the address itself."""

RESERVED = ("token", "pair", "pxp-seen")
"""Parameters of addresses that are the server's own."""


@dataclass(frozen=True, slots=True)
class AddressSignature:
    """How a panel signs the addresses by which it sends people; see `signatures`.

    RS256 is a JSON Web Token with the parameters in it. The others are the HMAC of the address up
    to the parameter with the signature, which is its last.
    """

    algorithm: str = option(
        "What the panel signs with; no other algorithm is taken.",
        choices=(JWT, "HMAC-SHA256", "HMAC-SHA1"),
    )
    parameter: Text = option("The parameter with the token or the signature: prolific_token, hash.")
    keys: str = option("RS256: the file with the panel's public keys, a JSON Web Key Set.", "")
    issuer: str = option("RS256: the claim `iss` of the panel's tokens.", "")
    claims: str = option(
        "RS256: the claim in which the parameters stand.", "", default="they are claims themselves"
    )
    secret: str = option(
        "HMAC: the environment variable with the secret, which never stands in a file.",
        "",
        pattern=r"^[A-Z][A-Z0-9_]*$(?!\n)",
        problem="is no name of an environment variable (A-Z, 0-9 and _); the secret itself stands "
        "in no file",
    )

    @property
    def is_token(self) -> bool:
        """Whether it is a JSON Web Token, and not the HMAC of an address."""
        return self.algorithm == JWT

    def problems(self) -> Iterator[Fault]:
        """Keys of the other kind of signature, and those that are missing."""
        needed: tuple[str, ...] = ("keys", "issuer")
        other: tuple[str, ...] = ("secret",)
        if not self.is_token:
            needed, other = ("secret",), ("keys", "issuer", "claims")
        missing = [name for name in needed if not getattr(self, name)]
        if missing:
            yield Fault((), f"{self.algorithm} is checked with {' and '.join(missing)}; add that")
        for name in other:
            if getattr(self, name):
                yield Fault((name,), f"{name} has no effect with {self.algorithm}; remove it")
        if self.parameter in RESERVED:
            yield Fault(("parameter",), f"{self.parameter} is the server's own; name the panel's")


@dataclass(frozen=True, slots=True)
class Payment:
    """How participants are paid: the parameters they come with, and the links they leave by."""

    link: str = option(
        "The address by which they leave.",
        pattern=r"^https://[^\s]*\{code\}[^\s]*$",
        problem="is no link: an address that begins with https:// and has a place {code}",
    )
    codes: LeavingCodes = option("The code for each way to leave.")
    parameters: tuple[Text, ...] = option(
        "The parameters that a panel adds to the address, such as PROLIFIC_PID.", ()
    )
    accepted: Mapping[str, tuple[Text, ...]] = option(
        "By parameter, the values of those who are sent to this study, such as its STUDY_ID; "
        "needed where there are parameters.",
        MappingProxyType({}),
    )
    signature: AddressSignature | None = option(
        "How the panel signs the address, where it does.", None
    )

    def problems(self) -> Iterator[Fault]:
        """Parameters that anybody could invent, and take the places of those whom a panel sends."""
        if self.signature is not None and not self.parameters:
            yield Fault(("signature",), "signature: name the parameters that it signs")
        if self.signature is not None and self.signature.parameter in self.parameters:
            message = f"{self.signature.parameter}: the signature is none of the parameters"
            yield Fault(("parameters",), message)
        if self.parameters and not any(self.accepted.values()):
            message = 'accepted: name what a panel sends, as in accepted.STUDY_ID = ["65f1…"]'
            yield Fault(("parameters",), message)
        for name in sorted(set(self.accepted) - set(self.parameters)):
            there = ", ".join(self.parameters) or "there are none"
            yield Fault(("accepted", name), f"{name}: this is none of the parameters ({there})")

    def leaving(self, outcome: str) -> str:
        """The link by which somebody leaves; "" where there is none."""
        codes = self.codes
        code = {"done": codes.done, "declined": codes.declined, "withdrawn": codes.withdrawn}
        return self.link.replace("{code}", code[outcome]) if code.get(outcome) else ""


@dataclass(frozen=True, slots=True)
class SlotLengths:
    """The seconds of a slot, at the end of which a partner's answer is shown."""

    least: Seconds
    most: Seconds

    def problems(self) -> Iterator[Fault]:
        """Where no length is possible."""
        if self.least > self.most:
            message = "least is more than most; a slot lasts from least to most"
            yield Fault(("least",), message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What a study file says; `file` is the file."""

    tables: ClassVar[Mapping[str, str]] = {"training": "What is practised before the first task."}

    name: Name = option("What its runs are called.")
    title: Text
    seed: int = option("Draws the assignment and the slots.", 0, least=0, most=2**31 - 1)
    experts: int = option("How many can take part.", least=1, most=10_000)
    design: str = option(
        "Whether each participant meets all arms, or one.", "within", choices=("within", "between")
    )
    tags: str = option(
        "Whether the expert names the tags, or answers MATCH and AGREE.",
        "named",
        choices=("named", "relations"),
    )
    tools: str = option(
        "Whether participants may use tools such as language models.",
        "forbidden",
        choices=("forbidden", "allowed"),
    )
    pasting: bool = option("Whether text may be pasted; each paste is counted.", True)
    deadline: float = option(
        "Seconds without a sign after which a participant has lapsed.",
        1_209_600.0,
        default="1209600: two weeks",
        above=0,
        most=31_536_000,
    )
    slots: SlotLengths = option(
        "A partner's answer is shown at the end of a slot: so many seconds after the question, "
        "drawn from the seed.",
        SlotLengths(20.0, 40.0),
        default="from 20 to 40 seconds",
    )
    longest: int = option(
        "Characters of an explanation of a blinded partner that are shown.",
        1000,
        least=100,
        most=100_000,
    )
    consent: Consent = option("What a participant agrees to.")
    instructions: Text
    training: tuple[TrainingItem, ...] = option(
        "Questions that are explained once they were answered.", (), key="training.items", least=1
    )
    attempts: int = option(
        "How often the training may be tried.", 2, key="training.attempts", least=1, most=10
    )
    before: tuple[Item, ...] = option("Questions before the first task.", ())
    after: tuple[Item, ...] = option("Questions after the last task.", ())
    debrief: str = option("What the study was about; each arm's about is shown with it.")
    attribution: str = option(
        "Sources that are named at the debrief, since a link may tell an answer.", ""
    )
    payment: Payment = option("How participants are paid.", Payment("", LeavingCodes("")))
    arms: tuple[Arm, ...] = option(
        "With whom a participant works, and by which protocol.", least=1, most=20
    )
    tasks: tuple[StudyTask, ...] = option(
        "What the sessions of one run are about.", least=1, most=50
    )
    file: FileContent[Any] = outside()

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.file.filename)

    @property
    def names_tags(self) -> bool:
        """Whether participants name the tags; else they answer MATCH and AGREE."""
        return self.tags == "named"

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of what the file means, every default left as it is written."""
        return hashlib.sha256(json.dumps(self.file.raw, sort_keys=True).encode()).hexdigest()

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
        settings = {"seed": self.seed} | dict(task.settings) | dict(arm.settings)
        plan = plans.build_plan(settings | {"human": way}, self.path.absolute().parent)
        if plan.assistants:
            raise UsageError("no assistant takes part in a study; name a model", "machine")
        return replace(plan, subject=subject)

    def problems(self) -> Iterator[Fault]:
        """Names that stand twice, and parts that do not go together."""
        for key in ("arms", "tasks", "before", "after"):
            yield from _twice(getattr(self, key), (key,))
        yield from _twice(self.training, ("training", "items"))
        networks = bool(self.tasks[0].network)
        for place, task in enumerate(self.tasks):
            if bool(task.network) is not networks or ("task" in task.settings) is networks:
                message = "a task has either task or network, and all tasks of a study the same"
                yield Fault(("tasks", place), message)
        for place, arm in enumerate(self.arms):
            if bool(arm.condition) is not networks:
                message = "condition is for tasks that have network, and these need it"
                yield Fault(("arms", place), message)
            set_too = sorted(arm.settings) if networks else []
            if set_too:
                yield Fault(("arms", place, set_too[0]), f"{set_too[0]} has no effect on networks")
            for key in ("machine", "judge", "preset"):
                if key in arm.settings and not self.consent.providers:
                    message = (
                        f"{key}: a model receives what is typed; name who runs it in "
                        f"consent.providers"
                    )
                    yield Fault(("arms", place, key), message)


STUDY = FileKind(
    Study,
    "a study",
    "A study of pxp-fsm",
    "What participants are told, asked and given, and in which order.",
    name="study",
)


def load_study(path: str | Path) -> Study:
    """The study in the file `path`; nothing is stored.

    Raises `FileError` with every fault, each with its line: also where an arm or a task makes no
    plan, or its data cannot be used.
    """
    file = STUDY.load(path)
    study = replace(file.value, file=file)
    faults = [*_unusable(study), *_unusable_keys(study)]
    if faults:
        raise file.refusal(*faults)
    return study


def _twice(parts: Sequence[Arm | StudyTask | Item | TrainingItem], where: Place) -> Iterator[Fault]:
    counted = Counter(part.name for part in parts)
    for place, part in enumerate(parts):
        if counted[part.name] > 1:
            message = f"{part.name} stands {counted[part.name]} times; give each its own name"
            yield Fault((*where, place, "name"), message)


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


def _unusable_keys(study: Study) -> Iterator[Fault]:
    """A file with a panel's public keys that has none."""
    signature = study.payment.signature
    if signature is not None and signature.is_token:
        try:
            read_keys(study.path.parent / signature.keys)
        except (UsageError, FileError) as error:
            yield Fault(("payment", "signature", "keys"), str(error))


def pseudonym(place: int) -> str:
    """The pseudonym of the participant who came as number `place`, from 1."""
    return f"p{place:03d}"


def number_of(subject: str) -> int:
    """The place of a participant by their pseudonym."""
    return int(subject[1:])
