"""The catalogue of servers and prices: the bundled one, and one of your own."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pxp_fsm.documents import text_of
from pxp_fsm.errors import DataError, UsageError, quoted
from pxp_fsm.prompting.model import Capability, ModelRequest, Usage

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
        raise UsageError(f"{quoted(name)} does not name a model of {kind}; {_FORMS}")
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
        raise UsageError(f"the URL of {quoted(name)} does not name a server; {_FORMS}")
    return url.rstrip("/")


_MILLION = 1_000_000
_STALE = 180
"""Days after which a price, or what is known of a model, should be read again."""
_FRAME = 512
"""Tokens, at most, that a server adds to a request: its frame, and how it follows a schema."""
_TURN = 16
"""Tokens, at most, that a server adds to each turn."""


@dataclass(frozen=True, slots=True)
class Server:
    """What a server can do (`can`), where its key is, and how it is spoken to.

    `thinking` is how many tokens a model may think before its answer, beside the answer's own
    bound; `effort` are the levels of effort that it takes.
    """

    models: str
    can: frozenset[Capability] = frozenset()
    key: str = ""
    limit: str = "max_tokens"
    image_tokens: int = 5000
    thinking: int = 0
    effort: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rates:
    """Dollars for a million tokens of each kind."""

    input: float
    output: float
    cache_read: float
    cache_written: float

    def of(self, usage: Usage) -> float:
        """What `usage` costs, in dollars."""
        cost = (
            usage.sent * self.input
            + usage.received * self.output
            + usage.cache_read * self.cache_read
            + usage.cache_written * self.cache_written
        )
        return cost / _MILLION

    def most(self, sent: int, received: int) -> float:
        """The most that so many tokens can cost, in dollars, whatever is cached."""
        dearest = max(self.input, self.cache_written, self.cache_read)
        return (sent * dearest + received * self.output) / _MILLION


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs, when that was true (`as_of`), and where it was read.

    A request whose prompt has more than `above` tokens, cached ones included, costs the rates
    `long`, all of it. `batch` is the part of the price that a batch costs.
    """

    models: str
    rates: Rates
    batch: float
    as_of: date
    source: str = ""
    above: int = 0
    long: Rates | None = None

    def of(self, usage: Usage, *, batched: bool = False) -> float:
        """What `usage` of one request costs, in dollars."""
        prompt = usage.sent + usage.cache_read + usage.cache_written
        rates = self.rates if self.long is None or prompt <= self.above else self.long
        return rates.of(usage) * (self.batch if batched else 1.0)

    def worst(self, request: ModelRequest, server: Server) -> float:
        """The most that `request` can cost, in dollars: nothing cached, the longest reply."""
        sent, received = most_sent(request, server), longest_reply(request, server)
        worst = self.rates.most(sent, received)
        if self.long is not None and sent > self.above:
            worst = max(worst, self.long.most(sent, received))
        return worst

    def renewed_by(self, today: date) -> bool:
        """Whether it was read so lately that it may still be true."""
        return (today - self.as_of).days <= _STALE


def longest_reply(request: ModelRequest, server: Server) -> int:
    """The most tokens that a model may reply with: what it thinks, and the answer."""
    return request.max_tokens + server.thinking


def most_sent(request: ModelRequest, server: Server) -> int:
    """The most tokens that a request can be: a token is a byte at least."""
    texts = [request.system, *(turn.text for turn in request.turns)]
    schema = len(str(request.schema).encode()) if request.schema is not None else 0
    images = sum(len(turn.images) for turn in request.turns)
    said = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    return said + schema + images * server.image_tokens + _FRAME + _TURN * len(request.turns)


