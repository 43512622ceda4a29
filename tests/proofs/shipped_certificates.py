"""The certificates that come with the package, as data, and whether the checker accepts others."""

from __future__ import annotations

import copy
import json
from importlib import resources
from typing import Any

from proofs import recheck
from proofs.claims.certificates import SHIPPED
from proofs.claims.theorems import TABLES as NAMES

FILES = {protocol: next(SHIPPED.glob(f"{name}-*.json")) for protocol, name in NAMES.items()}
DOCUMENTS = {protocol: json.loads(path.read_text("utf-8")) for protocol, path in FILES.items()}
DATA = resources.files("pxp_fsm.automata").joinpath("data")
TABLES = {
    protocol: DATA.joinpath(f"{name}.toml").read_text("utf-8") for protocol, name in NAMES.items()
}


def accepts(document: Any, table: str) -> bool:
    """Whether the checker accepts; a document that it cannot read at all is not accepted."""
    try:
        return recheck.main(document, table)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError, RecursionError):
        return False


def tampered(protocol: str) -> Any:
    return copy.deepcopy(DOCUMENTS[protocol])
