"""Commands built from dataclasses; each loads its body when it is run.

A command's options are a dataclass (`pxp_fsm.options`), in a light module that its help needs; its
body is a function of that dataclass, in a module that may load whatever it needs. A general command
(`pxp show X`) has one of each for every kind of X (`registry.SubjectKind`).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, get_args, get_origin

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from pxp_fsm import defaults
from pxp_fsm.cli import configuration, interrupts
from pxp_fsm.errors import UsageError, unknown_name
from pxp_fsm.options import Setting, given_options, settings, types_of
from pxp_fsm.registry import Entry, SubjectKind, load, plugins

_EXTENDED = "extended"
_OPTIONS, _COMMON = "Options", "Common options"


def load_command(name: str, entry: Entry) -> click.Command:
    """The command `name`, with its options; the body is not loaded."""
    if not entry.options:
        command: click.Command = load(entry.body)
        return command
    if not entry.body:
        return GeneralCommand(name, load(entry.options))
    return Command(name, load(entry.options), entry.body)


class CommandGroup(click.Group):
    """A group that knows its commands by name, and loads the one that is run.

    `instead` says what to type in place of words that are no command of it.
    """

    def __init__(
        self,
        *args: Any,
        sections: Mapping[str, Mapping[str, Entry]],
        instead: Mapping[str, str] | None = None,
        **kw: Any,
    ) -> None:
        super().__init__(*args, **kw)
        self.own = sections
        self.instead = instead or {}

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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        command = self.get_command(ctx, name)
        if command is not None:  # it is made once
            return name, command, args[1:]
        if not ctx.resilient_parsing:
            if name in self.instead:
                raise UsageError(f"there is no command {name}; use pxp {self.instead[name]}")
            shorts = {known: entry.short for known, entry in self.entries.items()}
            raise unknown_name("command", name, shorts, listed="pxp --help")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by what they are for."""
        for title, section in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, entry.short) for name, entry in section.items()])


class GroupedOption(click.Option):
    """An option that help shows below the heading `group`."""

    def __init__(self, *args: Any, group: str = _OPTIONS, **kw: Any) -> None:
        super().__init__(*args, **kw)
        self.group = group


