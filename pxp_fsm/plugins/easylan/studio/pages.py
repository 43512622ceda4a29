"""The pages of the studio: a JSON API by which they act, and the news by which they are told.

They write the network's file and those beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fastapi import APIRouter, HTTPException, WebSocket
from fastapi.responses import Response

from pxp_fsm.artifacts import locked
from pxp_fsm.diagrams import render
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.plugins.easylan.experiments.setup import examples_in
from pxp_fsm.plugins.easylan.experiments.tasks import BUNDLED, load_task
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.model.history import Conflict
from pxp_fsm.plugins.easylan.model.operations import (
    MANUAL,
    WORDS,
    LoggedOperation,
    Operation,
    Split,
    merging,
)
from pxp_fsm.plugins.easylan.studio.measures import EarlierResults, Measuring
from pxp_fsm.plugins.easylan.studio.queries import (
    ActionsQuery,
    AnswerQuery,
    CompareQuery,
    DraftQuery,
    FileQuery,
    MergeQuery,
    MoveQuery,
    Name,
    NetworkEditQuery,
    Number,
    RestoreQuery,
    RunQuery,
    SettingsQuery,
    TaskQuery,
    TestQuery,
    TextQuery,
    TrainQuery,
    UseQuery,
    VersionQuery,
)
from pxp_fsm.plugins.easylan.studio.state import Message, Studio, StudioSample, notes_path
from pxp_fsm.plugins.easylan.studio.views import ExamplesView, examples_of, session_automaton
from pxp_fsm.plugins.easylan.studio.work import StudioPlan, Work
from pxp_fsm.plugins.easylan.training.progress import Example
from pxp_fsm.plugins.easylan.training.questions import NotAsked
from pxp_fsm.schemas import read_value
from pxp_fsm.web.guard import Access, Door
from pxp_fsm.web.news import push
from pxp_fsm.web.pages import PageSet
from pxp_fsm.web.serving import OpenSite, Site

PICTURES = {
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "png": "image/png",
}
"""The media type of each form in which the diagram is saved."""

BY_HAND = (*MANUAL, Split)
"""What a page may do to a network; an update alone makes the others."""

LOOK_AGAIN = 0.5
"""Seconds after which the network's file is looked at again."""


LARGEST_BODY = files.MOST_BYTES + 1_000_000
"""Bytes of a request: a network's file may come in one."""


def studio_pages(studio: Studio, plan: StudioPlan) -> PageSet:
    """The pages of a studio."""

    work, measuring = Work(studio, plan), Measuring(studio, plan)
    earlier = EarlierResults(studio, plan)
    studio.on_edit = lambda: None if work.training.going else earlier.start_if_wanted()

    @asynccontextmanager
    async def living() -> AsyncIterator[None]:
        studio.news.begin()
        work.resume()
        looking = asyncio.create_task(_look(studio, work))
        yield
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
        await work.close()
        await earlier.close()
        await measuring.stop()

    routes = APIRouter()
    _add_network(routes, studio)
    _add_notes(routes, studio)
    _add_work(routes, studio, work)
    _add_measures(routes, studio, measuring, earlier)
    _add_events(routes, studio, plan)
    return PageSet(
        title="pxp studio",
        bundle="studio",
        routes=routes,
        door=Door(largest=LARGEST_BODY),
        during=living,
        moved_on=(Conflict, NotAsked),
    )


async def _look(studio: Studio, work: Work) -> None:
    """Take what other processes write into the network's file, and into that of its last run."""
    while True:
        await asyncio.sleep(LOOK_AGAIN)
        studio.look()
        work.look()


