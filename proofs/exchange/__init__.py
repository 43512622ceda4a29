"""Tables and systems in the formats of other tools, and tables from them."""

from proofs.exchange.documents import to_json, to_toml
from proofs.exchange.scxml import to_scxml
from proofs.exchange.scxml_reading import from_scxml

__all__ = ["from_scxml", "to_json", "to_scxml", "to_toml"]
