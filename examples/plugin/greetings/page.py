"""The page: `pxp explore` shows it at /greetings/."""

from __future__ import annotations

from html import escape

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from pxp_fsm.web import SystemSubject


def router(subject: SystemSubject) -> APIRouter:
    """A page that greets the members of the system that is explored."""
    pages = APIRouter()

    @pages.get("/", response_class=HTMLResponse)
    def greet() -> str:
        names = ", ".join(escape(name) for name, _ in subject.members)
        return f"<!doctype html><title>Greetings</title><p>Hello, {names}!</p>"

    return pages
