"""Panels by themselves: the naive second implementation, pure functions over lists of messages.

Nothing is taken from the package, and nothing is kept from one message to the next: each answer is
found by reading all messages from the first on. Where they stand in a `Transcript`, an answer that
was found of it is not sought twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from itertools import combinations, pairwise
from typing import Any, NamedTuple, TypeVar

Pair = tuple[str, str]
"""A prediction and an explanation."""


class Said(NamedTuple):
    """A message: who said what to whom."""

    sender: str
    receiver: str
    tag: str
    pair: Pair


class Transcript(list[Said]):
    """The messages of one session of one panel; each of its beginnings is one such, too."""

    def __init__(self, messages: Sequence[Said]) -> None:
        super().__init__(messages)
        self.known: dict[object, Any] = {}
        self._beginnings: dict[int, Transcript] = {}

    def beginning(self, length: int) -> Transcript:
        """Its first messages."""
        if length == len(self):
            return self
        if length not in self._beginnings:
            self._beginnings[length] = Transcript(self[:length])
        return self._beginnings[length]


T = TypeVar("T", bound=Callable[..., Any])


def kept(place: int) -> Callable[[T], T]:
    """A function that is asked once of a transcript, its argument at `place`, and what follows it.

    What stands before is the rules, which are those of its session.
    """

    def keeping(function: T) -> T:
        @wraps(function)
        def once(*given: Any) -> Any:
            messages = given[place]
            if type(messages) is not Transcript:
                return function(*given)
            key = (function, given[place + 1 :])
            known = messages.known
            if key not in known:
                known[key] = function(*given)
            return known[key]

        return once  # type: ignore[return-value]

    return keeping


@dataclass(frozen=True)
class Rules:
    """What a panel follows: INTERACT where `n` is given, else PXP, or PXP(k) with `k`."""

    names: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    n: int | None = None
    k: int | None = None
    schedule: str = "fifo"
    call: bool = False
    alone: bool = False
    commit: bool = False
    reopen: bool = False
    limit: int | None = None
    stop: tuple[tuple[str, int], ...] = field(default=())


Link = tuple[str, str]


def in_channel(messages: Sequence[Said], link: Link) -> list[int]:
    """Where the messages between the two stand."""
    return [i for i, one in enumerate(messages) if {one.sender, one.receiver} == set(link)]


def changes_at(messages: Sequence[Said], i: int) -> bool:
    """Whether message i carries another pair than its sender's message before."""
    return changes(messages)[i]


@kept(0)
def changes(messages: Sequence[Said]) -> list[bool]:
    """Of each message, whether it carries another pair than its sender's message before."""
    found, told = [], dict[str, Pair]()
    for one in messages:
        found.append(told.get(one.sender, one.pair) != one.pair)
        told[one.sender] = one.pair
    return found


def version(messages: Sequence[Said], name: str) -> int:
    return sum(one.sender == name and changes_at(messages, i) for i, one in enumerate(messages))


def current(messages: Sequence[Said], name: str) -> Pair | None:
    own = [one.pair for one in messages if one.sender == name]
    return own[-1] if own else None


@kept(0)
def talk(messages: Sequence[Said], link: Link) -> list[int]:
    """The messages of a channel from its latest INIT on."""
    all_of = in_channel(messages, link)
    starts = [i for i in all_of if messages[i].tag == "INIT"]
    return [i for i in all_of if starts and i >= starts[-1]]


def talk_is_over(rules: Rules, messages: Sequence[Said], link: Link) -> bool:
    """Whether what the two began last has ended."""
    tags = [messages[i].tag for i in talk(messages, link)]
    if rules.n is None:
        return "TERM" in tags
    return len(tags) >= rules.n or "REJECT" in tags or tags[-2:] == ["RATIFY", "RATIFY"]


@kept(1)
def reopened(rules: Rules, messages: Sequence[Said], link: Link) -> tuple[int, str] | None:
    """The first change of one of the two since their talk was over: where, and by whom."""
    if not rules.reopen or not talk_is_over(rules, messages, link):
        return None
    last = talk(messages, link)[-1]
    for i in range(last + 1, len(messages)):
        if messages[i].sender in link and changes_at(messages, i):
            return i, messages[i].sender
    return None


