"""The pages are short: how many words there are to read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST = 30_000
"""Words of all pages of the site that somebody has written."""

MADE = ("docs/findings.md", "docs/findings-odds.md", "docs/mutants.md")
"""Written by a command from a run, as the reference is from the code."""

FENCED = re.compile(r"^(`{3,}|~{3,})(.*?)\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)
PROSE = ("{glossary}", "{note}", "{warning}")
"""Fenced blocks whose content is read as text."""


def words(page: str) -> list[str]:
    """What a reader reads of a page in Markdown: text, headings and tables, and no code.

    A word has a letter: the numbers of a table are looked up.
    """
    page = re.sub(r"\A---\n.*?\n---\n", "", page, flags=re.DOTALL)
    page = FENCED.sub(lambda found: found[3] if found[2].startswith(PROSE) else "", page)
    page = re.sub(r"<!--.*?-->", "", page, flags=re.DOTALL)
    page = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", page)
    page = page.replace("|", " ")
    return [word for word in page.split() if re.search(r"[^\W\d_]", word)]


def pages() -> dict[str, str]:
    """Every page of the site that somebody has written, by its path."""
    found = [*(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*/README.md")]
    texts = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in found}
    for path in (ROOT / "examples" / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        texts[str(path.relative_to(ROOT))] = "\n\n".join(
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
        )
    return {name: text for name, text in texts.items() if name not in MADE}


def test_all_pages_together_can_be_read() -> None:
    counts = {name: len(words(text)) for name, text in pages().items()}
    longest = sorted(counts, key=counts.__getitem__, reverse=True)[:5]
    assert sum(counts.values()) <= MOST, f"shorten a page; the longest are {', '.join(longest)}"


@pytest.mark.parametrize(
    "name",
    [
        "docs/tutorial_agents.md",
        "docs/tutorial_experiment.md",
        "docs/running_systems.md",
        "examples/own_protocol/README.md",
    ],
)
def test_a_page_for_beginners_needs_no_file_of_the_repository(name: str) -> None:
    blocks = [found[3] for found in FENCED.finditer(pages()[name])]
    assert len(blocks) > 3
    assert not [block for block in blocks if "examples/" in block]


@pytest.mark.parametrize(
    ("page", "read"),
    [
        ("# Two words\n\n- three four **five**\n", 5),
        ("---\nkernel: python3\n---\nOne.\n", 1),
        ("One\n\n```python\n>>> print(1)\n1\n```\n\ntwo\n", 2),
        ("````md\n```\nnot read\n```\n````\none\n", 1),
        ("```{glossary}\nagent\n: who acts\n```\n", 3),
        ("| one | two |\n|---|--:|\n| `three` | 4 |\n", 3),
        ("[a link](to/a/page.md) and ![a picture](of.svg)\n", 5),
        ("one <!-- not\nread --> two\n", 2),
    ],
)
def test_words_are_those_that_a_reader_reads(page: str, read: int) -> None:
    assert len(words(page)) == read
