"""What the page asks the package: verdicts, the explorer as a file, a project to download."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pxp_fsm as pxp
from proofs.subjects import explain_check
from pxp_fsm.automata.system_files import is_system_file
from pxp_fsm.web.files import explorer_file
from pxp_fsm.web.subjects import SystemSubject, subject_in

MOST_STATES = 20_000
"""The states that are explored for a verdict: Python in a browser is slow."""


def _subject(asked: dict[str, Any]) -> tuple[list[str], SystemSubject]:
    """The names of the files that are checked, and their system."""
    os.chdir(mkdtemp())  # so that faults name the files as the page does
    names = [Path(name).name for name in asked["files"]]
    for name, text in zip(names, asked["files"].values(), strict=True):
        Path(name).write_text(text, "utf-8")
    names = [name for name in names if is_system_file(name)][:1] or names
    return names, subject_in(names, asked["channel"] or None)


def check(message: str) -> str:
    """The verdicts as JSON, each with what explains it; or the faults of the files."""
    asked = json.loads(message)
    try:
        _, subject = _subject(asked)
        system = subject.system()
        results = [*pxp.check(system, limit=MOST_STATES, properties=subject.properties)]
        if asked["formulas"]:
            results += pxp.check(system, *asked["formulas"], limit=MOST_STATES)
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
    return explorer_file(_subject(asked)[1], asked["formulas"])


def project(message: str) -> bytes:
    """A folder as ZIP: the tables, a page on how to check them, and a test."""
    asked = json.loads(message)
    names, subject = _subject(asked)
    channel = asked["channel"] or subject.channel
    command = f"pxp check {' '.join(names)} --channel {channel}"
    asks = "".join(f"\n    pxp check {' '.join(names)} --formula {f!r}" for f in asked["formulas"])
    page = f"# A protocol\n\n    pip install pxp-fsm pytest\n    {command}{asks}\n    pytest\n"
    test = (
        "from pathlib import Path\n\nimport pxp_fsm as pxp\n\nHERE = Path(__file__).parent\n\n\n"
        "def test_every_check_holds():\n"
        f"    files = [str(HERE / name) for name in {names!r}]\n"
        f"    system = pxp.System.load(*files, channel={channel!r})\n"
        f"    results = [*pxp.check(system), *pxp.check(system, *{asked['formulas']!r})]\n"
        "    assert [result for result in results if not result.verdict.holds] == []\n"
    )
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {**asked["files"], "README.md": page, "test_protocol.py": test}.items():
            archive.writestr(f"protocol/{Path(name).name}", text)
    return found.getvalue()
