"""The bundles of all pages, and their licences, are what the sources and the lock file build."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from pxp_fsm.web.bundles import static
from tests.web.browsers import FRONTEND

pytestmark = pytest.mark.deep


def test_the_bundle_is_what_the_lock_file_builds(packages: Path, tmp_path: Path) -> None:
    copy = tmp_path / "web" / "frontend"
    shutil.copytree(FRONTEND, copy, ignore=shutil.ignore_patterns("node_modules"))
    (copy / "node_modules").symlink_to(packages)
    subprocess.run(["npm", "run", "build"], cwd=copy, check=True, capture_output=True)
    for bundle in ("explorer.js", "experts.js", "studio.js", "molecules.js"):
        assert (tmp_path / "web" / "static" / bundle).read_text("utf-8") == static(bundle), bundle
    with (copy / "html.js").open("a") as file:
        file.write("counted(1, 'place', 2);\n")
    wrong = subprocess.run(
        ["npm", "run", "build"], cwd=copy, capture_output=True, text=True, check=False
    )
    assert wrong.returncode != 0 and "html.js" in wrong.stdout and "TS2554" in wrong.stdout
    licenses = static("licenses.txt")
    for name in ("react", "react-dom", "scheduler", "htm", "openchemlib"):
        about = json.loads((packages / name / "package.json").read_text("utf-8"))
        assert f"{name} {about['version']} ({about['license']})" in licenses
        assert (packages / name / "LICENSE").read_text("utf-8").strip() in licenses
