"""Reaction templates, read from `templates.toml` into frozen, checked dataclasses."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pxp_fsm.documents import line_of, text_of
from pxp_fsm.errors import DataError
from pxp_fsm.lazy_dataclasses import dataclass

NO_LEAVING_GROUP = ""
"""What stands for the leaving group of a template that has none."""

_NEEDED = ("id", "name", "class", "bond", "from", "to", "retro", "prior")
_OPTIONAL = ("leaving", "lost", "inverts", "conflicts", "aka", "example")
_KNOWN = frozenset({*_NEEDED, *_OPTIONAL})


@dataclass(frozen=True, slots=True)
class TemplateExample:
    """A product, and the reactants that its template must propose; SMILES."""

    product: str
    reactants: str


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """A named one-step reaction, read backwards.

    `retros` maps each leaving group's name to reaction SMARTS (product >> reactants), `shares`
    to how usual it is; a template without leaving groups has the one name "". `prior` is relative
    to other templates. `lost` counts the product's heavy atoms that unlisted reagents bring in;
    `inverts` is the map number of a carbon whose configuration turns over, or None. `conflicts`
    gives, for functional groups that react as well, how many the reaction itself uses. A template
    is equal only to itself, and so is a library.
    """

    id: str
    name: str
    reaction_class: str
    bond: str
    starting: tuple[str, ...]
    gives: str
    retros: Mapping[str, str]
    shares: Mapping[str, float]
    prior: float
    lost: int
    inverts: int | None
    conflicts: Mapping[str, int]
    aka: tuple[str, ...]
    example: TemplateExample | None


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """All templates, with the functional groups (SMARTS), rings (SMARTS) and reagents (names)."""

    templates: tuple[Template, ...]
    groups: Mapping[str, str]
    rings: Mapping[str, str]
    reagents: Mapping[str, str]


@cache
def builtin() -> Library:
    """The templates that come with the package."""
    path = resources.files(__package__).joinpath("templates.toml")
    return parse(path.read_text("utf-8"), Path("templates.toml"))


def load(path: Path) -> Library:
    """The templates of the TOML file `path`; raises `DataError` with the first fault."""
    return parse(text_of(path, "templates", error=DataError), path)


def parse(text: str, path: Path) -> Library:
    """The templates in TOML `text`; `path` is named in errors.

    Raises `DataError` for bad TOML, for missing or unknown fields, for SMARTS that RDKit does not
    accept, and for ids or names that are not unique.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path}: {error}") from error
    patterns, leaving, groups, rings, reagents = (
        _table(data, name, path) for name in ("patterns", "leaving", "groups", "rings", "reagents")
    )
    _check_patterns(path, {**groups, **rings})
    entries = data.get("template", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise DataError(f"{path}: template must be tables, written [[template]]")
    templates: list[Template] = []
    for number, entry in enumerate(entries):
        try:
            template = _template(entry, patterns, leaving)
            _check(template, groups, templates)
        except (AttributeError, TypeError, ValueError) as error:
            line = line_of(text, ("template", number))
            problem = f"template {entry.get('id', 'without id')}: {error}"
            raise DataError.at(path, line, problem) from error
        templates.append(template)
    if not templates:
        raise DataError(f"{path}: it has no [[template]]")
    return Library(
        tuple(templates), *(MappingProxyType(table) for table in (groups, rings, reagents))
    )


def _table(data: dict[str, Any], name: str, path: Path) -> dict[str, str]:
    """The table `name` of the file, names to text; empty where it is not there."""
    table = data.get(name, {})
    if not isinstance(table, dict) or not all(isinstance(text, str) for text in table.values()):
        raise DataError(f"{path}: [{name}] must give a text for each name")
    return table


def _template(entry: dict[str, Any], patterns: dict[str, str], leaving: dict[str, str]) -> Template:
    if unknown := sorted(entry.keys() - _KNOWN):
        raise ValueError(f"unknown field {unknown[0]!r}; there are {', '.join(sorted(_KNOWN))}")
    if missing := [name for name in _NEEDED if name not in entry]:
        raise ValueError(f"field {missing[0]!r} is missing")
    retro = str(entry["retro"])
    for name, pattern in patterns.items():
        retro = retro.replace(f"{{{name}}}", pattern)
    shares = {str(k): float(v) for k, v in entry.get("leaving", {}).items()}
    if unknown := sorted(shares.keys() - leaving.keys()):
        raise ValueError(f"unknown leaving group {unknown[0]!r}")
    retros = {name: retro.replace("{leaving}", leaving[name]) for name in shares}
    example = entry.get("example")
    return Template(
        id=str(entry["id"]),
        name=str(entry["name"]),
        reaction_class=str(entry["class"]),
        bond=str(entry["bond"]),
        starting=tuple(entry["from"]),
        gives=str(entry["to"]),
        retros=MappingProxyType(retros or {NO_LEAVING_GROUP: retro}),
        shares=MappingProxyType(shares or {NO_LEAVING_GROUP: 1.0}),
        prior=float(entry["prior"]),
        lost=int(entry.get("lost", 0)),
        inverts=entry.get("inverts"),
        conflicts=MappingProxyType(entry.get("conflicts", {})),
        aka=tuple(entry.get("aka", ())),
        example=None if example is None else TemplateExample(**example),
    )


def _check(template: Template, groups: dict[str, str], before: list[Template]) -> None:
    """Whatever else can be wrong with a template; raises `ValueError`."""
    from rdkit import rdBase
    from rdkit.Chem.rdChemReactions import ReactionFromSmarts

    if template.prior <= 0 or any(share <= 0 for share in template.shares.values()):
        raise ValueError("prior and leaving-group shares must be above 0")
    if any(template.id == other.id or template.name == other.name for other in before):
        raise ValueError(f"its id or its name {template.name!r} is used twice")
    if unknown := sorted(template.conflicts.keys() - groups.keys()):
        raise ValueError(f"unknown functional group {unknown[0]!r} in conflicts")
    words = (template.name, template.bond, *template.starting, template.gives, *template.aka)
    if NO_LEAVING_GROUP in template.retros and any("{" in word for word in words):
        raise ValueError("{leaving} in its words, but no leaving groups")
    with rdBase.BlockLogs():
        for smarts in template.retros.values():
            try:
                reaction = ReactionFromSmarts(smarts)
                faults = reaction.Validate(silent=True)[1]
            except ValueError as error:
                raise ValueError(f"{smarts!r} is not a reaction SMARTS: {error}") from error
            if faults or reaction.GetNumReactantTemplates() != 1:
                raise ValueError(f"{smarts!r} is not a retro-reaction product>>reactants")


def _check_patterns(path: Path, patterns: dict[str, str]) -> None:
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        for name, smarts in patterns.items():
            if Chem.MolFromSmarts(smarts) is None:
                raise DataError(f"{path}: {name!r} is not a SMARTS that RDKit can read: {smarts!r}")
