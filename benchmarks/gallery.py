"""Write `docs/gallery.md`: every kind of picture, each with the command that draws it.

Run `make gallery`. Each command runs as it is shown, in a folder with the examples; a picture that
cannot be drawn stops the page.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"

COMMIT = "examples/two_phase_commit"
BARGAIN = "examples/own_protocol"
PUSH = "examples/agent_protocols/a2a"


@dataclass(frozen=True)
class Picture:
    """What is drawn, by which commands, and the files that they leave."""

    title: str
    about: str
    commands: tuple[str, ...]
    files: tuple[str, ...]


PICTURES = (
    Picture(
        "An automaton",
        "States, rows with their guards, the initial and the end state.",
        ("pxp draw interact --no-title -o automaton.svg",),
        ("automaton.svg",),
    ),
    Picture(
        "An automaton with its registers",
        "A frame for each written state; in it what the registers hold.",
        ("pxp draw interact --with n=2,k=1 --no-title -o registers.svg",),
        ("registers.svg",),
    ),
    Picture(
        "A column of a paper",
        "The letters of the class; `.tex` and `.pdf` are the same size.",
        ("pxp draw interact --for ieee --no-title --legend -o column.svg",),
        ("column.svg",),
    ),
    Picture(
        "A system",
        "Its members, and what they may send.",
        (f"pxp draw {COMMIT}/two_phase.toml --no-title -o system.svg",),
        ("system.svg",),
    ),
    Picture(
        "A deadlock",
        "What each member waits for, and why none of it comes.",
        (f"pxp draw {COMMIT}/two_phase.toml --counterexample no-deadlock -o deadlock.svg",),
        ("deadlock.svg",),
    ),
    Picture(
        "The way into a deadlock",
        "The rows that the coordinator took, in bold.",
        (
            f"pxp draw {COMMIT}/two_phase.toml --counterexample no-deadlock --agent coordinator "
            "-o way.svg",
        ),
        ("way.svg",),
    ),
    Picture(
        "What has become impossible",
        "Dashed are the states that can still be reached.",
        (
            f"pxp draw {COMMIT}/two_phase.toml --counterexample 'AG EF ended' --agent left "
            "--legend -o impossible.svg",
        ),
        ("impossible.svg",),
    ),
    Picture(
        "Messages in buffers",
        "An arrow slants from sending to receiving. A `.txt` is for terminals.",
        (
            f"pxp draw {PUSH}/push.toml --counterexample no-deadlock -o buffers.svg",
            f"pxp draw {PUSH}/push.toml --counterexample no-deadlock -o buffers.txt",
        ),
        ("buffers.svg", "buffers.txt"),
    ),
    Picture(
        "A session",
        "Its messages, with predictions and explanations.",
        (
            "pxp run rad --database runs.sqlite",
            "pxp draw rad-1/1/2 --database runs.sqlite -o session.svg",
        ),
        ("session.svg",),
    ),
    Picture(
        "A session of a panel",
        "A lifeline for each agent; an arrow names the message that it answers, and what is new.",
        (
            "pxp run drug --agents 3 --protocol pxp --k 1 --database panels.sqlite",
            "pxp draw drug-1/1/11 --database panels.sqlite -o panel.svg",
        ),
        ("panel.svg",),
    ),
    Picture(
        "The way of an agent in a session",
        "Bold arrows, with how often each was taken.",
        ("pxp draw rad-1/1/2 --agent m --database runs.sqlite --no-title -o agent.svg",),
        ("agent.svg",),
    ),
    Picture(
        "Figures of a report",
        "Intelligible sessions by message, with published numbers; accuracy by message; the flow "
        "of tags.",
        ("pxp report runs.sqlite --for neurips --figures figures",),
        (
            "figures/rad-1-curves.svg",
            "figures/rad-1-measured.svg",
            "figures/rad-1-flow.svg",
        ),
    ),
)


def main() -> None:
    """Draw every picture, and write the page."""
    folder = DOCS / "pictures" / "gallery"
    folder.mkdir(parents=True, exist_ok=True)
    parts = [
        "# Gallery\n",
        "Every kind of picture, with its command. `make gallery` draws all anew.\n",
    ]
    with tempfile.TemporaryDirectory() as work:
        Path(work, "examples").symlink_to(ROOT / "examples")
        done = set[str]()
        for picture in PICTURES:
            for command in picture.commands:
                if command not in done:
                    run(command, work)
                    done.add(command)
            parts.append(f"## {picture.title}\n\n{picture.about}\n")
            parts.append("\n".join(f"`{command}`\n" for command in picture.commands))
            for file in picture.files:
                content = Path(work, file).read_text("utf-8")
                if file.endswith(".txt"):
                    drawing = "\n\n".join(
                        content.split("\n\n")[:2]
                    )  # what is said below is left out
                    parts.append(f"```text\n{drawing}\n```\n")
                else:
                    name = Path(file).name
                    (folder / name).write_text(content, "utf-8")
                    parts.append(f"![{Path(file).stem}](pictures/gallery/{name})\n")
    (DOCS / "gallery.md").write_text("\n".join(parts), "utf-8")


def run(command: str, folder: str) -> None:
    """Run a command of the page in `folder`; stops with its errors."""
    arguments = [sys.executable, "-m", "pxp_fsm.cli", *shlex.split(command)[1:]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        arguments, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{command}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
