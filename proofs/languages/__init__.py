"""Tag languages: the complete tag sequences of protocols, definitions and recordings, compared."""

from proofs.languages.language import SYMBOLS, Language, Letter, Word, of_words, symbol
from proofs.languages.protocols import (
    CLASSES,
    ProtocolReading,
    class_language,
    realised,
    replayed,
    sequences,
    started,
)

__all__ = [
    "CLASSES",
    "SYMBOLS",
    "Language",
    "Letter",
    "ProtocolReading",
    "Word",
    "class_language",
    "of_words",
    "realised",
    "replayed",
    "sequences",
    "started",
    "symbol",
]