def _add_network(routes: APIRouter, studio: Studio) -> None:
    @routes.post("/api/new", status_code=204)
    async def new(query: TaskQuery) -> None:
        """Begin the network."""
        studio.create(query.task)

    @routes.post("/api/edit")
    async def edit(query: NetworkEditQuery) -> int:
        """Do operations, all or none; the version that came of it."""
        operations = operations_of(query.operations)
        studio.edit(operations, query.version, query.about, query.distance)
        return studio.lan.version

    @routes.post("/api/merge")
    async def merge(query: MergeQuery) -> int:
        """Let one agent take over what another does; the version that came of it."""
        operations = merging(studio.lan.network, query.name, query.into)
        about = f"merge {query.name} into {query.into}"
        studio.edit(operations, query.version, about, query.distance)
        return studio.lan.version

    @routes.post("/api/faults")
    async def faults(query: DraftQuery) -> list[str]:
        """Why operations would be refused."""
        return studio.faults(operations_of(query.operations))

    @routes.post("/api/undo")
    async def undo(query: VersionQuery) -> int:
        """Undo the latest change that was not undone yet; the version that came of it."""
        studio.change(lambda lan, ued: lan.undo(if_version=query.version, ued=ued), query.distance)
        return studio.lan.version

    @routes.post("/api/redo")
    async def redo(query: VersionQuery) -> int:
        """Do again what was undone last; the version that came of it."""
        studio.change(lambda lan, ued: lan.redo(if_version=query.version, ued=ued), query.distance)
        return studio.lan.version

    @routes.post("/api/restore")
    async def restore(query: RestoreQuery) -> int:
        """Make the network what it was in an earlier version; the version that came of it."""
        studio.change(
            lambda lan, ued: lan.restore(query.to, if_version=query.version, ued=ued),
            query.distance,
        )
        return studio.lan.version

    @routes.get("/api/examples")
    async def examples(agent: Name) -> ExamplesView:
        """The latest examples of an agent's modules."""
        return examples_of(studio.lan.network.agent(agent))

    @routes.get("/api/diagram/{form}", response_class=Response)
    def diagram(form: str) -> Response:
        """The network's diagram as a file: svg, pdf or png."""
        if form not in PICTURES:
            raise HTTPException(404, f"there is no form {form}; there are {', '.join(PICTURES)}")
        return Response(render(studio.lan.diagram(), form), media_type=PICTURES[form])


def _add_notes(routes: APIRouter, studio: Studio) -> None:
    @routes.post("/api/move", status_code=204)
    async def move(query: MoveQuery) -> None:
        """Let an agent stand at a place."""
        studio.move(query.name, (query.x, query.y))

    @routes.post("/api/tidy", status_code=204)
    async def tidy() -> None:
        """Let all agents stand where they are put."""
        studio.tidy()

    @routes.post("/api/use", status_code=204)
    async def use(query: UseQuery) -> None:
        """Count seconds in which the page was in use."""
        studio.use(query.seconds)

    @routes.post("/api/draft", status_code=204)
    async def draft(query: TextQuery) -> None:
        """Keep a text that is under way."""
        studio.draft(query.field, query.text)


def _add_work(routes: APIRouter, studio: Studio, work: Work) -> None:
    @routes.post("/api/run", status_code=204)
    async def run(query: RunQuery) -> None:
        """Begin to run the network on an input."""
        work.start_run(query.input)

    @routes.post("/api/train", status_code=204)
    async def train(query: TrainQuery) -> None:
        """Begin to train the network on examples."""
        some = tuple(Example(example.input, example.output) for example in query.examples)
        work.start_training(some, query.supervisor())

    @routes.post("/api/cancel", status_code=204)
    async def cancel() -> None:
        """Stop a run; take a training over, and end one that was taken over."""
        await work.cancel()

    @routes.post("/api/answer", status_code=204)
    async def answer(query: AnswerQuery) -> None:
        """Answer what the training asks."""
        work.answer(query.question, query.answer, query.distance)

    @routes.post("/api/note", status_code=204)
    async def note(query: StudioSample) -> None:
        """Note an example, to train on later."""
        studio.note_examples([Example(query.input, query.output)])

    @routes.post("/api/examples-file", status_code=204)
    async def examples_file(query: FileQuery) -> None:
        """Note the examples of a file."""
        studio.note_examples(examples_in(query.text, Path(query.name)))

    @routes.post("/api/settings", status_code=204)
    async def settings(query: SettingsQuery) -> None:
        """Compare earlier results after each change, or not; show what models write, or not."""
        studio.set_wanted(**query.model_dump(exclude_none=True))

    @routes.post("/api/drop", status_code=204)
    async def drop(query: RunQuery) -> None:
        """Note an example no longer."""
        studio.drop_example(query.input)


