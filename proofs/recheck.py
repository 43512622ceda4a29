"""The checker of certificates: `python -m proofs.recheck CERTIFICATE.json TABLE.toml...`.

It stands alone: this file imports nothing but Python's own library, and shares nothing with what
writes certificates, so that it also runs by its path: `python -I -S recheck.py FILE TABLE...`.

It knows by itself which claims there are and what each means, what a state consists of, and of
which tables and decision functions they are. From a certificate it takes the states, and what makes
a claim evident state by state; one in which anything is missing, superfluous or different is
refused. Of a system the tables of all members are given.
"""

import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import compress, product
from pathlib import Path
from typing import Any, NamedTuple

_text = json.JSONEncoder(sort_keys=True).encode

# Part 1: what is proved of INTERACT and PXP for all n and k.

# Values are points: 0 is the initiator m's latest, 1 the responder h's, 2 a new one. A state keeps,
# for y and e, the pairs of points of which m's and h's relations hold (None: they are no sets).
# Of message j the rules ask: is it 1, 2, odd, above k, n. AFTER steps through the classes of j - 1.
# j = 1 is not above k >= 1; any other is above some k and not another, some j <= n is n, another
# below: both answers where both exist is every j, n and k. PXP(k): a loop never taken can be taken;
# one taken k times gives way to TERM, possible anyhow. A ranking is 1 less for each sent, never
# negative: sent <= n; others and k a loop <= 2k + 5 (2 loops and 5 others, or 1 and 6, 0 and 7).
# PXP compares no point with itself, so relations may be taken for reflexive there.
FORMAT, MOST, ANEW = 2, 5000, "write it anew with: pxp check --certificates DIR"
DECISIONS = "4e0e9e33565b335c674d6b5da02547165d498fa3d4716fdd32b82f6cf8ba45e9"
"""Of the decision functions whose rules are stated here: `proofs.induction.source`, `digest`."""
AFTER = {"0": "1", "1": "2", "2": "odd", "odd": "even", "even": "odd"}
BOUNDS = {"interact": [["k >= 1", "n >= 1"]], "pxp": [[]], "pxp(k)": [["k >= 1"]]}
RANKS = {"interact": {"n": 1, "sent": -1}, "pxp(k)": {"": 5, "k": 2, "sent": -1}}
REVISED = ["m INIT", "h REVISE", "m REVISE", "h RATIFY", "m RATIFY"]
RATIFIED, REFUTED = [REVISED[0], *REVISED[3:]], ["m INIT", "h REFUTE", "m REFUTE", "h RATIFY"]
REPLIES = {"INIT": {"RATIFY", "REFUTE", "REVISE", "REJECT"}, "REJECT": {"REJECT"}}  # or TERM
REPLIES |= {"RATIFY": {"RATIFY"}, "REVISE": {"RATIFY"}, "REFUTE": {"REFUTE", "REVISE", "REJECT"}}
EQUALITY = {"reflexive", "symmetric", "transitive"}
ASSUMED = {"h": "shared"} | {name[0]: name for name in ("deterministic", *EQUALITY)}
PARTS: tuple[tuple[str, str, list[str], str], ...] = (
    # subject, assumptions, the sequence that sessions are followed along, claims
    ("interact", "", [], "terminates never-stuck silent-end reject-after-k"),
    ("interact", "r", [], "no-revise-at-2"),
    ("interact", "r", REVISED, "revised-never"),
    ("interact", "dst", REVISED, "revised-never"),
    ("interact", "dhs", RATIFIED, "ratified-at-3"),
    ("interact", "dhrs", [], "strong-once never-ultra"),
    ("interact", "dhst", REFUTED, "refuted-never"),
    ("interact", "dhrst", [], "ends-agreed"),
    ("pxp", "", [], "never-stuck silent-end replies-INIT"),
    ("pxp", "dhs", [], "replies-RATIFY replies-REJECT"),
    ("pxp", "dh", [], "replies-REFUTE replies-REVISE"),
    ("pxp", "dhrst", [], "terminates"),
    ("pxp(k)", "", [], "never-stuck silent-end self-loops replies-INIT"),
    ("pxp(k)", "dhs", [], "terminates no-alternation replies-RATIFY replies-REFUTE replies-REVISE "
     "replies-REJECT"),
)  # fmt: skip

_once = cache(json.loads)  # equal values are one object


def _fits(r: Any, points: Any, given: Any) -> bool:
    return (
        ("reflexive" not in given or all((p, p) in r for p in points))
        and ("symmetric" not in given or all((b, a) in r for a, b in r))
        and ("transitive" not in given or all((a, d) in r for a, b in r for c, d in r if b == c))
    )


def _grown(r: Any, points: Any, new: int, given: Any) -> list[Any]:  # with one point more
    fresh = [(new, new), *((p, new) for p in points), *((new, p) for p in points)]
    some = (r | {*compress(fresh, bits)} for bits in product((0, 1), repeat=len(fresh)))
    return [s for s in some if _fits(s, (*points, new), given)]


def _relations(points: int, given: Any) -> list[Any]:
    found: list[Any] = [frozenset()]
    for new in range(points):
        found = [s for r in found for s in _grown(r, range(new), new, given)]
    return found


@cache
def amalgamates(given: frozenset[str]) -> bool:
    """Whether a new value can be joined with earlier ones of which at most two are kept.

    What goes wrong in the joint relation goes wrong for the new value, two earlier ones and two
    kept ones that link them; where nothing is linked, for one earlier value. All are tried.
    """
    new, linked = 9, "transitive" in given
    for kept in range(3):
        for r in _relations(kept + 1 + linked, given):
            known = {(a, b) for a, b in r if a < kept and b < kept}
            for s in _grown(frozenset(known), range(kept), new, given):
                links = [(a, d) for x, y in ((r, s), (s, r)) for a, b in x for c, d in y if b == c]
                whole = {*r, *s, *(links if linked else ())}
                olds = {(a, b) for a, b in whole if new not in (a, b)}
                news = {(a, b) for a, b in whole if {a, b} <= {*range(kept), new}}
                if (olds, news) != (r, s) or not _fits(whole, (*range(kept + 1), new), given):
                    return False
    return True


