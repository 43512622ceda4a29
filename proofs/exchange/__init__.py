"""Tables and systems in the formats of other tools, and tables from them."""

from proofs.exchange.documents import to_json, to_toml
from proofs.exchange.prism import to_prism
from proofs.exchange.promela import to_promela
from proofs.exchange.scxml import to_scxml
from proofs.exchange.scxml_reading import from_scxml
from proofs.exchange.smv import to_smv
from proofs.exchange.texts import Written
from proofs.exchange.tla import to_tla

__all__ = [
    "Written",
    "from_scxml",
    "to_json",
    "to_prism",
    "to_promela",
    "to_scxml",
    "to_smv",
    "to_tla",
    "to_toml",
]
