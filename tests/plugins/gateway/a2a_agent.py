"""An agent of the A2A SDK that works on each message and writes it to a file.

a2a_agent.py FILE PORT

It serves A2A 1.0 and 0.3. A request without the environment's AGENT_TOKEN is answered by 401.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import uvicorn
from a2a.helpers import new_task, new_text_artifact
from a2a.server.agent_execution import RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    TaskArtifactUpdateEvent,
    TaskState,
)
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

LOG, PORT = Path(sys.argv[1]), int(sys.argv[2])


class Work:
    """An `AgentExecutor`: each message is a task that is completed; `slow` waits to be canceled."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        with LOG.open("a") as file:
            file.write(text + "\n")
        task, about = context.task_id or "", context.context_id or ""
        submitted = new_task(task, about, TaskState.TASK_STATE_SUBMITTED)
        await event_queue.enqueue_event(submitted)
        updater = TaskUpdater(event_queue, task, about)
        await updater.start_work()
        if text == "slow":
            await asyncio.sleep(600)
        artifact = new_text_artifact(name="echo", text=f"done: {text}")
        told = TaskArtifactUpdateEvent(task_id=task, context_id=about, artifact=artifact)
        await event_queue.enqueue_event(told)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        with LOG.open("a") as file:
            file.write("cancel\n")
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


class TokenNeeded:
    """The application `app` for who has the token."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wanted = f"Bearer {os.environ['AGENT_TOKEN']}".encode()
        if scope["type"] == "http" and dict(scope["headers"]).get(b"authorization") != wanted:
            await Response(status_code=401)(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def application() -> ASGIApp:
    """The agent."""
    address = f"http://127.0.0.1:{PORT}/rpc"
    card = AgentCard(
        name="echo",
        description="It says what it was told",
        version="1",
        supported_interfaces=[
            AgentInterface(url=address, protocol_binding="JSONRPC", protocol_version="1.0"),
            AgentInterface(url=address, protocol_binding="JSONRPC", protocol_version="0.3"),
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="echo", name="echo", description="It echoes", tags=["test"])],
    )
    handler = DefaultRequestHandler(Work(), InMemoryTaskStore(), card)
    rpc = create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=True)
    return TokenNeeded(Starlette(routes=[*create_agent_card_routes(card), *rpc]))


if __name__ == "__main__":
    uvicorn.run(application(), host="127.0.0.1", port=PORT, log_level="error")
