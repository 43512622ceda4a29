"""Commands built from dataclasses; each loads its body when it is run.

A command's options are a dataclass (`pxp_fsm.options`), in a light module that its help needs; its
body is a function of that dataclass, in a module that may load whatever it needs.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, field, fields
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import click
from click.core import ParameterSource

from pxp_fsm.errors import UsageError
from pxp_fsm.options import Setting, settings
from pxp_fsm.registry import Entry, load, plugins

_GIVEN, _EXTENDED = "given", "extended"


def load_command(name: str, entry: Entry) -> click.Command:
    """The command `name`, with its options; the body is not loaded."""
    if not entry.options:
        command: click.Command = load(entry.body)
        return command
    return Command(name, load(entry.options), entry.body)


class CommandGroup(click.Group):
    """A group that knows its commands by name, and loads the one that is run."""

    def __init__(self, *args: Any, sections: Mapping[str, Mapping[str, Entry]], **kw: Any) -> None:
        super().__init__(*args, **kw)
        self.own = sections

    @property
    def sections(self) -> Mapping[str, Mapping[str, Entry]]:
        """The commands by purpose."""
        return self.own

    @property
    def entries(self) -> Mapping[str, Entry]:
        """The commands of all sections."""
        return {
            name: entry for section in self.sections.values() for name, entry in section.items()
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.entries.get(cmd_name)
        return None if entry is None else load_command(cmd_name, entry)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by what they are for."""
        for title, section in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.short) for name, entry in section.items()])


class Command(click.Command):
    """A command whose options are those of the dataclass `kind`.

    Its body returns an exit code, or None for 0.
    """

    def __init__(self, name: str, kind: type[Any], body: str) -> None:
        text = inspect.cleandoc(kind.__doc__ or "")
        super().__init__(name, params=list(parameters(kind)), help=text)
        self.kind = kind
        self.body = body

    def invoke(self, ctx: click.Context) -> None:
        try:
            code = load(self.body)(_built(self.kind, ctx))
        except UsageError as error:
            option = self._option(error.field)
            if option is None:
                raise
            raise UsageError(f"{option}: {error}", error.field) from error
        if code:
            ctx.exit(code)

    def _option(self, field: str | None) -> str | None:
        """The option that sets `field`, as it is written on the command line."""
        found = (one for one in self.params if one.name == field)
        return next((one.opts[-1] for one in found if isinstance(one, click.Option)), None)


def given(kind: type[Any]) -> Any:
    """A field for what was set, on the command line, of the options of `kind`: a dictionary."""
    return field(metadata={_GIVEN: kind})


def extended(command: str) -> Any:
    """A field for the options that plug-ins add to `command`: a tuple, one value per plug-in."""
    return field(metadata={_EXTENDED: command})


def _extensions(command: str) -> Iterator[type[Any]]:
    """The dataclasses of the options that plug-ins add to `command`."""
    for plugin in plugins():
        if command in plugin.options:
            yield load(plugin.options[command])


def parameters(kind: type[Any], ranged: bool = True) -> Iterator[click.Parameter]:
    """The parameters of a command, in the order of its fields.

    A dataclass inside another checks its own ranges, since files set it too.
    """
    own = {setting.field: setting for setting in settings(kind)}
    kinds = get_type_hints(kind)
    for one in fields(kind):
        inner: type[Any] = one.metadata.get(_GIVEN) or kinds[one.name]
        if _EXTENDED in one.metadata:
            for extension in _extensions(one.metadata[_EXTENDED]):
                yield from parameters(extension)
        elif one.name in own:
            yield _parameter(own[one.name], ranged)
        elif _is_dataclass(inner):
            yield from parameters(inner, ranged=False)


def _is_dataclass(kind: type[Any]) -> bool:
    return hasattr(kind, "__dataclass_fields__")


def _built(kind: type[Any], context: click.Context) -> Any:
    """The options of `kind` with the values that a command was given."""
    kinds, values = get_type_hints(kind), dict[str, Any]()
    own = {setting.field for setting in settings(kind)}
    for one in fields(kind):
        if _GIVEN in one.metadata:
            names = [setting.field for setting in settings(one.metadata[_GIVEN])]
            values[one.name] = {
                name: context.params[name] for name in names if _is_given(context, name)
            }
        elif _EXTENDED in one.metadata:
            found = _extensions(one.metadata[_EXTENDED])
            values[one.name] = tuple(_built(extension, context) for extension in found)
        elif one.name in own:
            values[one.name] = context.params[one.name]
        elif _is_dataclass(kinds[one.name]):
            values[one.name] = _built(kinds[one.name], context)
    return kind(**values)


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _parameter(setting: Setting, ranged: bool) -> click.Parameter:
    one = setting.option
    known: dict[str, Any] = {"required": setting.default is MISSING}
    if not known["required"]:
        known["default"] = setting.default
    if one.argument:
        count = -1 if get_origin(setting.kind) is tuple else 1
        return click.Argument(
            [setting.field], type=_type(setting, ranged), nargs=count, metavar=one.metavar, **known
        )
    name = one.name or setting.field.replace("_", "-")
    text = f"{one.help}  [default: {one.default}]" if one.default else one.help
    empty = setting.default is MISSING or setting.default in (None, ()) or setting.default is False
    shown = not one.default and not empty
    if setting.kind is bool:
        if "/" not in name and (setting.optional or setting.default is True):
            name = f"{name}/--no-{name}"
        flag = [setting.field, *([one.short] if one.short else []), f"--{name}"]
        return click.Option(flag, is_flag=True, help=text, show_default=shown, **known)
    if get_origin(setting.kind) is tuple:
        every = get_args(setting.kind)
        known |= {"multiple": True} if every[-1] is Ellipsis else {"nargs": len(every)}
    return click.Option(
        [setting.field, *([one.short] if one.short else []), f"--{name}"],
        type=_type(setting, ranged),
        metavar=_metavar(setting),
        help=text,
        show_default=shown,
        **known,
    )


def _metavar(setting: Setting) -> str | None:
    if setting.option.metavar is None and not setting.option.choices:
        if setting.kind is int:
            return "N"
        if setting.kind is Path:
            return "DIR" if setting.option.path == "folder" else "FILE"
    return setting.option.metavar


def _type(setting: Setting, ranged: bool) -> click.ParamType[Any]:
    one, kind = setting.option, setting.kind
    if get_origin(kind) is tuple:
        kind = get_args(kind)[0]
    if one.choices:
        return click.Choice(one.choices)
    if kind is Path:
        files, folders = one.path != "folder", one.path != "file"
        return click.Path(path_type=Path, file_okay=files, dir_okay=folders)
    if kind in (str, Any):
        return click.STRING
    lowest = one.least if one.above is None else one.above
    bounded = ranged and (lowest, one.most) != (None, None)
    if kind is int:
        return click.IntRange(one.least, one.most) if bounded else click.INT
    opened = one.above is not None
    return click.FloatRange(lowest, one.most, min_open=opened) if bounded else click.FLOAT
