"""What `pxp check` answered when it was pinned: names, titles, verdicts, bounds, traces, and texts.

`python -m tests.kept_checks` records it anew, which is for answers that are decided anew.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pxp_fsm.automata.system_files import is_system_file
from pxp_fsm.automata.tables import BUILTIN
from tests import command_line

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "kept" / "checks"
RECORDS = FOLDER / "records.json"

_OWN = "examples/own_protocol"

EXAMPLES = [
    *sorted(
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "examples").rglob("*.toml")
        if is_system_file(path)
    ),
    *(
        "examples/asking.toml",
        "examples/assistants/agent.toml",
        "examples/contract_net/bidder.toml",
    ),
    *(f"{_OWN}/{name}.toml" for name in ("deal", "draft", "buyer")),
]
"""The system files of the examples, and tables that are checked, or refused, by themselves."""

_OPTIONS = """
pxp --k 1
interact --relations tolerance
pxp --relations noisy
interact --relations equivalence --property never-ultra --property no-deadlock
interact --values 2 --n 4 --k 1
interact --property running --n 4 --k 2
pxp --property running --relations tolerance
interact --property ends-agreed
--property terminates
--property pxp(k).terminates
interact pxp --property no-deadlock
interact pxp pxp_hang_up --property machine-agrees-with-table --property no-revise-at-2
pxp_hang_up --property no-dead-row
interact --channel sync --channel fifo:1
interact --channel fifo:1 --channel sync --property no-orphan-message
interact pxp --channel sync
pxp --channel fifo
pxp --channel fifo --channel fifo:1
interact --channel lossy:1+fifo:2 --limit 100
pxp --formula AG(EF(ended)) --formula F(ended)
pxp --formula F(ended) --fair strong:1.TERM --fair weak:rows --channel sync --channel fifo:1
pxp --formula F(ended) --runs finite
pxp --formula F(ended) --relations tolerance
interact --formula F(ended) --relations noisy --n 4 --k 2
pxp --property termination
pxp --property termination --channel fifo:1 --channel sync
pxp --reduce symmetry
pxp --channel fifo:2 --reduce partial-order
pxp --limit 5
a=pxp b=pxp
"""
_OF_NETWORKS = """
lan_agent
lan_agent --property machine-agrees-with-table
lan_agent interact --property no-deadlock
lan_pipeline --formula EF(ended)
lan_agent --property terminates
"""
_REFUSED = f"""
--property no-such
--relations unheard
interact --values 3 --relations tolerance
pxp --values 3
--n 0
nowhere.toml
interact --property no-such --channel sync
--channel sync
interact --channel nonsense
interact --channel fifo --formula F(ended)
interact --channel fifo --relations noisy
interact --channel fifo --property no-deadlock
interact --relations noisy --channel sync
interact --property termination --formula F(ended)
interact --fair strong:rows
interact --runs finite
interact --formula F(ended) --property no-deadlock
interact --formula F(RATIFY)
interact --formula F( --channel sync
interact pxp --formula F(ended) --relations noisy
interact --formula F(ended) --relations noisy --values 2
interact --property running --property no-deadlock
interact --property running --channel sync
pxp_hang_up --property running
pxp_hang_up --n 5
pxp_hang_up --relations noisy
pxp_hang_up --property terminates
interact --reduce symmetry --property termination
interact --certificate c.json --channel sync --channel fifo:1
{_OWN}/deal.toml interact
{_OWN}/deal.toml --values 2
{_OWN}/deal.toml --property terminates
"""

_DEAR = [["interact"], [f"{_OWN}/deal.toml", "interact"], ["interact", "--runs", "finite"]]
_QUICK = [
    *([name] for name in BUILTIN),
    *([path] for path in EXAMPLES if "agent_protocols" not in path),
    *([f"examples/agent_protocols/{path}.toml"] for path in ("a2a/retry",)),
    *(line.split() for line in _OPTIONS.strip().splitlines()),
    *(line.split() for line in _REFUSED.strip().splitlines()),
]
QUICK = [one for one in _QUICK if one not in _DEAR]
SLOW_OF_NETWORKS = [["lan_pipeline"], ["interact", "lan_agent", "--n", "4", "--k", "1"]]
OF_NETWORKS = [line.split() for line in _OF_NETWORKS.strip().splitlines()]
"""Of the tables of networks, which are a plug-in's."""
SLOW = [
    *_DEAR,
    [],
    ["interact", "--n", "5", "--k", "2"],
    ["interact", "pxp", "pxp_hang_up"],
    *([path] for path in EXAMPLES if [path] not in QUICK),
]
ALL = [*QUICK, *OF_NETWORKS, *SLOW_OF_NETWORKS, *SLOW]

TEXTS = {
    "interact": ["interact"],
    "pxp": ["pxp"],
    "failing": ["examples/two_phase_commit/two_phase.toml"],
    "network": ["lan_agent"],
    "formula": ["pxp", "--formula", "F ended", "--formula", "AG EF ended"],
    "system": [f"{_OWN}/deal.toml"],
    "json": ["pxp_hang_up", "--json"],
    "junit": ["pxp_hang_up", "-o", "FILE.xml"],
    "sarif": ["pxp_hang_up", "-o", "FILE.sarif"],
}
"""By file: what is printed as a whole."""


def record(arguments: list[str], cwd: Path = ROOT) -> dict[str, Any]:
    """What `pxp check ARGUMENTS --json` answers, without times.

    Of a trace there is its length and a digest of its steps; of an error what is wrong.
    """
    done = command_line.pxp("check", *arguments, "--json", cwd=cwd)
    if done.returncode not in (0, 1, 4):
        return {"exit": done.returncode, "error": done.stderr.splitlines()[0].partition(";")[0]}
    return {"exit": done.returncode, "results": [*map(_row, json.loads(done.stdout))]}


def _row(result: dict[str, Any]) -> list[Any]:
    taken = ""
    if result["trace"] is not None:
        steps = json.dumps([result["trace"], result["cycle"], result["unreceived"]])
        taken = f"{len(result['trace'])} {hashlib.sha256(steps.encode()).hexdigest()[:8]}"
    told = ("subject", "property", "title", "assumptions", "verdict", "detail", "expected")
    return [*(result[key] for key in told), taken]


def text(arguments: list[str]) -> str:
    """What `pxp check ARGUMENTS` prints, or writes into FILE, without times."""
    with TemporaryDirectory() as folder:
        given = [one.replace("FILE", str(Path(folder, "file"))) for one in arguments]
        printed = command_line.pxp("check", *given, cwd=ROOT, COLUMNS="140").stdout
        for file in Path(folder).iterdir():
            printed = file.read_text("utf-8")
    printed = re.sub(r" +\d+\.\d\d(?=  |$)", " TIME", printed, flags=re.MULTILINE)
    printed = re.sub(r'"seconds": [\d.e-]+', '"seconds": 0', printed)
    return re.sub(r'time="[\d.]+"', 'time="0"', printed)


def _written(records: dict[str, dict[str, Any]]) -> str:
    """The records as JSON, a line for each result."""
    return (
        "{\n"
        + ",\n".join(
            f"{json.dumps(name)}: "
            + (
                json.dumps(one, ensure_ascii=False)
                if "error" in one
                else f'{{"exit": {one["exit"]}, "results": [\n'
                + ",\n".join(json.dumps(each, ensure_ascii=False) for each in one["results"])
                + "\n]}"
            )
            for name, one in records.items()
        )
        + "\n}\n"
    )


def main() -> None:
    """Record everything anew."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    records = {" ".join(one): record(one) for one in ALL}
    RECORDS.write_text(_written(records), "utf-8")
    for name, arguments in TEXTS.items():
        (FOLDER / f"{name}.txt").write_text(text(arguments), "utf-8")


if __name__ == "__main__":
    main()
