"""`pxp check`: properties of tables and protocols, one line per property."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from proofs.check import answer
from proofs.claims.system_certificates import SystemCertificate
from proofs.rules.certificates import RulesCertificate
from proofs.rules.conditions import FORMATS
from pxp_fsm.cli.options import check as options
from pxp_fsm.cli.presentation import results
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.errors import UsageError

_FORMATS = {".xml": results.as_junit, ".sarif": results.as_sarif}
"""What is written of results to a file with this ending; another path is a folder of traces."""


def tables(request: options.CheckTables) -> int:
    """Check what is asked for, and show the results."""
    checked, interrupt = answer(request), None
    try:
        len(checked)  # computes them all
    except KeyboardInterrupt as error:
        interrupt = error
    found = checked.computed
    written = tuple(_written(checked.certificates, request))
    for line in results.shown(found, in_json=request.as_json):
        click.echo(line)
    if not request.as_json:
        for path in written:
            click.echo(printable(f"Certificate: {path}"))
        for note in checked.notes:
            click.echo(printable(f"Note: {note}"))
    for raised in {one.verdict.reason: one.verdict.error for one in found}.values():
        if raised is not None:
            for line in "".join(traceback.format_exception(raised)).splitlines():
                click.echo(printable(line), err=True)
    for path in request.output:
        text = _FORMATS.get(path.suffix)
        if text is None:
            results.write_traces(found, path)
        else:
            path.write_text(text(found) + "\n", "utf-8")
    if interrupt is not None:
        raise interrupt
    return results.exit_code(found)


def _written(
    certificates: Iterable[RulesCertificate | SystemCertificate],
    request: options.CheckTables,
) -> Iterator[Path]:
    """Write the certificates to where they are wanted; gives the files."""
    for certificate in certificates:
        if isinstance(certificate, RulesCertificate) and certificate.filename:
            if request.certificates is not None:
                request.certificates.mkdir(parents=True, exist_ok=True)
                yield certificate.write(request.certificates)
        elif request.certificate is not None:
            if isinstance(certificate, SystemCertificate) and request.certificate.suffix in FORMATS:
                raise UsageError(
                    "only a proof for all parameters has conditions on numbers; write the "
                    "certificate of what was explored to a file .json",
                    "certificate",
                )
            yield certificate.write(request.certificate)