@dataclass(frozen=True, slots=True)
class Retirement:
    """The day from which a vendor serves a model no longer, and what it names in its place.

    `as_of` is when that was read: by then it had happened, or was announced.
    """

    models: str
    on: date
    as_of: date
    replacement: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model: its name, its server, price and retirement (None: not known)."""

    name: ModelName
    server: Server
    price: Price | None = None
    retirement: Retirement | None = None

    def check_served(self) -> None:
        """Raise `UsageError` where its vendor is known to have retired it."""
        if self.retirement is not None and self.retirement.on <= self.retirement.as_of:
            instead = self.retirement.replacement
            raise UsageError(
                f"{self.name} was retired by its vendor on {self.retirement.on}; name another"
                + (f", such as {instead}" if instead else "")
            )

    def worst(self, request: ModelRequest) -> float:
        """The most that `request` can cost, in dollars; 0 where no price is known."""
        return 0.0 if self.price is None else self.price.worst(request, self.server)


def warnings(models: Iterable[ModelFacts], today: date) -> tuple[str, ...]:
    """What somebody who is about to use `models` should know: old prices, retirements to come.

    Models whose prices are as old are named together.
    """
    known = {str(one.name): one for one in models}
    old: dict[date, list[str]] = {}
    retired = []
    for name, one in known.items():
        if one.price is not None and not one.price.renewed_by(today):
            old.setdefault(one.price.as_of, []).append(name)
        retirement = one.retirement
        if retirement is not None and retirement.on <= today + timedelta(_STALE):
            instead = f"; it names {retirement.replacement} instead" * bool(retirement.replacement)
            retired.append(f"The vendor of {name} retires it on {retirement.on}{instead}.")
    read = (
        f"The price{'s' * several} of {' and '.join(names)} {'were' if several else 'was'} read on "
        f"{day}, more than {_STALE} days ago; write today's as a [[price]] into a file and give it "
        f"as --catalogue."
        for day, names in old.items()
        for several in (len(names) > 1,)
    )
    return (*read, *retired)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Servers, prices and retirements, the first that fits a name counting."""

    servers: tuple[Server, ...]
    prices: tuple[Price, ...]
    retirements: tuple[Retirement, ...] = ()

    def server(self, name: ModelName) -> Server:
        """The server of the model `name`; raises `UsageError` where none fits."""
        for server in self.servers:
            if _fits(server.models, name):
                return server
        raise UsageError(f"no server in the catalogue fits {quoted(str(name))}; add a [[server]]")

    def facts(self, name: str) -> ModelFacts:
        """What is known of the model `name`; raises `UsageError` for a name that is none."""
        model = parse_model_name(name)
        retirement = next((one for one in self.retirements if _fits(one.models, model)), None)
        return ModelFacts(model, self.server(model), self.price(model), retirement)

    def price(self, name: ModelName) -> Price | None:
        """What the model `name` costs, or None where that is not known."""
        return next((price for price in self.prices if _fits(price.models, name)), None)


def _fits(pattern: str, name: ModelName) -> bool:
    """A pattern without a URL is of the vendor's own server."""
    return fnmatchcase(str(name), pattern) and (name.at_home or "@" in pattern)


def catalogue(path: Path | None = None) -> Catalogue:
    """The bundled catalogue, after that in the file `path`.

    Raises `DataError`, naming the file and the entry, where something in it cannot be used.
    """
    bundled = _bundled()
    if path is None:
        return bundled
    own = _read(text_of(path, "a catalogue of models", error=DataError), str(path))
    return Catalogue(
        own.servers + bundled.servers,
        own.prices + bundled.prices,
        own.retirements + bundled.retirements,
    )


@cache
def _bundled() -> Catalogue:
    text = files("backends.models").joinpath("catalogue.toml").read_text("utf-8")
    return _read(text, "the bundled catalogue")


def _read(text: str, where: str) -> Catalogue:
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(f"{where} is not TOML: {error}") from error
    unknown = sorted(set(raw) - {"server", "price", "retirement"})
    if unknown:
        raise DataError(
            f"{where}: {quoted(unknown[0])} is unknown; there are: server, price, retirement"
        )
    servers = tuple(_server(entry, here) for entry, here in _entries(raw, "server", where))
    prices = tuple(_price(entry, here) for entry, here in _entries(raw, "price", where))
    ended = tuple(_retirement(entry, here) for entry, here in _entries(raw, "retirement", where))
    return Catalogue(servers, prices, ended)


