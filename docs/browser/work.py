"""What the page asks the package: verdicts, the explorer as a file, a project to download."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import zipfile
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pxp_fsm as pxp
from proofs.subjects import explain_check
from pxp_fsm.automata.system_files import is_system_file
from pxp_fsm.errors import UsageError
from pxp_fsm.web.files import explorer_file
from pxp_fsm.web.subjects import SystemSubject, subject_in
from pxp_fsm.web.verdicts import checked

FILE_NAME = re.compile(r"\w[\w.-]*\.toml")
"""A link may come from anybody: of its files, none may be what another tool runs."""
MOST_STATES = 20_000
"""The states that are explored for a verdict: Python in a browser is slow."""


def _subject(asked: dict[str, Any]) -> tuple[list[str], SystemSubject]:
    """The names of the files that are checked, and their system."""
    os.chdir(mkdtemp())  # so that faults name the files as the page does
    names = [*asked["files"]]
    for name, text in asked["files"].items():
        if not FILE_NAME.fullmatch(name):
            raise UsageError(f"{name!r} cannot be the name of a file here; write table1.toml")
        Path(name).write_text(text, "utf-8")
    names = [name for name in names if is_system_file(name)][:1] or names
    return names, subject_in(names, asked["channel"] or None)


def check(message: str) -> str:
    """The verdicts as JSON, each with what explains it; or the faults of the files."""
    asked = json.loads(message)
    try:
        _, subject = _subject(asked)
        results = [*checked(subject, properties=subject.properties, limit=MOST_STATES)]
        if asked["formulas"]:
            results += checked(subject, *asked["formulas"], limit=MOST_STATES)
    except pxp.PXPError as error:
        return json.dumps({"fault": str(error)})
    return json.dumps(
        {
            "results": [
                {
                    "name": result.name,
                    "title": result.title,
                    "status": result.status,
                    "told": result.verdict.explanation,
                    "about": explain_check(result.name),
                    "subject": result.subject,
                }
                for result in results
            ]
        }
    )


def explore(message: str) -> str:
    """The explorer of the system, as a page of its own."""
    asked = json.loads(message)
    return explorer_file(_subject(asked)[1], asked["formulas"], MOST_STATES)


def project(message: str) -> bytes:
    """A folder as ZIP: the tables, a page on how to check them, and a test."""
    asked = json.loads(message)
    names, subject = _subject(asked)
    channel = asked["channel"] or subject.channel
    command = ["pxp", "check", *(f"tables/{name}" for name in names), "--channel", channel]
    asked_too = [[*command, "--formula", formula] for formula in asked["formulas"]]
    lines = ["pip install pxp-fsm pytest", *map(shlex.join, [command, *asked_too]), "pytest"]
    page = "# A protocol\n\n" + "".join(f"    {line}\n" for line in lines)
    test = (
        "from pathlib import Path\n\nimport pxp_fsm as pxp\n\n"
        'TABLES = Path(__file__).parent / "tables"\n\n\n'
        "def test_every_check_holds():\n"
        f"    files = [str(TABLES / name) for name in {names!r}]\n"
        f"    system = pxp.System.load(*files, channel={channel!r})\n"
        f"    results = [*pxp.check(system), *pxp.check(system, *{asked['formulas']!r})]\n"
        "    assert [result for result in results if not result.verdict.holds] == []\n"
    )
    # pytest and pxp read settings (pyproject.toml, pxp.toml) where they run, and not in `tables`.
    tables = {f"tables/{name}": text for name, text in asked["files"].items()}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {**tables, "README.md": page, "test_protocol.py": test}.items():
            archive.writestr(f"protocol/{name}", text)
    return packed.getvalue()