def _cut(w: Any, *points: int) -> Any:  # relations on some of their points, numbered anew
    n = {p: i for i, p in enumerate(points)}
    return _once(_text(w and [sorted([n[a], n[b]] for a, b in r if {a, b} <= {*n}) for r in w]))


class Part:
    """One invariant: the first state, and all that steps from it lead to.

    `free` is the agent whose relation is forgotten: what is assumed, is assumed of the other's.
    """

    def __init__(self, which: int, initial: str, final: Any, rows: dict[Any, Any]) -> None:
        self.subject, given, self.along, names = PARTS[which]
        self.given, self.claims, self.rows = {ASSUMED[x] for x in given}, names.split(), rows
        self.free = 0 if self.along == REVISED else None
        self.interact, self.final = self.subject == "interact", {*final}
        self.laws = (self.given if self.interact else self.given | {"reflexive"}) & EQUALITY
        fit = _relations(3, self.laws) if "deterministic" in self.given else []
        pairs = zip(fit, fit, strict=True) if "shared" in self.given else product(fit, fit)
        worlds: Any = [*pairs] if self.free is None else [({*()}, s) for s in fit]
        self.worlds = worlds or [None]
        self.none, self.known = _cut(self.worlds[0]), dict[str, Any]()
        self.states, self.steps = [self.first(initial)], list[Any]()
        self.texts = {_text(self.states[0])}
        for state in self.states:  # grows while it is read
            new = [(state, *step) for step in self.after(state)] if not state["over"] else []
            for target in (step[-1] for step in new if step[-1]["over"] != "stuck"):
                if (target["said"] is not None or not self.along) and len(self.states) < MOST:
                    self.states += [target] if (text := _text(target)) not in self.texts else []
                    self.texts.add(text)
            self.steps += new
        self.whole, self.stated = len(self.states) < MOST, self._stated()

    def first(self, initial: str) -> Any:
        numbers = {"sent": "0"} | ({"room": "< n"} if self.interact else {})
        if self.subject == "pxp(k)":
            sent = {tag for (_, sign, _), (tag, _) in self.rows.items() if sign == "+"}
            numbers |= dict.fromkeys(sent - {"INIT", "TERM"}, "0")
            numbers |= {"others": "0"} if "terminates" in self.claims else {}
        replied: Any = [] if "strong-once" in self.claims else None
        state = {"at": [initial] * 2, "last": "", "y": self.none, "e": self.none, "over": ""}
        return state | {"said": [], "replied": replied, "numbers": numbers}

    def judged(self, data: Any, who: int, second: bool) -> Any:  # like mine?, REVISE?, old, new
        key = _text([data, who, second])
        if key not in self.known:
            found = ([*one, old, new] for one, old, new in self._judged(data, who, second))
            self.known[key] = [*{_text(one): one for one in found}.values()]
        return self.known[key]

    def _judged(self, data: Any, who: int, second: bool) -> Any:
        new = 1 if second and self.interact else 2  # there h's own first value is the fresh one
        asked = ((1 - who, who), (new, who if self.interact else 1 - who))
        sure = "reflexive" in self.given and who != self.free
        free = [[True] if a == b and sure else [True, False] for a, b in asked]
        for world in (w for w in self.worlds if _cut(w, *range(2 - second)) == data):
            fixed = world and who != self.free
            for says in product(*([[p in world[who]] for p in asked] if fixed else free)):
                yield says, _cut(world, 0, 1), _cut(world, *((0, new) if who else (new, 1)))

    def after(self, state: Any) -> Any:  # for any n and k: tag, whether j > k, y, e, next state
        sent, who = state["numbers"]["sent"], int(state["numbers"]["sent"] in ("1", "odd"))
        if sent == "0":
            values = {_text(_cut(w, 0)): _cut(w, 0) for w in self.worlds}.values()
            for y, e in product(values, repeat=2):
                yield from self.sends(state, 0, "INIT", 0, y, e)
            return
        yield from () if self.interact else self.sends(state, who, "TERM", 0, None, None)
        (ys, es), met = (self.judged(state[v], who, sent == "1") for v in "ye"), set[Any]()
        for (match, y, *y2), (agree, e, *e2), late in product(ys, es, (0, 1)):
            guard = "REV" if (y and e) != self.interact else "REF"  # changed; PXP: reconciled
            if match == agree and (match or late or not self.interact):
                guard = "RAT" if match else "REJ"
            new = self.interact or guard in ("REF", "REV")
            if (step := (guard, late, id(y2[new]), id(e2[new]))) not in met:
                yield from self.sends(state, who, guard, late, y2[new], e2[new])
            met.add(step)

    def sends(self, state: Any, who: int, row: str, late: int, y: Any, e: Any) -> Any:
        tag, goes = self.rows.get((state["at"][who], "+", row), ("", ""))
        _, hears = self.rows.get((state["at"][1 - who], "-", tag), ("", ""))
        said, replied, loop = state["said"], state["replied"], tag == state["last"]
        numbers = state["numbers"] | {"sent": AFTER[state["numbers"]["sent"]]}
        if self.subject == "pxp(k)":
            numbers |= {tag: "1..k"} if loop else {}
            if "others" in numbers and not loop:
                numbers |= {"others": str(int(numbers["others"]) + 1)}
        said = [*said, f"{'mh'[who]} {tag}"] if said is not None else [None]
        said = said if said == (self.along or RATIFIED)[: len(said)] else None
        replied = sorted({*replied, tag}) if who and replied is not None else replied
        stop = "rejected" if tag == "REJECT" else "ratified" if loop and tag == "RATIFY" else ""
        for room in ("< n", "= n") if self.interact else ("",):
            at, over = [hears, goes] if who else [goes, hears], "term" if tag == "TERM" else ""
            if room and (over := stop or "bound" * (room == "= n")):
                at = [self.rows.get((x, "!", "CLOSE"), ("", ""))[1] for x in at]
            new = {"at": at, "said": said, "replied": replied, "over": over, "y": y, "e": e}
            new |= {"last": "", "y": self.none, "e": self.none} if over else {"last": tag}
            new["numbers"] = numbers | ({"room": room} if room else {})
            yield tag, late, y, e, new if hears and "" not in at else {"over": "stuck"}

    def against(self, name: str) -> Any:  # what speaks against a claim: if nothing, it holds
        steps, over = self.steps, [s for s in self.states if s["over"]]
        mute = self.final - {at for at, sign, _ in self.rows if sign == "+"}
        long = [s for s in over if s["over"] != "bound" or s["numbers"]["sent"] not in "12"]
        strong = [s for s in over if {"RATIFY", "REVISE"} >= {*(s["replied"] or ())}]
        loops = [([*s["numbers"].values()].count("1..k"), s["numbers"]) for s in self.states]
        wide = [x for x, n in loops if x > 2 or x + int(n.get("others", 0)) > 7]
        last, stuck = ([r for r in steps if r[-1]["over"] == x] for x in ("ratified", "stuck"))
        if name.startswith("replies-"):
            due = {*REPLIES[name[8:]], "TERM"}
            return [r for r in steps if r[0]["last"] == name[8:] and r[1] not in due]
        return {
            "terminates": wide + stuck + [0] * (self.subject not in RANKS),
            "never-stuck": stuck,
            "silent-end": [s for s in over if not mute >= {*s["at"]}],
            "reject-after-k": [r for r in steps if r[1] == "REJECT" and not r[2]],
            "no-revise-at-2": [r for r in steps if r[0]["numbers"]["sent"] + r[1] == "1REVISE"],
            "ends-agreed": [r for r in last if not all([0, 1] in (x or [[]])[0] for x in r[3:5])],
            "refuted-never": [s for s in self.states if s["said"] == REFUTED],
            "revised-never": [s for s in self.states if s["said"] == REVISED],
            "ratified-at-3": [s for s in long if s["said"] == RATIFIED[:2]]
            + [r for r in steps if r[0]["said"] == RATIFIED[:2] and r[-1]["over"] != "ratified"],
            "strong-once": [s for s in long if s in strong and s["said"] != RATIFIED],
            "never-ultra": [s for s in strong if s["replied"] is None or "REVISE" in s["replied"]],
            "self-loops": [s for s in self.states if {*s["numbers"].values()} & {"> k", "more"}],
            "no-alternation": [r for r in steps if (r[0]["last"], r[1]) == ("REFUTE", "RATIFY")],
        }[name]

    def _stated(self) -> dict[str, Any]:
        """What the certificate must say of this part, apart from its states."""
        claims = [dict[str, Any](name=f"{self.subject}.{name}") for name in self.claims]
        for claim, name in zip(claims, self.claims, strict=True):
            claim["verdict"] = "not inductive" if self.against(name) else "proved"
            if name == "terminates" and self.subject in RANKS:
                claim["ranking"] = RANKS[self.subject]
        found: dict[str, Any] = {"subject": self.subject, "claims": claims, "along": self.along}
        laws = self.laws if "deterministic" in self.given else EQUALITY  # else only what is equal
        found |= {"amalgamates": amalgamates(frozenset(laws)), "bounds": BOUNDS[self.subject]}
        return found | {"assumptions": sorted(self.given), "free": self.free}


