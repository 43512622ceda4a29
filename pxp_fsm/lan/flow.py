"""How texts flow through a network in one run: what reaches which agent, under whose name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from pxp_fsm.lan.network import Network, Piece, Received


class Flow:
    """The texts of one run on the input `external`.

    Agents put out their results in an order that keeps to the edges. An inactive agent (None) puts
    out what it received, each piece still under its author's name (EasyLAN, section 3.1).
    """

    def __init__(self, network: Network, external: str) -> None:
        self.external = external
        self.results: dict[str, str | None] = {}
        self._network = network
        self._sent: dict[str, frozenset[str]] = {}

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {name: place for place, name in enumerate(self._network.order)}

    def received(self, name: str) -> Received:
        """What agent `name` receives, once its predecessors have put out theirs."""
        authors = sorted(self._reaching(name), key=self._places.__getitem__)
        pieces = tuple(Piece(author, self.results[author] or "") for author in authors)
        return Received(self.external, pieces)

    def put(self, name: str, result: str | None) -> None:
        """Agent `name` puts out its `result`, or as inactive what it received."""
        self.results[name] = result
        self._sent[name] = self._reaching(name) if result is None else frozenset({name})

    def output(self) -> str | None:
        """The result of the last active agent in the network's order; None where none is."""
        found = (self.results[name] for name in reversed(self._network.order))
        return next((result for result in found if result is not None), None)

    def _reaching(self, name: str) -> frozenset[str]:
        """Whose results reach `name`."""
        return frozenset[str]().union(
            *(self._sent[before] for before in self._network.predecessors(name))
        )


def flowed(network: Network, external: str, results: Mapping[str, str | None]) -> Flow:
    """The flow of a run that is over; an agent that `results` does not name was inactive."""
    flow = Flow(network, external)
    for name in network.order:
        flow.put(name, results.get(name))
    return flow
