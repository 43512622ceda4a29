"""What a gateway has to know of a protocol: which of its requests are calls, and what answers mean.

MCP and A2A are both requests of JSON-RPC and their answers. A gateway decides and stores the calls
of either alike; a `Protocol` says where the name and the arguments of a call stand, how a refusal
is worded so that a client shows it to its model, and what of an answer a client may be shown.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Literal

from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.gateway.frames import INVALID_REQUEST, Malformed

STATES = (
    "submitted",
    "working",
    "completed",
    "failed",
    "canceled",
    "rejected",
    "input-required",
    "auth-required",
)
"""The states of a task of A2A, as lines name them: outcomes of a request, beside success (an answer
that is no task), error and doubt."""

Allows = Callable[[str], bool]
"""Whether a call of a name may be allowed now, for some arguments."""

CARD = "/.well-known/agent-card.json"
"""Where an agent of A2A says what it is."""


@dataclass(frozen=True)
class Protocol:
    """A protocol of JSON-RPC; `calls` is the key of the lines that are about its calls.

    `base` are methods that pass whatever a policy says, `harmless` calls that may be sent again
    whenever nobody knows whether they came. `not_allowed` and `not_answered` are codes of errors.
    """

    title: str
    at: str
    calls: Literal["tool", "method"]
    base: frozenset[str]
    harmless: frozenset[str]
    headers: tuple[str, ...]
    not_allowed: int
    not_answered: int
    now: str
    asking: str
    is_call: Callable[[str], bool]
    call: Callable[[Any], tuple[str, Any]]
    """The name and the arguments of a call; raises `Malformed`."""
    needs: Callable[[Any], tuple[str, ...]]
    """What else a call with these arguments asks for, as calls of these names would."""
    streams: Callable[[str], bool]
    """Whether a request of this method is answered by a stream of answers."""
    refusal: Callable[[Any, str], Any]
    """The result that tells a model why its call was refused; None where only an error can."""
    outcome: Callable[[Any], tuple[str | None, object]]
    """What an answer says of its call, and what conditions read of it; None for nothing yet."""
    shown: Callable[[str, Any, Allows, str], Any]
    """A result as the client is shown it: only what is allowed now, the gateway's address."""
    name: Callable[[str], str] = str
    """The name by which lines find a call or a method: one that has several has one here."""


# MCP --------------------------------------------------------------------------------------------


def _tool(message: Any) -> tuple[str, Any]:
    params = message.get("params")
    tool = params.get("name") if isinstance(params, dict) else None
    arguments = params.get("arguments", {}) if isinstance(params, dict) else None
    if not isinstance(tool, str) or not isinstance(arguments, dict):
        reason = "a call has the name of a tool, and arguments that are an object"
        raise Malformed(reason, INVALID_REQUEST)
    return tool, arguments


def _tool_refused(message: Any, text: str) -> Any:
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": True}
    if is_without_session(message):
        result["resultType"] = "complete"
    return result


def _tool_outcome(message: Any) -> tuple[str | None, object]:
    result = message.get("result")
    is_object = isinstance(result, dict)
    if is_object and result.get("resultType") == "input_required":
        return None, None
    is_error = "error" in message or (is_object and result.get("isError") is True)
    content = result.get("structuredContent") if is_object else None
    return "error" if is_error else "success", content


def _tools_shown(method: str, result: Any, allows: Allows, _address: str) -> Any:
    """A list without the tools that nothing allows now; a handshake that says it changes."""
    if method == "tools/list" and isinstance(result.get("tools"), list):
        tools = [tool for tool in result["tools"] if isinstance(tool, dict)]
        kept = [tool for tool in tools if allows(str(tool.get("name")))]
        if len(kept) < len(result["tools"]):
            return {**result, "tools": kept}
    if method == "initialize":
        able = result.get("capabilities")
        listing = able.get("tools") if isinstance(able, dict) else None
        if isinstance(listing, dict) and listing.get("listChanged") is not True:
            able = {**able, "tools": {**listing, "listChanged": True}}
            return {**result, "capabilities": able}
    return result


_META = "io.modelcontextprotocol/"


def meta(message: Any, key: str) -> Any:
    """What a client of MCP without a session says of itself in a request."""
    params = message.get("params")
    about = params.get("_meta") if isinstance(params, dict) else None
    return about.get(_META + key, "") if isinstance(about, dict) else ""


def is_without_session(message: Any) -> bool:
    """Whether a request is of MCP from 2026-07-28 on, in which no session was begun."""
    return bool(meta(message, "protocolVersion"))