@cache
def _parts(protocol: str, table: str) -> list[Part]:
    initial, final, rows = json.loads(table)
    known = {(at, sign, name): (label, to) for at, sign, name, label, to in rows}
    mine = [i for i, one in enumerate(PARTS) if one[0].removesuffix("(k)") == protocol]
    return [Part(which, initial, final, known) for which in mine]


def check_protocol(certificate: Any, raw: Any) -> Any:
    """Each claim, in words, with whether it is right; or False with why all of it is refused.

    `raw` is a table as TOML reads it. Raises LookupError, TypeError or the like where one of the
    two is something else.
    """
    rows, signs = list[Any](), {"send": "+", "receive": "-", "event": "!"}
    lines = [f"initial {raw['initial']}", *(f"final {s}" for s in raw.get("final", ()))]
    for row, key in product(raw["rows"], signs):
        places, tags = ([x] if isinstance(x, str) else x for x in (row["from"], row.get(key, [])))
        for at, label in product(places, tags):
            lines.append(f"{at} {row['to']} {row.get('guard', '⊤')} {signs[key]}{label}")
            rows.append((at, signs[key], row.get("guard", label), label, row["to"]))
    digest = hashlib.sha256("".join(f"{line}\n" for line in sorted(lines)).encode()).hexdigest()
    due: dict[str, Any] = {"format": FORMAT, "fingerprint": digest, "decisions": DECISIONS}
    for key, value in due.items():
        if _text(certificate[key]) != _text(value):
            yield False, f"its {key} is {certificate[key]}, not {value}; {ANEW}"
            return
    parts, protocol = certificate["parts"], str(certificate["protocol"])
    known = _parts(protocol, json.dumps([raw["initial"], sorted(raw.get("final", ())), rows]))
    due |= {"protocol": protocol, "parts": [part.stated for part in known]}
    rest = [{key: x for key, x in part.items() if key != "states"} for part in parts]
    if not known or _text(due) != _text(certificate | {"parts": rest}):
        yield False, f"what it says of {protocol} is not what there is to say; {ANEW}"
        return
    for part, states in zip(known, (one["states"] for one in parts), strict=True):
        listed = sorted(map(_text, states)) if isinstance(states, list) else None
        sound, given = part.whole and listed == sorted(part.texts), " ".join(sorted(part.given))
        for claim in part.stated["claims"]:
            yield sound, f"{claim['name']} {claim['verdict']} {given}".rstrip()


