"""What a person had typed when they left: kept in a file, and offered when they come back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from pxp_fsm.errors import UsageError


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer that was not sent: the prediction as typed, and the explanation."""

    prediction: str = ""
    explanation: str = ""


class Drafts:
    """The drafts in `folder`, a file each; the name is a digest, so that no text becomes a path."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, session: str, number: int) -> Draft | None:
        """The draft of that message, or None; a file that is none counts as none."""
        try:
            raw = json.loads(self._path(session, number).read_text("utf-8"))
            draft = Draft(**raw)
        except (OSError, ValueError, TypeError, RecursionError):
            return None
        whole = isinstance(draft.prediction, str) and isinstance(draft.explanation, str)
        return draft if whole else None

    def keep(self, session: str, number: int, draft: Draft) -> Path:
        """Write `draft` down and return its file; `UsageError` where the disk refuses it."""
        path = self._path(session, number)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(asdict(draft)), "utf-8")
        except OSError as error:
            raise UsageError(f"the draft cannot be kept in {path}: {error.strerror}") from error
        return path

    def drop(self, session: str, number: int) -> None:
        """Forget the draft of a message that has been sent."""
        self._path(session, number).unlink(missing_ok=True)

    def _path(self, session: str, number: int) -> Path:
        name = hashlib.sha256(f"{session}\x00{number}".encode()).hexdigest()[:24]
        return self._folder / f"{name}.json"
