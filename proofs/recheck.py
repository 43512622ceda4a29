"""The checker of certificates: `python -m proofs.recheck CERTIFICATE.json TABLE.toml`."""

import hashlib
import json
import sys
import tomllib
from itertools import compress, product
from pathlib import Path
from typing import Any

# Values are points: 0 is the initiator m's latest, 1 the responder h's, 2 a new one. A state keeps,
# for y and e, the pairs of points of which m's and h's relations hold (None: they are no sets).
# Of message j the rules ask: is it 1, 2, odd, above k, n. AFTER steps through the classes of j - 1.
# j = 1 is not above k >= 1; any other is above some k and not another, some j <= n is n, another
# below: both answers where both exist is every j, n and k. PXP(k): a loop never taken can be taken;
# one taken k times gives way to TERM, possible anyhow. A ranking is 1 less for each sent, never
# negative: sent <= n; others and k a loop <= 2k + 5 (2 loops and 5 others, or 1 and 6, 0 and 7).
AFTER = {"0": "1", "1": "2", "2": "odd", "odd": "even", "even": "odd"}
BOUNDS = {"interact": [["k >= 1", "n >= 1"]], "pxp": [[]], "pxp(k)": [["k >= 1"]]}
RANKS = {"interact": {"n": 1, "sent": -1}, "pxp(k)": {"": 5, "k": 2, "sent": -1}}
REVISED = ["m INIT", "h REVISE", "m REVISE", "h RATIFY", "m RATIFY"]
RATIFIED, REFUTED = [REVISED[0], *REVISED[3:]], ["m INIT", "h REFUTE", "m REFUTE", "h RATIFY"]
REPLIES = {"INIT": {"RATIFY", "REFUTE", "REVISE", "REJECT"}, "REJECT": {"REJECT"}}  # or TERM
REPLIES |= {"RATIFY": {"RATIFY"}, "REVISE": {"RATIFY"}, "REFUTE": {"REFUTE", "REVISE", "REJECT"}}


def _cut(world: Any, *points: int) -> Any:  # relations on some of their points, numbered anew
    new = {p: i for i, p in enumerate(points)}
    return world and [sorted([new[a], new[b]] for a, b in r if {a, b} <= {*new}) for r in world]