# Part 2: what can happen in a system: what a channel does with messages, when a guard is settled.

SIGNS = {"send": "+", "receive": "-", "event": "!"}
FAULTS = ("lossy", "duplicating", "reordering")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


class Row(NamedTuple):
    """One row; `guard` and `partner` are "" where there is none."""

    source: str
    target: str
    guard: str
    sign: str
    label: str
    partner: str

    def __str__(self) -> str:
        to = {"+": " to ", "-": " from "}.get(self.sign, "") + self.partner if self.partner else ""
        return f"{self.source} {self.target} {self.guard or '⊤'} {self.sign}{self.label}{to}"


class Table:
    """A table as TOML reads it. Raises ValueError where one event could take two rows."""

    def __init__(self, raw: Any) -> None:
        self.initial, self.final, self.rows = raw["initial"], {*raw.get("final", ())}, list[Row]()
        for row, key in ((row, key) for row in raw["rows"] for key in SIGNS if key in row):
            places, tags = ([x] if isinstance(x, str) else x for x in (row["from"], row[key]))
            rest = row["to"], row.get("guard", ""), SIGNS[key]
            self.rows += [
                Row(a, *rest, tag, row.get("partner", "")) for a in places for tag in tags
            ]
        lines = [
            f"initial {self.initial}",
            *(f"final {s}" for s in self.final),
            *map(str, self.rows),
        ]
        text = "".join(f"{line}\n" for line in sorted(lines))
        self.fingerprint = hashlib.sha256(text.encode()).hexdigest()
        self.states = {self.initial, *self.final, *(s for row in self.rows for s in row[:2])}
        self.states |= {state["name"] for state in raw["states"]}
        names = {*self.states, *(x for row in self.rows for x in (row[2], *row[4:])), "x"} - {""}
        alike = [(r.source, r.sign, r.label, r.guard * (r.sign == "!")) for r in self.rows]
        for one, row in zip(alike, self.rows, strict=True):
            twins = [r for r, two in zip(self.rows, alike, strict=True) if one == two]
            if sum("" in (r.partner, row.partner) or r.partner == row.partner for r in twins) > 1:
                raise ValueError(f"two rows for one tag: {row}")
        if not all(map(NAME.fullmatch, names)) or any(r.guard and r.sign == "-" for r in self.rows):
            raise ValueError("a name that is none, or a guard on a row that receives")


Guards = tuple[str, ...]


class State(NamedTuple):
    """Where members are, what is on its way on each link, the guards that members have settled."""

    at: tuple[str, ...]
    buffers: tuple[tuple[str, ...], ...]
    settled: Guards


class Step(NamedTuple):
    """A step: where it leads, the rows with their members, whose it is, whether it only settles."""

    target: State
    rows: tuple[tuple[int, Row], ...]
    actor: str
    settles: bool = False


