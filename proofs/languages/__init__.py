"""Tag languages: the complete tag sequences of protocols, definitions and recordings, compared."""

from proofs.languages.classes import CLASSES, class_language
from proofs.languages.language import SYMBOLS, Language, Letter, Word, of_words, symbol
from proofs.languages.protocols import Reading, sequences, started
from proofs.languages.witnesses import realised, replayed

__all__ = [
    "CLASSES",
    "SYMBOLS",
    "Language",
    "Letter",
    "Reading",
    "Word",
    "class_language",
    "of_words",
    "realised",
    "replayed",
    "sequences",
    "started",
    "symbol",
]
