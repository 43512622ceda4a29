"""The page: `pxp serve` shows it at /greetings/."""

from __future__ import annotations

from html import escape

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from pxp_fsm.web import PageSet, SystemSubject


def pages(subject: SystemSubject) -> PageSet:
    """A page that greets the members of the system that is explored."""
    routes = APIRouter()

    @routes.get("/", response_class=HTMLResponse)
    def greet() -> str:
        names = ", ".join(escape(name) for name, _ in subject.members)
        return f"<!doctype html><title>Greetings</title><p>Hello, {names}!</p>"

    return PageSet(title="Greetings", routes=routes)
