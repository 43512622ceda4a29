"""The worked example of EasyLAN: one Translator becomes a network (arXiv 2404.15974, Figure 4).

The model is a script (script.toml): it says what a model would say, and no server is asked. With a
real model the same lines train a real network. With a folder as argument, each step is drawn there.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pxp_fsm as pxp
from pxp_fsm.plugins.easylan import Example, Lan, LanAgent, Network, Trainer

HERE = Path(__file__).parent

EXAMPLES = tuple(
    Example(example["input"], example["output"])
    for example in map(json.loads, (HERE / "examples.jsonl").read_text("utf-8").splitlines())
)


def translator() -> Lan:
    """The network of the beginning: a single Translator."""
    task = "Translate a French sentence into English"
    agent = LanAgent("Translator", task, "a string, the English translation")
    return Lan(Network(task, (agent,)))


def main(folder: Path | None = None) -> None:
    """Train the Translator, saying what happens; draw each step into `folder`, if there is one."""
    lan = translator()
    trainer = Trainer(lan, pxp.models.read_script(HERE / "script.toml"), pxp.exact)
    for number, example in enumerate(EXAMPLES):
        first = lan.version
        outcome = asyncio.run(trainer.handle(example))
        done = "handled" if outcome.handled else f"not handled: {outcome.why}"
        print(f"({number}) {example.external}")
        for change in lan.history.changes[first:-1]:
            print(f"    {change.about}")
        print(f"    {done}: {lan.last.output if lan.last else ''}")
        print(f"    {', '.join(lan.network.order)}")
        if folder is not None:
            pxp.draw(lan, folder / f"step-{number}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