MCP = Protocol(
    title="MCP",
    at="/mcp",
    calls="tool",
    base=frozenset(
        {
            "initialize",
            "notifications/initialized",
            "ping",
            "server/discover",
            "tools/list",
            "notifications/cancelled",
            "notifications/progress",
            "logging/setLevel",
        }
    ),
    harmless=frozenset(),
    headers=(
        "mcp-session-id",
        "mcp-protocol-version",
        "last-event-id",
        "mcp-method",
        "mcp-name",
    ),
    not_allowed=-32001,
    not_answered=-32003,
    now="Tools that may be called now, for some arguments",
    asking="Tools that need an approval of each call first",
    is_call=lambda method: method == "tools/call",
    call=_tool,
    needs=lambda _arguments: (),
    streams=lambda _method: False,
    refusal=_tool_refused,
    outcome=_tool_outcome,
    shown=_tools_shown,
)


# A2A --------------------------------------------------------------------------------------------

_METHODS: Mapping[str, str] = {
    "message/send": "SendMessage",
    "message/stream": "SendMessage",
    "SendStreamingMessage": "SendMessage",
    "tasks/get": "GetTask",
    "tasks/list": "ListTasks",
    "tasks/cancel": "CancelTask",
    "tasks/resubscribe": "SubscribeToTask",
    "tasks/pushNotificationConfig/set": "CreateTaskPushNotificationConfig",
    "tasks/pushNotificationConfig/get": "GetTaskPushNotificationConfig",
    "tasks/pushNotificationConfig/list": "ListTaskPushNotificationConfigs",
    "tasks/pushNotificationConfig/delete": "DeleteTaskPushNotificationConfig",
    "agent/getAuthenticatedExtendedCard": "GetExtendedAgentCard",
}
"""The names of A2A 0.3 lead to those of 1.0, and a message that a stream answers to the same action
without one."""

_STREAMS = frozenset(
    {"message/stream", "SendStreamingMessage", "tasks/resubscribe", "SubscribeToTask"}
)

_OLD = frozenset({"message/send", "message/stream"})
_PUSH = "CreateTaskPushNotificationConfig"
_SCHEME = "gateway"


def _request(message: Any) -> tuple[str, Any]:
    """A request of A2A.

    The id that a client draws anew for each message is no part of what it asks for.
    """
    params = message.get("params", {})
    if not isinstance(params, dict):
        raise Malformed("the params of a request are an object", INVALID_REQUEST)
    name = _METHODS.get(message["method"], message["method"])
    sent = params.get("message")
    if name == "SendMessage":
        if not isinstance(sent, dict):
            raise Malformed("a message is an object", INVALID_REQUEST)
        content = {key: value for key, value in sent.items() if key != "messageId"}
        return name, {**params, "message": content}
    return name, params


def _request_needs(arguments: Any) -> tuple[str, ...]:
    """A message may bring a configuration of push notifications, which is a request of its own."""
    brought = arguments.get("configuration") if isinstance(arguments, dict) else None
    keys = brought if isinstance(brought, dict) else {}
    is_pushing = any("pushnotification" in re.sub("[^a-z]", "", key.lower()) for key in keys)
    return (_PUSH,) if is_pushing else ()


def _message_refused(message: Any, text: str) -> Any:
    """A task that is rejected; a message where the task is the agent's, and goes on."""
    if _METHODS.get(message["method"], message["method"]) != "SendMessage":
        return None
    sent, is_old = message["params"]["message"], message["method"] in _OLD
    task, context = sent.get("taskId"), sent.get("contextId")
    part = {"kind": "text", "text": text} if is_old else {"text": text}
    told: dict[str, Any] = {
        "messageId": str(uuid.uuid4()),
        "contextId": context if isinstance(context, str) and context else str(uuid.uuid4()),
        "role": "agent" if is_old else "ROLE_AGENT",
        "parts": [part],
    }
    kind = {"kind": "message"} if is_old else {}
    if isinstance(task, str) and task:
        told = {**kind, **told, "taskId": task}
        return told if is_old else {"message": told}
    rejected = {
        "id": str(uuid.uuid4()),
        "contextId": told["contextId"],
        "status": {
            "state": "rejected" if is_old else "TASK_STATE_REJECTED",
            "message": {**kind, **told},
        },
    }
    return {"kind": "task", **rejected} if is_old else {"task": rejected}


