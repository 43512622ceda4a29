"""Check a certificate again, from the table's file, with the rules in other words.

It imports Python's own library alone. `python -m proofs.recheck CERTIFICATE.json TABLE.toml`
"""

import hashlib
import json
import sys
import tomllib
from itertools import compress, product
from pathlib import Path
from typing import Any

# Values are points: 0 is the initiator m's latest, 1 the responder h's, 2 a new one. A state keeps,
# for y and e, the pairs of points of which m's and h's relations hold (None: they are no sets).
# Of j, the number of the next message, the rules ask only: is it 1, is it 2, is it odd, is it above
# k, is it n. Every j is 1, or 2, or odd from 3 on, or even from 4 on: AFTER steps through the
# classes of j - 1. As k >= 1, j = 1 is not above k; any other j is above some k and not another. A
# session that goes on has j <= n: j is n for one n, below it for others. So taking both answers
# wherever both exist is taking every j, n and k. PXP(k): a loop never taken can be taken (0 < k);
# one taken k times gives way to TERM, which there is anyhow. A message makes a ranking 1 less, as
# it counts in sent; and it is never negative: sent is at most n, and in PXP(k) the others plus at
# most k for each loop taken, so at most 2k + 5 with 2 loops and 5 others, or 1 and 6, 0 and 7.
AFTER = {"0": "1", "1": "2", "2": "odd", "odd": "even", "even": "odd"}
BOUNDS = {"interact": [["k >= 1", "n >= 1"]], "pxp": [[]], "pxp(k)": [["k >= 1"]]}
RANKS = {"interact": {"n": 1, "sent": -1}, "pxp(k)": {"": 5, "k": 2, "sent": -1}}
RATIFIED = ["m INIT", "h RATIFY", "m RATIFY"]
REFUTED = ["m INIT", "h REFUTE", "m REFUTE", "h RATIFY"]
REVISED = ["m INIT", "h REVISE", "m REVISE", "h RATIFY", "m RATIFY"]
REPLIES = {"INIT": "RATIFY REFUTE REVISE REJECT TERM", "REFUTE": "REFUTE REVISE REJECT TERM"}
REPLIES |= {"RATIFY": "RATIFY TERM", "REVISE": "RATIFY TERM", "REJECT": "REJECT TERM"}


def cut(world: Any, points: list[int]) -> Any:
    """Relations on some of their points, numbered anew."""
    new = {p: i for i, p in enumerate(points)}
    return world and [sorted([new[a], new[b]] for a, b in r if {a, b} <= {*new}) for r in world]