def _add_measures(
    routes: APIRouter, studio: Studio, measuring: Measuring, earlier: EarlierResults
) -> None:
    @routes.post("/api/compare", status_code=204)
    async def compare() -> None:
        """Begin to run the earlier examples again."""
        earlier.start()

    @routes.post("/api/test", status_code=204)
    async def test(query: TestQuery) -> None:
        """Begin to test the network: on a task, or on examples with outputs."""
        if query.task:
            measuring.start_score(query.task.task(), query.seed)
        else:
            some = (
                Example(example.input, example.output)
                for example in query.examples
                if example.output
            )
            measuring.start_test(tuple(some))

    @routes.post("/api/distance", status_code=204)
    async def distance(query: FileQuery) -> None:
        """Begin to find the distance from the network in a file to this one."""
        other = files.parse(query.text, query.name).network
        measuring.start_distance(other, f"from {query.name}")

    @routes.post("/api/distance/{version}", status_code=204)
    async def distance_since(version: Number) -> None:
        """Begin to find the distance from the network of a version to this one."""
        measuring.start_distance(studio.lan.history.at(version), f"from version {version}")

    @routes.post("/api/actions", status_code=204)
    async def actions(query: ActionsQuery) -> None:
        """Show what was done by hand, and in the steps of a stored training."""
        measuring.start_actions(query.run)

    @routes.post("/api/three-ways", status_code=204)
    async def three_ways(query: CompareQuery) -> None:
        """Begin to train on a task in three ways."""
        measuring.start_comparison(query)

    @routes.post("/api/stop-measuring", status_code=204)
    async def stop() -> None:
        """Stop what is measured."""
        await measuring.stop()


def _add_events(routes: APIRouter, studio: Studio, plan: StudioPlan) -> None:
    @routes.websocket("/api/events")
    async def events(socket: WebSocket) -> None:
        def begin() -> Iterator[Message]:
            """The last part: a page that has it shows everything."""
            yield from studio.messages()
            yield {
                "type": "begin",
                "model": plan.model or "",
                "stores": plan.database is not None,
                "drafts": studio.notes.drafts,
                "automaton": asdict(session_automaton()),
                "tasks": {name: load_task(name).title for name in BUNDLED},
            }

        await studio.ready()
        await push(socket, studio.news, begin)


@contextmanager
def studio_site(path: Path, plan: StudioPlan, some: tuple[Example, ...]) -> Iterator[Site]:
    """What `serve` serves of the network in a file, while no other process has its studio open.

    `some` are noted as examples, unless they are already. Raises `UsageError` where another process
    has the studio open, and `FileError` for a file that cannot be read.
    """
    with locked(notes_path(path), waits=False):
        studio = Studio(path)
        known = {example.input for example in studio.notes.examples}
        studio.note_examples(example for example in some if example.external not in known)

        def opened(port: int) -> OpenSite:
            access = Access(port)
            pages = studio_pages(studio, plan)
            return OpenSite(access=access, sets=(pages,), links={"": access.link})

        yield opened


def operations_of(raw: Sequence[Mapping[str, Any]]) -> tuple[Operation, ...]:
    """The operations that JSON means, of the form of those in a log. Raises `UsageError`."""
    operations: tuple[Operation, ...]
    operations, faults = read_value(tuple[LoggedOperation, ...], list(raw))
    if faults:
        raise UsageError(f"operations{faults[0].message}; the schema of network files has the form")
    for operation in operations:
        if not isinstance(operation, BY_HAND):
            raise UsageError(f"{quoted(WORDS[type(operation)])} is no operation by hand")
    return operations