class System:
    """Tables with names over a channel of `capacity`, 0 if it is synchronous."""

    def __init__(self, names: list[str], tables: list[Table], channel: str) -> None:
        channel, *others = channel.split(",")
        own = dict(other.split("=") for other in others)
        self.capacity = _capacity(channel)
        if own and not (self.capacity and all(map(_capacity, own.values()))):
            raise ValueError("a link has a channel of its own only where all have buffers")
        if len(own) < len(others):
            raise ValueError("a link has two channels")
        self.names, self.tables, self.everybody = names, tables, range(len(names))
        if len(names) < 2 or len({*names}) < len(names) or not all(map(NAME.fullmatch, names)):
            raise ValueError("a system has two members or more, each with a name of its own")
        self.ways = {(i, r): self._partners(i, r) for i in self.everybody for r in tables[i].rows}
        sent = ((i, j) for (i, r), some in self.ways.items() if r.sign == "+" for j in some)
        self.links = sorted({*sent} if self.capacity else ())
        between = [f"{names[i]}:{names[j]}" for i, j in self.links]
        if not {*own} <= {*between}:
            raise ValueError(f"a channel of a link over which nothing is sent: {own}")
        self.carries = [own.get(one, channel) for one in between]
        for (i, row), some in self.ways.items():
            if i in some or (row.sign == "+" and not some):
                raise ValueError(f"a row sends to nobody: {row}")
        self.stops = not self.capacity and len(names) == 2
        self.leaving = [
            {at: [row for row in one.rows if row.source == at] for at in one.states}
            for one in tables
        ]

    def __str__(self) -> str:
        marks = (table.fingerprint[:12] for table in self.tables)
        return ", ".join(f"{name} {mark}" for name, mark in zip(self.names, marks, strict=True))

    def _partners(self, i: int, row: Row) -> tuple[int, ...]:
        """Who may be at the other end of a row: whom it names, or all who could be."""
        if row.partner:
            return (self.names.index(row.partner),)
        opposite, others = {"+": "-", "-": "+"}.get(row.sign), [j for j in self.everybody if j != i]
        found = tuple(j for j in others if self._has(j, opposite, row.label, i))
        # Of two members, what is received in no state can only be for the other one.
        return found or tuple(others if row.sign == "+" and len(others) == 1 else ())

    def _has(self, j: int, sign: str | None, label: str, i: int) -> bool:
        """Whether j has a row for a tag to or from i, in some state."""
        some = (r for r in self.tables[j].rows if (r.sign, r.label) == (sign, label))
        return any(r.partner in ("", self.names[i]) for r in some)

    @property
    def first(self) -> State:
        nothing = ("",) * len(self.names)
        return State(tuple(one.initial for one in self.tables), ((),) * len(self.links), nothing)

    def rows(self, state: State, i: int) -> list[Row]:
        """By which rows a member can go on: by one, where it has settled a guard."""
        some = self.leaving[i][state.at[i]]
        return [r for r in some if r.guard == state.settled[i]] if state.settled[i] else some

    def takes(self, state: State, i: int, j: int, tag: str) -> Row | None:
        """The row by which j takes a tag from i."""
        some = [] if state.settled[j] else self.leaving[j][state.at[j]]
        fit = (r for r in some if r.sign == "-" and r.label == tag)
        return next((r for r in fit if r.partner in ("", self.names[i])), None)

    def ended(self, state: State, i: int) -> bool:
        return state.at[i] in self.tables[i].final and not state.settled[i]

    def steps(self, state: State) -> Iterator[Step]:
        """All that can happen."""
        if self.stops and any(state.settled):
            return
        for i in self.everybody:
            for row in self.rows(state, i):
                moved, sends = _moved(state, {i: row.target}), list[Step]()
                if row.sign == "+":
                    sends = [one for j in self.ways[i, row] for one in self._sent(moved, i, j, row)]
                yield from sends
                if row.sign == "!" and row.guard:
                    yield Step(moved, ((i, row),), self.names[i])
                elif row.guard and not sends and not state.settled[i] and self._settles(i, row):
                    settled = (*state.settled[:i], row.guard, *state.settled[i + 1 :])
                    yield Step(state._replace(settled=settled), ((i, row),), self.names[i], True)
        for link in enumerate(self.links):
            yield from self._delivered(state, *link)
        events = {r.label: None for one in self.tables for r in one.rows if r.sign == "!"}
        for label in events:
            free = [
                (i, r) for i in self.everybody if not state.settled[i] for r in self.rows(state, i)
            ]
            told = [(i, r) for i, r in free if r.sign == "!" and r.label == label and not r.guard]
            if told:
                yield Step(_moved(state, {i: r.target for i, r in told}), (*told,), "")

    def _sent(self, moved: State, i: int, j: int, row: Row) -> Iterator[Step]:
        """What member i can do by a row that sends to j."""
        if not self.capacity:
            heard = self.takes(moved, i, j, row.label)
            if heard:
                both = ((i, row), (j, heard))
                yield Step(_moved(moved, {j: heard.target}), both, self.names[i])
            return
        link = self.links.index((i, j))
        there, carries = moved.buffers[link], self.carries[link]
        if len(there) < _capacity(carries):
            longer = (*there, row.label)
            kept = tuple(sorted(longer)) if "reordering" in carries else longer
            yield Step(_holding(moved, link, kept), ((i, row),), self.names[i])
        if "lossy" in carries:
            yield Step(moved, ((i, row),), self.names[i])

    def _settles(self, i: int, row: Row) -> bool:
        """Whether a guard can be settled before its message can be sent, and that matters."""
        some = self.leaving[i][row.source]
        deciding = [r for r in some if r.sign == "+" and r.guard]
        other = len(deciding) < len(some) or len({self.ways[i, r] for r in deciding}) > 1
        if row.sign != "+" or not self.capacity:
            return row.sign == "+"
        links = (self.links.index((i, j)) for j in self.ways[i, row])
        return other and not any("lossy" in self.carries[link] for link in links)

    def offers(self, state: State, link: int) -> tuple[str, ...]:
        """The tags that a link offers next."""
        there = state.buffers[link]
        return tuple(dict.fromkeys(there)) if "reordering" in self.carries[link] else there[:1]

    def _delivered(self, state: State, link: int, ends: tuple[int, int]) -> Iterator[Step]:
        for tag in self.offers(state, link):
            row = self.takes(state, *ends, tag)
            if row:
                there, moved = list(state.buffers[link]), _moved(state, {ends[1]: row.target})
                there.remove(tag)
                for one in (
                    _holding(moved, link, (*there,)),
                    *[moved] * ("duplicating" in self.carries[link]),
                ):
                    yield Step(one, ((ends[1], row),), self.names[ends[1]])


def _capacity(channel: str) -> int:
    """How many messages a channel holds, 0 for "sync"."""
    kinds, _, capacity = channel.partition(":")
    if channel == "sync":
        return 0
    faults = [] if kinds == "fifo" else kinds.split("+")
    if not {*FAULTS} >= {*faults} or not 0 < int(capacity) <= 64:
        raise ValueError(f"there is no channel {channel}")
    return int(capacity)


def _moved(state: State, where: dict[int, str]) -> State:
    at = tuple(where.get(i, one) for i, one in enumerate(state.at))
    settled = tuple("" if i in where else one for i, one in enumerate(state.settled))
    return State(at, state.buffers, settled)


def _holding(state: State, link: int, tags: tuple[str, ...]) -> State:
    return state._replace(buffers=(*state.buffers[:link], tags, *state.buffers[link + 1 :]))


# Part 3: what holds of a system.

SYSTEM_FORMAT = 1
STANDARD = (
    *("no-deadlock", "no-unspecified-reception", "no-orphan-message"),
    *("nothing-sent-after-the-end", "end-reachable-from-everywhere", "no-dead-row"),
)
SAFE = ("eventual-reception", "progress")
HOW = (("strong", "row"), ("strong", "agent"), ("weak", "row"), ("weak", "agent"))
ENDS = {f"ends-if-{how}-{whose}s": (how, whose) for how, whose in HOW} | {"always-ends": ("", "")}
JOINS = (("<->",), ("->",), ("|", "||"), ("&", "&&"))
TOKEN = re.compile(
    r'\s*((?:[AE]?[GFXN]|[AEURWM])\b|<->|->|\|\|?|&&?|[!()]|[A-Za-z0-9_][\w@.:?]*|"[^"\n]+"|$)',
    re.ASCII,
)


