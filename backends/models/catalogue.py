"""The catalogue of servers and prices: the bundled one, and one of your own."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pxp_fsm.errors import Fault, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import Option, option
from pxp_fsm.prompting.model import Capability, ModelRequest, Usage
from pxp_fsm.schemas import FileKind

HOMES = {"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com/v1"}
"""The kinds of models there are, each with the server that is meant where no URL is given."""

BASE_URL = {"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL"}
"""The variables of the vendors' own libraries that name a server in the vendor's place.

They are read from the environment alone, where the key is, and from no `.env` file: whoever is
given a folder is not to send the key elsewhere by it.
"""

_FORMS = "write anthropic:NAME, openai:NAME, openai:NAME@URL, script:FILE or program:COMMAND"
_URL = re.compile(r"@(?=https?://)")


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model of some kind at some server; `url` is never empty, and holds no key."""

    kind: str
    model: str
    url: str

    @property
    def at_home(self) -> bool:
        """Whether it is the vendor's own server."""
        return self.url == HOMES[self.kind]

    @property
    def is_trusted(self) -> bool:
        """Whether the vendor's key and headers may be sent there.

        It is the vendor's own server, or the one that the environment names in its place.
        """
        return self.at_home or self.url == _home(self.kind)

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
    return ModelName(kind, model, _url(name, urls[0]) if urls else _home(kind))


def _home(kind: str) -> str:
    """The server that is meant where a name has no URL; raises `UsageError`."""
    named = os.environ.get(BASE_URL[kind], "").strip()
    return _url(BASE_URL[kind], named) if named else HOMES[kind]


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


Pattern = Annotated[str, Option(least=1)]
"""Names of models: * and ? as in file names."""


@dataclass(frozen=True, slots=True)
class Server:
    """What a server can do (`can`), where its key is, and how it is spoken to."""

    models: Pattern = option("Names of models: * and ? as in file names.")
    can: frozenset[Capability] = option("What the server can do.")
    key: str = option(
        "The environment variable that holds its key; empty where it takes none.", "", least=0
    )
    limit: str = option(
        "openai only: how it calls the bound of a reply.",
        "max_tokens",
        choices=("max_tokens", "max_completion_tokens"),
    )
    image_tokens: int = option(
        "The most tokens that it counts for one image.", 5000, least=0, most=_MILLION
    )
    thinking: int = option(
        "Tokens that a model may think before its answer, beside the answer's own bound.",
        0,
        least=0,
        most=_MILLION,
    )
    effort: tuple[Annotated[str, Option(least=1)], ...] = option(
        "The levels of effort that it takes.", ()
    )
    extra: Mapping[str, object] = option(
        "What else is sent with every request, as the server's API calls it; an object is merged "
        "into what is sent anyway.",
        {},
    )

    def problems(self) -> Iterator[Fault]:
        """Batches where none can be sent."""
        if Capability.BATCHES in self.can and not self.models.startswith("anthropic:"):
            yield Fault(("can",), "batches require an anthropic model")


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
    text_bytes = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    return text_bytes + schema + images * server.image_tokens + _FRAME + _TURN * len(request.turns)


Dollars = Annotated[float, Option(least=0, most=_MILLION, problem="is no price: dollars from 0")]


@dataclass(frozen=True, slots=True)
class LongRates:
    """The rates of a request whose prompt has more than `above` tokens."""

    above: int
    input: Dollars
    output: Dollars
    cache_read: Dollars | None = None
    cache_written: Dollars | None = None


