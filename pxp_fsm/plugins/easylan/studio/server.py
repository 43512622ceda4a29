"""The server of the studio: a JSON API by which pages act, and a WebSocket by which they are told.

It listens on the loopback interface alone, and writes the network's file and those beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, WebSocket
from fastapi.responses import JSONResponse, Response
from starlette.requests import Request

from pxp_fsm.artifacts import locked
from pxp_fsm.diagrams import render
from pxp_fsm.documents import faults
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.plugins.easylan.experiments.setup import examples_in
from pxp_fsm.plugins.easylan.experiments.tasks import BUNDLED, load_task
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.model.history import Conflict
from pxp_fsm.plugins.easylan.model.operations import MANUAL, WORDS, Operation, Split, merging
from pxp_fsm.plugins.easylan.studio.earlier import EarlierResults
from pxp_fsm.plugins.easylan.studio.measures import Measuring
from pxp_fsm.plugins.easylan.studio.notes import StudioSample, path_of
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
    VersionQuery,
)
from pxp_fsm.plugins.easylan.studio.state import Message, Studio
from pxp_fsm.plugins.easylan.studio.views import ExamplesView, examples_of, session_automaton
from pxp_fsm.plugins.easylan.studio.work import StudioPlan, Work
from pxp_fsm.plugins.easylan.training.progress import Example
from pxp_fsm.plugins.easylan.training.questions import NotAsked
from pxp_fsm.web.serving import add_page, add_refusals, serve_guarded, until_left

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


def application(studio: Studio, plan: StudioPlan) -> FastAPI:
    """The server, as an application that is not guarded yet."""

    work, measuring = Work(studio, plan), Measuring(studio, plan)
    earlier = EarlierResults(studio, plan)
    studio.on_edit = lambda: None if work.training.going else earlier.start_if_wanted()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        work.resume()
        looking = asyncio.create_task(_look(studio, work))
        yield
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
        await work.close()
        await earlier.close()
        await measuring.stop()

    app = FastAPI(title="pxp studio", docs_url=None, redoc_url=None, lifespan=lifespan, debug=False)
    add_page(app, "studio", "pxp studio")
    add_refusals(app)

    @app.exception_handler(Conflict)
    @app.exception_handler(NotAsked)
    async def moved_on(_: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, 409)

    _add_network(app, studio)
    _add_notes(app, studio)
    _add_work(app, studio, work)
    _add_measures(app, studio, measuring, earlier)
    _add_events(app, studio, plan)
    return app


async def _look(studio: Studio, work: Work) -> None:
    """Take what other processes write into the network's file, and into that of its last run."""
    while True:
        await asyncio.sleep(LOOK_AGAIN)
        studio.look()
        work.look()


def _add_network(app: FastAPI, studio: Studio) -> None:
    @app.post("/api/new", status_code=204)
    async def new(query: TaskQuery) -> None:
        """Begin the network."""
        studio.create(query.task)

    @app.post("/api/edit")
    async def edit(query: NetworkEditQuery) -> int:
        """Do operations, all or none; the version that came of it."""
        operations = operations_of(query.operations)
        studio.edit(operations, query.version, query.about, query.distance)
        return studio.lan.version

    @app.post("/api/merge")
    async def merge(query: MergeQuery) -> int:
        """Let one agent take over what another does; the version that came of it."""
        operations = merging(studio.lan.network, query.name, query.into)
        about = f"merge {query.name} into {query.into}"
        studio.edit(operations, query.version, about, query.distance)
        return studio.lan.version

    @app.post("/api/faults")
    async def faults(query: DraftQuery) -> list[str]:
        """Why operations would be refused."""
        return studio.faults(operations_of(query.operations))

    @app.post("/api/undo")
    async def undo(query: VersionQuery) -> int:
        """Undo the latest change that was not undone yet; the version that came of it."""
        studio.change(lambda lan: lan.undo(if_version=query.version), query.distance)
        return studio.lan.version

    @app.post("/api/redo")
    async def redo(query: VersionQuery) -> int:
        """Do again what was undone last; the version that came of it."""
        studio.change(lambda lan: lan.redo(if_version=query.version), query.distance)
        return studio.lan.version

    @app.post("/api/restore")
    async def restore(query: RestoreQuery) -> int:
        """Make the network what it was in an earlier version; the version that came of it."""
        studio.change(lambda lan: lan.restore(query.to, if_version=query.version), query.distance)
        return studio.lan.version

    @app.get("/api/examples")
    async def examples(agent: Name) -> ExamplesView:
        """The latest examples of an agent's modules."""
        return examples_of(studio.lan.network.agent(agent))

    @app.get("/api/diagram/{form}", response_class=Response)
    def diagram(form: str) -> Response:
        """The network's diagram as a file: svg, pdf or png."""
        if form not in PICTURES:
            raise HTTPException(404, f"there is no form {form}; there are {', '.join(PICTURES)}")
        return Response(render(studio.lan.diagram(), form), media_type=PICTURES[form])


def _add_notes(app: FastAPI, studio: Studio) -> None:
    @app.post("/api/move", status_code=204)
    async def move(query: MoveQuery) -> None:
        """Let an agent stand at a place."""
        studio.move(query.name, (query.x, query.y))

    @app.post("/api/tidy", status_code=204)
    async def tidy() -> None:
        """Let all agents stand where they are put."""
        studio.tidy()

    @app.post("/api/draft", status_code=204)
    async def draft(query: TextQuery) -> None:
        """Keep a text that is under way."""
        studio.draft(query.field, query.text)