class Proof:
    """The states that are listed, if they are those that can be reached, and what holds of them."""

    def __init__(self, system: System, given: Any, listed: Any) -> None:
        self.system, self.states, self.given, self.used = system, [system.first], given, set[str]()
        self.steps, numbers = list[list[tuple[int, Step]]](), {_text(system.first): 0}
        found = [{_text(step.target): step.target for step in system.steps(system.first)}]
        if _text(listed[0]) != _text([*system.first, None]):
            raise ValueError("the first state is another")
        for number, (at, buffers, settled, before) in enumerate(listed[1:], start=1):
            text = _text([at, buffers, settled])
            if type(before) is not int or not 0 <= before < number or text not in found[before]:
                raise ValueError(f"no step of a state before it leads to state {number}: {text}")
            if text in numbers:
                raise ValueError(f"state {number} is there twice: {text}")
            numbers[text] = number
            self.states.append(found[before][text])
            found.append({_text(s.target): s.target for s in system.steps(self.states[-1])})
        for missing in (text for some in found for text in some if text not in numbers):
            raise ValueError(f"a state can be reached and is not there: {missing}")
        for state in self.states:
            steps = ((numbers[_text(step.target)], step) for step in system.steps(state))
            self.steps.append([*steps])
        self.over = [all(system.ended(s, i) for i in system.everybody) for s in self.states]

    def distances(
        self, key: str, goal: Callable[[int], bool], without: str | None = None
    ) -> list[bool]:
        """From which states a goal is reached, if need be without a step of one member.

        A distance is 0 in a goal, else one more than the least of those that steps lead to; None
        where no step leads on. All of them are right if each is, beside its neighbours.
        """
        given = self.given[key]
        self.used.add(key)
        if type(given) is not list or len(given) != len(self.states):
            raise ValueError(f"there are not as many distances as states: {key}")
        for number, one in enumerate(given):
            near = [given[to] for to, step in self.steps[number] if step.actor != without]
            least = min((x for x in near if x is not None), default=None)
            due = 0 if goal(number) else None if least is None else least + 1
            if due != one or type(due) is not type(one):
                raise ValueError(f"{key}: state {number} is at the distance {due}, not {one}")
        return [one is not None for one in given]

    def ends(self, given: Any, how: str, whose: str) -> bool:
        """Whether ranks show that every run, as fair as that, comes to an end.

        A state has ranks where a run may be that has not come to an end yet.
        """
        if type(given) is not list or len(given) != len(self.states):
            raise ValueError("there are not as many ranks as states")
        left = [number for number, one in enumerate(given) if one is not None]
        due = {0, *(to for number in left for to, _ in self.steps[number])}
        running = {number for number in due if not self.over[number]} == {*left}
        return (
            running
            and all(self.steps[number] for number in left)
            and self._falls(given, left, 0, how, whose)
        )

    def _falls(self, given: Any, among: list[int], level: int, how: str, whose: str) -> bool:
        """No step goes up. Where runs could stay on one rank they would be unfair to what is named
        there: no step of it stays. Weakly fair: it can happen in all states of that rank.
        Strongly: where it can happen is left for good, and the rest have ranks of their own.
        """
        ranks, blocks = {n: given[n][level] for n in among}, dict[int, set[int]]()
        for number, (rank, _) in ranks.items():
            below = (ranks.get(to, ranks[number])[0] <= rank for to, _ in self.steps[number])
            if type(rank) is not int or not all(below):
                return False
            blocks.setdefault(rank, set()).add(number)
        for block in blocks.values():
            (named,) = {_text(ranks[n][1]) for n in block}
            helpful = json.loads(named)
            stays = [step for n in block for to, step in self.steps[n] if to in block]
            can = block
            if helpful is not None:
                stays = [step for step in stays if self._is_of(step, helpful, whose)]
                every = ((n, step) for n in block for _, step in self.steps[n])
                can = {n for n, step in every if self._is_of(step, helpful, whose)}
                if not how or (how == "weak" and can != block):
                    return False
            if stays or any(len(given[n]) != level + 1 for n in can):
                return False
            if block - can and not self._falls(given, sorted(block - can), level + 1, how, whose):
                return False
        return True

    def _is_of(self, step: Step, helpful: Any, whose: str) -> bool:
        if whose == "agent":
            return bool(helpful and step.actor == helpful)  # the outside is no agent
        return helpful in [f"{self.system.names[i]}: {row}" for i, row in step.rows]

    # The standard checks: whether each holds.

    def holds(self, name: str) -> bool:
        """Whether a standard check, or a formula G p, holds of all states that can be reached."""
        system = self.system
        if name == "no-deadlock":
            return all(over or some for over, some in zip(self.over, self.steps, strict=True))
        if name == "nothing-sent-after-the-end":
            return not any(
                system.ended(s, i) and any(r.sign == "+" for r in system.rows(s, i))
                for s in self.states for i in system.everybody
            )  # fmt: skip
        if name in ("end-reachable-from-everywhere", "no-trap"):
            return all(self.distances("end", lambda n: self.over[n]))
        if name == "no-dead-row":
            taken = {one for some in self.steps for _, s in some if not s.settles for one in s.rows}
            return taken >= {*system.ways}
        return self._always(name) if name not in STANDARD else self._are_received(name)

    def _are_received(self, name: str) -> bool:
        system = self.system
        refused = [self._refused(s) if not system.capacity else self._left(s) for s in self.states]
        if name == "no-orphan-message":
            return True not in [ended for some in refused for ended in some]
        waits = {i for s in self.states for i in system.everybody if s.settled[i]}
        sent = [self._sends(i, lambda n, i=i: not self.states[n].settled[i]) for i in sorted(waits)]  # type: ignore[misc] # mypy sees no default in a lambda
        return all(sent) and False not in [ended for some in refused for ended in some]

    def _sends(self, i: int, goal: Callable[[int], bool], without: str | None = None) -> bool:
        return all(self.distances(f"sends {self.system.names[i]}", goal, without))

    def _refused(self, state: State) -> Iterator[bool]:
        """Of what can be sent and nobody takes: whether all that it may go to have ended. Who is
        busy with somebody else is waited for.
        """
        system = self.system
        for i in system.everybody:
            for row in (r for r in system.rows(state, i) if r.sign == "+"):
                others = system.ways[i, row]
                if not any(system.takes(state, i, j, row.label) for j in others):
                    left = [j for j in others if not system.ended(state, j)]
                    busy = ({*system.ways[j, r]} - {i} for j in left for r in system.rows(state, j))
                    if not any(busy):
                        yield not left

    def _left(self, state: State) -> Iterator[bool]:
        """Of what lies on a link and is not taken: whether its receiver has ended, else can only
        receive and is offered nothing that it takes, on each link that it listens to.
        """
        system = self.system
        for j in system.everybody:
            some, ended = system.rows(state, j), system.ended(state, j)
            heard = {i for row in some for i in system.ways[j, row]}
            mine = [(n, i) for n, (i, k) in enumerate(system.links) if k == j]
            offers = {i: system.offers(state, n) for n, i in mine}
            taken = {i: any(system.takes(state, i, j, tag) for tag in offers[i]) for i in offers}
            if ended and any(offers[i] and not taken[i] for i in offers):
                yield True
            listens = {*offers} & heard
            waits = not ended and all(row.sign == "-" for row in some)
            if waits and listens and all(offers[i] and not taken[i] for i in listens):
                yield False

    # Safety over channels of every capacity (Lange and Yoshida, CAV 2019).

    def safe(self) -> dict[str, bool]:
        """Which properties hold. Raises ValueError outside the class, and where the states are not
        k-exhaustive: whatever a member is about to send can be sent, it standing still until then.
        """
        system, numbers = self.system, range(len(self.states))
        for i in system.everybody:
            for some in system.leaving[i].values():
                ways = {system.ways[i, row] for row in some}
                plain = {row.sign for row in some} <= {"+"} or {row.sign for row in some} <= {"-"}
                if not plain or len(ways) > 1 or any(len(way) != 1 for way in ways):
                    raise ValueError("this is no directed system of senders and receivers")
                if len({row.label for row in some}) < len(some):
                    raise ValueError("a state has two rows for one tag")
            if not self._sends(i, lambda n, i=i: not self._is_full(i, n), system.names[i]):  # type: ignore[misc] # mypy sees no default in a lambda
                raise ValueError(f"it is not exhaustive: {system.names[i]} cannot send")
        heard = ((system.ways[i, r][0], i) for i, r in system.ways if r.sign == "-")
        can = {link: self._received(link) for link in {*system.links, *heard}}
        rows = {(i, r.source): (i, r) for i, r in system.ways if r.sign == "-"}
        waits = [
            [
                rows[i, at]
                for i, at in enumerate(s.at)
                if (i, at) in rows and at not in system.tables[i].final
            ]
            for s in self.states
        ]
        there = [{*compress(system.links, s.buffers)} for s in self.states]
        return {
            "eventual-reception": all(can[link][n] for n in numbers for link in there[n]),
            "progress": all(
                can[system.ways[one][0], one[0]][n] for n in numbers for one in waits[n]
            ),
        }

    def _is_full(self, i: int, number: int) -> bool:
        """Whether i is about to send where there is no room."""
        system, state = self.system, self.states[number]
        links = [(i, system.ways[i, r][0]) for r in system.leaving[i][state.at[i]] if r.sign == "+"]
        return any(len(state.buffers[system.links.index(x)]) == system.capacity for x in links)

    def _received(self, link: tuple[int, int]) -> list[bool]:
        """From which states a message from one to the other is received at last."""
        i, j = link
        own = {(j, row) for k, row in self.system.ways if k == j and row.sign == "-"}
        own = {one for one in own if self.system.ways[one] == (i,)}
        taken = [any({*step.rows} & own for _, step in some) for some in self.steps]
        key = f"receives {self.system.names[i]}>{self.system.names[j]}"
        return self.distances(key, lambda n: taken[n])

    # Formulas: in which states they hold.

    def _always(self, formula: str) -> bool:
        """Whether G p or AG p holds, where p speaks of states. Raises ValueError for others."""
        tokens, where = list[str](), 0
        while not tokens or tokens[-1]:
            found = TOKEN.match(formula, where)
            if found is None:
                raise ValueError(f"this formula cannot be read: {formula}")
            tokens.append(found[1])
            where = found.end()
        head = next((x for x in (["G"], ["AG"], ["A", "G"]) if tokens[: len(x)] == x), None)
        if head is None:
            raise ValueError(f"this formula is none of states: {formula}")
        left = tokens[: len(head) - 1 : -1]
        holds = self._part(left)
        if left != [""]:
            raise ValueError(f"this formula is more than G p: {formula}")
        return len(holds) == len(self.states)

    def _part(self, left: list[str]) -> set[int]:
        """What binds as ! does."""
        every, word = {*range(len(self.states))}, left.pop()
        if word == "!":
            return every - self._part(left)
        if word == "(":
            found = self._joined(left, 0)
            if left.pop() != ")":
                raise ValueError("a parenthesis is missing")
            return found
        if word in ("true", "false"):
            return every if word == "true" else set()
        return self._where(word.strip('"'))

    def _joined(self, left: list[str], level: int) -> set[int]:
        """What is joined by <->, -> (to the right), | and &, from the loosest."""
        if level == len(JOINS):
            return self._part(left)
        every, found = {*range(len(self.states))}, self._joined(left, level + 1)
        while left[-1] and left[-1] in JOINS[level]:
            sign = left.pop()
            other = self._joined(left, level + (sign != "->"))
            if sign[0] in "&|":
                found = found & other if sign[0] == "&" else found | other
            else:
                found = (every - found) | other if sign == "->" else every - (found ^ other)
        return found

    def _where(self, name: str) -> set[int]:
        """In which states a proposition is true. Raises ValueError where there is none."""
        system, (who, _, what) = self.system, name.partition("@")
        places = dict(zip(system.names, system.everybody, strict=True))
        places |= {str(place + 1): place for place in system.everybody}
        if name == "ended":
            return {n for n, over in enumerate(self.over) if over}
        if who in places and what in system.tables[places[who]].states:
            return {n for n, state in enumerate(self.states) if state.at[places[who]] == what}
        sender, _, receiver = who.partition(":")
        i, j = system.names.index(sender), system.names.index(receiver)
        link, sent = system.links.index((i, j)), [r for k, r in system.ways if k == i]
        on_it = [r.label for r in sent if r.sign == "+" and j in system.ways[i, r]]
        true: dict[str, Callable[[tuple[str, ...]], bool]] = {
            "empty": lambda tags: not tags,
            "full": lambda tags: len(tags) == int(system.carries[link].partition(":")[2]),
        } | {f"has.{tag}": lambda tags, tag=tag: tag in tags for tag in on_it}
        return {n for n, state in enumerate(self.states) if true[what](state.buffers[link])}