@dataclass(frozen=True, slots=True)
class PriceEntry:
    """A price as a file says it: dollars for a million tokens."""

    models: Pattern = option("Names of models: * and ? as in file names.")
    input: Dollars = option("Dollars for a million tokens that are sent.")
    output: Dollars = option("Dollars for a million tokens that are received.")
    as_of: date = option("The day on which this was read.")
    cache_read: Dollars | None = option("Of what is cached.", None, default="as input")
    cache_written: Dollars | None = option(
        "Of what is put into the cache.", None, default="as input"
    )
    batch: Dollars = option("The part of the price that a batch costs.", 1.0)
    long: LongRates | None = option("The rates of a request with a long prompt.", None)
    source: str = option("Where this was read.", "", least=0)

    @property
    def price(self) -> Price:
        """It as it is computed with."""
        above, long = (0, None) if self.long is None else (self.long.above, _rates(self.long))
        return Price(self.models, _rates(self), self.batch, self.as_of, self.source, above, long)


def _rates(entry: PriceEntry | LongRates) -> Rates:
    """Rates; where nothing is said of caching, it changes nothing."""
    read = entry.input if entry.cache_read is None else entry.cache_read
    written = entry.input if entry.cache_written is None else entry.cache_written
    return Rates(entry.input, entry.output, read, written)


@dataclass(frozen=True, slots=True)
class Retirement:
    """The day from which a vendor serves a model no longer, and what it names in its place.

    `as_of` is when that was read: by then it had happened, or was announced.
    """

    models: Pattern
    on: date
    as_of: date
    replacement: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class CatalogueFile:
    """A catalogue as a file says it."""

    server: tuple[Server, ...] = option("What servers can do.", ())
    price: tuple[PriceEntry, ...] = option("What models cost.", ())
    retirement: tuple[Retirement, ...] = option(
        "From which day a vendor serves a model no longer.", ()
    )
    models: Any = option("How models are asked, for others to read.", None)
    database: Any = option("Where sessions are stored, for others to read.", None)


CATALOGUE = FileKind(
    CatalogueFile,
    "a catalogue of models",
    "A catalogue of models",
    "What servers can do, and what models cost. The first entry whose pattern fits a model's name "
    "counts.",
    header={},
)


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
    known = {str(model.name): model for model in models}
    old: dict[date, list[str]] = {}
    retired = []
    for name, facts in known.items():
        if facts.price is not None and not facts.price.renewed_by(today):
            old.setdefault(facts.price.as_of, []).append(name)
        retirement = facts.retirement
        if retirement is not None and retirement.on <= today + timedelta(_STALE):
            instead = f"; it names {retirement.replacement} instead" * bool(retirement.replacement)
            retired.append(f"The vendor of {name} retires it on {retirement.on}{instead}.")
    read = (
        f"The price{'s' * several} of {' and '.join(names)} {'were' if several else 'was'} read on "
        f"{day}, more than {_STALE} days ago; write today's as a [[price]] into a file and give it "
        f"as --models."
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
        retirement = next((known for known in self.retirements if _fits(known.models, model)), None)
        return ModelFacts(model, self.server(model), self.price(model), retirement)

    def price(self, name: ModelName) -> Price | None:
        """What the model `name` costs, or None where that is not known."""
        return next((price for price in self.prices if _fits(price.models, name)), None)


def _fits(pattern: str, name: ModelName) -> bool:
    """A pattern without a URL is of the vendor's own server, or the one in its place."""
    if "@" in pattern:
        return fnmatchcase(str(name), pattern)
    return name.is_trusted and fnmatchcase(f"{name.kind}:{name.model}", pattern)


def catalogue(path: Path | None = None) -> Catalogue:
    """The bundled catalogue, after that in the file `path`.

    Raises `FileError` with every fault, each with its line.
    """
    bundled = _bundled()
    if path is None:
        return bundled
    own = _catalogue(CATALOGUE.load(path).value)
    return Catalogue(
        own.servers + bundled.servers,
        own.prices + bundled.prices,
        own.retirements + bundled.retirements,
    )


@cache
def _bundled() -> Catalogue:
    text = files("backends.models").joinpath("catalogue.toml").read_text("utf-8")
    return _catalogue(CATALOGUE.parse(text, "catalogue.toml").value)


def _catalogue(file: CatalogueFile) -> Catalogue:
    return Catalogue(file.server, tuple(entry.price for entry in file.price), file.retirement)
