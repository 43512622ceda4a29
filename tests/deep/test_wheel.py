"""The wheel and the source distribution, installed in clean environments, on every Python here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.pythons import newest_python

ROOT = Path(__file__).parents[2]
MOST_MEGABYTES, MOST_DISTRIBUTIONS = 200, 40
"""What the base may install."""
INSTALLERS = ("pip", "setuptools", "pkg_resources", "_distutils_hack")

pytestmark = pytest.mark.deep

CLEAN = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
QUIET = ["--disable-pip-version-check", "-q"]


@dataclass(frozen=True)
class Home:
    """A clean virtual environment, and an empty folder to be in."""

    folder: Path
    elsewhere: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def install(self, *what: object, options: tuple[str, ...] = ("--no-compile",)) -> None:
        """Install without compiling what hardly runs, which takes most of the time."""
        command = [str(self.python), "-m", "pip", "install", *QUIET, *options, *map(str, what)]
        subprocess.run(command, check=True, env=CLEAN, cwd=self.elsewhere)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.folder / "bin" / arguments[0]), *arguments[1:]],
            cwd=self.elsewhere, env=CLEAN, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def succeeds(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def megabytes(self) -> int:
        """What is installed, without the tools that install it."""
        found = (path.relative_to(self.folder) for path in self.folder.rglob("*"))
        own = (one for one in found if not any(part.startswith(INSTALLERS) for part in one.parts))
        return sum((self.folder / one).lstat().st_blocks * 512 for one in own) >> 20


def home_of(python: Path, folder: Path) -> Home:
    subprocess.run([python, "-m", "venv", folder / "venv"], check=True, env=CLEAN)
    (folder / "elsewhere").mkdir()
    return Home(folder / "venv", folder / "elsewhere")


@pytest.fixture
def home(tmp_path: Path) -> Callable[[Path], Home]:
    return lambda python: home_of(python, tmp_path)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel_of(ROOT, tmp_path_factory.mktemp("wheel"))


def wheel_of(source: Path, folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "wheel", *QUIET, "--no-deps", "-w", str(folder)]
    subprocess.run([*pip, str(source)], check=True)
    (found,) = folder.glob("*.whl")
    return found


def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def test_the_wheel_has_the_packages_and_the_pages_and_nothing_else(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names(wheel)}
    packages = {"pxp_fsm", "guards", "backends", "proofs"}
    assert {top for top in tops if not top.endswith(".dist-info")} == packages
    pages = {f"pxp_fsm/pages/{page.name}" for page in (ROOT / "docs").glob("*.md")}
    assert {name for name in names(wheel) if name.startswith("pxp_fsm/pages/")} == pages
    assert not {name for name in names(wheel) if name.endswith((".pyc", ".sqlite"))}
    assert not {name for name in names(wheel) if "/frontend/" in name}


def test_the_source_distribution_gives_the_same_wheel(
    wheel: Path, home: Callable[[Path], Home], tmp_path: Path
) -> None:
    builder = home(Path(sys.executable))
    builder.install("hatchling")
    built = tmp_path / "dist"
    command = [str(builder.python), "-m", "hatchling", "build", "-t", "sdist", "-d", str(built)]
    subprocess.run(command, check=True, cwd=ROOT, env=CLEAN)
    (source,) = (tmp_path / "dist").glob("*.tar.gz")
    assert names(wheel_of(source, tmp_path / "again")) == names(wheel)


def test_the_base_is_small_and_works_and_takes_an_extra_and_finds_what_replaced_it(
    wheel: Path, home: Callable[[Path], Home], tmp_path: Path
) -> None:
    base = home(Path(sys.executable))
    base.install(wheel, options=())
    checks_draws_runs_and_helps(base)
    runs_drug(base, wheel)
    finds_what_replaced_it(base, wheel, tmp_path)


def test_the_base_does_so_on_the_newest_python(wheel: Path, home: Callable[[Path], Home]) -> None:
    base = home(newest_python())
    base.install(wheel)
    checks_draws_runs_and_helps(base)


def checks_draws_runs_and_helps(base: Home) -> None:
    listed = json.loads(base.succeeds("python", "-m", "pip", "list", "--format", "json"))
    found = {one["name"].lower() for one in listed} - {"pip", "setuptools", "wheel"}
    assert found.isdisjoint({"numpy", "rdkit", "pillow", "scipy", "cryptography"})
    assert len(found) <= MOST_DISTRIBUTIONS
    assert "HOLDS" in base.succeeds("pxp", "check", "interact", "--property", "strong-once")
    base.succeeds("pxp", "draw", "interact", "-o", "i.svg")
    assert (base.elsewhere / "i.svg").stat().st_size > 1000
    base.succeeds("pxp", "odds", "interact")
    assert base.succeeds("pxp", "help", "logic").startswith("# Temporal logic")
    told = {one["name"]: one for one in json.loads(base.succeeds("pxp", "doctor", "--json"))}
    assert told["drug"]["missing"] == "pip install 'pxp-fsm[drug]'"
    refused = base.run("pxp", "run", "drug")
    assert refused.returncode == 2
    assert "pip install 'pxp-fsm[drug]'" in refused.stderr
    assert base.run("python", "-c", "import tests").returncode != 0
    assert base.megabytes() <= MOST_MEGABYTES


def runs_drug(base: Home, wheel: Path) -> None:
    base.install(f"{wheel}[drug]")
    base.succeeds("pxp", "run", "drug", "--instances", "2")
    base.succeeds("pxp", "draw", "drug-1/1/1", "-o", "s.svg")
    assert (base.elsewhere / "s.svg").stat().st_size > 1000


def finds_what_replaced_it(base: Home, wheel: Path, tmp_path: Path) -> None:
    """As distributions of the public index do that are called proofs and guards."""
    foreign = tmp_path / "proofs-1.0-py3-none-any.whl"
    info = "proofs-1.0.dist-info"
    parts = {
        "proofs/__init__.py": "theirs = True\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: proofs\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    parts[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*parts, f"{info}/RECORD"))
    with zipfile.ZipFile(foreign, "w") as file:
        for name, text in parts.items():
            file.writestr(name, text)
    base.install(foreign)
    done = base.run("pxp", "doctor")
    assert done.returncode == 1
    assert "proofs installs files into it; pip uninstall proofs, then pip install" in done.stdout
    assert "HOLDS" in base.succeeds("pxp", "check", "pxp", "--property", "never-stuck")
    wrong = base.run("python", "-c", "import pxp_fsm as pxp; pxp.proofs.prove")
    (last,) = wrong.stderr.splitlines()[-1:]
    assert "was replaced by another distribution's; uninstall that one" in last
    subprocess.run(
        [base.python, "-m", "pip", "uninstall", *QUIET, "-y", "proofs"], check=True, env=CLEAN
    )
    base.install("--force-reinstall", "--no-deps", wheel)
    base.succeeds("pxp", "doctor")


def test_pipx_installs_the_command_alone(wheel: Path, home: Callable[[Path], Home]) -> None:
    tools = home(Path(sys.executable))
    tools.install("pipx")
    places = {"PIPX_HOME": str(tools.folder / "pipx"), "PIPX_BIN_DIR": str(tools.folder / "apps")}
    places["PIP_NO_COMPILE"] = "1"
    command = [str(tools.folder / "bin" / "pipx"), "install", str(wheel)]
    subprocess.run(command, check=True, env=CLEAN | places, capture_output=True)
    assert sorted(path.name for path in (tools.folder / "apps").iterdir()) == ["pxp"]
    assert "HOLDS" in tools.succeeds("../apps/pxp", "check", "pxp", "--property", "never-stuck")
