"""What a participant's page receives: data, computed from the study and from what they may know.

Of a blinded arm it is a function of what was said alone. Who the partner is, what it is made of,
what failed in it, and when within a slot it answered are no arguments of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any

from backends.databases.disclosure import identifiers_of
from pxp_fsm.defaults import RESEARCH_ONLY
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.studies.assignment import Assigned
from pxp_fsm.plugins.studies.conduct import Conduct
from pxp_fsm.plugins.studies.files import Arm, Item, Study, TrainingItem
from pxp_fsm.plugins.studies.tasks import TaskStanding
from pxp_fsm.protocol.messages import Message
from pxp_fsm.tasks.task import HUMAN

PAGE_VERSION = "3"
"""Counted on when what a page shows or offers changes; stored with each timing."""
BLOCK = 4096
"""The bytes of a page are a multiple of this, so that its length tells little."""
OWN = "a computer program"
"""What a participant whose arm is not blinded reads of a task's own machine."""
LEFT_OUT = "[…]"
"""What stands at the end of what is too long, and where nothing is left."""


@dataclass(frozen=True, slots=True)
class Page:
    """What a status is shown as: a title, a text, and what is offered, by label in the table."""

    title: str
    text: str
    offers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def _page(title: str, text: str, **offers: str) -> Page:
    return Page(title, text, MappingProxyType(offers))


_WITHDRAW = "Withdraw, and have what I said erased"

PAGES: Mapping[str, Page] = MappingProxyType(
    {
        "INVITED": _page("Welcome", "The study has not begun. Come back later by the same link."),
        "CONSENTING": _page("Consent", "", CONSENT="I agree", DECLINE="I do not want to take part"),
        "DECLINED": _page("Thank you", "You do not take part. Who you are is not stored."),
        "READY": _page("One moment", "What comes next is shown here as soon as it is there. While "
                       "the study is paused, you may leave and come back by the same link."),
        "READING": _page("Instructions", "", READ="I have read this"),
        "TRAINING": _page("Training", "Please practise before you begin.", TRAINED="Send"),
        "BEFORE": _page("Questions before you begin", "", ANSWERED="Send"),
        "WAITING": _page("The other side is answering", "You may leave and come back."),
        "ANSWERING": _page("It is your turn", ""),
        "BREAK": _page("This task is done", "Go on when you like.", CONTINUE="Go on"),
        "ABANDONED": _page("The other side has gone", "It cannot go on, and you have done nothing "
                           "wrong. What you did counts. Go on when you like.", CONTINUE="Go on"),
        "AFTER": _page("Questions at the end", "", ANSWERED="Send"),
        "DEBRIEF": _page("What this study was about", "", SEEN="I have read this"),
        "DONE": _page("Thank you", "You have finished."),
        "LAPSED": _page("The time is over", "You have not been here for a long time, and the "
                        "study has gone on without you.", RETURN="Read what the study was about"),
        "WITHDRAWN": _page("You have withdrawn", "What you said is being erased."),
        "ERASED": _page("You have withdrawn", "What you said is erased."),
        "ANONYMISED": _page("Thank you", "Nobody knows any more who took part, so that nothing can "
                            "be withdrawn."),
    }
)  # fmt: skip
"""A page for each status of the participant's table."""

STAYS = ("DECLINED", "WITHDRAWN", "ERASED", "ANONYMISED")
"""The statuses in which nothing is left to withdraw."""


def view(
    study: Study,
    status: str,
    standing: TaskStanding | None = None,
    does: Iterable[Assigned] = (),
    again: bool = False,
) -> dict[str, Any]:
    """What the page of a participant receives in `status`, as JSON.

    `standing` is that of the task they are at; `does` what they were assigned, which only the
    debrief tells; `again` that training items were not understood.
    """
    page = PAGES[status]
    offers = dict(page.offers) | ({} if status in STAYS else {"WITHDRAW": _WITHDRAW})
    content: dict[str, Any] = {
        "version": PAGE_VERSION,
        "status": status,
        "title": page.title,
        "text": page.text,
        "offers": offers,
        "notice": RESEARCH_ONLY,
        "tools": study.tools,
        "pasting": study.pasting,
    }
    if status == "CONSENTING":
        content["consent"] = _consent(study)
    elif status == "READING":
        content["text"] = study.instructions
    elif status == "TRAINING":
        content["items"] = [_item(item, explained=again) for item in study.training]
    elif status in ("BEFORE", "AFTER"):
        items = study.before if status == "BEFORE" else study.after
        content["items"] = [_item(item) for item in items]
    elif status in ("WAITING", "ANSWERING") and standing is not None:
        assigned_tasks = list(does)
        content["task"] = _task(standing, assigned_tasks, study)
        if status == "WAITING" and assigned_tasks and assigned_tasks[-1].arm.blinded:
            content["text"] = f"{_waits(study)} {page.text}"
    elif status == "DEBRIEF":
        content |= _debrief(study, does)
    if status in ("DONE", "DECLINED", "ERASED"):
        outcome = {"DONE": "done", "DECLINED": "declined", "ERASED": "withdrawn"}[status]
        content["leave"] = study.payment.leaving(outcome)
    return content


