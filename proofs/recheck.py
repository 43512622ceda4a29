"""The checker of certificates: `python -m proofs.recheck CERTIFICATE.json TABLE.toml...`.

It knows by itself which claims there are, what a state consists of, and of which table and decision
functions they are; a certificate in which anything is missing, superfluous or different is refused.
Those of systems, with the tables of all members, `proofs.recheck_claims` checks.
"""

import hashlib
import json
import sys
from functools import cache
from itertools import compress, product
from pathlib import Path
from typing import Any

from proofs import recheck_claims

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

_text = json.JSONEncoder(sort_keys=True).encode
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


def read(text: str) -> Any:
    """JSON data in which no key is there twice; raises ValueError."""

    def once(pairs: Any) -> Any:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError(f"a key is there twice: {', '.join(key for key, _ in pairs)}")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=once)


def check(certificate: Any, raw: Any) -> Any:
    """Each claim, in words, with whether it is right; or False with why all of it is refused.

    `raw` is a table as TOML reads it. Raises LookupError, TypeError or the like where one of the
    two is something else.
    """
    rows, signs = list[Any](), {"send": "+", "receive": "-", "event": "!"}
    lines = [f"initial {raw['initial']}", *(f"final {s}" for s in raw["final"])]
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
    known = _parts(protocol, json.dumps([raw["initial"], sorted(raw["final"]), rows]))
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


def main(certificate: Any, *tables: str) -> bool:
    """Print each claim with whether its verdict is right; whether all are."""
    which = recheck_claims.check if "members" in certificate else check
    lines = list(which(certificate, *map(recheck_claims.table, tables)))
    for fine, text in lines:
        print("ok   " if fine else "WRONG", text)
    return bool(lines) and all(fine for fine, _ in lines)


if __name__ == "__main__":
    try:
        first, *others = (Path(name).read_text("utf-8") for name in sys.argv[1:])
        sys.exit(not main(read(first), *others))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        sys.exit(f"{__doc__}\nThese cannot be checked: {type(error).__name__}: {error}")