class Part:
    """One invariant; it is sound if it has the first state and is closed under every step."""

    def __init__(self, part: Any, initial: str, rows: dict[Any, Any]) -> None:
        self.subject, self.given, self.rows = part["subject"], part["assumptions"], rows
        self.states, self.interact = part["states"], self.subject == "interact"
        self.claims = part["claims"]
        picks = ({*compress(product(range(3), repeat=2), b)} for b in product((0, 1), repeat=9))
        fit = [r for r in picks if self.fits(r)]
        worlds = [(r, s) for r in fit for s in fit if r == s or "shared" not in self.given]
        self.worlds: list[Any] = worlds if "deterministic" in self.given else [None]
        self.none = cut(self.worlds[0], [])
        first = dict(self.states[0], at=[initial] * 2, last="", said=[], over="")
        first |= {"y": self.none, "e": self.none, "replied": first["replied"] and []}
        first["numbers"] = {x: "< n" if x == "room" else "0" for x in first["numbers"]}
        self.steps = [(s, *r) for s in self.states if not s["over"] for r in self.after(s)]
        needed = [first, *(r[-1] for r in self.steps if r[-1]["over"] != "stuck")]
        known = {json.dumps(s, sort_keys=True) for s in self.states}
        self.sound = known.issuperset(json.dumps(s, sort_keys=True) for s in needed)
        self.sound &= part["bounds"] == BOUNDS[self.subject]

    def fits(self, r: set[Any]) -> bool:
        chained = all((a, d) in r for a, b in r for c, d in r if b == c)
        has = {"symmetric": all((b, a) in r for a, b in r), "transitive": chained}
        has["reflexive"] = all((p, p) in r for p in range(3))
        return all(has.get(name, True) for name in self.given)

    def judged(self, data: Any, who: int, second: bool) -> Any:
        # is the peer's value like one's own; what REVISE asks; the data if kept, if changed
        new = 1 if second and self.interact else 2  # there h's own first value is the fresh one
        asked = ((1 - who, who), (new, who if self.interact else 1 - who))
        free = [[True] if a == b and "reflexive" in self.given else [True, False] for a, b in asked]
        for world in self.worlds:
            if cut(world, [0] if second else [0, 1]) == data:
                says = [[pair in world[who]] for pair in asked] if world else free
                after = cut(world, [0, 1]), cut(world, [0, new] if who else [new, 1])
                yield from ((*answers, *after) for answers in product(*says))

    def after(self, state: Any) -> Any:
        # (tag, whether j > k, state after it) of each step, whatever n and k are
        sent = state["numbers"]["sent"]
        who = int(sent in ("1", "odd"))
        if sent == "0":
            for y, e in product(self.worlds, repeat=2):
                yield from self.sends(state, 0, "INIT", False, cut(y, [0]), cut(e, [0]))
            return
        if not self.interact:
            yield from self.sends(state, who, "TERM", False, None, None)
        ys, es = ({str(j): j for j in self.judged(state[v], who, sent == "1")} for v in "ye")
        for (match, y, *y2), (agree, e, *e2), late in product(ys.values(), es.values(), (0, 1)):
            if match == agree and (match or late or not self.interact):
                guard = "RAT" if match else "REJ"
            else:  # INTERACT revises if its answer changed, PXP if learning reconciles
                guard = "REV" if (y and e) != self.interact else "REF"
            changes = self.interact or guard in ("REF", "REV")
            yield from self.sends(state, who, guard, bool(late), y2[changes], e2[changes])

    def sends(self, state: Any, who: int, row: str, late: bool, y: Any, e: Any) -> Any:
        tag, goes = self.rows.get((state["at"][who], "+", row), ("", ""))
        _, hears = self.rows.get((state["at"][1 - who], "-", tag), ("", ""))
        said, replied, loop = state["said"], state["replied"], tag == state["last"]
        numbers = {**state["numbers"], "sent": AFTER[state["numbers"]["sent"]]}
        if "others" in numbers:
            numbers |= {tag: "1..k"} if loop else {"others": str(int(numbers["others"]) + 1)}
        said = [*said, f"{'mh'[who]} {tag}"] if said is not None else [None]
        said = said if any(w[: len(said)] == said for w in (RATIFIED, REFUTED, REVISED)) else None
        replied = sorted({*replied, tag}) if who and replied is not None else replied
        stop = "rejected" if tag == "REJECT" else "ratified" if loop and tag == "RATIFY" else ""
        for room in ("< n", "= n") if self.interact else ("",):
            at = [hears, goes] if who else [goes, hears]
            over = (stop or "bound" * (room == "= n")) if room else "term" * (tag == "TERM")
            if over and room:
                at = [self.rows.get((x, "!", "CLOSE"), ("", ""))[1] for x in at]
            new = {"at": at, "said": said, "replied": replied, "over": over, "y": y, "e": e}
            new |= {"last": "", "y": self.none, "e": self.none} if over else {"last": tag}
            new["numbers"] = numbers | ({"room": room} if room else {})
            yield tag, late, new if hears and "" not in at else {"over": "stuck"}

    def against(self, ranking: Any, final: set[str]) -> dict[str, list[Any]]:
        # for each claim that is known here, what speaks against it: a claim with nothing holds
        states, steps, mute = (
            self.states,
            self.steps,
            final - {r[0] for r in self.rows if r[1] == "+"},
        )
        over = [s for s in states if s["over"] not in ("", "stuck")]
        three = [
            s for s in over if s["over"] != "bound" or s["numbers"]["sent"] not in "12"
        ]  # n >= 3
        strong = [s for s in over if not {*(s["replied"] or ())} - {"RATIFY", "REVISE"}]
        third = [r for r in steps if r[0]["said"] == RATIFIED[:2]]
        wide = [s for s in states if not self.within(s["numbers"])]
        found = {
            "terminates": wide + [ranking] * (ranking != RANKS.get(self.subject, 0)),
            "never-stuck": [s for s in [*states, *(r[-1] for r in steps)] if s["over"] == "stuck"],
            "silent-end": [s for s in over if not {*s["at"]} <= mute],
            "reject-after-k": [r for r in steps if r[1] == "REJECT" and not r[2]],
            "no-revise-at-2": [r for r in steps if r[0]["numbers"]["sent"] + r[1] == "1REVISE"],
            "refuted-never": [s for s in states if s["said"] == REFUTED],
            "revised-never": [s for s in states if s["said"] == REVISED],
            "ratified-at-3": [r for r in third if r[1] + r[-1]["over"] != "RATIFYratified"],
            "strong-once": [s for s in three if s in strong and s["said"] != RATIFIED],
            "never-ultra": [s for s in strong if s["replied"] is None or "REVISE" in s["replied"]],
        }
        found["ratified-at-3"] += [s for s in three if s["said"] == RATIFIED[:2]]
        for last, good in REPLIES.items():
            heard = [r for r in steps if r[0]["last"] == last]
            found[f"replies-{last}"] = [r for r in heard if r[1] not in good.split()]
        return found

    def within(self, numbers: Any) -> bool:
        if self.interact:
            return numbers["room"] in ("< n", "= n")
        loops = [*numbers.values()].count("1..k")
        return loops <= 2 and loops + int(numbers.get("others", 9)) <= 7


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
    for part in (Part(entry, raw["initial"], rows) for entry in certificate["parts"]):
        for claim in part.claims:
            owner, _, what = claim["name"].partition(".")
            against = part.against(claim.get("ranking"), {*raw["final"]}).get(what, [what])
            fine = claim["verdict"] == ("not inductive" if against else "proved") and same
            fine = fine and part.sound and owner == part.subject
            print("ok   " if fine else "WRONG", *claim.values(), *part.given)
            right = right and fine
    return right


if __name__ == "__main__":
    texts = [Path(name).read_text("utf-8") for name in sys.argv[1:3]]
    sys.exit(not main(json.loads(texts[0]), texts[1]))