class Part:
    """One invariant; sound if its states are the first, and all that steps from them lead to."""

    def __init__(self, part: Any, raw: Any, rows: dict[Any, Any]) -> None:
        self.subject, self.given, self.rows = part["subject"], part["assumptions"], rows
        self.interact, self.final, fit = self.subject == "interact", {*raw["final"]}, []
        for r in ({*compress(product(range(3), repeat=2), b)} for b in product((0, 1), repeat=9)):
            has = {"reflexive": r >= {(0, 0), (1, 1), (2, 2)}}
            has["symmetric"] = r == {(b, a) for a, b in r}
            has["transitive"] = all((a, d) in r for a, b in r for c, d in r if b == c)
            fit += [r] * all(has.get(name, True) for name in self.given)
        worlds = [(r, s) for r in fit for s in fit if r == s or "shared" not in self.given]
        self.worlds: list[Any] = worlds if "deterministic" in self.given else [None]
        self.states, self.none = part["states"], _cut(self.worlds[0])
        first = self.states[0] | {"at": [raw["initial"]] * 2, "last": "", "said": [], "over": ""}
        first |= {"replied": first["replied"] and [], "y": self.none, "e": self.none}
        first["numbers"] = {x: "< n" if x == "room" else "0" for x in first["numbers"]}
        self.steps = [(s, *r) for s in self.states if not s["over"] for r in self.after(s)]
        found = [first, *(r[-1] for r in self.steps if r[-1]["over"] != "stuck")]
        one, two = ({json.dumps(s, sort_keys=True) for s in x} for x in (found, self.states))
        self.sound = one == two and part["bounds"] == BOUNDS[self.subject]

    def judged(self, data: Any, who: int, second: bool) -> Any:  # like mine?, REVISE?, old, new
        new = 1 if second and self.interact else 2  # there h's own first value is the fresh one
        asked = ((1 - who, who), (new, who if self.interact else 1 - who))
        free = [[True] if a == b and "reflexive" in self.given else [True, False] for a, b in asked]
        for world in (w for w in self.worlds if _cut(w, *range(2 - second)) == data):
            for says in product(*([[p in world[who]] for p in asked] if world else free)):
                yield *says, _cut(world, 0, 1), _cut(world, *((0, new) if who else (new, 1)))

    def after(self, state: Any) -> Any:  # for any n and k: tag, whether j > k, y, e, next state
        sent, who = state["numbers"]["sent"], int(state["numbers"]["sent"] in ("1", "odd"))
        if sent == "0":
            for y, e in product(self.worlds, repeat=2):
                yield from self.sends(state, 0, "INIT", 0, _cut(y, 0), _cut(e, 0))
            return
        yield from () if self.interact else self.sends(state, who, "TERM", 0, None, None)
        ys, es = ({str(j): j for j in self.judged(state[v], who, sent == "1")} for v in "ye")
        for (match, y, *y2), (agree, e, *e2), late in product(ys.values(), es.values(), (0, 1)):
            guard = "REV" if (y and e) != self.interact else "REF"  # changed; PXP: reconciled
            if match == agree and (match or late or not self.interact):
                guard = "RAT" if match else "REJ"
            new = self.interact or guard in ("REF", "REV")
            yield from self.sends(state, who, guard, late, y2[new], e2[new])

    def sends(self, state: Any, who: int, row: str, late: int, y: Any, e: Any) -> Any:
        tag, goes = self.rows.get((state["at"][who], "+", row), ("", ""))
        _, hears = self.rows.get((state["at"][1 - who], "-", tag), ("", ""))
        said, replied, loop = state["said"], state["replied"], tag == state["last"]
        numbers = state["numbers"] | {"sent": AFTER[state["numbers"]["sent"]]}
        if "others" in numbers:
            numbers |= {tag: "1..k"} if loop else {"others": str(int(numbers["others"]) + 1)}
        said = [*said, f"{'mh'[who]} {tag}"] if said is not None else [None]
        said = said if any(w[: len(said)] == said for w in (RATIFIED, REFUTED, REVISED)) else None
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

    def against(self, claim: Any) -> Any:  # what speaks against a claim: if nothing, it holds
        steps, over = self.steps, [s for s in self.states if s["over"]]
        mute = self.final - {at for at, sign, _ in self.rows if sign == "+"}
        long = [s for s in over if s["over"] != "bound" or s["numbers"]["sent"] not in "12"]
        strong = [s for s in over if {"RATIFY", "REVISE"} >= {*(s["replied"] or ())}]
        loops = [([*s["numbers"].values()].count("1..k"), s["numbers"]) for s in self.states]
        wide = [x for x, n in loops if x > 2 or x + int(n.get("others", 0)) > 7]
        last = [r for r in steps if r[-1]["over"] == "ratified"]
        known: dict[str, Any] = {
            "terminates": wide + [0] * (claim.get("ranking") != RANKS.get(self.subject, 0)),
            "never-stuck": [r for r in steps if r[-1]["over"] == "stuck"],
            "silent-end": [s for s in over if not mute >= {*s["at"]}],
            "reject-after-k": [r for r in steps if r[1] == "REJECT" and not r[2]],
            "no-revise-at-2": [r for r in steps if r[0]["numbers"]["sent"] + r[1] == "1REVISE"],
            "ends-agreed": [r for r in last if not all([0, 1] in (x or [[]])[0] for x in r[3:5])],
            "refuted-never": [s for s in self.states if s["said"] == REFUTED],
            "revised-never": [s for s in self.states if s["said"] == REVISED],
            "ratified-at-3": [s for s in long if s["said"] == RATIFIED[:2]]
            + [r for r in steps if r[0]["said"] == RATIFIED[:2] and r not in last],
            "strong-once": [s for s in long if s in strong and s["said"] != RATIFIED],
            "never-ultra": [s for s in strong if s["replied"] is None or "REVISE" in s["replied"]],
        }
        for tag, ok in REPLIES.items():
            known[f"replies-{tag}"] = {r[1] for r in steps if r[0]["last"] == tag} - {*ok, "TERM"}
        return {f"{self.subject}.{name}": bad for name, bad in known.items()}.get(claim["name"])


def main(certificate: Any, table: str) -> bool:
    """Print each claim with whether its verdict is right; whether all are."""
    raw, rows, signs = tomllib.loads(table), {}, {"send": "+", "receive": "-", "event": "!"}
    lines, right = [f"initial {raw['initial']}", *(f"final {s}" for s in raw["final"])], True
    for row, key in product(raw["rows"], signs):
        places, tags = ([x] if isinstance(x, str) else x for x in (row["from"], row.get(key, [])))
        for at, label in product(places, tags):
            lines.append(f"{at} {row['to']} {row.get('guard', '⊤')} {signs[key]}{label}")
            rows[at, signs[key], row.get("guard", label)] = (label, row["to"])
    digest = hashlib.sha256("".join(f"{line}\n" for line in sorted(lines)).encode()).hexdigest()
    same = (certificate["fingerprint"], certificate["format"]) == (digest, 1)
    for entry in certificate["parts"]:
        part = Part(entry, raw, rows)
        for claim in entry["claims"]:
            against = part.against(claim)  # None: no claim of the subject's has that name
            due = against is not None and ("not inductive" if against else "proved")
            right &= (fine := same and part.sound and claim["verdict"] == due)
            print("ok   " if fine else "WRONG", *claim.values(), *part.given)
    return right


if __name__ == "__main__":
    try:
        first, second = (Path(name).read_text("utf-8") for name in sys.argv[1:])
        sys.exit(not main(json.loads(first), second))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        sys.exit(f"{__doc__}\nThese cannot be checked: {type(error).__name__}: {error}")