class _FromDataclasses(click.Command):
    """What a command has whose options are those of dataclasses."""

    def __init__(self, name: str, text: type[Any], params: Sequence[click.Parameter]) -> None:
        about, *rest = inspect.cleandoc(text.__doc__ or "").split("\n\nExit code", 1)
        codes = " ".join(f"Exit code{rest[0]}".split()) if rest else None
        super().__init__(name, params=list(params), help=about, epilog=codes)

    groups: Sequence[str] = ()
    """Headings that come first in help, in their order."""

    @property
    def kinds(self) -> Sequence[type[Any]]:
        """The dataclasses of its options."""
        raise NotImplementedError

    @cached_property
    def common(self) -> Sequence[click.Parameter]:
        """Those of its options that many commands share, as all share --help."""
        shared: dict[str, click.Parameter] = {}
        for kind in self.kinds:
            for setting in _common_settings(kind):
                shared.setdefault(setting.field, _parameter(setting, True, _COMMON))
        return list(shared.values())

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """The context, whose defaults are what stands before the command, or in pxp.toml."""
        before = _given_before(parent)
        extra.setdefault("default_map", {**configuration.configured(), **before})
        return super().make_context(info_name, args, parent, **extra)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*self.params, *self.common, *super().get_params(ctx)[len(self.params) :]]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            place = _places(self.kinds).get(error.option_name)
            if place is None:
                raise
            raise UsageError(f"{error.option_name} is no option: {place}") from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options by their groups; those that many commands share, and --help, come last."""
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in (_OPTIONS, *self.groups)}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                group = param.group if isinstance(param, GroupedOption) else _COMMON
                groups.setdefault(group, []).append(record)
        groups[_COMMON] = groups.pop(_COMMON)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def run(self, body: str, kind: type[Any], ctx: click.Context) -> None:
        """Call `body` with the options of `kind`; faults of an option are told with its name."""
        known = {setting.field for setting in _every_setting(kind)}
        for name in _given_before(ctx.parent):
            if name not in known:
                before = self._option(name, ctx) or f"--{name.removeprefix('as_')}"
                raise UsageError(f"{before} has no effect here; leave it out")
        try:
            call, options = load(body), _built(kind, ctx)
            interrupts.interrupt()
            code = call(options)
        except UsageError as error:
            option = self._option(error.field, ctx)
            if option is None:
                raise
            raise UsageError(f"{option}: {error}", error.field) from error
        if code:
            ctx.exit(code)

    def _option(self, field: str | None, ctx: click.Context) -> str | None:
        """The option that sets `field`, as it is written on the command line."""
        matching = (param for param in self.get_params(ctx) if param.name == field)
        option = next(
            (param.opts[-1] for param in matching if isinstance(param, click.Option)), None
        )
        if option is not None:
            return option
        keys = (
            setting.key
            for kind in self.kinds
            for setting in _in_files(kind)
            if setting.field == field
        )
        return next((f"--set {key}" for key in keys), None)


class Command(_FromDataclasses):
    """A command whose options are those of the dataclass `kind`.

    Its body returns an exit code, or None for 0.
    """

    def __init__(self, name: str, kind: type[Any], body: str) -> None:
        super().__init__(name, kind, list(parameters(kind)))
        self.kind = kind
        self.body = body

    @property
    def kinds(self) -> Sequence[type[Any]]:
        return (self.kind,)

    def invoke(self, ctx: click.Context) -> None:
        self.run(self.body, self.kind, ctx)


class GeneralCommand(_FromDataclasses):
    """A command whose first argument decides, by its kind, what is done and which options count.

    `face` is the dataclass of its help and arguments, whose field `what` has all of them; without
    one, the kind is that which `face.without` names. Help shows the groups `face.groups` first.
    """

    def __init__(self, name: str, face: type[Any]) -> None:
        self.face, self.verb = face, name
        self.groups = getattr(face, "groups", ())
        self.entries: dict[str, tuple[SubjectKind, Entry]] = {
            kind_name: (kind, kind.verbs[name])
            for kind_name, kind in _known_kinds().items()
            if name in kind.verbs
        }
        super().__init__(name, face, [*parameters(face), *self._options()])

    @cached_property
    def kinds(self) -> Sequence[type[Any]]:
        return [load(entry.options) for _kind, entry in self.entries.values()]

    def _options(self) -> Iterator[click.Parameter]:
        """The options of every kind, each once; help says of which kinds it is one."""
        taken: dict[str, list[str]] = {}
        by_name: dict[str, click.Parameter] = {}
        for (kind, _entry), options in zip(self.entries.values(), self.kinds, strict=True):
            for param in parameters(options):
                if isinstance(param, GroupedOption) and param.name is not None:
                    by_name.setdefault(param.name, param)
                    taken.setdefault(param.name, []).append(kind.about)
        for name, param in by_name.items():
            param.required = False  # of what is one, the kind decides
            if isinstance(param, GroupedOption) and param.group == _OPTIONS:
                abouts = list(dict.fromkeys(taken[name]))
                if len(abouts) < len(self.entries):
                    param.group = f"For {_listed(abouts)}"
            yield param

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        with formatter.section("X can be"):
            formatter.write_dl([(kind.about, entry.short) for kind, entry in self.entries.values()])

    def invoke(self, ctx: click.Context) -> None:
        words: tuple[str, ...] = ctx.params.pop("what")
        if words:
            kind = load(f"{_KINDS}:kind_of")(words[0], ctx.params.get("database"), self.verb)
            if self.verb not in kind.verbs:
                database = ctx.params.get("database") or defaults.STORED
                raise UsageError(self._refusal(words[0], kind, database))
            entry = kind.verbs[self.verb]
        else:
            kind, entry = self.entries[self.face.without]
        options: type[Any] = load(entry.options)
        known = {setting.field for setting in _every_setting(options)}
        for param in self.get_params(ctx):
            name = param.name or ""
            if isinstance(param, GroupedOption) and _is_given(ctx, name) and name not in known:
                subject = f"{words[0]} is" if words else "without X this is about"
                is_off = ctx.params.get(name) is False and param.secondary_opts
                written = (param.secondary_opts if is_off else param.opts)[-1]
                others = _verbs_with(name, kind) if words else []
                raise UsageError(
                    f"{written} has no effect: {subject} {kind.about}; leave it out"
                    + (f" ({_listed(others)} has it for {kind.about})" if others else "")
                )
        _settle(options, words, ctx)
        self.run(entry.body, options, ctx)

    def _refusal(self, words: str, kind: SubjectKind, database: str) -> str:
        """What is said where this command does not take a `kind`, which may stand in `database`."""
        takes = _listed([kind.about for kind, _entry in self.entries.values()])
        others = [
            *(f"pxp {verb}" for verb in kind.verbs),
            *(f"pxp {command}" for command in kind.others),
        ]
        text = f"{words} is {kind.about}; pxp {self.verb} takes {takes}"
        text += f". For {kind.about} there are {', '.join(others)}" if others else ""
        if self.verb == "run" and kind is _known_kinds()["run"]:
            text += f". It goes on with pxp run X {words}, where X is its task or file"
        is_stored = kind.about in (_known_kinds()[name].about for name in ("run", "session"))
        is_elsewhere = "database" in self.entries and is_stored
        return (
            f"{text}; for all of its database, pxp {self.verb} {database}" if is_elsewhere else text
        )


def _given_before(parent: click.Context | None) -> Mapping[str, Any]:
    """What stands before a command of the options that many have."""
    if parent is None:
        return {}
    root = parent.find_root()
    return {name: value for name, value in root.params.items() if _is_given(root, name)}


def _verbs_with(name: str, kind: SubjectKind) -> list[str]:
    """The commands that have the option `name` for what is a `kind`."""
    return [
        f"pxp {verb}"
        for verb, entry in kind.verbs.items()
        if name in {setting.field for setting in _every_setting(load(entry.options))}
    ]


def _listed(names: Sequence[str]) -> str:
    return " or ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]


_KINDS = "pxp_fsm.cli.kinds"


def _known_kinds() -> Mapping[str, SubjectKind]:
    known: Mapping[str, SubjectKind] = load(f"{_KINDS}:kinds")()
    return known


def _settle(kind: type[Any], words: Sequence[str], ctx: click.Context) -> None:
    """Let the values of the context be those of `kind`: its arguments, defaults and types.

    An option of several kinds is parsed as that of the first; here each has its own.
    """
    arguments = _arguments(kind, words, ctx)
    ctx.params |= arguments
    for name in arguments:
        ctx.set_parameter_source(name, ParameterSource.COMMANDLINE)
    for setting, ranged in _parts(kind):
        option = setting.option
        if option.argument or option.only_in:
            continue
        parameter = _parameter(setting, ranged, _OPTIONS)
        source = ctx.get_parameter_source(setting.field)
        if source in (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP):
            value = ctx.params[setting.field]
            ctx.params[setting.field] = parameter.type_cast_value(ctx, value)
        elif setting.default is MISSING:
            raise click.MissingParameter(ctx=ctx, param=parameter)
        else:
            ctx.params[setting.field] = setting.default


def _arguments(kind: type[Any], words: Sequence[str], ctx: click.Context) -> dict[str, Any]:
    """The values of the arguments of `kind`; the last one may take all that are left."""
    left, values = list(words), dict[str, Any]()
    for setting in _every_setting(kind):
        if not setting.option.argument:
            continue
        argument = _argument(setting, True)
        several = argument.nargs == -1
        taken = tuple(left) if several else left[:1]
        left = left[len(taken) :]
        if taken:
            value = taken if several else taken[0]
            values[setting.field] = argument.type_cast_value(ctx, value)
        elif setting.default is MISSING:
            raise click.MissingParameter(ctx=ctx, param=argument)
        else:
            values[setting.field] = setting.default
    if left:
        raise click.UsageError(f"Got unexpected extra argument ({' '.join(left)})", ctx=ctx)
    return values


def extended(command: str) -> Any:
    """A field for the options that plug-ins add to `command`: a tuple, one value per plug-in."""
    return field(metadata={_EXTENDED: command})


def _extensions(command: str) -> Iterator[type[Any]]:
    """The dataclasses of the options that plug-ins add to `command`."""
    for plugin in plugins():
        if command in plugin.options:
            yield load(plugin.options[command])


def _parts(kind: type[Any], ranged: bool = True) -> Iterator[tuple[Setting, bool]]:
    """Every setting of a command, in the order of its fields, and whether its range is checked.

    A dataclass inside another checks its own ranges, since files set it too.
    """
    own = {setting.field: setting for setting in settings(kind)}
    kinds = types_of(kind)
    for part in fields(kind):
        set_of = given_options(part)
        inner: type[Any] = kinds[part.name] if set_of is None else set_of[0]
        if _EXTENDED in part.metadata:
            for extension in _extensions(part.metadata[_EXTENDED]):
                yield from _parts(extension)
        elif part.name in own:
            yield own[part.name], ranged
        elif _is_dataclass(inner):
            yield from _parts(inner, ranged=False)


def _every_setting(kind: type[Any]) -> Iterator[Setting]:
    """Every setting that the command line has of `kind`, common ones and arguments too."""
    return (setting for setting, _ranged in _parts(kind) if not setting.option.only_in)


def _common_settings(kind: type[Any]) -> Iterator[Setting]:
    return (setting for setting in _every_setting(kind) if setting.option.common)


def _places(kinds: Iterable[type[Any]]) -> Mapping[str, str]:
    """What takes the place of an option that somebody might look for, and that is none.

    A file sets it, or `instead` of the dataclass of a command's options says what does.
    """
    kinds = tuple(kinds)
    places = {
        f"--{setting.option.name or setting.field.replace('_', '-')}": (
            setting.option.only_in.format(key=setting.key)
        )
        for kind in kinds
        for setting in _in_files(kind)
    }
    for kind in kinds:
        places |= getattr(kind, "instead", {})
    return places


def _in_files(kind: type[Any]) -> Iterator[Setting]:
    """The settings of a command that files alone set, or --set."""
    return (setting for setting, _ranged in _parts(kind) if setting.option.only_in)


def parameters(kind: type[Any]) -> Iterator[click.Parameter]:
    """The parameters of a command, in the order of its fields, without the common ones."""
    for setting, ranged in _parts(kind):
        if not (setting.option.only_in or setting.option.common):
            yield _parameter(setting, ranged, setting.option.group or _OPTIONS)


def _is_dataclass(kind: type[Any]) -> bool:
    return hasattr(kind, "__dataclass_fields__")


def _built(kind: type[Any], context: click.Context) -> Any:
    """The options of `kind` with the values that a command was given."""
    kinds, values = types_of(kind), dict[str, Any]()
    own = {setting.field for setting in settings(kind)}
    for part in fields(kind):
        set_of = given_options(part)
        if set_of is not None:
            names = [setting.field for setting in settings(set_of[0])]
            values[part.name] = {
                name: context.params[name] for name in names if _is_given(context, name)
            }
        elif _EXTENDED in part.metadata:
            extensions = _extensions(part.metadata[_EXTENDED])
            values[part.name] = tuple(_built(extension, context) for extension in extensions)
        elif part.name in own:
            values[part.name] = context.params[part.name]
        elif _is_dataclass(kinds[part.name]):
            values[part.name] = _built(kinds[part.name], context)
    return kind(**values)


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE


def _known(setting: Setting) -> dict[str, Any]:
    if setting.default is MISSING:
        return {"required": True}
    return {"required": False, "default": setting.default}


def _argument(setting: Setting, ranged: bool) -> click.Argument:
    option, count = setting.option, -1 if get_origin(setting.kind) is tuple else 1
    return click.Argument(
        [setting.field],
        type=_type(setting, ranged),
        nargs=count,
        metavar=option.metavar,
        shell_complete=_completion(option.listed),
        **_known(setting),
    )


def _parameter(setting: Setting, ranged: bool, group: str) -> click.Parameter:
    option = setting.option
    if option.argument:
        return _argument(setting, ranged)
    known = _known(setting) | {"group": group, "shell_complete": _completion(option.listed)}
    name = option.name or setting.field.replace("_", "-")
    text = f"{option.help}  [default: {option.default}]" if option.default else option.help
    empty = setting.default is MISSING or setting.default in (None, ()) or setting.default is False
    shown = not option.default and not empty
    if setting.kind is bool:
        if "/" not in name and (setting.optional or setting.default is True):
            name = f"{name}/--no-{name}"
        flag = [setting.field, *([option.short] if option.short else []), f"--{name}"]
        return GroupedOption(flag, is_flag=True, help=text, show_default=shown, **known)
    if get_origin(setting.kind) is tuple:
        every = get_args(setting.kind)
        known |= {"multiple": True} if every[-1] is Ellipsis else {"nargs": len(every)}
    return GroupedOption(
        [setting.field, *([option.short] if option.short else []), f"--{name}"],
        type=_type(setting, ranged),
        metavar=_metavar(setting),
        help=text,
        show_default=shown,
        **known,
    )


def _completion(listed: str) -> Any:
    """What completes a value from the names of `pxp list LISTED`; None for the type's own way."""
    if not listed:
        return None

    def complete(ctx: click.Context, _param: click.Parameter, text: str) -> list[CompletionItem]:
        completed = load("pxp_fsm.cli.list:completed")
        items: list[CompletionItem] = completed(listed, text, ctx.params.get("database"))
        return items

    return complete


def _metavar(setting: Setting) -> str | None:
    if setting.option.metavar is None and not setting.option.choices:
        if setting.kind is int:
            return "N"
        if setting.kind is Path:
            return "DIR" if setting.option.path == "folder" else "FILE"
    return setting.option.metavar


def _type(setting: Setting, ranged: bool) -> click.ParamType[Any]:
    option, kind = setting.option, setting.kind
    if get_origin(kind) is tuple:
        kind = get_args(kind)[0]
    if option.choices:
        return click.Choice(option.choices)
    if kind is Path:
        files, folders = option.path != "folder", option.path != "file"
        return click.Path(path_type=Path, file_okay=files, dir_okay=folders)
    if kind in (str, Any):
        return click.STRING
    lowest = option.least if option.above is None else option.above
    bounded = ranged and (lowest, option.most) != (None, None)
    if kind is int:
        return click.IntRange(option.least, option.most) if bounded else click.INT
    opened = option.above is not None
    return click.FloatRange(lowest, option.most, min_open=opened) if bounded else click.FLOAT
