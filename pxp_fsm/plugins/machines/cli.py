"""`pxp check` and `pxp draw` of a machine that the user names on the command line."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from pxp_fsm.automata.system import System
from pxp_fsm.cli import check as core_check
from pxp_fsm.cli.draw import draw_diagram
from pxp_fsm.cli.options.check import CheckTables
from pxp_fsm.diagrams import state_diagram
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.plugins.machines.cli_options import DrawMachine
from pxp_fsm.plugins.machines.machines import ForeignMachine
from pxp_fsm.plugins.machines.reading import is_foreign, read_machine


def check(request: CheckTables) -> int:
    """Check a machine, or several that are joined by name."""
    if len(request.subjects) == 1:
        name, equals, where = request.subjects[0].rpartition("=")
        subject: Any = machine_at(where, name if equals else "")
    else:
        subject = System(**dict(_member(text) for text in request.subjects))
    return core_check.tables(replace(request, subjects=(subject,)))


def _member(text: str) -> tuple[str, Any]:
    name, _, where = text.rpartition("=")
    if not name:
        raise UsageError(f"of several machines each has a name: NAME={text}")
    return name, machine_at(where, name) if ":" in where and not Path(where).exists() else where


def draw(request: DrawMachine) -> None:
    """Draw a machine."""
    table = machine_at(request.what).table
    diagram = state_diagram(table, marked=request.state)
    draw_diagram(diagram, table.name, request.output, request.form, request.style)


def machine_at(where: str, name: str = "") -> ForeignMachine:
    """The machine `package.module:name`, which is imported: it is the user's own code.

    A function without parameters is called. Raises `UsageError` where there is none.
    """
    module_name, _, attribute = where.rpartition(":")
    file = Path(module_name)
    if file.suffix == ".py" and file.is_file():
        dotted = ".".join(file.with_suffix("").parts)
        is_below = re.fullmatch(r"\w+(\.\w+)*", dotted) is not None
        raise UsageError(
            f"{module_name} is a file, and a machine is named by its module: give "
            f"{dotted if is_below else file.stem}:{attribute}"
            f"{'' if is_below else f', in {file.parent}'} (pxp help machines)"
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise UsageError(
            f"{module_name} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    value: Any = module
    for part in attribute.split("."):
        if not hasattr(value, part):
            there = ", ".join(sorted(n for n, v in vars(module).items() if is_foreign(v)))
            raise UsageError(f"{module_name} has no {attribute}; machines there: {there or 'none'}")
        value = getattr(value, part)
    if inspect.isfunction(value) and not inspect.signature(value).parameters:
        try:
            value = value()
        except Exception as error:
            raise UsageError(f"{where}() raised {type(error).__name__}: {error}") from error
    if not is_foreign(value):
        raise UsageError(
            f"{where} is no machine of transitions, class of python-statemachine or graph of "
            f"LangGraph, but {quoted(value)}"
        )
    return read_machine(value, name or attribute.rpartition(".")[2], module.__file__)
