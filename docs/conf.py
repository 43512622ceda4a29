"""The site, which `make site` builds: the pages here, and a reference made from the code."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from sphinx.application import Sphinx

import pxp_fsm as pxp
from backends import programs
from backends.models.catalogue import CATALOGUE
from backends.models.scripts import SCRIPT
from proofs.claims import catalogue
from proofs.subjects import NAMES, explain_check, explain_claim
from pxp_fsm.analysis.recordings.conversations import MAPPING
from pxp_fsm.automata.system_files import SYSTEM
from pxp_fsm.automata.table_files import TABLE
from pxp_fsm.cli.main import commands as command_line
from pxp_fsm.experiments.files import EXPERIMENT
from pxp_fsm.plugins.conformance import process
from pxp_fsm.plugins.easylan import serialization as training
from pxp_fsm.plugins.easylan.experiments.developers import FOLLOWED
from pxp_fsm.plugins.easylan.experiments.tasks import NETWORK_TASK
from pxp_fsm.plugins.easylan.model.files import NETWORK
from pxp_fsm.plugins.gateway.policy import POLICY
from pxp_fsm.plugins.studies.files import STUDY

HERE = Path(__file__).parent
ROOT = HERE.parent
with (ROOT / "pyproject.toml").open("rb") as about:
    REPOSITORY = tomllib.load(about)["project"]["urls"]["Repository"]

project = "pxp-fsm"
html_title = "pxp-fsm"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "  # what is copied has neither prompts nor outputs
copybutton_prompt_is_regexp = True
html_theme = "furo"
html_show_sphinx = False
html_copy_source = False
html_show_search_summary = False  # it is fetched, which no browser does from file://
html_static_path = ["_static"]
html_css_files = ["site.css"]
default_role = "code"
myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
exclude_patterns = ["conf.py", "browser"]
suppress_warnings = ["myst.header", "misc.highlighting_failure"]  # Mermaid has no highlighter

SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "A table": TABLE.schema,
    "A system": SYSTEM.schema,
    "An experiment": EXPERIMENT.schema,
    "A network": NETWORK.schema,
    "A task for networks": NETWORK_TASK.schema,
    "A recorded developer": FOLLOWED.schema,
    "What a training tells and is told": training.schema,
    "A study": STUDY.schema,
    "A policy of a gateway": POLICY.schema,
    "A mapping of a recording": MAPPING.schema,
    "A catalogue of models": CATALOGUE.schema,
    "A script of a model": SCRIPT.schema,
    "What a program under test is asked, and answers": process.schema,
    "What a program as a member is asked, and replies": programs.schema,
}


def setup(app: Sphinx) -> None:
    """Write the reference before pages are read, and follow links that leave this folder."""
    app.connect("builder-inited", write_reference)
    app.connect("source-read", link_workbooks)
    app.connect("autodoc-process-docstring", keep_plain)


def write_reference(_: Sphinx) -> None:
    """Pages that are made from the code, in `reference/` and `workbooks/`."""
    if not (HERE / "notebooks").exists():
        (HERE / "notebooks").symlink_to(ROOT / "examples" / "notebooks")
    _write_parts("reference/api", "Python", python())
    _write_parts("reference/commands", "Commands", commands())
    _write_parts("reference/schemas", "Files", schemas())
    _write("reference/claims", "Claims", claims())
    _write("reference/checks", "Checks", checks())
    for path in sorted((ROOT / "examples").glob("*/README.md")):
        _write(f"workbooks/{path.parent.name}", "", [path.read_text("utf-8")])
        for picture in path.parent.glob("*.svg"):
            (HERE / "workbooks" / picture.name).write_bytes(picture.read_bytes())


def _write(name: str, title: str, lines: Iterable[str]) -> None:
    path = HERE / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join([f"# {title}\n" if title else "", *lines]).lstrip() + "\n"
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


Part = tuple[str, str, Iterator[str]]
"""A page of a part of the reference: its file's name, its title, and its lines."""


def _write_parts(name: str, title: str, parts: Iterable[Part]) -> None:
    """A page for each part, and one that lists them."""
    listed = ["```{toctree}", ":maxdepth: 1", ""]
    for part, heading, lines in parts:
        _write(f"{name}/{part}", heading, lines)
        listed.append(f"{name.rpartition('/')[2]}/{part}")
    _write(name, title, [*listed, "```"])


def python() -> Iterator[Part]:
    """Every public name, with its docstring: those of `pxp`, and a page for each room behind it.

    A name that stands in several rooms is documented in the first.
    """
    seen = set[int]()

    def documented(module: ModuleType, names: Iterable[str]) -> Iterator[str]:
        for name in sorted(names):
            value = getattr(module, name)
            if not isinstance(value, ModuleType) and id(value) not in seen:
                seen.add(id(value))
                yield from _documented(f"{module.__name__}.{name}", value)

    yield "pxp", "pxp", documented(pxp, pxp.__all__)
    for name in sorted(pxp.__all__):
        room = getattr(pxp, name)
        if isinstance(room, ModuleType):
            about = f"{(room.__doc__ or '').strip()}\n"
            yield name, f"pxp.{name}", chain([about], documented(room, room.__all__))


def _documented(name: str, value: object) -> Iterator[str]:
    if isinstance(value, type):
        kind = "exception" if issubclass(value, BaseException) else "class"
        yield f"```{{eval-rst}}\n.. auto{kind}:: {name}\n   :members:\n```\n"
    elif callable(value):
        yield f"```{{eval-rst}}\n.. autofunction:: {name}\n```\n"
    else:
        yield f"```{{eval-rst}}\n.. py:data:: {name}\n```\n"


