"""What is written out: one text, or several files that belong together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pxp_fsm.errors import UsageError
from pxp_fsm.messages import quoted


@dataclass(frozen=True)
class Written:
    """A text, and what stands in files beside it, by the ending of their names."""

    text: str
    beside: Mapping[str, str] = field(default_factory=dict)


def refused(language: str, text: str, operator: str, remedy: str) -> UsageError:
    """The error for a formula that a language cannot say."""
    return UsageError(f"{language} cannot say {quoted(text)}: {operator}; {remedy}")