def _add_work(app: FastAPI, studio: Studio, work: Work) -> None:
    @app.post("/api/run", status_code=204)
    async def run(query: RunQuery) -> None:
        """Begin to run the network on an input."""
        work.start_run(query.input)

    @app.post("/api/train", status_code=204)
    async def train(query: TrainQuery) -> None:
        """Begin to train the network on examples."""
        some = tuple(Example(one.input, one.output) for one in query.examples)
        work.start_training(some, query.supervisor())

    @app.post("/api/cancel", status_code=204)
    async def cancel() -> None:
        """Stop a run; take a training over, and end one that was taken over."""
        await work.cancel()

    @app.post("/api/answer", status_code=204)
    async def answer(query: AnswerQuery) -> None:
        """Answer what the training asks."""
        work.answer(query.question, query.answer, query.distance)

    @app.post("/api/note", status_code=204)
    async def note(query: StudioSample) -> None:
        """Note an example, to train on later."""
        studio.note_examples([Example(query.input, query.output)])

    @app.post("/api/examples-file", status_code=204)
    async def examples_file(query: FileQuery) -> None:
        """Note the examples of a file."""
        studio.note_examples(examples_in(query.text, Path(query.name)))

    @app.post("/api/compares", status_code=204)
    async def compares(query: SettingsQuery) -> None:
        """Compare earlier results after each change, or not."""
        studio.set_compares(query.compares)

    @app.post("/api/drop", status_code=204)
    async def drop(query: RunQuery) -> None:
        """Note an example no longer."""
        studio.drop_example(query.input)


def _add_measures(
    app: FastAPI, studio: Studio, measuring: Measuring, earlier: EarlierResults
) -> None:
    @app.post("/api/compare", status_code=204)
    async def compare() -> None:
        """Begin to run the earlier examples again."""
        earlier.start()

    @app.post("/api/test", status_code=204)
    async def test(query: TestQuery) -> None:
        """Begin to test the network: on a task, or on examples with outputs."""
        if query.task:
            measuring.start_score(query.task.task(), query.seed)
        else:
            some = (Example(one.input, one.output) for one in query.examples if one.output)
            measuring.start_test(tuple(some))

    @app.post("/api/distance", status_code=204)
    async def distance(query: FileQuery) -> None:
        """Begin to find the distance from the network in a file to this one."""
        other = files.parse(query.text, query.name).network
        measuring.start_distance(other, f"from {query.name}")

    @app.post("/api/distance/{version}", status_code=204)
    async def distance_since(version: Number) -> None:
        """Begin to find the distance from the network of a version to this one."""
        measuring.start_distance(studio.lan.history.at(version), f"from version {version}")

    @app.post("/api/actions", status_code=204)
    async def actions(query: ActionsQuery) -> None:
        """Show what was done by hand, and in the steps of a stored training."""
        measuring.start_actions(query.run)

    @app.post("/api/three-ways", status_code=204)
    async def three_ways(query: CompareQuery) -> None:
        """Begin to train on a task in three ways."""
        measuring.start_comparison(query)

    @app.post("/api/stop-measuring", status_code=204)
    async def stop() -> None:
        """Stop what is measured."""
        await measuring.stop()


def _add_events(app: FastAPI, studio: Studio, plan: StudioPlan) -> None:
    @app.websocket("/api/events")
    async def events(socket: WebSocket) -> None:
        await socket.accept()

        def begin() -> Message:
            """The last part: a page that has it shows everything."""
            shown = asdict(session_automaton())
            return {
                "type": "begin",
                "model": plan.model or "",
                "stores": plan.database is not None,
                "drafts": studio.notes.drafts,
                "automaton": shown,
                "tasks": {name: load_task(name).title for name in BUNDLED},
            }

        async def send() -> None:
            await studio.ready()
            with studio.listeners.joined() as queue:  # at once with what it is told first
                for part in (*studio.messages(), begin()):
                    await socket.send_json(part)
                while (message := await queue.get()) is not None:
                    await socket.send_json(message)
            await socket.close(1013)

        await until_left(socket, send())


def serve_studio(
    path: Path,
    plan: StudioPlan,
    some: tuple[Example, ...],
    port: int,
    ready: Callable[[str], None],
) -> None:
    """Serve the studio of the network in a file until Ctrl-C; `ready` is told the address to open.

    `some` are noted as examples, unless they are already. Raises `UsageError` where the port is
    taken or another process has the studio open, and `FileError` for a file that cannot be read.
    """
    with locked(path_of(path), waits=False):
        studio = Studio(path)
        known = {one.input for one in studio.notes.examples}
        studio.note_examples(one for one in some if one.external not in known)
        serve_guarded(application(studio, plan), port, ready)


def operations_of(raw: Sequence[Mapping[str, Any]]) -> tuple[Operation, ...]:
    """The operations that JSON means, of the form of those in a log. Raises `UsageError`."""
    found = faults({"operations": list(raw)}, _schema())
    if found:
        raise UsageError(f"{found[0].message}; the schema of network files has the form")
    operations = tuple(map(files.operation, raw))
    for one in operations:
        if not isinstance(one, BY_HAND):
            raise UsageError(f"{quoted(WORDS[type(one)])} is no operation by hand")
    return operations


@cache
def _schema() -> Mapping[str, Any]:
    network = files.schema()
    return {
        "$schema": network["$schema"],
        "type": "object",
        "properties": {"operations": {"type": "array", "items": {"$ref": "#/$defs/operation"}}},
        "$defs": network["$defs"],
    }
