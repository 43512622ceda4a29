"""`pxp check`: properties of tables and protocols, one line per property."""

from __future__ import annotations

import shlex
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from proofs.check import answer, explain
from proofs.claims.system_certificates import SystemCertificate
from proofs.core.results import Result, Status
from proofs.rules.certificates import RulesCertificate
from proofs.rules.conditions import FORMATS
from pxp_fsm.cli.options import check as options
from pxp_fsm.cli.presentation import results
from pxp_fsm.cli.presentation.text import printable, progress
from pxp_fsm.errors import UsageError, counted, quoted


def _is_file(subject: object) -> bool:
    return isinstance(subject, str) and Path(subject).is_file()


def _has_file(subject: str) -> bool:
    """Whether a file is named, or a member NAME=FILE."""
    return Path(subject).exists() or Path(subject.partition("=")[2] or subject).exists()


def tables(request: options.CheckTables) -> int:
    """Check what is asked for, and show the results."""
    for subject in request.subjects:
        if isinstance(subject, str) and " " in subject and not _has_file(subject):
            formula = shlex.quote(subject)
            raise UsageError(
                f"{quoted(subject)} is no file; a formula is given by --formula {formula}"
            )
    checked, interrupt = answer(request), None

    def so_far() -> str:
        """The latest verdict, and how many there are."""
        latest = checked.computed[-1:]
        after = f", the latest of {latest[0].subject}, {latest[0].name}" if latest else ""
        return f"Checking: {counted(len(checked.computed), 'verdict')}{after}"

    try:
        with progress(so_far):
            len(checked)  # computes them all
    except KeyboardInterrupt as error:
        interrupt = error
    computed = checked.computed
    written = tuple(_written(checked.certificates, request))
    for line in results.shown(computed, in_json=request.as_json):
        click.echo(line)
    if not request.as_json:
        for path in written:
            click.echo(printable(f"Certificate: {path}"))
        for note in (*(f"Note: {note}" for note in checked.notes), *_remedies(computed)):
            click.echo(printable(note))
        fails = [
            line.name for line in computed if line.status is Status.FAILS and not line.as_expected
        ]
        wrong = [name for name in fails if explain(name)]
        if wrong:
            pages = (f"pxp help {name}" for name in dict.fromkeys(wrong))
            click.echo(f"Explained by: {', '.join(pages)}")
    for raised in {result.verdict.reason: result.verdict.error for result in computed}.values():
        if raised is not None:
            for line in "".join(traceback.format_exception(raised)).splitlines():
                click.echo(printable(line), err=True)
    _write(computed, request)
    if interrupt is not None:
        raise interrupt
    return results.exit_code(computed)


def _remedies(computed: Iterable[Result]) -> Iterator[str]:
    """What may decide what is UNKNOWN."""
    names = dict[str, dict[str, None]]()
    for result in computed:
        names.setdefault(result.verdict.remedy, {})[result.name] = None
    for remedy, of in names.items():
        if remedy:
            yield f"To decide {', '.join(of)}: {remedy}"


def _write(computed: tuple[Result, ...], request: options.CheckTables) -> None:
    """Write the results to the files that are wanted; a path of no format is a folder of traces."""
    for path in request.output:
        if path.suffix == ".xml":
            path.write_text(results.as_junit(computed) + "\n", "utf-8")
        elif path.suffix == ".sarif":
            files = [subject for subject in request.subjects if _is_file(subject)]
            path.write_text(results.as_sarif(computed, *files[:1]) + "\n", "utf-8")
        else:
            results.write_traces(computed, path)


def _written(
    certificates: Iterable[RulesCertificate | SystemCertificate],
    request: options.CheckTables,
) -> Iterator[Path]:
    """Write the certificates to where they are wanted; gives the files."""
    folder, file = request.certificate_folder, request.certificate_file
    for certificate in certificates:
        if isinstance(certificate, RulesCertificate) and certificate.filename:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
                yield certificate.write(folder)
        elif file is not None:
            if isinstance(certificate, SystemCertificate) and file.suffix in FORMATS:
                raise UsageError(
                    "only a proof for all parameters has conditions on numbers; write the "
                    "certificate of what was explored to a file .json",
                    "certificate",
                )
            yield certificate.write(file)
