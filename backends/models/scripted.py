"""A model that replays a script: for examples, tests and measures, with no server to be asked."""

from __future__ import annotations

from collections.abc import Iterable

from pxp_fsm.errors import NoAnswer
from pxp_fsm.models import Capability, Reply, Request

EVERYTHING = frozenset(Capability)


class ScriptedModel:
    """Gives `replies`, one a request, in their order; raises `NoAnswer` when they are used up.

    `requests` keeps what it was asked.
    """

    def __init__(
        self,
        replies: Iterable[str | Reply],
        *,
        name: str = "script",
        capabilities: frozenset[Capability] = EVERYTHING,
    ) -> None:
        self._replies = iter(tuple(replies))
        self._name = name
        self._capabilities = capabilities
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self._capabilities

    async def reply(self, request: Request) -> Reply:
        self.requests.append(request)
        said = next(self._replies, None)
        if said is None:
            raise NoAnswer("the script has no reply left")
        return said if isinstance(said, Reply) else Reply(said)