def check_system(certificate: Any, *tables: Any) -> Iterator[tuple[bool, str]]:
    """Each claim with whether its verdict is right; or False with why all of it is refused.

    `tables` are those of the members as TOML reads them, each once, in any order. Raises
    ValueError, LookupError or the like where evidence is wrong, or it is no certificate.
    """
    unbounded, claims = certificate["channel"] == "fifo", certificate["claims"]
    keys = {"format", "channel", "members", "claims", "distances", "states"}
    if (
        _text(certificate["format"]) != _text(SYSTEM_FORMAT)
        or {*certificate} - ({"k"} if unbounded else set()) != keys
    ):
        yield False, "its format is another; write it anew with: pxp check --certificate FILE"
        return
    system = _system(certificate, [*map(Table, tables)])
    proof = Proof(system, certificate["distances"], certificate["states"])
    lines, due = list[tuple[bool, str]](), SAFE if unbounded else STANDARD
    safe = proof.safe() if unbounded else {}
    for claim in claims:
        name, ranks = claim["name"], {key: claim[key] for key in claim if key == "ranks"}
        if name in ENDS:
            holds = proof.ends(claim["ranks"], *ENDS[name])
        else:
            holds = safe[name] if unbounded else proof.holds(name)
        stated = {"name": name, "verdict": "HOLDS" if holds else "FAILS"} | ranks
        right = _text(claim) == _text(stated) and bool(ranks) is (name in ENDS)
        lines.append((right and (holds or not ranks), f"{name} {claim['verdict']}"))
    names = [claim["name"] for claim in claims]
    if (*names[: len(due)],) != due or len({*names}) < len(names):
        yield False, f"its claims are other ones than {', '.join(due)} and what is asked besides"
    elif {*certificate["distances"]} != proof.used:
        yield False, "there are distances that nothing needs"
    else:
        yield True, f"{system} over {certificate['channel']}: {len(proof.states)} states"
        yield from lines


