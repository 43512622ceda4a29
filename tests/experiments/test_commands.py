"""The table of commands: what it names is there, typed as it is called, and described."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import get_type_hints

import click
import pytest
from click.testing import CliRunner

from pxp_fsm.cli import command
from pxp_fsm.cli.command import Command, CommandGroup, GeneralCommand
from pxp_fsm.cli.main import commands
from pxp_fsm.options import option
from pxp_fsm.registry import load


def every(group: click.Group) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None, name
        yield name, found
        if isinstance(found, CommandGroup):
            yield from ((f"{name} {inner}", each) for inner, each in every(found))


@pytest.mark.parametrize(("name", "found"), list(every(commands)), ids=str)
def test_a_commands_body_takes_its_options(name: str, found: click.Command) -> None:
    assert found.help, name
    if isinstance(found, Command):
        hints = get_type_hints(load(found.body))
        assert hints["request"] is found.kind
        assert hints["return"] in (int, type(None))
    if isinstance(found, GeneralCommand):
        assert found.face.without in found.entries
        for kind, entry in found.entries.values():
            hints = get_type_hints(load(entry.body))
            assert issubclass(load(entry.options), hints["request"]), kind.about
            assert hints["return"] in (int, type(None))
    described = [one for one in found.params if isinstance(one, click.Option)]
    assert all(one.help for one in described), name


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tea:
    """Draw TEA."""

    tea: str = option(argument=True)
    minutes: int = option("How long.", 3, least=1)
    hot: bool = option("Whether.", True)
    iced: bool | None = option("Or.", None, name="iced/--boiled")
    cups: tuple[str, ...] = option("Which.", (), name="cup")


@pytest.mark.parametrize(
    ("arguments", "tea"),
    [
        (["green"], Tea(tea="green")),
        (["green", "--minutes", "5", "--no-hot"], Tea(tea="green", minutes=5, hot=False)),
        (["x", "--boiled", "--cup", "a", "--cup", "b"], Tea(tea="x", iced=False, cups=("a", "b"))),
    ],
)
def test_options_become_the_dataclass(
    arguments: list[str], tea: Tea, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Tea] = []
    monkeypatch.setattr(command, "load", lambda _name: drawn.append)
    assert CliRunner().invoke(Command("tea", Tea, "kitchen:draw"), arguments).exit_code == 0
    assert drawn == [tea]


def test_a_value_out_of_range_is_refused_and_the_default_is_shown() -> None:
    tea = Command("tea", Tea, "kitchen:draw")
    assert "--minutes" in CliRunner().invoke(tea, ["x", "--minutes", "0"]).output
    shown = CliRunner().invoke(tea, ["--help"]).output
    assert "[default: 3; x>=1]" in shown
    assert "--hot / --no-hot" in shown