def _entries(raw: dict[str, Any], kind: str, where: str) -> Iterator[tuple[dict[str, Any], str]]:
    entries = raw.get(kind, [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise DataError(f"{where}: write [[{kind}]], with two brackets")
    for number, entry in enumerate(entries, start=1):
        yield entry, f"{where}, {kind} {number}"


def _server(entry: dict[str, Any], where: str) -> Server:
    names: dict[str, Any] = {"models": str, "can": list, "key": str, "limit": str}
    names |= {"image_tokens": int, "thinking": int, "effort": list, "extra": dict}
    _check(entry, names, {"models", "can"}, where)
    known = {str(one) for one in Capability}
    for said in entry["can"]:
        if said not in known:
            raise DataError(
                f"{where}: can has {quoted(said)}; there are: {', '.join(sorted(known))}"
            )
    can = frozenset(Capability(one) for one in entry["can"])
    limit = entry.get("limit", "max_tokens")
    if limit not in ("max_tokens", "max_completion_tokens"):
        raise DataError(f"{where}: limit is max_tokens or max_completion_tokens")
    if Capability.BATCHES in can and not entry["models"].startswith("anthropic:"):
        raise DataError(f"{where}: batches require an anthropic model")
    effort = tuple(entry.get("effort", ()))
    if not all(isinstance(level, str) and level.isprintable() for level in effort):
        raise DataError(f"{where}: effort lists the names of levels")
    for tokens in ("thinking", "image_tokens"):
        if not 0 <= entry.get(tokens, 0) <= _MILLION:
            raise DataError(f"{where}: {tokens} is a number of tokens, from 0 to {_MILLION:,}")
    return Server(**{**entry, "can": can, "effort": effort})


def _price(entry: dict[str, Any], where: str) -> Price:
    own: dict[str, Any] = {"models": str, "as_of": date, "source": str, "long": dict}
    own["batch"] = (int, float)
    rates = {name: value for name, value in entry.items() if name not in own}
    rest = {"batch": 1.0} | {name: value for name, value in entry.items() if name in own}
    _check(entry, own | dict.fromkeys(_RATES, (int, float)), set(), where)
    _check(rest, own, {"models", "as_of"}, where)
    _check_dollars({"batch": rest["batch"]}, where)
    longer = rest.pop("long", None)
    if longer is not None:
        kinds: dict[str, Any] = {"above": int, **dict.fromkeys(_RATES, (int, float))}
        _check(longer, kinds, {"above"}, f"{where}, long")
        rest["above"] = longer["above"]
        priced = {name: value for name, value in longer.items() if name != "above"}
        rest["long"] = _rates(priced, f"{where}, long")
    return Price(rates=_rates(rates, where), **rest)


_RATES = ("input", "output", "cache_read", "cache_written")


def _rates(entry: dict[str, Any], where: str) -> Rates:
    """Rates; where nothing is said of caching, it changes nothing."""
    _check(entry, dict.fromkeys(_RATES, (int, float)), {"input", "output"}, where)
    cached = dict.fromkeys(("cache_read", "cache_written"), entry["input"])
    _check_dollars(entry, where)
    return Rates(**(cached | entry))


def _check_dollars(entry: Mapping[str, Any], where: str) -> None:
    for name, value in entry.items():
        if not (math.isfinite(value) and 0 <= value <= _MILLION):
            raise DataError(f"{where}: {name} is dollars for a million tokens, from 0")


def _retirement(entry: dict[str, Any], where: str) -> Retirement:
    kinds = {"models": str, "on": date, "as_of": date, "replacement": str, "source": str}
    _check(entry, kinds, {"models", "on", "as_of"}, where)
    return Retirement(**entry)


def _check(entry: dict[str, Any], kinds: dict[str, Any], needed: set[str], where: str) -> None:
    unknown = sorted(set(entry) - set(kinds))
    if unknown:
        raise DataError(f"{where}: {quoted(unknown[0])} is unknown; there are: {', '.join(kinds)}")
    missing = sorted(needed - set(entry))
    if missing:
        raise DataError(f"{where} lacks {missing[0]}")
    for name, value in entry.items():
        if not isinstance(value, kinds[name]) or isinstance(value, bool):
            raise DataError(f"{where}: {name} cannot be {quoted(value)}")
