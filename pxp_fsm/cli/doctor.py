"""`pxp doctor`: what is installed, what that enables, and what to install for the rest."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import click

from backends.models.catalogue import catalogue
from pxp_fsm import __version__
from pxp_fsm.cli.options import about as options
from pxp_fsm.cli.presentation.text import aligned, printable
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.shadowing import BESIDE, HOME, is_ours

SHADOWED = 1
"""The exit code where a package of ours is shadowed or was replaced."""

EXTRAS = {
    "terminal": ("answers that a person types: --human terminal", ("prompt_toolkit",)),
    "audit": ("pxp audit, pxp language", ("automata-lib",)),
    "upgrade": ("pxp upgrade, of a database of an older version", ("alembic",)),
    "drug": ("sessions about drug molecules: pxp run drug", ("numpy", "rdkit")),
    "pictures": ("labels of your own pictures: pxp run labels", ("numpy", "pillow")),
    "rad": ("sessions about X-rays: pxp run rad", ("numpy", "pillow", "scikit-image")),
    "report": ("pages: pxp report, pxp audit -o", ("jinja2",)),
    "figures": ("drawings as PDF: pxp draw -o FILE.pdf, pxp report --figures", ("typst",)),
    "web": (
        "pages in a browser: pxp serve",
        ("fastapi", "uvicorn", "websockets"),
    ),
    "mcp": ("assistants in sessions: pxp serve --mcp", ("fastapi", "mcp", "uvicorn", "websockets")),
    "openai": ("models at OpenAI and at servers of its protocol", ("openai",)),
    "lan": ("distances between networks: pxp compare, run TASK, lan history", ("numpy",)),
    "languages": ("explanations of published counts", ("automata-lib", "z3-solver")),
    "odds": (
        "pxp odds with floats, --free, --from and --published",
        ("numpy", "python-flint", "scipy"),
    ),
    "conformance": ("pxp.conformance: learning, and machines for tests", ("aalpy", "hypothesis")),
    "postgresql": ("databases on PostgreSQL, for several machines", ("psycopg",)),
    "parquet": ("pxp export --format parquet", ("pyarrow",)),
    "sign": (
        "pxp verify --anchor; studies whose panel signs its addresses",
        ("cryptography", "pyjwt"),
    ),
    "dask": ("pxp run --executor dask://...", ("distributed",)),
    "telemetry": (
        "traces of calls and sessions for OpenTelemetry",
        ("opentelemetry-api", "opentelemetry-sdk"),
    ),
    "inspect": ("DRUG and RAD as tasks of Inspect; audits of its logs", ("inspect-ai",)),
    "storm": ("comparisons with Storm; no command requires it", ("stormpy",)),
}
"""What each extra of pyproject.toml enables, and the distributions that it installs."""

MODULES = {
    "automata-lib": "automata",
    "pillow": "PIL",
    "scikit-image": "skimage",
    "python-flint": "flint",
    "pyjwt": "jwt",
    "z3-solver": "z3",
    "opentelemetry-api": "opentelemetry",
    "opentelemetry-sdk": "opentelemetry.sdk",
    "inspect-ai": "inspect_ai",
}
"""The module of a distribution whose name is another."""

TOOLS = {
    "Graphviz": (("dot",), "renders DOT files elsewhere; pxp draw needs no Graphviz"),
    "SPIN": (("spin",), "checks what pxp export writes as .pml"),
    "Storm": (("storm",), "checks what pxp export and pxp odds -o write as .prism"),
    "PostgreSQL": (("postgres", "psql"), "serves a database to several machines"),
    "Chromium": (("chromium", "chromium-browser", "google-chrome"), "opens reports"),
    "LaTeX": (("pdflatex", "tectonic"), "compiles the tables and figures of reports"),
}
"""Outside tools: their programs, and what each does with what pxp writes."""


@dataclass(frozen=True)
class DoctorLine:
    """One line of the report: `found` says where or which, `missing` what to install."""

    kind: str
    name: str
    enables: str
    found: str = ""
    missing: str = ""


def doctor(request: options.DoctorOptions) -> int:
    """Print the findings; exit code 1 where a package is shadowed."""
    findings = [*_machine(), *_packages(), *_extras(), *_tools(), *_prices()]
    if request.as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=1))
    else:
        rows = [
            (
                "ok" if not finding.missing else "--",
                finding.kind,
                finding.name,
                finding.enables,
                _last(finding),
            )
            for finding in findings
        ]
        for line in aligned([("", "", "name", "enables", "found, or what to do"), *rows]):
            click.echo(printable(line))
    return (
        SHADOWED
        if any(finding.kind == "package" and finding.missing for finding in findings)
        else 0
    )


def _last(line: DoctorLine) -> str:
    return line.missing or line.found


def _machine() -> Iterator[DoctorLine]:
    tried = sys.platform == "linux"
    remark = "" if tried else "pxp-fsm is tried on Linux alone; see pxp help install"
    yield DoctorLine("base", "pxp-fsm", "", f"{__version__} in {HOME}")
    yield DoctorLine("base", "Python", "", platform.python_version())
    checker = str(HOME / "proofs" / "recheck.py")
    yield DoctorLine("base", "recheck", "python -I -S PATH checks certificates", checker)
    yield DoctorLine("base", "platform", "", platform.platform(), remark)


def _packages() -> Iterator[DoctorLine]:
    owners = packages_distributions()
    for package in ("pxp_fsm", *BESIDE):
        yield _package(package, sorted({*owners.get(package, ())} - {"pxp-fsm"}))


def _package(package: str, others: list[str]) -> DoctorLine:
    spec = find_spec(package)
    origin = "" if spec is None or spec.origin is None else spec.origin
    own, here = HOME / package / "__init__.py", Path(f"{package}.py")
    problem = ""
    if others:
        names = " ".join(others)
        problem = (
            f"{', '.join(others)} installs files into it; pip uninstall {names}, then "
            f"pip install --force-reinstall --no-deps pxp-fsm"
        )
    elif package in BESIDE and '__distribution__ = "pxp-fsm"' not in own.read_text("utf-8"):
        problem = f"{own} was replaced; pip install --force-reinstall --no-deps pxp-fsm"
    elif not is_ours(package, origin):
        problem = f"{origin or 'a folder of this name'} shadows it; rename that file or folder"
    elif Path.cwd() != HOME and (here.is_file() or Path(package, "__init__.py").is_file()):
        problem = f"{here if here.is_file() else package} of this folder shadows it; rename it"
    return DoctorLine("package", package, "", str(own.parent), problem)


def _extras() -> Iterator[DoctorLine]:
    for name, (enables, distributions) in EXTRAS.items():
        lacking = [
            distribution
            for distribution in distributions
            if not _has(MODULES.get(distribution, distribution))
        ]
        missing = f"pip install 'pxp-fsm[{name}]'" if lacking else ""
        if lacking and len(lacking) < len(distributions):
            missing += f" (missing: {', '.join(lacking)})"
        yield DoctorLine("extra", name, enables, ", ".join(distributions), missing)


def _has(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its package is missing too
        return False


def _tools() -> Iterator[DoctorLine]:
    for name, (programs, enables) in TOOLS.items():
        path = next(filter(None, map(shutil.which, programs)), None)
        missing = "" if path else f"install {name} ({' or '.join(programs)} on the PATH)"
        yield DoctorLine("tool", name, enables, path or "", missing)
    jar = os.environ.get("TLA2TOOLS", "")
    missing = "" if jar and Path(jar).is_file() else "TLA2TOOLS names no file; set it to the jar"
    yield DoctorLine("tool", "TLC", "checks what pxp export writes as .tla", jar, missing)


def _prices() -> Iterator[DoctorLine]:
    """How old the prices of the catalogue are."""
    known, today = catalogue(), datetime.now(UTC).date()
    days = [
        *(price.as_of for price in known.prices),
        *(retirement.as_of for retirement in known.retirements),
    ]
    old = [price.models for price in known.prices if not price.renewed_by(today)]
    missing = f"read more than 180 days ago: {', '.join(old)}; give today's with --models"
    read = f"{len(known.prices)} prices, read from {min(days)} to {max(days)}"
    yield DoctorLine("base", "catalogue", "costs and caps of models", read, missing if old else "")