def keep_plain(
    _app: Sphinx, _kind: str, _name: str, _of: object, _how: object, lines: list[str]
) -> None:
    """Docstrings are plain text with names in single quotes of code: nothing else is markup."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = re.split(r"`([^`]+)`", line)
            parts[::2] = [re.sub(r"([*|_\\])", r"\\\1", part) for part in parts[::2]]
            parts[1::2] = [f"``{part}``" for part in parts[1::2]]
            parts[2::2] = [re.sub(r"^(?=\w)", r"\\ ", part) for part in parts[2::2]]
            lines[number] = "".join(parts)


def commands() -> Iterator[Part]:
    """What `--help` prints of every command, a page each."""
    top = click.Context(command_line, info_name="pxp")
    yield "pxp", "pxp", _helped(command_line, top)
    for name in command_line.list_commands(top):
        command = command_line.get_command(top, name)
        if command is not None:
            inner = click.Context(command, parent=top, info_name=name)
            yield name, f"pxp {name}", chain(_helped(command, inner), _inside(command, inner))


def _helped(command: click.Command, context: click.Context) -> Iterator[str]:
    context.terminal_width = context.max_content_width = 88  # fits the page of a laptop
    yield f"```text\n{command.get_help(context)}\n```\n"


def _inside(command: click.Command, context: click.Context) -> Iterator[str]:
    """The commands of a group."""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                below = click.Context(inner, parent=context, info_name=name)
                yield f"## {below.command_path}\n"
                yield from _helped(inner, below)
                yield from _inside(inner, below)


def schemas() -> Iterator[Part]:
    """The keys of each kind of file, and its JSON Schema."""
    for title, schema in SCHEMAS.items():
        yield title.lower().replace(" ", "-").replace(",", ""), title, _described(schema())


def _described(schema: dict[str, Any]) -> Iterator[str]:
    yield from _keys(schema, schema, "", set(schema.get("required", ())))
    yield f"\n## JSON Schema\n\n```json\n{json.dumps(schema, indent=1, ensure_ascii=False)}\n```\n"


def _keys(
    root: dict[str, Any], schema: dict[str, Any], above: str, required: set[str]
) -> Iterator[str]:
    """A line per key that has a description; keys of nested objects after their own."""
    for name, inner in schema.get("properties", {}).items():
        described = inner.get("description", "")
        needed = " (required)" if name in required else ""
        if described or needed:
            yield f"- `{above}{name}`{needed}{': ' if described else ''}{_plain(described)}"
        nested = _resolved(root, inner)
        if nested.get("type") == "array":
            nested = _resolved(root, nested.get("items", {}))
        if nested.get("type") == "object":
            yield from _keys(root, nested, f"{above}{name}.", set(nested.get("required", ())))


def _resolved(root: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """`schema`, or the definition in `root` that it refers to."""
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    definition: dict[str, Any] = root.get("$defs", {}).get(name, schema)
    return definition


def _plain(text: str) -> str:
    return re.sub(r"([*_<>|\[\]\\])", r"\\\1", text)


def checks() -> Iterator[str]:
    """What every table and system is asked: the docstring of each check, its example as code."""
    yield (
        "`pxp check` asks these of any table or system, those about termination with `--property`; "
        "`pxp help NAME` prints one.\n"
    )
    for name, title in NAMES.items():
        yield f"## {name}\n\n{_plain(title[0].upper() + title[1:])}.\n"
        for text in explain_check(name).split("\n\n"):
            is_code = text.lstrip().startswith(">>>")
            yield f"```python\n{text}\n```\n" if is_code else f"{_plain(text)}\n"


def claims() -> Iterator[str]:
    """The catalogue: each statement, when it is expected to hold and to fail, and its source."""
    yield (
        "`pxp check --property NAME` checks one; [findings](../findings.md) have the traces. What "
        "holds for *any relations* needs no [assumption](../proofs.md) on MATCH and AGREE "
        "(*noisy*). [A] is arXiv 2301.01819v2 as others cite it, [B] arXiv 2410.20600, "
        "[C] its NeurIPS 2025 workshop version.\n"
    )
    for protocol in dict.fromkeys(claim.protocol for claim in catalogue.CLAIMS):
        yield f"## {protocol}\n"
        for claim in catalogue.CLAIMS:
            if claim.protocol == protocol:
                yield f"`{claim.name}`\n: {claim.title[0].upper()}{claim.title[1:]}.  "
                yield from (f"  {line}  " for line in explain_claim(claim).splitlines())
                yield ""


def link_workbooks(_: Sphinx, page: str, source: list[str]) -> None:
    """Let a link to a workbook lead to its page, and one to another file to the repository."""
    above = "../" * (page.count("/") + 1)

    def linked(match: re.Match[str]) -> str:
        target = (ROOT / "docs" / page).parent / match[1]
        inside = target.resolve().relative_to(ROOT)
        if inside.parts[0] == "examples" and inside.name == "README.md":
            return f"]({above[3:]}workbooks/{inside.parts[1]}.md)"
        return f"]({REPOSITORY}/blob/main/{inside})"

    if not page.startswith("workbooks/"):
        source[0] = re.sub(r"\]\((\.\./[^)#]+)\)", linked, source[0])
