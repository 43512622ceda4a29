"""Calls of protocols written out: what is left is one block of messages, choices and recursion.

A protocol that is called again with the same roles and arguments, while it is being written out,
goes on at its beginning: a call is a recursion then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pxp_fsm.errors import TableError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.scribble.syntax import (
    Block,
    Calling,
    GlobalChoice,
    GlobalProtocol,
    Interaction,
    Position,
    Recursion,
    Repeat,
    ScribbleModule,
    Signature,
    Statement,
    fault_at,
)

MOST = 5_000
"""How many statements a protocol has when its calls are written out."""

_Frame = tuple[str, tuple[Signature, ...], tuple[str, ...]]


def inlined(module: ScribbleModule, protocol: GlobalProtocol) -> Block:
    """The body of a protocol without calls; each recursion has a name of its own.

    Raises `TableError` for names that there are none of, and for a protocol that is too large.
    """
    return _Inliner(module).body(protocol)


@dataclass
class _Inliner:
    module: ScribbleModule
    count: int = 0

    def body(self, protocol: GlobalProtocol) -> Block:
        roles = {role: role for role in protocol.roles}
        frame = (protocol.name, (), protocol.roles)
        name = _name_of(frame)
        # A parameter of the protocol that is checked stands for a message of its own name.
        signatures = {parameter: Signature(parameter) for parameter in protocol.parameters}
        block = self._block(protocol.body, roles, signatures, {}, {frame: name})
        return (Recursion(name, block, protocol.at),)

    def _refuse(self, at: Position, message: str) -> TableError:
        return TableError((fault_at(self.module.filename, at, message),))

    def _block(
        self,
        block: Block,
        roles: Mapping[str, str],
        signatures: Mapping[str, Signature],
        bound: Mapping[str, str],
        frames: Mapping[_Frame, str],
    ) -> Block:
        return tuple(
            self._statement(statement, roles, signatures, bound, frames) for statement in block
        )

    def _statement(
        self,
        statement: Statement,
        roles: Mapping[str, str],
        signatures: Mapping[str, Signature],
        bound: Mapping[str, str],
        frames: Mapping[_Frame, str],
    ) -> Statement:
        self.count += 1
        if self.count > MOST:
            raise self._refuse(
                statement.at, f"more than {MOST:,} statements with all calls written out"
            )

        def role(name: str) -> str:
            if name not in roles:
                there = ", ".join(roles)
                raise self._refuse(statement.at, f"there is no role {name}; the roles are {there}")
            return roles[name]

        match statement:
            case Interaction(signature, sender, receivers, _):
                meant = self._meant(signature, signatures)
                to = tuple(map(role, receivers))
                if role(sender) in to:
                    raise self._refuse(statement.at, f"{sender} cannot send a message to itself")
                return Interaction(meant, role(sender), to, statement.at)
            case GlobalChoice(subject, branches, _):
                inner = tuple(
                    self._block(branch, roles, signatures, bound, frames) for branch in branches
                )
                return GlobalChoice(role(subject), inner, statement.at)
            case Recursion(name, body, _):
                fresh = f"{name} {self.count}"
                return Recursion(
                    fresh,
                    self._block(body, roles, signatures, {**bound, name: fresh}, frames),
                    statement.at,
                )
            case Repeat(name, _):
                if name not in bound:
                    raise self._refuse(statement.at, f"continue {name} stands in no rec {name}")
                return replace(statement, name=bound[name])
            case Calling():
                return self._called(
                    statement, tuple(map(role, statement.roles)), signatures, frames
                )

    def _called(
        self,
        call: Calling,
        roles: tuple[str, ...],
        signatures: Mapping[str, Signature],
        frames: Mapping[_Frame, str],
    ) -> Statement:
        protocol = self.module.protocol(call.name)
        if protocol is None:
            there = ", ".join(global_protocol.name for global_protocol in self.module.protocols)
            message = f"there is no protocol {call.name} in this file; there are: {there}"
            raise self._refuse(call.at, message)
        arguments = tuple(self._meant(argument, signatures) for argument in call.arguments)
        for arguments_given, wanted, noun in (
            (roles, protocol.roles, "roles"),
            (arguments, protocol.parameters, "arguments"),
        ):
            if len(arguments_given) != len(wanted):
                message = f"{protocol.name} has {len(wanted)} {noun}, not {len(arguments_given)}"
                raise self._refuse(call.at, message)
        if len(set(roles)) < len(roles):
            raise self._refuse(call.at, f"one role cannot be two of {protocol.name}")
        frame = (protocol.name, arguments, roles)
        if frame in frames:
            return Repeat(frames[frame], call.at)
        name = f"{_name_of(frame)} {self.count}"
        inner = dict(zip(protocol.roles, roles, strict=True))
        meaning = dict(zip(protocol.parameters, arguments, strict=True))
        body = self._block(protocol.body, inner, meaning, {}, {**frames, frame: name})
        return Recursion(name, body, call.at)

    def _meant(self, signature: Signature, signatures: Mapping[str, Signature]) -> Signature:
        """What a signature stands for where it is a parameter's name, or what it carries is."""
        if signature.named:
            return signatures.get(signature.operator, Signature(signature.operator))
        payload = [
            signatures[name].operator if name in signatures else name for name in signature.payload
        ]
        return Signature(signature.operator, tuple(payload))


def _name_of(frame: _Frame) -> str:
    return f"{frame[0]}({', '.join(frame[2])})"
