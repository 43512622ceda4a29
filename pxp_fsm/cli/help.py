"""`pxp help`: the pages that come with the package, as text."""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path

import click

from pxp_fsm.cli.main import commands
from pxp_fsm.cli.options import about as options
from pxp_fsm.errors import unknown_name
from pxp_fsm.registry import contributions, load

_PACKAGE = Path(__file__).parents[1]


def help_(request: options.HelpOptions) -> None:
    """Print a page, or the list of pages."""
    by_name = pages()
    if request.topic is None:
        width = max(map(len, by_name))
        click.echo("Pages, each shown by pxp help PAGE:\n")
        for name, path in by_name.items():
            click.echo(f"  {name.ljust(width)}  {title(path)}")
        return
    name = request.topic.removeprefix("docs/").removesuffix(".md").replace("-", "_")
    page = {known.replace("-", "_"): path for known, path in by_name.items()}.get(name)
    context = click.get_current_context()
    command = commands.get_command(context, request.topic)
    if page is not None:
        text = page.read_text("utf-8")
        if sys.stdout.isatty():
            click.echo_via_pager(text)
        else:
            click.echo(text, nl=False)
        return
    if command is not None and context.parent is not None:
        inner = click.Context(command, info_name=request.topic, parent=context.parent)
        click.echo(command.get_help(inner))
        return
    if explanation := load("proofs.check:explain")(request.topic):
        click.echo(explanation)
        return
    relations = load("proofs.refinement.relations:TITLES")
    assumptions = load("proofs.claims.catalogue:MEANINGS")
    for known, of, where in (
        (relations, "X and Y", "Decided by: pxp compare X Y; explained by: pxp help refinement"),
        (
            assumptions,
            "MATCH and AGREE",
            f"Assumed by: pxp check --relations {request.topic}; explained by: pxp help proofs",
        ),
    ):
        if request.topic in known:
            click.echo(f"{request.topic}, of {of}: {known[request.topic]}.\n\n{where}")
            return
    meanings = {known: title(at) for known, at in by_name.items()} | _shorts()
    meanings |= {known.name: known.title for known in load("proofs.check:known_properties")()}
    meanings |= relations | assumptions
    raise unknown_name(
        "page, command, check, relation, assumption or claim",
        request.topic,
        meanings,
        listed="pxp help, pxp --help or pxp list",
    )


def _shorts() -> dict[str, str]:
    """The commands that have no page of their name, with what they do."""
    return {name: entry.short for name, entry in commands.entries.items()}


def pages() -> dict[str, Path]:
    """The pages by name: in the package, or in the folder `docs` of a clone."""
    inside = _PACKAGE / "pages"
    folder = inside if inside.is_dir() else _PACKAGE.parent / "docs"
    by_name = {path.stem: path for path in sorted(folder.glob("*.md"))}
    for name, where in contributions("help").items():
        package, _, file = where.partition(":")
        by_name.setdefault(name, Path(str(resources.files(package).joinpath(file))))
    return by_name


def findings() -> dict[str, Path]:
    """The pages on what the checks have found."""
    return {page: path for page, path in pages().items() if page.startswith("findings")}


def title(page: Path) -> str:
    """The heading of a page."""
    with page.open(encoding="utf-8") as file:
        return file.readline().removeprefix("#").strip()
