"""`pxp language`: the tag sequences of a protocol, a class or a recording, and comparisons."""

from __future__ import annotations

import json

import click

from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.diagrams import write
from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.languages import comparison as languages
from pxp_fsm.plugins.languages.cli.options import LanguageOptions
from pxp_fsm.plugins.languages.operands import LanguageSettings, operand


def language(request: LanguageOptions) -> None:
    """Count, list, compare or draw a language."""
    words, limit, draw = request.what, request.limit, request.output
    if request.other is not None and limit is not None:
        raise UsageError(
            f"--limit takes one language; `--minus {request.other} --limit {limit}` lists what "
            f"only the first has"
        )
    settings = LanguageSettings(run=request.run)
    both = request.within
    lines: list[str] = []
    subject = languages.chosen(words, settings, both, request.minus)
    if request.other is not None:
        other = operand(request.other, settings, beside=subject.reading)
        comparison = languages.compared(subject, other)
        lines += languages.comparison_lines(comparison)
        record: object = comparison.record()
    elif limit is not None:
        lines += languages.listed(subject.language, limit)
        record = lines
    elif draw is None:
        counts = languages.by_relations(words, settings, both, request.minus)
        lines += languages.count_lines(counts)
        record = [count.record() for count in counts]
    else:
        counts = (languages.counted(subject.language),)
        lines += languages.count_lines(counts)
        record = [count.record() for count in counts]
    if request.as_json:
        click.echo(json.dumps(record, indent=1))
    else:
        for line in lines:
            click.echo(printable(line))
    if draw is not None:
        write(subject.language.diagram(), draw)
        click.echo(f"Drawn: {printable(str(draw))}", err=request.as_json)