@kept(1)
def status(rules: Rules, messages: Sequence[Said], link: Link) -> str:
    if not talk(messages, link) or reopened(rules, messages, link):
        return "waits"
    return "closed" if talk_is_over(rules, messages, link) else "open"


def owed(rules: Rules, messages: Sequence[Said]) -> list[tuple[str, str]]:
    """Who owes a message to whom, in the order of the channels."""
    found = []
    for link in rules.links:
        now = status(rules, messages, link)
        if now == "open":
            last = messages[talk(messages, link)[-1]]
            found.append((last.receiver, last.sender))
        if now == "waits":
            again = reopened(rules, messages, link)
            opener = link[0] if again is None else again[1]
            other = link[0] if opener == link[1] else link[1]
            busy = [
                one
                for one in rules.links
                if set(one) & set(link) and status(rules, messages, one) == "open"
            ]
            if not (rules.call and busy):
                found.append((opener, other))
    return found


def waits_since(rules: Rules, messages: Sequence[Said], link: Link) -> int:
    """The number of the message since which a message is owed there; 0 from the start."""
    again = reopened(rules, messages, link)
    if again is not None:
        return again[0] + 1
    own = in_channel(messages, link)
    return own[-1] + 1 if own else 0


def due(rules: Rules, messages: Sequence[Said]) -> list[tuple[str, str]]:
    """Those of whom one speaks next."""
    found = owed(rules, messages)
    if rules.schedule == "free" or not found:
        return found
    if rules.schedule == "round-robin":
        at = rules.names.index(messages[-1].sender) + 1 if messages else 0
        turn = [*rules.names[at:], *rules.names[:at]]
        member = next(name for name in turn if name in [one for one, _ in found])
        found = [one for one in found if one[0] == member]

    def waiting(one: tuple[str, str]) -> tuple[int, int]:
        place = next(i for i, link in enumerate(rules.links) if set(link) == set(one))
        return waits_since(rules, messages, rules.links[place]), place

    return [min(found, key=waiting)]


@kept(0)
def latest(messages: Sequence[Said], sender: str, receiver: str) -> int | None:
    """Where the latest message of one to the other stands, TERM left out."""
    own = [i for i in talk(messages, (sender, receiver)) if messages[i].sender == sender]
    own = [i for i in own if messages[i].tag != "TERM"]
    return own[-1] if own else None


def fresh_ratify(messages: Sequence[Said], sender: str, receiver: str) -> bool:
    """Whether the latest message of one to the other is a RATIFY, and neither has changed since."""
    i = latest(messages, sender, receiver)
    if i is None or messages[i].tag != "RATIFY":
        return False
    ends = (sender, receiver)
    return not any(
        messages[j].sender in ends and changes_at(messages, j) for j in range(i + 1, len(messages))
    )


def may_learn(rules: Rules, messages: Sequence[Said], name: str, partner: str) -> bool:
    """Whether the panel's rules let an agent LEARN from its partner."""
    others = [link for link in rules.links if name in link and partner not in link]
    peers = [link[0] if link[1] == name else link[1] for link in others]
    if rules.limit is not None and version(messages, name) >= rules.limit:
        return False
    if rules.alone and any(status(rules, messages, link) == "open" for link in others):
        return False
    return not (rules.commit and any(fresh_ratify(messages, name, peer) for peer in peers))


def hangs_up(messages: Sequence[Said], name: str, partner: str) -> bool:
    """Whether PXP's policy has an agent answer with TERM: in kind, and nothing has changed."""
    own, others = latest(messages, name, partner), latest(messages, partner, name)
    if own is None or others is None:
        return False
    if messages[own].tag != messages[others].tag:
        return False
    if messages[own].tag not in ("RATIFY", "REJECT"):
        return False
    later = range(len(messages))
    mine = any(i > own and messages[i].sender == name and changes_at(messages, i) for i in later)
    theirs = any(
        i > others and messages[i].sender == partner and changes_at(messages, i) for i in later
    )
    return not mine and not theirs


Holds = Callable[[str, str], bool]


