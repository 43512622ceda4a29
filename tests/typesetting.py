"""LaTeX for the tests, where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

LATEX = next(filter(None, map(shutil.which, ("pdflatex", "tectonic"))), None)
"""The program, or None."""


def has_style(name: str) -> bool:
    """Whether LaTeX finds a style such as `tikz.sty`; tectonic loads what it needs."""
    if LATEX is None or "tectonic" in LATEX:
        return LATEX is not None
    search = shutil.which("kpsewhich")
    found = search and subprocess.run([search, name], capture_output=True, check=False).stdout
    return bool(found and found.strip())


def typeset(folder: Path, packages: str, body: str) -> str:
    """Set a document in `folder` as `paper.pdf`; the log. Fails where LaTeX does."""
    source = (
        "\\documentclass{article}\n\\usepackage[T1]{fontenc}\n"
        f"{packages}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    )
    (folder / "paper.tex").write_text(source, "utf-8")
    assert LATEX is not None
    options = [] if "tectonic" in LATEX else ["-interaction=nonstopmode", "-halt-on-error"]
    done = subprocess.run(
        [LATEX, *options, "paper.tex"],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout
