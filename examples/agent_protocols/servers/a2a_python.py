"""An A2A server of the Python SDK (`a2a-sdk`) whose work does what a test says.

python a2a_python.py PORT [OPENING]

OPENING is how a message without a task is answered: submitted, working, rejected or answer. Then
POST /control/TASK/EVENT makes the work go on, by an event of the table a2a/task_server.toml; the
reply comes once the SDK has stored the new state, or with status 409 where it does not.
"""

import asyncio
import sys
from collections import defaultdict
from typing import cast

import uvicorn
from a2a.helpers import new_task, new_text_message
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Role, TaskState
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

OPENINGS = {
    "submitted": TaskState.TASK_STATE_SUBMITTED,
    "working": TaskState.TASK_STATE_WORKING,
    "rejected": TaskState.TASK_STATE_REJECTED,
}
STATES = {
    "BEGINS": TaskState.TASK_STATE_WORKING,
    "NEEDS_INPUT": TaskState.TASK_STATE_INPUT_REQUIRED,
    "NEEDS_AUTH": TaskState.TASK_STATE_AUTH_REQUIRED,
    "AUTHORIZED": TaskState.TASK_STATE_WORKING,
    "WORK_DONE": TaskState.TASK_STATE_COMPLETED,
    "WORK_BROKEN": TaskState.TASK_STATE_FAILED,
    "WORK_REFUSED": TaskState.TASK_STATE_REJECTED,
}
GOES_ON = {"BEGINS", "NEEDS_AUTH", "AUTHORIZED"}


class Work:
    """An `AgentExecutor`: work that waits for the events of a test."""

    def __init__(self, opening: str) -> None:
        self.opening = opening
        self.events: dict[str, asyncio.Queue[str]] = defaultdict(asyncio.Queue)

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        task, context_id = context.task_id or "", context.context_id or ""
        updater = TaskUpdater(event_queue, task, context_id)
        if context.current_task is not None:
            await updater.start_work()
        elif self.opening == "answer":
            answer = new_text_message("done", context_id=context_id, role=Role.ROLE_AGENT)
            await event_queue.enqueue_event(answer)
            return
        else:
            state = OPENINGS[self.opening]
            await event_queue.enqueue_event(new_task(task, context_id, state))
            if self.opening == "rejected":
                return
        while True:
            event = await self.events[task].get()
            await updater.update_status(STATES[event])
            if event not in GOES_ON:
                return

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


def application(opening: str) -> Starlette:
    card = AgentCard(
        name="scripted",
        description="Work that a test drives",
        version="1",
        supported_interfaces=[
            AgentInterface(
                url="http://127.0.0.1/", protocol_binding="JSONRPC", protocol_version="1.0"
            )
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="work", name="work", description="It works", tags=["test"])],
    )
    work, store = Work(opening), InMemoryTaskStore()

    async def happens(request: Request) -> Response:
        task, event = request.path_params["task"], request.path_params["event"]
        work.events[task].put_nowait(event)
        for _ in range(200):
            stored = await store.get(task, ServerCallContext())
            if stored is not None and stored.status.state == STATES[event]:
                return Response(status_code=204)
            await asyncio.sleep(0.005)
        return Response(status_code=409)

    handler = DefaultRequestHandler(cast("AgentExecutor", work), store, card)
    control = Route("/control/{task}/{event}", happens, methods=["POST"])
    return Starlette(routes=[control, *create_jsonrpc_routes(handler, "/")])


if __name__ == "__main__":
    uvicorn.run(
        application(sys.argv[2] if len(sys.argv) > 2 else "submitted"),
        host="127.0.0.1",
        port=int(sys.argv[1]),
        log_level="error",
    )