def _request_outcome(message: Any) -> tuple[str | None, object]:
    if "error" in message:
        return "error", None
    content = message["result"]
    for key in ("task", "message", "statusUpdate", "artifactUpdate"):
        if not isinstance(content, dict) or "status" in content:
            break
        if isinstance(content.get(key), dict):
            content = content[key]
            break
    status = content.get("status") if isinstance(content, dict) else None
    state = status.get("state") if isinstance(status, dict) else None
    if isinstance(state, str):
        return state.removeprefix("TASK_STATE_").lower().replace("_", "-"), content
    is_artifact = isinstance(content, dict) and "artifact" in content
    return "working" if is_artifact else "success", content


def _card_shown(method: str, result: Any, allows: Allows, address: str) -> Any:
    is_card = _METHODS.get(method, method) == "GetExtendedAgentCard"
    return shown_card(result, allows, address) if is_card else result


def shown_card(card: Any, allows: Allows, address: str) -> Any:
    """The card of an agent as a client is shown it, in the forms of 1.0 and 0.3.

    Its address and the token that it asks for are the gateway's, so that signatures go; it has
    skills where a message may be sent now.
    """
    if not isinstance(card, dict):
        return card
    gone = ("signatures", "additionalInterfaces", "securityRequirements")
    shown = {key: value for key, value in card.items() if key not in gone}
    if "supportedInterfaces" in card:
        shown["supportedInterfaces"] = [
            {**interface, "url": address} for interface in interfaces(card)
        ]
    if "url" in card or "supportedInterfaces" not in card:
        shown |= {"url": address, "preferredTransport": "JSONRPC"}
    scheme = {"scheme": "bearer"}
    shown["securitySchemes"] = {
        _SCHEME: {"httpAuthSecurityScheme": scheme, "type": "http", **scheme}
    }
    shown["securityRequirements"] = [{"schemes": {_SCHEME: {}}}]
    shown["security"] = [{_SCHEME: []}]
    skills = card.get("skills")
    may_send = allows("SendMessage")
    shown["skills"] = [
        {key: skill[key] for key in skill if key not in ("security", "securityRequirements")}
        for skill in (skills if isinstance(skills, list) and may_send else ())
        if isinstance(skill, dict)
    ]
    able = card.get("capabilities")
    if isinstance(able, dict):
        shown["capabilities"] = {
            **able,
            **{key: False for key, name in _ABLE.items() if able.get(key) and not allows(name)},
        }
    if "supportsAuthenticatedExtendedCard" in card and not allows("GetExtendedAgentCard"):
        shown["supportsAuthenticatedExtendedCard"] = False
    return shown


_ABLE = {"pushNotifications": _PUSH, "extendedAgentCard": "GetExtendedAgentCard"}


def interfaces(card: Any) -> list[Any]:
    """The addresses of a card at which JSON-RPC is spoken, the preferred one first."""
    if not isinstance(card, dict):
        return []
    there = card.get("supportedInterfaces")
    if isinstance(there, list):
        return [
            interface
            for interface in there
            if isinstance(interface, dict)
            and interface.get("protocolBinding") == "JSONRPC"
            and isinstance(interface.get("url"), str)
        ]
    others = card.get("additionalInterfaces")
    own = {"url": card.get("url"), "transport": card.get("preferredTransport", "JSONRPC")}
    return [
        interface
        for interface in (own, *(others if isinstance(others, list) else ()))
        if isinstance(interface, dict)
        and interface.get("transport") == "JSONRPC"
        and isinstance(interface.get("url"), str)
    ]


A2A = Protocol(
    title="A2A",
    at="/a2a",
    calls="method",
    base=frozenset(),
    harmless=frozenset(
        {
            "GetTask",
            "ListTasks",
            "SubscribeToTask",
            "GetTaskPushNotificationConfig",
            "ListTaskPushNotificationConfigs",
            "GetExtendedAgentCard",
        }
    ),
    headers=("a2a-version", "a2a-extensions"),
    not_allowed=-32004,
    not_answered=-32603,
    now="Requests that may be made now, in some form",
    asking="Requests of which each needs an approval first",
    is_call=lambda _method: True,
    call=_request,
    needs=_request_needs,
    streams=lambda method: method in _STREAMS,
    refusal=_message_refused,
    outcome=_request_outcome,
    shown=_card_shown,
    name=lambda name: _METHODS.get(name, name),
)

PROTOCOLS: Mapping[str, Protocol] = {"mcp": MCP, "a2a": A2A}
"""The protocols by the name that a policy gives them."""