@dataclass
class Agent:
    """One that answers `answers` one after the other as it is asked, the last one for ever."""

    answers: Sequence[Pair]
    match: Holds
    agree: Holds
    asked: int = 0

    def answer(self) -> Pair:
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]


def reply(
    rules: Rules, messages: Sequence[Said], agents: Mapping[str, Agent], name: str, partner: str
) -> Said:
    """What an agent says next to its partner."""
    agent, has = agents[name], current(messages, name)
    learns = may_learn(rules, messages, name, partner)
    said = (
        []
        if status(rules, messages, (name, partner)) == "waits"
        else talk_of(messages, name, partner)
    )
    if rules.n is not None:
        return _interact(rules, said, agent, name, partner, has, learns=learns)
    pair = agent.answer() if has is None else has
    if not said:
        return Said(name, partner, "INIT", pair)
    if hangs_up(messages, name, partner):
        return Said(name, partner, "TERM", pair)
    theirs = said[-1].pair
    match, agree = agent.match(theirs[0], pair[0]), agent.agree(theirs[1], pair[1])
    if match and agree:
        tag = "RATIFY"
    elif not match and not agree:
        tag = "REJECT"
    else:
        tag = "REFUTE"
        if learns:
            pair = agent.answer()
            if agent.match(pair[0], theirs[0]) and agent.agree(pair[1], theirs[1]):
                tag = "REVISE"
    tags = [one.tag for one in said]
    loops = sum(a == b == tag for a, b in pairwise(tags))
    if rules.k is not None and tags[-1] == tag and loops >= rules.k:
        tag = "TERM"
    return Said(name, partner, tag, pair)


def talk_of(messages: Sequence[Said], name: str, partner: str) -> list[Said]:
    return [messages[i] for i in talk(messages, (name, partner))]


def _interact(
    rules: Rules,
    said: Sequence[Said],
    agent: Agent,
    name: str,
    partner: str,
    has: Pair | None,
    *,
    learns: bool,
) -> Said:
    fresh = agent.answer() if learns or has is None else has
    if not said:
        return Said(name, partner, "INIT", fresh)
    own = said[-2].pair if len(said) > 1 else fresh
    theirs, number = said[-1].pair, len(said) + 1
    match, agree = agent.match(theirs[0], own[0]), agent.agree(theirs[1], own[1])
    changed = not agent.match(fresh[0], own[0]) or not agent.agree(fresh[1], own[1])
    if match and agree:
        tag = "RATIFY"
    elif not match and not agree and rules.k is not None and number > rules.k:
        tag = "REJECT"
    else:
        tag = "REVISE" if changed else "REFUTE"
    return Said(name, partner, tag, fresh)


Alike = Callable[[Pair, Pair], bool]


def agreement(rules: Rules, messages: Sequence[Said], alike: Alike) -> bool:
    pairs = [current(messages, name) for name in rules.names]
    known = [pair for pair in pairs if pair is not None]
    return len(known) == len(pairs) and all(alike(a, b) for a, b in combinations(known, 2))


def consensus(rules: Rules, messages: Sequence[Said], alike: Alike) -> bool:
    ratified = all(
        fresh_ratify(messages, a, b) and fresh_ratify(messages, b, a) for a, b in rules.links
    )
    return ratified and agreement(rules, messages, alike)


def split(rules: Rules, messages: Sequence[Said], alike: Alike) -> bool:
    over = all(status(rules, messages, link) == "closed" for link in rules.links)
    return over and not agreement(rules, messages, alike)


def impasse(rules: Rules, messages: Sequence[Said], alike: Alike, window: int) -> bool:
    now = {link: status(rules, messages, link) for link in rules.links}
    if consensus(rules, messages, alike) or "waits" in now.values():
        return False
    still = [_is_still(messages, link, window) for link in rules.links if now[link] == "open"]
    return bool(still) and all(still)


def _is_still(messages: Sequence[Said], link: Link, window: int) -> bool:
    """Whether the last answers of an open channel changed no pair and no tag of either end."""
    answers = talk(messages, link)[1:]
    if len(answers) < window:
        return False
    answers = answers[-window:]
    changed = any(
        messages[i].sender in link and changes_at(messages, i)
        for i in range(answers[0], len(messages))
    )
    tags = {end: {messages[i].tag for i in answers if messages[i].sender == end} for end in link}
    return not changed and all(len(one) <= 1 for one in tags.values())