def participant_page(
    conduct: Conduct, subject: str, standing: TaskStanding | None = None
) -> dict[str, Any]:
    """What the page of `subject` receives now: the `view` of their status.

    May be called at any time, and again: it lets the partner's messages be released. `standing` is
    what `Conduct.follow` has just returned, where it was asked already. Raises `NotThere` where
    nobody has that pseudonym.
    """
    standing = standing or conduct.follow(subject)
    participation = conduct.participation(subject)
    study, again = conduct.study, bool(participation.messages("TRAINED"))
    page = view(study, participation.status, standing, conduct.doing(subject), again)
    leaves = participation.status == "DONE" and bool(study.payment.parameters)
    if leaves and subject not in identifiers_of(conduct.board, study.run):
        page["leave"] = ""  # invited by a link: there is no panel to go back to
    return page


def page_bytes(page: Mapping[str, Any]) -> bytes:
    """A view as it is sent: JSON with sorted keys, padded with spaces to a multiple of `BLOCK`."""
    text = json.dumps(page, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    data = text.encode("utf-8", "replace")
    return data + b" " * (-len(data) % BLOCK)


def _consent(study: Study) -> dict[str, Any]:
    consent = study.consent
    return {
        "version": consent.version,
        "text": consent.text,
        "providers": list(consent.providers),
        "retention": consent.retention,
        "contact": consent.contact,
        "copy": consent.copy,
    }


def _waits(study: Study) -> str:
    most = f"{study.slots.most:g} seconds"
    late = f"If it is late, it is shown {most} later."
    return f"Its answer is shown at a set time, within {most}. {late}"


def _item(item: Item | TrainingItem, *, explained: bool = False) -> dict[str, Any]:
    content: dict[str, Any] = {
        "name": item.name,
        "text": item.text,
        "kind": item.kind,
        "choices": list(item.choices),
        "required": item.required,
    }
    if explained and isinstance(item, TrainingItem):
        content |= {"answer": item.answer, "explanation": item.explanation}
    return content


def _task(standing: TaskStanding, does: list[Assigned], study: Study) -> dict[str, Any]:
    now = does[-1] if does else None
    blinded = now is None or now.arm.blinded
    return {
        "place": 0 if now is None else now.place,
        "of": len(study.tasks),
        "about": "" if now is None else now.task.about,
        "item": standing.position,
        "x": standing.x,
        "partner": "the other side" if blinded or now is None else _partner(now.arm),
        "messages": [_message(study, message, blinded) for message in standing.shown],
        "earlier": [
            [_message(study, message, blinded) for message in messages]
            for messages in standing.earlier
        ],
        "network": "" if now is None else now.task.network,
        "condition": "" if now is None else now.arm.condition,
    }


def _message(study: Study, message: Message, blinded: bool) -> dict[str, Any]:
    own = message.sender == HUMAN
    explanation = message.answer.explanation
    if blinded and not own:
        explanation = without_sources(explanation, study.longest)
    return {
        "number": message.number,
        "from": "you" if own else "partner",
        "tag": str(message.tag),
        "prediction": message.answer.prediction,
        "explanation": explanation,
    }


def _partner(arm: Arm) -> str:
    return str(arm.settings.get("machine", OWN))


def _debrief(study: Study, does: Iterable[Assigned]) -> dict[str, Any]:
    """What the study was about, and what each task's arm was."""
    return {
        "text": study.debrief,
        "attribution": study.attribution,
        "arms": [
            {
                "place": assigned.place,
                "task": assigned.task.about or assigned.task.name,
                "about": assigned.arm.about,
            }
            for assigned in does
        ],
    }


_SOURCE = re.compile(
    r"""
    https?:// | \bwww\. | \bdoi\b | \b10\.\d{4,}/ | \barXiv\b | \bPubMed\b | \bPMID\b
    | \b(?:US|EP|WO|JP|CN|DE|GB|FR|KR)[ -]?\d[\d,./ ]{4,}\w* | \bpatents?\b | \bprecedents?\b
    | \bReaxys\b | \bUSPTO\b | \bChEMBL\b | \bCAS\b | \bref(?:s|erences?)?\b\.?\s?\[?\s?\d
    | \[\d+(?:[,–-]\s?\d+)*\] | \bet\ al\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\bref\.)(?<!\brefs\.)(?<!\bal\.)\s+(?=[A-Z\[(0-9])")


def without_sources(text: str, longest: int) -> str:
    """`text` without sentences that name a source, and at most `longest` characters of it.

    >>> without_sources("An amide coupling. It is known from US08440830B2. Use DCC.", 100)
    'An amide coupling. Use DCC.'
    """
    plain = " ".join(text.split())
    kept = " ".join(sentence for sentence in _SENTENCE.split(plain) if not _SOURCE.search(sentence))
    if len(kept) > longest:
        kept = f"{kept[: longest - len(LEFT_OUT)].rsplit(' ', 1)[0]}{LEFT_OUT}"
    return kept or LEFT_OUT
