"""What a model is called: `anthropic:NAME`, `openai:NAME@URL`; parsed, or refused in a sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from pxp_fsm.errors import UsageError
from pxp_fsm.messages import quoted

HOMES = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
"""The kinds of models there are, each with the server that is meant where no URL is given."""

_FORMS = "write anthropic:NAME, openai:NAME or openai:NAME@URL"
_URL = re.compile(r"@(?=https?://)")


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model of some kind at some server; `url` is never empty, and holds no key."""

    kind: str
    model: str
    url: str

    @property
    def at_home(self) -> bool:
        """Whether it is the vendor's own server, which the vendor's key may be sent to."""
        return self.url == HOMES[self.kind]

    def __str__(self) -> str:
        return f"{self.kind}:{self.model}" + ("" if self.at_home else f"@{self.url}")


def parse_model_name(name: str) -> ModelName:
    """The model that `name` means; raises `UsageError`."""
    kind, colon, rest = name.partition(":")
    if not colon or kind not in HOMES:
        raise UsageError(f"there is no model {quoted(name)}; {_FORMS}")
    model, *urls = _URL.split(rest)
    if not model or not model.isprintable() or model != model.strip() or len(urls) > 1:
        raise UsageError(f"{quoted(name)} names no model of {kind}; {_FORMS}")
    return ModelName(kind, model, _url(name, urls[0]) if urls else HOMES[kind])


def _url(name: str, url: str) -> str:
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"the URL of this model cannot be read ({error}); {_FORMS}") from error
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise UsageError(
            "a model's URL holds no key, user or query: it is stored with every session; keys come "
            "from the environment or a .env file"
        )
    if not host or not url.isprintable() or any(character.isspace() for character in url):
        raise UsageError(f"the URL of {quoted(name)} names no server; {_FORMS}")
    return url.rstrip("/")