def oscillation(rules: Rules, messages: Sequence[Said]) -> bool:
    """Whether the whole state was there before, with a change in between."""
    now = state(rules, messages)
    whole = messages if isinstance(messages, Transcript) else Transcript(messages)
    return any(
        any(changes(whole)[i:]) and state(rules, whole.beginning(i)) == now
        for i in range(len(messages))
    )


@kept(1)
def state(rules: Rules, messages: Sequence[Said]) -> object:
    """All on which it depends how a panel goes on: pairs, what is outstanding, counters, queue."""
    channels, changed = [], [j for j, one in enumerate(changes(messages)) if one]
    for link in rules.links:
        now = status(rules, messages, link)
        said = [messages[i] for i in talk(messages, link)]
        tags = [one.tag for one in said]
        again = reopened(rules, messages, link)
        part: list[object] = [now, again[1] if again else "", said[-1].sender if said else ""]
        for a, b in (link, link[::-1]):
            i = latest(messages, a, b)
            part.append(messages[i].tag if i is not None else "")
            for end in link:
                part.append(
                    i is not None and any(messages[j].sender == end for j in changed if j > i)
                )
        if now == "open" and rules.n is not None:
            last = [latest(messages, a, b) for a, b in (link, link[::-1])]
            part += [len(said), *(None if i is None else messages[i].pair for i in last)]
        if now == "open" and rules.n is None:
            part.append(said[-1].pair)
            if rules.k is not None:
                pairs = [(a, b) for a, b in pairwise(tags) if a == b]
                part.append(tuple(sorted(pairs)))
        channels.append(tuple(part))
    queue: object = None
    waiting = [link for link in rules.links if status(rules, messages, link) != "closed"]
    if rules.schedule != "free":
        times = [waits_since(rules, messages, link) for link in waiting]
        queue = tuple(sorted(set(times)).index(one) for one in times)
    turn = messages[-1].sender if messages and rules.schedule == "round-robin" else ""
    counted = tuple(
        0 if rules.limit is None else min(version(messages, name), rules.limit)
        for name in rules.names
    )
    present = tuple(current(messages, name) for name in rules.names)
    return present, counted, tuple(channels), queue, turn


def verdicts(rules: Rules, messages: Sequence[Said], alike: Alike, window: int) -> set[str]:
    """Everything that can be said of the panel now."""
    found = {
        "consensus": consensus(rules, messages, alike),
        "agreement": agreement(rules, messages, alike),
        "split": split(rules, messages, alike),
        "impasse": impasse(rules, messages, alike, window),
        "oscillation": oscillation(rules, messages),
    }
    return {name for name, holds in found.items() if holds}


def ending(rules: Rules, messages: Sequence[Said], alike: Alike, most: int) -> str:
    """How a panel is over; "" where it goes on."""
    for name, window in rules.stop:
        if messages and name in verdicts(rules, messages, alike, window):
            return f"stopped: {name}"
    if not owed(rules, messages):
        found = {_ending_of(rules, messages, link) for link in rules.links}
        return found.pop() if len(found) == 1 else "finished"
    if len(messages) >= most:
        return "limit"
    return ""


def _ending_of(rules: Rules, messages: Sequence[Said], link: Link) -> str:
    tags = [messages[i].tag for i in talk(messages, link)]
    if rules.n is None:
        return "term"
    if tags[-1] == "REJECT":
        return "rejected"
    return "ratified" if tags[-2:] == ["RATIFY", "RATIFY"] else "bound"


def alike_of(judged: Sequence[tuple[str, str, str, bool]]) -> Alike:
    """Whether two pairs match and agree, by what was judged (relation, two texts, answer)."""

    def holds(relation: str, left: str, right: str) -> bool:
        known = [
            answer
            for name, one, other, answer in judged
            if name == relation and {one, other} == {left, right}
        ]
        return left == right or (bool(known) and known[-1])

    return lambda a, b: holds("MATCH", a[0], b[0]) and holds("AGREE", a[1], b[1])
