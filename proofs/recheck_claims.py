"""The checker of certificates of systems, which `python -m proofs.recheck` runs.

It knows by itself what each claim means. From the certificate it takes the states, each with one
before it, and what makes a claim evident state by state: distances and ranks. It refuses what is
missing, superfluous or different.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from itertools import compress
from typing import Any

from proofs.recheck_systems import State, Step, System, Table

FORMAT = 1
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
_text = json.JSONEncoder(ensure_ascii=False).encode


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
            return bool(step.actor == helpful)
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


def table(text: str) -> Any:
    """A table from the text of its file, TOML or JSON."""
    return json.loads(text) if text.lstrip()[:1] == "{" else tomllib.loads(text)


def check(certificate: Any, *tables: Any) -> Iterator[tuple[bool, str]]:
    """Each claim with whether its verdict is right; or False with why all of it is refused.

    `tables` are those of the members as TOML reads them, each once, in any order. Raises
    ValueError, LookupError or the like where evidence is wrong, or it is no certificate.
    """
    unbounded, claims = certificate["channel"] == "fifo", certificate["claims"]
    keys = {"format", "channel", "members", "claims", "distances", "states"}
    if (
        _text(certificate["format"]) != _text(FORMAT)
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
