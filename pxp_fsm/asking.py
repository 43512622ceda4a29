"""In which session somebody is asked and for what, where a question does not say it."""

from __future__ import annotations

from contextvars import ContextVar

asked_in: ContextVar[str] = ContextVar("asked_in", default="")
"""The name of the session whose agent is asking; empty outside of sessions."""

asked_for: ContextVar[str] = ContextVar("asked_for", default="answer")
"""What an agent's answer is for: `answer`, or `validation` where a lesson is weighed by it."""
