"""Summaries of reports by a model, which then count as right explanations ([C], appendix B)."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path

from backends.models import registry
from backends.models.registry import Serving
from backends.models.settings import Settings
from pxp_fsm.documents import text_of
from pxp_fsm.errors import DataError, NoAnswer, UsageError
from pxp_fsm.experiments.costs import Meter
from pxp_fsm.experiments.runs import together
from pxp_fsm.prompting.attempts import ask_until_usable
from pxp_fsm.prompting.framing import framed
from pxp_fsm.prompting.model import (
    Capability,
    ChatRole,
    ChatTurn,
    LanguageModel,
    ModelRequest,
    Reply,
)
from pxp_fsm.prompting.prompts import Prompt, Slots, read_each
from pxp_fsm.prompting.replies import whole_text
from pxp_fsm.protocol.messages import text_problem
from pxp_fsm.tasks.own_data import Record

COLUMN, ORIGINAL = "explanation", "original"
"""The column that is summarised, and the one that then holds what stood there."""

_NAME = "summary"
_SLOTS: Slots = {
    "system": (set(), set()),
    "question": (set(), {"report"}),
    "again": (set(), {"reason"}),
}


def summary_prompt(own: Path | None = None) -> Prompt:
    """The prompt for summaries that comes with this package, or that in a file.

    Raises `DataError` for a file that holds none.
    """
    if own is None:
        text = resources.files(__package__).joinpath("summaries.toml").read_text("utf-8")
        return read_each(text, "summaries.toml", {_NAME: _SLOTS})[_NAME]
    text = text_of(own, "a file of prompts", error=DataError)
    return read_each(text, str(own), {_NAME: _SLOTS})[_NAME]


async def summarized(
    table: Path,
    rows: Sequence[Record],
    model: str,
    prompt: Prompt,
    settings: Settings,
    meter: Meter,
) -> Sequence[Mapping[str, str]]:
    """The rows of `table` with a summary by `model` as explanation, and the original beside it.

    Raises `UsageError` where the rows were summarised already or the model cannot do it,
    `DataError` with the line of a row that has no explanation or gets no usable summary, and what
    a model's failure raises.
    """
    registry.check_model(model, _needed(prompt), settings)
    for line, row in rows:
        if not row.get(COLUMN, "").strip():
            raise DataError.at(table, line, f"column {COLUMN} is empty or missing")
        if ORIGINAL in row:
            raise UsageError(f"{table} has a column {ORIGINAL}: it was summarised already")
    summaries: dict[int, str] = {}
    async with Serving(settings, meter) as serving:
        asked = serving.model(model)

        async def ask(line: int, text: str) -> None:
            with serving.session():
                try:
                    summaries[line] = await summarize(asked, prompt, text)
                except NoAnswer as error:
                    raise DataError.at(table, line, str(error)) from error

        def requests() -> Iterator[Coroutine[None, None, object]]:
            return (ask(line, row[COLUMN]) for line, row in rows)

        await together(requests(), len(rows) if settings.batches else settings.in_flight)
    return [{**row, COLUMN: summaries[line], ORIGINAL: row[COLUMN]} for line, row in rows]


def _needed(prompt: Prompt) -> Iterator[Capability]:
    if prompt.temperature is not None:
        yield Capability.TEMPERATURE


async def summarize(model: LanguageModel, prompt: Prompt, text: str) -> str:
    """A summary of `text`; raises `NoAnswer` where no reply can be used."""
    turn = ChatTurn(ChatRole.USER, prompt.fill("question", report=framed({"report": text})))
    asked = ModelRequest(
        system=prompt.fill("system"),
        turns=(turn,),
        max_tokens=prompt.max_tokens,
        temperature=prompt.temperature,
        effort=prompt.effort,
        purpose=_NAME,
    )
    usable = await ask_until_usable(model.reply, asked, _read, prompt, wanted=_NAME)
    return usable.value


def _read(reply: Reply) -> str:
    summary = whole_text(reply)
    problem = text_problem(summary)
    if problem is not None:
        raise DataError(problem)
    return " ".join(summary.split())
