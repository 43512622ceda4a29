"""`pxp check policy.toml`: what is proved of a policy."""

from __future__ import annotations

import click

from proofs.check import Results
from proofs.requests import Request
from proofs.rules.certificates import RulesCertificate
from pxp_fsm.artifacts import write_atomically
from pxp_fsm.automata.serialization import to_toml
from pxp_fsm.cli.presentation import results
from pxp_fsm.cli.presentation.text import printable
from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.gateway.checks import POLICIES
from pxp_fsm.plugins.gateway.cli import options


def check(request: options.CheckPolicy) -> int:
    """Check what is asked for, and show the results."""
    asked = Request(
        subjects=(str(request.policy),),
        names=request.names,
        formulas=request.formulas,
        certificate=request.certificate,
    )
    checked = Results(POLICIES.results(asked))
    computed = tuple(checked)
    if not computed:
        there = ", ".join(known.name for known in POLICIES.properties())
        raise UsageError(f"the policy has no such property; every policy has: {there}", "names")
    for line in results.shown(computed, in_json=request.as_json):
        click.echo(line)
    several = len(checked.certificates) > 1
    for certificate in checked.certificates:
        path = request.certificate
        if path is not None and isinstance(certificate, RulesCertificate):
            (table,) = certificate.tables
            path = certificate.write(
                path.with_stem(f"{path.stem}-{table.name}") if several else path
            )
            beside = path.with_suffix(".table.toml")  # the policy's own name may be that of `path`
            write_atomically(beside, to_toml(table).encode())
            told = f"Certificate: {path}, of the table {beside}"
            click.echo(printable(told), err=request.as_json)
    if not request.as_json:
        for note in checked.notes:
            click.echo(printable(f"Note: {note}"))
    return results.exit_code(computed)
