"""Models files: servers, prices, rates, caches and recordings of models; and what pxp.toml sets.

Servers, prices and retirements are read by `catalogue`, which knows what stands in each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from backends.models.settings import Settings
from pxp_fsm import documents, options
from pxp_fsm.errors import Fault, UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import given, option
from pxp_fsm.schemas import FileKind

_IN_FILE = tuple(setting.field for setting in options.settings(Settings) if setting.option.only_in)


@dataclass(frozen=True, slots=True)
class ModelsTable:
    """The table [models]: settings that do not change from run to run."""

    settings: Mapping[str, Any] = given(Settings, *_IN_FILE)


@dataclass(frozen=True, slots=True)
class ModelsFile:
    """What a models file says; one that is called pxp.toml sets a default of commands too."""

    database: str = option("In pxp.toml: the database that commands read and write.", "")
    models: ModelsTable = field(default_factory=ModelsTable)
    server: tuple[Mapping[str, Any], ...] = ()
    price: tuple[Mapping[str, Any], ...] = ()
    retirement: tuple[Mapping[str, Any], ...] = ()


MODELS = FileKind(
    ModelsFile,
    "a models file",
    "A models file of pxp-fsm",
    "Servers, prices, rates, caches and recordings of models. Paths are read from its folder.",
    name="models",
    header=MappingProxyType({}),
)


def read_settings(path: Path) -> Settings:
    """The settings of a models file, whose servers and prices come before the bundled ones.

    Paths are read from the folder of the file. Raises `FileError` with every fault.
    """
    file = MODELS.load(path)
    values = dict(file.value.models.settings)
    for name in ("cache", "replay"):
        if name in values:
            values[name] = path.parent / values[name]
    try:
        return Settings(**values, catalogue=path)
    except UsageError as error:
        raise file.refusal(Fault(("models",), str(error))) from error


def read_unnamed(path: Path) -> ModelsFile | None:
    """What a file says that nobody has named, such as the pxp.toml of a folder.

    None where it is of another kind: all others have a `format`, as the table of PXP that pxp
    export writes under that name. No server in it has a key: whoever wrote it would say which
    variable of the environment is sent where. Raises `FileError` with every fault.
    """
    if "format" in documents.read(documents.text_of(path, "a models file"), path.name):
        return None
    file = MODELS.load(path)
    message = "a server with a key stands in a file that --models names, not here"
    faults = [
        Fault(("server", place, "key"), message)
        for place, server in enumerate(file.value.server)
        if "key" in server
    ]
    if faults:
        raise file.refusal(*faults)
    return file.value