def _system(certificate: Any, tables: list[Table]) -> System:
    """The system that it is about. Raises ValueError where these are not its tables."""
    found = {table.fingerprint: table for table in tables}
    members = [(one["name"], one["fingerprint"]) for one in certificate["members"]]
    due = [{"name": name, "fingerprint": fingerprint} for name, fingerprint in members]
    if _text(due) != _text(certificate["members"]) or len(found) < len(tables):
        raise ValueError("a member has a name and a fingerprint; each table is given once")
    if {*found} != {fingerprint for _, fingerprint in members}:
        raise ValueError("the tables that are given are not those of its members")
    channel = certificate["channel"]
    if channel == "fifo":
        channel = f"fifo:{_text(certificate['k'])}"
    return System([name for name, _ in members], [found[one] for _, one in members], channel)


# Part 4: files.


def table(text: str) -> Any:
    """A table from the text of its file, TOML or JSON."""
    return json.loads(text) if text.lstrip()[:1] == "{" else tomllib.loads(text)


def read(text: str) -> Any:
    """JSON data in which no key is there twice; raises ValueError."""

    def once(pairs: Any) -> Any:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError(f"a key is there twice: {', '.join(key for key, _ in pairs)}")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=once)


def check(certificate: Any, *tables: Any) -> Iterator[tuple[bool, str]]:
    """Each claim, in words, with whether its verdict is right; or False with why all is refused.

    `tables` are the protocol's, or those of a system's members, as TOML reads them. Raises
    ValueError, LookupError or the like where evidence is wrong, or it is no certificate.
    """
    which: Any = check_system if "members" in certificate else check_protocol
    return which(certificate, *tables)  # type: ignore[no-any-return]


def main(certificate: Any, *tables: str) -> bool:
    """Print each claim with whether its verdict is right; whether all are."""
    lines = list(check(certificate, *map(table, tables)))
    for fine, text in lines:
        print("ok   " if fine else "WRONG", text)
    return bool(lines) and all(fine for fine, _ in lines)


if __name__ == "__main__":
    try:
        first, *others = (Path(name).read_text("utf-8") for name in sys.argv[1:])
        sys.exit(not main(read(first), *others))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        sys.exit(f"{__doc__}\nThese cannot be checked: {type(error).__name__}: {error}")
