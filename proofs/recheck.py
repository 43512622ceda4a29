"""The checker of certificates: `python -I -S recheck.py CERTIFICATE.json TABLE.toml...`.

It stands alone: this file imports nothing but Python's own library, and nothing of ours. It reads
the tables with a parser of its own, finds all states anew, and takes nothing from a certificate but
what is claimed, which comparisons of numbers matter, and lemmas, each of which it has verified by
adding whole numbers. A lemma that is missing or a comparison that is useless can only make a claim
WRONG. It knows what is due of INTERACT and PXP: their certificates cannot claim less, or something
else, under the same names. Of a system the tables of all members are given.

What it trusts: Python, and that a session does what the table says (the tests compare both).
"""

import hashlib
import json
import re
import sys
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain, compress, count, product
from math import gcd
from pathlib import Path
from typing import Any, NamedTuple

_text = json.JSONEncoder(sort_keys=True).encode

SIGNS = {"send": "+", "receive": "-", "event": "!"}
NAME = re.compile(r"[^\W\d_]\w{0,63}")

# Part 1: expressions, and what is known of whole numbers.

RULE = re.compile(r"[ \t\n]*(?:(\d+)(?!\w)|([^\W\d]\w*(?:\.[^\W\d]\w*)*)|([=!<>]=|[-+*<>(){},])|$)")
WORDS = {"or", "and", "not", "in", "if", "else", "true", "false"}
LONGEST_RULE, LONGEST_NAME = 2000, 64


class Reader:
    """Reads one expression: `tree` is ("and", LEFT, RIGHT), ("name", "j"), ("int", 3) and the like.

    Raises ValueError where the text is none.
    """

    def __init__(self, text: Any) -> None:
        if not isinstance(text, str) or len(text) > LONGEST_RULE:
            raise ValueError(f"an expression is a text of at most {LONGEST_RULE} characters")
        self.words, at = list[tuple[str, str]](), 0
        while not self.words or self.words[-1][0]:
            match = RULE.match(text, at)
            if match is None:
                raise ValueError(f"this expression cannot be read: {text!r}, from {text[at:]!r}")
            self.words.append(self._word(*match.groups()))
            at = match.end()
        self.words.reverse()
        self.tree = self._choice()
        if self.words != [("", "")]:
            raise ValueError(f"there is more than an expression: {text!r}")

    def _word(self, number: str | None, name: str | None, sign: str | None) -> tuple[str, str]:
        if number:
            if len(number) > 18 or not number.isascii() or (number[0] == "0" and number != "0"):
                raise ValueError(f"this is no whole number of at most 18 digits: {number}")
            return "int", number
        if name in WORDS:
            return "word", str(name)
        if name:
            plain = all(len(part) <= LONGEST_NAME and part not in WORDS for part in name.split("."))
            if not plain or unicodedata.normalize("NFC", name) != name:
                raise ValueError(f"this is no name: {name}")
            return "name", name
        return ("word", sign) if sign else ("", "")

    def _next(self, *words: str) -> str:
        """The next word, if it is one of these; else ""."""
        kind, word = self.words[-1]
        if kind == "word" and word in words:
            self.words.pop()
            return word
        return ""

    def _must(self, kind: str, word: str = "") -> str:
        token = self.words.pop()
        if token[0] != kind or word not in ("", token[1]):
            raise ValueError(f"{word or kind} is missing before {token[1] or 'the end'!r}")
        return token[1]

    def _choice(self) -> Any:
        value = self._joined("or")
        if not self._next("if"):
            return value
        condition = self._joined("or")
        self._must("word", "else")
        return ("if", condition, value, self._choice())

    def _joined(self, word: str) -> Any:
        operands = self._joined("and") if word == "or" else self._denied()
        while self._next(word):
            operands = (word, operands, self._joined("and") if word == "or" else self._denied())
        return operands

    def _denied(self) -> Any:
        return ("not", self._denied()) if self._next("not") else self._compared()

    def _compared(self) -> Any:
        left = self._sum()
        if sign := self._next("==", "!=", "<=", ">=", "<", ">"):
            return (sign, left, self._sum())
        if self._next("in"):
            return ("in", left, self._members())
        if self._next("not"):
            self._must("word", "in")
            return ("not", ("in", left, self._members()))
        return left

    def _members(self) -> tuple[str, ...]:
        self._must("word", "{")
        members = [self._must("name")]
        while self._next(","):
            members.append(self._must("name"))
        self._must("word", "}")
        return tuple(members)

    def _sum(self) -> Any:
        total = self._term()
        while sign := self._next("+", "-"):
            total = (sign, total, self._term())
        return total

    def _term(self) -> Any:
        if self._next("-"):
            return ("*", -1, self._term())
        kind, word = self.words.pop()
        if kind == "int" and self._next("*"):
            return ("*", int(word), self._atom(*self.words.pop()))
        return self._atom(kind, word)

    def _atom(self, kind: str, word: str) -> Any:
        if kind == "int":
            return ("int", int(word))
        if kind == "name":
            return ("name", word)
        if word in ("true", "false"):
            return ("bool", word == "true")
        if word != "(":
            raise ValueError(f"a value is missing before {word or 'the end'!r}")
        inner = self._choice()
        self._must("word", ")")
        return inner


@cache
def parse(text: str) -> Any:
    """The tree of an expression."""
    return Reader(text).tree


class Linear(NamedTuple):
    """A sum of names with factors, sorted by name, and a constant; an atom says that it is <= 0."""

    terms: tuple[tuple[str, int], ...]
    constant: int

    def plus(self, other: "Linear", factor: int = 1) -> "Linear":
        if not other.terms:
            return Linear(self.terms, self.constant + factor * other.constant)
        factors = dict(self.terms)
        for name, times in other.terms:
            factors[name] = factors.get(name, 0) + factor * times
        terms = tuple(sorted((name, times) for name, times in factors.items() if times))
        return Linear(terms, self.constant + factor * other.constant)

    def after(self, values: dict[str, "Linear"]) -> "Linear":
        """It, with these values in place of names."""
        result = Linear((), self.constant)
        for name, times in self.terms:
            result = result.plus(values.get(name) or Linear(((name, 1),), 0), times)
        return result


def number(value: int) -> Linear:
    """The form that is a whole number."""
    return Linear((), value)


def variable(name: str) -> Linear:
    """The form that is a name."""
    return Linear(((name, 1),), 0)


def at_most_0(value: Linear) -> Linear:
    """The atom, with factors that have no common divisor: whole numbers allow to round."""
    divisor = gcd(*(times for _, times in value.terms))
    if divisor < 2:
        return value
    terms = tuple((name, times // divisor) for name, times in value.terms)
    return Linear(terms, -(-value.constant // divisor))


def contrary(atom: Linear) -> Linear:
    """The atom that holds just where the other does not: not a <= 0 is 1 - a <= 0."""
    return at_most_0(number(1).plus(atom, -1))


class Opaque(NamedTuple):
    """An id: what is compared for equality alone, so that any whole number may stand for it, 0 for
    none yet. Different ids have different numbers, so what is so of all numbers is so of all ids.
    """

    form: Linear


class Fork(NamedTuple):
    """A value that depends on an atom (by its number in `Knowledge`)."""

    literal: int
    yes: Any
    no: Any


class _Undecided(Exception):
    def __init__(self, literal: int) -> None:
        self.literal = literal


class Knowledge:
    """Atoms by number, an atom's contrary next to it; what is known is a set of them, as bits.

    Lemmas are sets of atoms that no whole numbers satisfy; `refutes` may be asked for more. All
    cases are cut by lemmas alone: without one, both sides of a case are gone into.
    """

    def __init__(self, refutes: Callable[[int, int], bool] | None = None) -> None:
        self.atoms, self.numbers = list[Linear](), dict[Linear, int]()
        self.lemmas, self.refutes = dict[int, list[int]](), refutes
        self.undecided = dict[int, None]()
        self.known = dict[tuple[int, int], bool | None]()

    def literal(self, atom: Linear) -> int:
        if atom not in self.numbers:
            for half in (atom, contrary(atom)):
                self.numbers[half] = len(self.atoms)
                self.atoms.append(half)
        return self.numbers[atom]

    def learn(self, literals: Iterable[int]) -> None:
        """Add a lemma; whoever calls has made sure of it."""
        lemma_literals = {*literals}
        bits = sum(1 << literal for literal in lemma_literals)
        for literal in lemma_literals:
            self.lemmas.setdefault(literal, []).append(bits)

    def impossible(self, given: int, literal: int) -> bool:
        """Whether a lemma, or the search for one, refutes the atom where `given` is known."""
        both = given | 1 << literal
        if any(bits & both == bits for bits in self.lemmas.get(literal, ())):
            return True
        return self.refutes is not None and self.refutes(given, literal)

    def decided(self, given: int, literal: int) -> bool | None:
        """Whether an atom holds where `given` is known; None where it is not settled."""
        if given >> literal & 1 or given >> (literal ^ 1) & 1:
            return bool(given >> literal & 1)
        key = given, literal
        if key not in self.known:
            self.undecided[literal & -2] = None
            result = True if self.impossible(given, literal ^ 1) else None
            self.known[key] = False if not result and self.impossible(given, literal) else result
        return self.known[key]

    def tree(self, run: Callable[[Callable[[Linear], bool]], Any], given: int = 0) -> Any:
        """What `run` gives, which asks for atoms: a value, or a `Fork` for each that matters."""

        def decide(atom: Linear) -> bool:
            if not atom.terms:
                return atom.constant <= 0
            literal = self.literal(atom)
            if given >> literal & 1 or given >> (literal ^ 1) & 1:
                return bool(given >> literal & 1)
            raise _Undecided(literal)

        try:
            return run(decide)
        except _Undecided as error:
            literal = error.literal
        yes, no = (self.tree(run, given | 1 << assumed) for assumed in (literal, literal ^ 1))
        return yes if yes == no and not isinstance(yes, Fork) else Fork(literal, yes, no)

    def walk(self, tree: Any, given: int) -> Iterator[tuple[int, Any]]:
        """Each value of a tree that is possible, with what is known then."""
        while isinstance(tree, Fork):
            holds = self.decided(given, tree.literal)
            if holds is None:
                yield from self.walk(tree.yes, given | 1 << tree.literal)
                given |= 1 << (tree.literal ^ 1)
            tree = tree.yes if holds else tree.no
        yield given, tree

    def always(self, tree: Any, given: int) -> bool:
        return all(value for _, value in self.walk(tree, given))


def branch(tree: Any, decide: Callable[[Linear], bool], knowledge: Knowledge) -> Any:
    """The value of a tree, inside another run."""
    while isinstance(tree, Fork):
        tree = tree.yes if decide(knowledge.atoms[tree.literal]) else tree.no
    return tree


def value(  # noqa: PLR0911, PLR0912 - one for each form
    tree: Any, names: dict[str, Any], members: Any, decide: Callable[[Linear], bool]
) -> Any:
    """The value of an expression: a bool, a member (a text), a `Linear` or an `Opaque`.

    `names` have values; `members` are the other names there are. Raises ValueError for a name that
    is neither, and where values are of other types than they must be.
    """
    kind = tree[0]
    if kind == "name":
        if tree[1] in names:
            return names[tree[1]]
        if tree[1] in members:
            return tree[1]
        raise ValueError(f"there is no {tree[1]} here")
    if kind in ("int", "bool"):
        return number(tree[1]) if kind == "int" else tree[1]
    if kind == "if":
        holds = _typed(value(tree[1], names, members, decide), bool)
        return value(tree[2 if holds else 3], names, members, decide)
    if kind in ("and", "or"):
        left = _typed(value(tree[1], names, members, decide), bool)
        if left is (kind == "or"):
            return left
        return _typed(value(tree[2], names, members, decide), bool)
    if kind == "not":
        return not _typed(value(tree[1], names, members, decide), bool)
    if kind == "in":
        return _typed(value(tree[1], names, members, decide), str) in tree[2]
    if kind == "*":
        return number(0).plus(_typed(value(tree[2], names, members, decide), Linear), tree[1])
    left, right = (value(side, names, members, decide) for side in tree[1:])
    if kind in "+-":
        return _typed(left, Linear).plus(_typed(right, Linear), 1 if kind == "+" else -1)
    if type(left) is not type(right):
        raise ValueError(f"{kind} compares values of different types")
    if not isinstance(left, Linear):
        if kind not in ("==", "!="):
            raise ValueError(f"{kind} compares whole numbers")
        if not isinstance(left, Opaque):
            return (left == right) is (kind == "==")
        left, right = left.form, right.form
    above, below = left.plus(right, -1), right.plus(left, -1)
    if kind in ("==", "!="):
        alike = decide(at_most_0(above)) and decide(at_most_0(below))
        return alike is (kind == "==")
    difference = above if kind[0] == "<" else below
    return decide(at_most_0(difference.plus(number(len(kind) == 1))))


def _typed(entry: Any, kind: type) -> Any:
    if not isinstance(entry, kind):
        raise ValueError(f"{entry!r} is of another type than it must be")
    return entry


# Part 2: relations that are only assumed. Values are points: 0 is the first member's latest, 1 the
# second's, 2 a new one. A state keeps the pairs of points of which each one's relations hold.

EQUALITY = frozenset("rst")


def _fits(r: Any, points: Any, laws: Any) -> bool:
    return (
        ("r" not in laws or all((p, p) in r for p in points))
        and ("s" not in laws or all((b, a) in r for a, b in r))
        and ("t" not in laws or all((a, d) in r for a, b in r for c, d in r if b == c))
    )


def _grown(r: Any, points: Any, new: int, laws: Any) -> list[Any]:
    """The relations with one point more: with it alone, and with each other one.

    One that is symmetric has both pairs with another point, or neither.
    """
    itself, links = {(new, new)}, [({(p, new)}, {(new, p)}) for p in points]
    if "s" in laws:
        fresh = [itself, *(pair | other for pair, other in links)]
    else:
        fresh = [itself, *(x for pair in links for x in pair)]
    some = (r.union(*compress(fresh, bits)) for bits in product((0, 1), repeat=len(fresh)))
    return [s for s in some if _fits(s, (*points, new), laws)]


@cache
def _relations(points: int, laws: frozenset[str]) -> list[Any]:
    relations: list[Any] = [frozenset()]
    for new in range(points):
        relations = [s for r in relations for s in _grown(r, range(new), new, laws)]
    return relations


@cache
def amalgamates(laws: frozenset[str]) -> bool:
    """Whether a new value can be joined with earlier ones of which at most two are kept.

    What goes wrong in the joint relation goes wrong for the new value, two earlier ones and two
    kept ones that link them; where nothing is linked, for one earlier value. All are tried.
    """
    new, linked = 9, "t" in laws
    for kept in range(3):
        near = {*range(kept), new}
        for r in _relations(kept + 1 + linked, laws):
            known = {(a, b) for a, b in r if a < kept and b < kept}
            for s in _grown(frozenset(known), range(kept), new, laws):
                ways = ((r, s), (s, r)) if linked else ()
                links = [(a, d) for x, y in ways for a, b in x for c, d in y if b == c]
                whole = {*r, *s, *links}
                olds = {(a, b) for a, b in whole if new not in (a, b)}
                news = {(a, b) for a, b in whole if a in near and b in near}
                if (olds, news) != (r, s) or not _fits(whole, (*range(kept + 1), new), laws):
                    return False
    return True


def _cut(relation: Any, *points: int) -> Any:
    """A relation on some of its points, numbered anew."""
    place = {point: i for i, point in enumerate(points)}
    return frozenset((place[a], place[b]) for a, b in relation if a in place and b in place)


class Data(NamedTuple):
    """How many members have a value (0, 1, 2), and how values are related by MATCH and by AGREE.

    `lost`: a value was sent of which nothing is known.
    """

    values: int = 0
    match: Any = None
    agree: Any = None
    lost: bool = False


class Theory:
    """What is assumed of MATCH and AGREE: d(eterministic), (s)h(ared), r, s, t.

    Where a relation is not deterministic each answer is free, but for a value and itself where it
    is reflexive. Raises ValueError where a state would not stand for any number of values.
    """

    def __init__(self, letters: str, asks_each: bool, itself: bool) -> None:
        assumed = frozenset(letters)
        if "".join(sorted(assumed)) != letters or not assumed <= {*"dhrst"}:
            raise ValueError(f"these are no assumptions: {letters!r}")
        # Where no value is ever compared with itself, nothing tells a relation from the same
        # with every pair of a value and itself in it.
        laws = assumed & EQUALITY if asks_each or itself else (assumed & EQUALITY) | {"r"}
        if not amalgamates(laws if "d" in assumed else EQUALITY):
            raise ValueError(f"values do not amalgamate under {letters}")
        self.fit = _relations(3, laws) if "d" in assumed else []
        self.reflexive, self.shared, self.asks_each = "r" in assumed, "h" in assumed, asks_each
        alone = dict.fromkeys(_cut(relation, 0) for relation in self.fit)
        both = zip(alone, alone, strict=True) if self.shared else product(alone, repeat=2)
        self.judged, self.first = cache(self._judged), [*both] or [None]

    def _judged(
        self, known: Any, who: int, second: bool, asked: tuple[tuple[str, str], ...]
    ) -> dict[tuple[bool, ...], dict[Any, None]]:
        """For each answer to what is asked: what may be known if the own or the new value stays."""
        new = 1 if second and self.asks_each else 2  # the responder's own first value is fresh
        point = {"received": 1 - who, "own": who, "new": new}
        pairs = [(point[a], point[b]) for a, b in asked]
        if not self.fit:
            free = [(True,) if a == b and self.reflexive else (True, False) for a, b in pairs]
            return {says: {(None, None): None} for says in product(*free)}
        after = (0, new) if who else (new, 1)

        def possible(whose: int, asked: list[Any]) -> dict[tuple[bool, ...], dict[Any, None]]:
            judged = dict[tuple[bool, ...], dict[Any, None]]()
            for relation in self.fit:
                if _cut(relation, *range(2 - second)) == known[whose]:
                    says = tuple(pair in relation for pair in asked)
                    kept = _cut(relation, 0, 1), _cut(relation, *after)
                    judged.setdefault(says, {})[kept] = None
            return judged

        own = possible(who, pairs)
        if self.shared:
            return {says: {((a, a), (b, b)): None for a, b in some} for says, some in own.items()}
        # What is not shared is related with the fresh value in any way, whatever the other says.
        others, both_judged = possible(1 - who, [])[()], dict[tuple[bool, ...], dict[Any, None]]()
        for says, some in own.items():
            ways = product(some, others) if who == 0 else product(others, some)
            both_judged[says] = {((a, c), (b, d)): None for (a, b), (c, d) in ways}
        return both_judged


# Part 3: tables with rules, and what sessions of one to three members can do, for all numbers.

TABLE_KEYS = {"format", "name", "title", "source", "note", "peer", "payloads", "initial", "final"}
TABLE_KEYS |= {"parameters", "registers", "enums", "oracles", "answers", "let", "guards", "each"}
TABLE_KEYS |= {"states", "rows", "properties"}
ROW_KEYS = {"number", "from", "to", "guard", "send", "receive", "event", "when", "urgent", "carry"}
ROW_KEYS |= {"partner", "do", "by", "about"}
RESERVED = {"who", "tag", "kind", "over", "ends", "next", "msg"}
WORDS_OF_STEPS = {"NONE", "send", "receive", "event"}
MOST_NODES = 200_000


class Ruled(NamedTuple):
    """A row with its rules; `number` is its place among the rows of its table."""

    number: int
    source: str
    target: str
    guard: str
    sign: str
    label: str
    partner: str
    when: Any
    urgent: bool
    carry: str
    by: str
    updates: tuple[tuple[str, Any], ...]


class Rules:
    """A table with the expressions by which it decides, as TOML reads it.

    Raises ValueError for what it does not know.
    """

    def __init__(self, raw: Any) -> None:  # noqa: PLR0912, PLR0915 - one for each thing refused
        if (
            _text(raw["format"]) != "1"
            or {*raw} - TABLE_KEYS
            or any({*row} - ROW_KEYS for row in raw["rows"])
        ):
            raise ValueError("a table with unknown keys")
        self.initial, self.final = raw["initial"], frozenset(raw.get("final", ()))
        self.enums = {name: tuple(of) for name, of in raw.get("enums", {}).items()}
        self.parameters = raw.get("parameters", {})
        self.registers, self.oracles = raw.get("registers", {}), raw.get("oracles", {})
        for kind in (*self.parameters.values(), *self.registers.values(), *self.oracles.values()):
            known = {"init", "min", "type", "of", "relation", "about"}
            if {*kind} - known or kind_of(kind) not in ("int", "bool", "of", "id"):
                raise ValueError(f"this is not proved about: {kind}")
        if any(kind_of(parameter) == "id" for parameter in self.parameters.values()):
            raise ValueError("a parameter that is an id")
        self.payloads = raw.get("payloads", {})
        answers = {"ask": "each"} | raw.get("answers", {})
        if answers not in ({"ask": "each"}, {"ask": "once"}):
            raise ValueError(f"answers are asked for each message, or once: {answers}")
        self.asks_each = answers["ask"] == "each"
        declared = [*self.parameters, *self.registers, *self.oracles]
        self.lets = dict[str, Any]()
        for name, text in raw.get("let", {}).items():
            declared.append(name)
            self.lets[name] = self._read(text)
        if len({*declared}) < len(declared):
            raise ValueError("a name is declared twice")
        rules = {
            name: guard for name, guard in raw.get("guards", {}).items() if isinstance(guard, dict)
        }
        whens = {name: rule["when"] for name, rule in rules.items() if "when" in rule}
        self.guards = {name: None if x == "else" else self._read(x) for name, x in whens.items()}
        on_message = raw.get("each", {}).get("message", {})
        self.rows, numbers = list[Ruled](), count()
        for row, key in ((row, key) for row in raw["rows"] for key in SIGNS if key in row):
            places, tags = ([x] if isinstance(x, str) else x for x in (row["from"], row[key]))
            if ("when" in row and (key == "receive" or "guard" in row)) or (
                row.get("urgent") and (key != "event" or "when" not in row)
            ):
                raise ValueError(f"a row with `when` or `urgent` that cannot have it: {row}")
            when = self._read(row["when"]) if "when" in row else None
            texts = (on_message if key != "event" else {}) | row.get("do", {})
            updates = tuple((name, self._read(text)) for name, text in texts.items())
            if any(name not in self.registers for name, _ in updates):
                raise ValueError("an update of what is no register")
            rest = (when, row.get("urgent", False), row.get("carry", "new"), row.get("by", "world"))
            self.rows += [
                Ruled(next(numbers), at, row["to"], row.get("guard", ""), SIGNS[key], tag,
                      row.get("partner", ""), *rest, updates)
                for at in places for tag in tags
            ]  # fmt: skip
        self.of_state = {
            state["name"]: tuple(state.get("guards", ())) for state in raw.get("states", ())
        }
        for row in self.rows:
            if row.guard and row.guard not in self.of_state.get(row.source, ()):
                self.of_state[row.source] = (*self.of_state.get(row.source, ()), row.guard)
        self.places = {self.initial, *self.final, *self.of_state}
        self.places |= {at for row in self.rows for at in (row.source, row.target)}
        self.leaving = {at: [r for r in self.rows if r.source == at] for at in self.places}
        kinds = (*self.parameters.values(), *self.registers.values(), *self.oracles.values())
        self.members = {member for declaration in kinds for member in declaration.get("of", ())}
        self.members |= {m for of in self.enums.values() for m in of}
        self.members |= {row.label for row in self.rows}
        told = {
            at: bool(gs) and all(g in self.guards for g in gs) for at, gs in self.of_state.items()
        }
        self.decides = {at for at, all_told in told.items() if all_told}
        for name, kind in self.registers.items():
            first = {"int": int, "bool": bool, "of": str, "id": type(None)}  # an id: none yet
            fine = type(kind.get("init")) is first[kind_of(kind)]
            if not fine or (kind_of(kind) == "of" and kind["init"] not in kind["of"]):
                raise ValueError(f"register {name} has no value to begin with")
        if {*self.lets} & (self.members | self.places):
            raise ValueError("a definition has the name of a member")

    def _read(self, text: Any) -> Any:
        """An expression, with the definitions of [let] put in."""
        return substituted(parse(text), self.lets)

    @property
    def digest(self) -> str:
        """SHA-256 of what decides: rows, states, rules, payloads; no prose, and no layout."""
        kinds = (self.parameters, self.registers, self.oracles)
        declared = [
            sorted((x, sorted(_plain(declaration).items())) for x, declaration in k.items())
            for k in kinds
        ]
        meaning = [self.initial, sorted(self.final), sorted(repr(row[1:]) for row in self.rows)]
        meaning += [
            sorted(self.of_state.items()),
            sorted((g, repr(x)) for g, x in self.guards.items()),
        ]
        meaning += [self.asks_each, declared, _text(self.payloads)]
        return hashlib.sha256(repr(meaning).encode()).hexdigest()


def _messages(tables: Iterable[Rules]) -> dict[str, dict[str, tuple[Any, int | None]]]:
    """By label, what a message carries: `msg`, all of it, and `msg.NAME`, what its schema requires,
    each with its least value. In a step sender and receiver read the same: any. A number is what
    the schema says is an integer; all else is an id.
    """
    carried = dict[str, dict[str, tuple[Any, int | None]]]()
    for table in tables:
        for label in [row.label for row in table.rows if row.sign != "!"]:
            carried.setdefault(label, {})["msg"] = Opaque(variable(f"?msg:{label}")), None
        for label, schema in table.payloads.items():
            properties = schema.get("properties", {}) if schema.get("type") == "object" else {}
            for name in schema.get("required", ()):
                if name in properties and label in carried:
                    form, field_schema = variable(f"?msg:{label}.{name}"), properties[name]
                    is_number = (
                        isinstance(field_schema, dict) and field_schema.get("type") == "integer"
                    )
                    least = field_schema.get("minimum") if is_number else None
                    least = least if type(least) is int else None
                    carried[label][f"msg.{name}"] = (form if is_number else Opaque(form)), least
    return carried


def _data(row: Ruled) -> str:
    """What a row that no guard decides does with what is known of values."""
    return "same" if row.sign == "!" else "plain own" if row.carry == "own" else "plain"


def kind_of(declared: Any) -> str:
    """Whether a declared value is an "int", a "bool", or one "of" some members."""
    if "of" in declared and "relation" not in declared:
        return "of"
    return str(declared.get("type", "int" if {"min", "init"} & {*declared} else "bool"))


def substituted(tree: Any, lets: dict[str, Any]) -> Any:
    """An expression with definitions put in."""
    if tree[0] == "name":
        return lets.get(tree[1], tree)
    if tree[0] in ("int", "bool"):
        return tree
    last = tree[2:] if tree[0] == "in" else ()
    parts = tree[1:2] if tree[0] == "in" else tree[1:]
    put = (substituted(part, lets) if isinstance(part, tuple) else part for part in parts)
    return (tree[0], *put, *last)


def names_in(tree: Any) -> set[str]:
    """The names whose values an expression reads, and members."""
    if tree[0] == "name":
        return {tree[1]}
    parts = tree[1:2] if tree[0] == "in" else tree[1:]
    return {name for part in parts if isinstance(part, tuple) for name in names_in(part)}


class Control(NamedTuple):
    """All of a state but numbers and relations. `settled` has, of a member that has decided and
    waits, its row and what that updates.

    `over` is "begin" at first, "end" where all members are at an end, "stuck" where nothing is
    possible, and "guards" where not exactly one guard was true.
    """

    at: tuple[str, ...]
    finite: tuple[Any, ...]
    chosen: tuple[Any, ...]
    ghosts: tuple[Any, ...]
    settled: tuple[Any, ...]
    over: str


class Move(NamedTuple):
    """A step of `who`: what it does with data, which answers allow it, where it leads.

    `actor` is its name; an event of the outside world is nobody's.

    `says` are the answers of the relations that allow it, None if none are asked; `data` is "same",
    "first", "lost", or what a decision sends: "new" or "own".
    """

    who: int
    actor: str
    kind: str
    label: str
    target: Control
    values: tuple[tuple[str, Linear], ...]
    says: frozenset[tuple[bool, ...]] | None
    data: str


class Node(NamedTuple):
    """A state: `region` are the atoms that are known to hold, as bits."""

    control: Control
    region: int
    data: Data


class Edge(NamedTuple):
    """A step, where the atoms `given` hold."""

    source: Node
    given: int
    move: Move
    target: Node


Place = tuple[Control, int, dict[Data, Node]]
"""A control and a region, with the nodes that are there by what is known of values."""


class Ways(NamedTuple):
    """What is possible at a place: each move once, with where it leads for some numbers.

    `cases` say of all cases of the numbers which moves they allow, by their places in `moves`;
    `untaken` are those of them that no node has taken yet.
    """

    moves: list[tuple[Move, list[Place]]]
    cases: list[tuple[int, list[int]]]
    untaken: dict[tuple[int, int], None]


def _stuck(control: Control) -> Move:
    """What is done where nothing is possible."""
    over = control._replace(over="stuck")
    return Move(0, "NONE", "none", "", over, (), None, "same")


class TooMany(ValueError):
    """There are too many states, or cases of numbers."""


class Sessions:
    """All sessions of some members, as far as atoms and assumptions tell them apart.

    `part` says what is assumed, which ghosts there are, and while what sessions are followed.
    Nothing of a state is taken from it. `keep` are the atoms that states know of.
    """

    def __init__(
        self, members: list[tuple[str, Rules]], part: Any, keep: Iterable[Linear], about: Knowledge
    ) -> None:
        self.names, self.tables = [name for name, _ in members], [table for _, table in members]
        self.everybody, self.about, self.part = range(len(members)), about, part
        self.most = MOST_NODES
        if not 1 <= len(members) <= 3 or len({*self.names}) < len(members):
            raise ValueError("a system has one to three members, each with a name of its own")
        self.parameters = dict[str, Any]()
        for table in self.tables:
            for name, kind in table.parameters.items():
                known = self.parameters.setdefault(name, kind)
                if _plain(known) != _plain(kind):
                    raise ValueError(f"{name} is declared in two ways")
        self.starts = self.names.index(part["starts"]) if part.get("starts") else None
        self.theory = self._theory(part.get("relations"))
        self.members = {*self.names} | WORDS_OF_STEPS
        self.members |= {x for table in self.tables for x in table.members | table.places}
        declared = [(i, x, d) for i, t in enumerate(self.tables) for x, d in t.registers.items()]
        self.finite = [(i, x) for i, x, d in declared if kind_of(d) not in ("int", "id")]
        self.ints = [(i, x) for i, x, d in declared if kind_of(d) in ("int", "id")]
        self.ids = {(i, x) for i, x, d in declared if kind_of(d) == "id"}
        self.messages = _messages(self.tables)
        self.chosen = [x for x, d in self.parameters.items() if kind_of(d) != "int"]
        self.ghosts = {x: d for x, d in part.get("ghosts", {}).items() if kind_of(d) != "int"}
        self.counts = {x: d for x, d in part.get("ghosts", {}).items() if kind_of(d) == "int"}
        self.members |= {m for d in self.ghosts.values() for m in d.get("of", ())}
        self._check_names()
        self.steps_of = {x: parse(d["step"]) for x, d in part.get("ghosts", {}).items()}
        self.followed = parse(part["while"]) if part.get("while") else None
        claims = [claim for claim in part["claims"] if claim["check"] in ("never", "step")]
        self.stated = [parse(claim[claim["check"]]) for claim in claims]
        self.forget = self._forget()
        self.fixed = 0
        for name, kind in self.parameters.items():
            if "min" in kind:
                self._know(number(_integer(kind["min"])).plus(variable(name), -1))
        for i, table in enumerate(self.tables):
            for x, kind in table.oracles.items():
                if "min" in kind:
                    measured = variable(f"?{self.names[i]}.{x}")
                    self._know(number(_integer(kind["min"])).plus(measured, -1))
        every = (field for fields in self.messages.values() for field in fields.values())
        for form, least in (field for field in every if field[1] is not None):
            self._know(number(_integer(least)).plus(form, -1))
        # What is measured is another number in each step: no state knows of it.
        if any(name[0] == "?" for atom in keep for name, _ in atom.terms):
            raise ValueError("an atom of what is asked anew")
        self.keep = [about.literal(at_most_0(atom)) for atom in keep]
        self.offers, self.replies = cache(self._offers), cache(self._replies)
        self.moves, self.follow = cache(self._moves), cache(self._follow)
        self.reached, self.ways = cache(self._reached), cache(self._ways)
        self.after, self.rests = cache(self._after), cache(self._rests)
        self.depends, self.asked = cache(self._depends), cache(self._asked)
        self.judged, self.known = cache(self._judged), cache(self._known)

    def _check_names(self) -> None:
        """Raise ValueError where a name could stand for two things, or a ghost is none."""
        own = {x for t in self.tables for x in (*t.registers, *t.oracles)}
        seen, ghosts = {*self.parameters}, self.part["ghosts"]
        if unclear := {*self.names} & (RESERVED | WORDS_OF_STEPS):
            raise ValueError(f"in claims {min(unclear)} is no member; call the member otherwise")
        clash = seen & own or (own | seen) & (RESERVED | self.members)
        if clash or {*ghosts} & (seen | RESERVED | self.members):
            raise ValueError(f"a name stands for two things: {clash or ', '.join(ghosts)}")
        for name, ghost in ghosts.items():
            kinds = {"int": int, "bool": bool, "of": str}
            keys = [{"init", "step", "type"}, {"init", "step", "of"}]
            if not NAME.fullmatch(name) or {*ghost} not in keys:
                raise ValueError(f"this is no ghost: {name}")
            of = ghost.get("of", [])
            if type(of) is not list or not all(map(NAME.fullmatch, of)) or len({*of}) < len(of):
                raise ValueError(f"ghost {name} has a member twice, or one that is no name")
            if type(ghost["init"]) is not kinds[kind_of(ghost)] or (
                kind_of(ghost) == "of" and ghost["init"] not in of
            ):
                raise ValueError(f"ghost {name} has no value to begin with")
        partners = {row.partner for t in self.tables for row in t.rows} - {""}
        if len(self.names) > 1 and not partners <= {*self.names}:
            raise ValueError(f"a row names a partner that is no member: {', '.join(partners)}")
        labels = [
            (label, _text(schema)) for t in self.tables for label, schema in t.payloads.items()
        ]
        if len({label for label, _ in labels}) < len({*labels}):
            raise ValueError("two tables declare other payloads for one label")

    def _know(self, atom: Linear) -> None:
        self.fixed |= 1 << self.about.literal(at_most_0(atom))

    def _theory(self, letters: str | None) -> Theory | None:
        if letters is None:
            return None
        both = {table.asks_each for table in self.tables}
        if len(self.names) != 2 or self.starts != 0 or len(both) > 1:
            raise ValueError("relations are between two, the first of whom starts")
        itself = any(
            oracle["of"][0] == oracle["of"][1]
            for table in self.tables for oracle in table.oracles.values() if "relation" in oracle
        )  # fmt: skip
        return Theory(letters, both.pop(), itself)

    def _forget(self) -> dict[tuple[int, str], dict[Any, Any]]:
        """For each finite register, the value that stands for all that nothing tells from it.

        Tests are sets of values; two values that are in the same tests of a register, and of each
        register that it is copied to, lead to the same steps.
        """
        tests: dict[tuple[int, str], set[frozenset[Any]]] = {
            register: set() for register in self.finite
        }
        true, every = frozenset([True]), {frozenset([x]) for _, of in self._values() for x in of}

        def read(tree: Any, names: Callable[[str], Any], goal: set[frozenset[Any]]) -> None:
            kind = tree[0]
            if kind == "name":
                if names(tree[1]) in tests:
                    tests[names(tree[1])] |= goal
            elif kind == "if":
                read(tree[1], names, {true})
                read(tree[2], names, goal)
                read(tree[3], names, goal)
            elif kind in ("and", "or", "not"):
                for part in tree[1:]:
                    read(part, names, {true})
            elif kind == "in":
                read(tree[1], names, {frozenset(tree[2])})
            elif kind in ("==", "!="):
                for part, other in (tree[1:], tree[:0:-1]):
                    plain = other[0] == "name" and names(other[1]) not in tests
                    plain = plain and other[1] in self.members
                    read(part, names, {frozenset([other[1]])} if plain else every)
            elif kind not in ("int", "bool"):
                for part in tree[1:]:
                    if isinstance(part, tuple):
                        read(part, names, set())

        def globally(name: str) -> Any:
            who, _, rest = name.removeprefix("next.").partition(".")
            return (self.names.index(who), rest) if who in self.names else name

        def note() -> None:
            whole = (*self.stated, *self.steps_of.values(), self.followed)
            for tree in filter(None, whole):
                read(tree, globally, {true} | every)
            for i, table in enumerate(self.tables):
                own = lambda name, i=i: (i, name)  # noqa: E731
                for guard in filter(None, table.guards.values()):
                    read(guard, own, {true})
                for row in table.rows:
                    if row.when:
                        read(row.when, own, {true})
                    for x, tree in row.updates:
                        read(tree, own, tests.get((i, x), set()))

        before = -1
        while before != (before := sum(map(len, tests.values()))):
            note()
        standing = dict[tuple[int, str], dict[Any, Any]]()
        for slot, of in self._values():
            first = dict[Any, Any]()
            alike = {x: frozenset(t for t in tests[slot] if x in t) for x in of}
            standing[slot] = {x: first.setdefault(alike[x], x) for x in of}
        return standing

    def _values(self) -> Iterator[tuple[tuple[int, str], tuple[Any, ...]]]:
        for i, x in self.finite:
            declared = self.tables[i].registers[x]
            yield (i, x), (tuple(declared["of"]) if kind_of(declared) == "of" else (False, True))

    def _tree(self, tree: Any, names: dict[str, Any]) -> Any:
        """The value of an expression in each case of the numbers."""
        return self.about.tree(lambda decide: value(tree, names, self.members, decide))

    # What one member does by itself, in each case of the numbers.

    def _own(self, i: int, finite: tuple[Any, ...], chosen: tuple[Any, ...]) -> dict[str, Any]:
        values = self._parameters(chosen)
        values |= {x: self._register(i, x) for j, x in self.ints if j == i}
        mine = [x for j, x in self.finite if j == i]
        return values | dict(zip(mine, finite, strict=True))

    def _register(self, i: int, x: str) -> Any:
        """What a register that is no member and no truth value holds."""
        form = variable(f"{self.names[i]}.{x}")
        return Opaque(form) if (i, x) in self.ids else form

    def _carried(self, label: str) -> dict[str, Any]:
        """What a message with this label carries, as expressions name it: anything."""
        return {x: form for x, (form, _) in self.messages.get(label, {}).items()}

    def _parameters(self, chosen: tuple[Any, ...]) -> dict[str, Any]:
        values: dict[str, Any] = {x: variable(x) for x in self.parameters}
        return values | dict(zip(self.chosen, chosen, strict=True))

    def _mine(self, i: int, control: Control) -> tuple[Any, ...]:
        return tuple(v for (j, _), v in zip(self.finite, control.finite, strict=True) if j == i)

    def _offers(self, i: int, at: str, finite: tuple[Any, ...], chosen: tuple[Any, ...]) -> Any:
        """A tree of what a member offers: whether it is busy with what is urgent, its rows with
        updates, and its decisions (the row, what is updated, the answers that lead to it)."""
        table, names = self.tables[i], self._own(i, finite, chosen)

        def run(decide: Callable[[Linear], bool]) -> Any:
            def holds(tree: Any, known: dict[str, Any]) -> bool:
                return bool(_typed(value(tree, known, self.members, decide), bool))

            plain = [r for r in table.leaving[at] if not r.guard and r.sign != "-"]
            able = [r for r in plain if r.when is None or holds(r.when, names)]
            if urgent := [r for r in able if r.urgent]:
                return True, [(r, self._updates(i, r, names, decide)) for r in urgent], ()
            rows = [(r, self._updates(i, r, names, decide)) for r in able if not r.urgent]
            decisions: dict[Any, set[tuple[bool, ...]]] = {}
            guards = table.of_state.get(at, ())
            for says, answers in self._answers(i, at) if guards else ():
                # Without rules a person or a model decides: for every choice.
                held, known = [*guards], names | answers
                if at in table.decides:
                    told = [(g, tree) for g in guards if (tree := table.guards[g]) is not None]
                    held = [g for g, tree in told if holds(tree, known)]
                    held = held or [g for g in guards if table.guards[g] is None]
                taken: list[Any] = [r for r in table.leaving[at] if r.guard in held]
                if at in table.decides and len(held) != 1:
                    taken = []
                for row in taken or [None]:
                    new = self._updates(i, row, known, decide) if row else ()
                    decisions.setdefault((row, new), set()).add(says)
            return (
                False,
                rows,
                [(*decision, frozenset(says)) for decision, says in decisions.items()],
            )

        return self.about.tree(run)

    def _asked(self, i: int, at: str) -> list[str]:
        """The oracles that a decision depends on and that the relations settle."""
        oracles = self.tables[i].oracles if self.theory is not None else {}
        return [x for x in self.depends(i, at) if "relation" in oracles.get(x, ())]

    def _depends(self, i: int, at: str) -> list[str]:
        table = self.tables[i]
        trees = [table.guards.get(g) for g in table.of_state.get(at, ())]
        trees += [tree for r in table.leaving[at] if r.guard for _, tree in r.updates]
        used = {name for tree in trees if tree for name in names_in(tree)}
        return [x for x in table.oracles if x in used]

    def _answers(self, i: int, at: str) -> Iterator[tuple[tuple[bool, ...], dict[str, Any]]]:
        """All answers of the oracles: those of the relations, and with them all by name."""
        table, settled = self.tables[i], self.asked(i, at)
        free, numbers = dict[str, tuple[Any, ...]](), dict[str, Any]()
        for x in self.depends(i, at):
            oracle = table.oracles[x]
            if kind_of(oracle) in ("int", "id"):
                form = variable(f"?{self.names[i]}.{x}")
                numbers[x] = Opaque(form) if kind_of(oracle) == "id" else form
            elif x not in settled:
                free[x] = tuple(oracle["of"]) if kind_of(oracle) == "of" else (False, True)
        for says in product((True, False), repeat=len(settled)):
            for some in product(*free.values()):
                yield (
                    says,
                    numbers
                    | dict(zip(settled, says, strict=True))
                    | dict(zip(free, some, strict=True)),
                )

    def _updates(
        self, i: int, row: Ruled, names: dict[str, Any], decide: Callable[[Linear], bool]
    ) -> tuple[tuple[str, Any], ...]:
        """The new values of a member's registers, where they change."""
        updates = list[tuple[str, Any]]()
        names = names | {"tag": row.label}
        names |= self._carried(row.label) if row.sign != "!" else {}
        for x, tree in row.updates:
            new = value(tree, names, self.members, decide)
            if (i, x) in self.forget:
                if new not in self.forget[i, x]:
                    raise ValueError(f"{x} becomes {new}, which it cannot be")
                new = self.forget[i, x][new]
            elif type(new) is not type(names[x]):
                raise ValueError(f"{x} becomes {new}, which it cannot be")
            if new != names[x]:
                updates.append((x, new.form if isinstance(new, Opaque) else new))
        return tuple(updates)

    def _replies(
        self, j: int, at: str, finite: tuple[Any, ...], chosen: tuple[Any, ...], i: int, label: str
    ) -> Any:
        """A tree of the rows by which a member takes a message from i."""
        table, names = self.tables[j], self._own(j, finite, chosen)
        sender = self.names[i] if i != j else None  # None: the environment

        def run(decide: Callable[[Linear], bool]) -> Any:
            rows = [r for r in table.leaving[at] if r.sign == "-" and r.label == label]
            rows = [r for r in rows if r.partner in ("", sender) or sender is None]
            return [(r, self._updates(j, r, names, decide)) for r in rows]

        return self.about.tree(run)

    # What all of them do together.

    def _moves(self, control: Control) -> Any:
        """A tree of the moves that may be possible."""

        def run(decide: Callable[[Linear], bool]) -> list[Move]:
            offers = [self._offered(control, i, decide) for i in self.everybody]
            busy = {i for i, (urgent, _, _) in enumerate(offers) if urgent}
            moves, world = list[Move](), dict[str, dict[int, list[Any]]]()
            for i, (_, rows, decisions) in enumerate(offers):
                for row, new in rows:
                    if row.sign == "!" and row.by == "world" and not row.urgent:
                        world.setdefault(row.label, {}).setdefault(i, []).append((i, row, new))
                    elif control.over != "begin" or self.starts in (None, i):
                        for heard in self._heard(control, i, row, busy, decide):
                            taken = ((i, row, new), *heard)
                            moves.append(self._move(control, taken, None, _data(row), decide))
                for row, new, says in decisions:
                    moves += self._decided(control, i, row, new, says, busy, decide)
            if len(self.names) == 1 and not busy:  # the environment sends whatever is taken
                own = control.at[0], self._mine(0, control), control.chosen
                rows = self.tables[0].leaving[control.at[0]]
                for label in sorted({row.label for row in rows if row.sign == "-"}):
                    for row, new in branch(self.replies(0, *own, 0, label), decide, self.about):
                        moves.append(self._move(control, ((0, row, new),), None, "same", decide))
            # An event of the outside world reaches all members at once that have a row for it.
            for some in world.values():
                for taken in product(*some.values()):
                    moves.append(self._move(control, taken, None, "same", decide))
            return moves

        return self.about.tree(run)

    def _offered(self, control: Control, i: int, decide: Callable[[Linear], bool]) -> Any:
        """What a member offers: one that has settled a guard, its message alone."""
        if control.settled[i]:
            place, new = control.settled[i]
            return False, [(self.tables[i].rows[place], new)], ()
        tree = self.offers(i, control.at[i], self._mine(i, control), control.chosen)
        return branch(tree, decide, self.about)

    def _heard(
        self, control: Control, i: int, row: Ruled, busy: set[int], decide: Any
    ) -> list[tuple[Any, ...]]:
        """The ways in which others take part in a row of i: the member with its row and updates."""
        if row.sign == "!" or len(self.names) == 1:
            return [()]
        heard = list[tuple[Any, ...]]()
        for j in self.everybody:
            able = j != i and j not in busy and not control.settled[j]
            if able and row.partner in ("", self.names[j]):
                own = control.at[j], self._mine(j, control), control.chosen
                rows = branch(self.replies(j, *own, i, row.label), decide, self.about)
                heard += [((j, *taken_row),) for taken_row in rows]
        return heard

    def _decided(
        self, control: Control, i: int, row: Any, new: Any, says: Any, busy: set[int], decide: Any
    ) -> Iterator[Move]:
        """What comes of a decision. Where its message cannot be sent at once it is settled: the
        member can do nothing else. Of two members there is nobody else who could change that.
        """
        if row is None:
            over = control._replace(over="guards")
            yield Move(i, self.names[i], "error", "guards", over, (), says, "same")
            return
        ways = self._heard(control, i, row, busy, decide)
        for heard in ways:
            data = "same" if row.sign == "!" else row.carry
            yield self._move(control, ((i, row, new), *heard), says, data, decide)
        if ways:
            return
        over = control._replace(over="stuck")
        if len(self.names) > 2:
            settled = [*control.settled]
            settled[i] = (row.number, new)
            over = control._replace(settled=tuple(settled), over="")
        yield Move(i, self.names[i], "choose", row.label, over, (), says, "same")

    def _move(
        self, control: Control, taken: Any, says: Any, data: str, decide: Callable[[Linear], bool]
    ) -> Move:
        """The move in which members take rows, the first of them its own."""
        i, row, _ = taken[0]
        settled = [*control.settled]
        at, finite = [*control.at], dict(zip(self.finite, control.finite, strict=True))
        values = dict[str, Linear]()
        for j, taken_row, new in taken:
            at[j], settled[j] = taken_row.target, ()
            for x, now in new:
                if (j, x) in finite:
                    finite[j, x] = now
                else:
                    values[f"{self.names[j]}.{x}"] = now
        kind = {"+": "send", "-": "receive", "!": "event"}[row.sign]
        outside = kind == "event" and row.by == "world" and not row.guard
        who = "NONE" if outside else self.names[i]
        names = self._all(control) | {"who": who, "tag": row.label, "kind": kind}
        names |= self._carried(row.label) if kind != "event" else {}
        ghosts = list[Any]()
        for x, tree in self.steps_of.items():
            new = value(tree, names, self.members, decide)
            if x in self.ghosts:
                ghost = self.ghosts[x]
                if new not in (ghost["of"] if kind_of(ghost) == "of" else (False, True)):
                    raise ValueError(f"{x} becomes {new}, which it cannot be")
                ghosts.append(new)
            elif _typed(new, Linear) != variable(x):
                values[x] = new
        over = "" if any(settled) else self._over(at)
        now = tuple(at), tuple(finite.values()), control.chosen, tuple(ghosts)
        target = Control(*now, tuple(settled), over)
        return Move(i, who, kind, row.label, target, tuple(sorted(values.items())), says, data)

    def _over(self, at: Iterable[str]) -> str:
        ended = all(state in table.final for state, table in zip(at, self.tables, strict=True))
        return "end" if ended else ""

    def _all(self, control: Control) -> dict[str, Any]:
        """The values of all names in claims and ghosts."""
        values: dict[str, Any] = {x: variable(x) for x in (*self.parameters, *self.counts)}
        values |= dict(zip(self.chosen, control.chosen, strict=True))
        values |= dict(zip(self.ghosts, control.ghosts, strict=True))
        values["over"] = control.over == "end"
        for i, name in enumerate(self.names):
            values[f"{name}.at"] = control.at[i]
            values[f"{name}.over"] = control.at[i] in self.tables[i].final
        for (i, x), now in zip(self.finite, control.finite, strict=True):
            values[f"{self.names[i]}.{x}"] = now
        return values | {f"{self.names[i]}.{x}": self._register(i, x) for i, x in self.ints}

    def _follow(self, data: Data, who: int, at: str, says: Any, sent: str) -> tuple[Any, ...]:
        """What may be known of values after a move; nothing where its answers are impossible."""
        theory = self.theory
        if theory is None or (sent == "same" and says is None):
            return (data,)
        if says is None:
            if not data.values:
                return tuple(Data(1, *pair) for pair in product(theory.first, repeat=2))
            unchanged = sent == "plain own" and data.values > who
            return (data if unchanged else Data(2, lost=True),)
        asked = self.asked(who, at)
        if not asked and data.lost:
            return (data,)
        if data.lost or data.values <= (not who):
            raise ValueError("a relation is asked for of a value of which nothing is known")
        step = data.values == 1, who, at, says, sent == "new"
        match, agree = self.known(0, data.match, *step), self.known(1, data.agree, *step)
        both = zip(match, agree, strict=True)
        if sent == "same":
            return (data,) if any(y and e for y, e in both) else ()
        if max(map(len, match)) * max(map(len, agree)) > self.most:
            raise TooMany(f"there are more than {self.most:,} states of what is related")
        # Tuples equal `Data`, and are made much faster: most are known already.
        ways = (product((2,), y, e, (False,)) for y, e in both)
        return tuple(dict.fromkeys(chain.from_iterable(ways)))

    def _known(
        self, place: int, known: Any, second: bool, who: int, at: str, says: Any, new: bool
    ) -> list[tuple[Any, ...]]:
        """For each answer that leads to a decision, what may be known of one relation then."""
        theory: Any = self.theory
        pairs, answers = self.judged(who, at, says)
        judged = theory.judged(known, who, second, pairs[place])
        ways = (judged.get(says_each[place], ()) for says_each in answers)
        return [tuple(dict.fromkeys(known_after[new] for known_after in some)) for some in ways]

    def _judged(self, who: int, at: str, says: Any) -> tuple[Any, Any]:
        """What a decision asks of MATCH and of AGREE, and the answers to each that lead to it."""
        asked, oracles = self.asked(who, at), self.tables[who].oracles
        which = [
            [n for n, x in enumerate(asked) if oracles[x]["relation"] == name]
            for name in ("MATCH", "AGREE")
        ]
        pairs = [tuple(tuple(oracles[asked[n]]["of"]) for n in numbers) for numbers in which]
        some = (tuple(tuple(answers[n] for n in numbers) for numbers in which) for answers in says)
        return pairs, [*dict.fromkeys(some)]

    def _after(self, values: tuple[tuple[str, Linear], ...]) -> list[tuple[int, int | None]]:
        """For each atom that is kept, the one that must hold before, or whether it holds anyway."""
        before_each, new = list[tuple[int, int | None]](), dict(values)
        for literal in self.keep:
            before = at_most_0(self.about.atoms[literal].after(new))
            known = self.about.literal(before) if before.terms else None
            before_each.append((literal ^ (known is None and before.constant > 0), known))
        return before_each

    def _reached(self, given: int, values: tuple[tuple[str, Linear], ...]) -> tuple[int, ...]:
        """Which of the atoms that are kept may hold after an update: each possible set of them."""
        reached = [(given, given & self.fixed)]
        for literal, before in self.after(values):
            grown = list[tuple[int, int]]()
            for known, region in reached:
                if before is None:
                    grown.append((known, region | 1 << literal))
                    continue
                holds = self.about.decided(known, before)
                for side in (0, 1):
                    if holds is not bool(side):
                        both = known | 1 << (before ^ side)
                        grown.append((both, region | 1 << (literal ^ side)))
            reached = grown
            if len(reached) > self.most:
                raise TooMany(f"there are more than {self.most:,} cases of numbers")
        return tuple(dict.fromkeys(region for _, region in reached))

    def _first(self) -> Iterator[Node]:
        values = {
            f"{self.names[i]}.{x}": self.tables[i].registers[x].get("init", 0) for i, x in self.ints
        }
        values |= {x: _integer(counter["init"]) for x, counter in self.counts.items()}
        zero = tuple(sorted((x, number(init)) for x, init in values.items()))
        at = tuple(table.initial for table in self.tables)
        init = [self.forget[i, x][self.tables[i].registers[x]["init"]] for i, x in self.finite]
        ghosts = tuple(ghost["init"] for ghost in self.ghosts.values())
        ways = (self.parameters[x].get("of", (False, True)) for x in self.chosen)
        for chosen in product(*ways):
            over = self._over(at) or "begin"
            nothing = ((),) * len(self.names)
            control = Control(at, tuple(init), chosen, ghosts, nothing, over)
            tree: Any = ("bool", True)
            for text in self.part["assume"]:
                tree = ("and", tree, parse(text))
            cases = self.about.walk(self._tree(tree, self._parameters(chosen)), self.fixed)
            for given in [given for given, fine in cases if fine]:
                self.fixed |= given  # parameters stay as they are
                yield from (Node(control, region, Data()) for region in self.reached(given, zero))

    def _ways(self, control: Control, region: int) -> Ways:
        """What is possible where these atoms hold."""
        cases = [*self.about.walk(self.moves(control), region)]
        regions = dict[Move, dict[int, None]]()
        for given, moves in cases:
            for move in moves:
                to = dict.fromkeys(self.reached(given, move.values))
                regions[move] = regions.get(move, {}) | to
        places = {move: place for place, move in enumerate(regions)}
        able = [(given, [places[move] for move in moves]) for given, moves in cases]
        untaken = {(given, place): None for given, some in able for place in some}
        moves = [(move, self._there(move.target, to)) for move, to in regions.items()]
        return Ways(moves, able, untaken)

    def _there(self, control: Control, regions: Iterable[int]) -> list[Place]:
        return [(control, now, self.found.setdefault((control, now), {})) for now in regions]

    def _data(self, control: Control, data: Data, move: Move) -> tuple[Any, ...]:
        """What may be known of values after a move; nothing where it is impossible."""
        known = self.follow(data, move.who, control.at[move.who], move.says, move.data)
        return (Data(),) if known and self.rests(move.target) else known

    def explore(self, edges: bool = False) -> None:
        """Find all nodes; and all edges, if asked for.

        What is known of values does not depend on the numbers that allow a move. So for each node
        each move is looked at once, with all the regions that some numbers may lead it to.
        """
        self.taken = dict[tuple[Control, int, Move], None]()
        self.found = dict[tuple[Control, int], dict[Data, Node]]()
        self.nodes = [*dict.fromkeys(self._first())]
        if not self.nodes:
            raise ValueError("no parameters are as is assumed, so whatever is claimed is empty")
        for node in self.nodes:
            self.found.setdefault((node.control, node.region), {})[node.data] = node
        for node in self.nodes:  # grows while it is read
            control, region, data = node
            if self.rests(control):
                continue
            moves, cases, untaken = self.ways(control, region)
            afters = [self._data(control, data, move) for move, _ in moves]
            for given, place in [pair for pair in untaken if afters[pair[1]]]:
                self.taken[control, given, moves[place][0]] = None
                del untaken[given, place]
            for (_, there), some in zip(moves, afters, strict=True):
                self._add(there, some)
            for given, places in cases if control.over != "end" else ():
                if not any(afters[place] for place in places):
                    move = _stuck(control)
                    self.taken[control, given, move] = None
                    self._add(self._there(move.target, self.reached(given, ())), (Data(),))
            if len(self.nodes) > self.most:
                raise TooMany(f"there are more than {self.most:,} states")
        self.edges = [*self._edges()] if edges else []

    def _add(self, there: list[Place], datas: tuple[Any, ...]) -> None:
        """Add the nodes at some places with these data that are new."""
        for control, region, nodes in there:
            for data in [new for new in datas if new not in nodes]:
                nodes[data] = Node(control, region, Data(*data))
                self.nodes.append(nodes[data])

    def _edges(self) -> Iterator[Edge]:
        for node in self.nodes:
            control, region, data = node
            if self.rests(control):
                continue
            moves, cases, _ = self.ways(control, region)
            for given, places in cases:
                some = [
                    (moves[place][0], self._data(control, data, moves[place][0]))
                    for place in places
                ]
                if control.over != "end" and not any(datas for _, datas in some):
                    some = [(_stuck(control), (Data(),))]
                for move, datas in some:
                    for now in self.reached(given, move.values):
                        nodes = self.found[move.target, now]
                        yield from (Edge(node, given, move, nodes[after]) for after in datas)

    def _rests(self, control: Control) -> bool:
        """Whether nothing comes after, or nothing that is followed; then data do not matter."""
        if control.over in ("stuck", "guards"):
            return True
        if not any(t.leaving[at] for t, at in zip(self.tables, control.at, strict=True)):
            return control.over == "end"
        if self.followed is None:
            return False
        return not _typed(self._tree(self.followed, self._all(control)), bool)

    # Claims: what speaks against one. If nothing does, it holds.

    def against(self, claim: Any) -> Any:
        """A node or move at which a claim does not hold, or None."""
        kind = claim["check"]
        if kind in ("never", "step"):
            tree = parse(claim[kind])
            return self._never(tree) if kind == "never" else self._step(tree)
        if self.followed is not None:
            raise ValueError(f"not all sessions are followed, so nothing is known of {kind}")
        if kind == "terminates":
            return self._endless(claim["ranks"])
        over = {"never-stuck": "stuck", "one-guard": "guards"}[kind]
        return next((node for node in self.nodes if node.control.over == over), None)

    def _never(self, tree: Any) -> Any:
        trees = dict[Control, Any]()
        for control, region in dict.fromkeys((node.control, node.region) for node in self.nodes):
            if control not in trees:
                trees[control] = self._tree(tree, self._all(control))
            for _, bad in self.about.walk(trees[control], region):
                if _typed(bad, bool):
                    return control, self.shown(region)
        return None

    def _step(self, tree: Any) -> Any:
        trees = dict[tuple[Control, Move], Any]()
        for control, given, move in self.taken:
            if move.kind in ("none", "error", "choose"):
                continue
            if (control, move) not in trees:
                names = self._all(control)
                after, values = self._all(move.target), dict(move.values)
                for x, now in values.items():
                    after[x] = Opaque(now) if isinstance(after[x], Opaque) else now
                names |= {f"next.{x}": now for x, now in after.items()}
                names |= self._carried(move.label) if move.kind != "event" else {}
                names |= {"who": move.actor, "kind": move.kind}
                names["tag"] = move.label if move.kind != "event" else "NONE"
                names["ends"] = move.target.over == "end"
                trees[control, move] = self._tree(tree, names)
            for _, good in self.about.walk(trees[control, move], given):
                if not _typed(good, bool):
                    return control, self.shown(given), move
        return None

    def lasting(self) -> list[Edge]:
        """The edges within strongly connected components: all others are taken once at most."""
        numbers = {node: place for place, node in enumerate(self.nodes)}
        ends = [(numbers[edge.source], numbers[edge.target]) for edge in self.edges]
        part = components(len(numbers), ends)
        pairs = zip(self.edges, ends, strict=True)
        return [edge for edge, (source, other) in pairs if part[source] == part[other]]

    def _endless(self, ranks: Any) -> Any:
        """A step that may be taken for ever.

        Where no rank rises before one falls that is at least 0, each falls finitely often, the
        first ones first; and steps on which none falls must make no cycle.
        """
        stuck = next((n for n in self.nodes if n.control.over in ("stuck", "guards")), None)
        if stuck is not None:
            return stuck
        forms = list[Linear]()
        for rank in ranks:
            form = number(_integer(rank.get("", 0)))
            for name, factor in rank.items():
                form = form.plus(variable(name), _integer(factor)) if name else form
            forms.append(form)
        numbers = {node: place for place, node in enumerate(self.nodes)}
        changes, flat = cache(self.changes), list[tuple[int, int]]()
        for edge in self.lasting():
            change = changes((*forms,), edge.given, edge.move.values)
            if change == "rises":
                return edge
            if change == "same":
                flat.append((numbers[edge.source], numbers[edge.target]))
        part = components(len(numbers), flat)
        cycle = next((source for source, other in flat if part[source] == part[other]), None)
        return None if cycle is None else [*numbers][cycle]

    def changes(self, forms: tuple[Linear, ...], given: int, values: Any) -> str:
        """What a step does with ranks: "falls", "same", or "rises" where it may."""
        for form in forms:
            difference = form.after(dict(values)).plus(form, -1)
            if self._sure(difference.plus(number(1)), given) and self._sure(
                number(0).plus(form, -1), given
            ):
                return "falls"
            if not self._sure(difference, given):
                return "rises"
        return "same"

    def _sure(self, atom: Linear, given: int) -> bool:
        return self.about.always(self.about.tree(lambda decide: decide(at_most_0(atom))), given)

    def shown(self, given: int) -> str:
        atoms = (self.about.atoms[n] for n in range(len(self.about.atoms)) if given >> n & 1)
        return " and ".join(map(_written, atoms))


def _written(atom: Linear) -> str:
    left = " + ".join(f"{f}*{x}" if f != 1 else x for x, f in atom.terms)
    return f"{left} <= {-atom.constant}"


def _plain(declared: Any) -> Any:
    """What a declaration means, however it says so."""
    meaning = {x: v for x, v in declared.items() if x not in ("about", "type")} | {
        "kind": kind_of(declared)
    }
    return meaning | ({"of": sorted(declared["of"])} if meaning["kind"] == "of" else {})


def _integer(entry: Any) -> int:
    if type(entry) is not int:
        raise ValueError(f"{entry!r} is no whole number")
    return entry


def components(size: int, edges: list[tuple[int, int]]) -> list[int]:
    """For each vertex a number of its strongly connected component (Tarjan, without recursion)."""
    out: list[list[int]] = [[] for _ in range(size)]
    for source, other in edges:
        out[source].append(other)
    index, low, part = [0] * len(out), [0] * len(out), [-1] * len(out)
    stack, count = list[int](), 0
    for root in range(len(out)):
        if index[root]:
            continue
        count += 1
        index[root] = low[root] = count
        stack.append(root)
        work = [(root, iter(out[root]))]
        while work:
            vertex, left = work[-1]
            for other in left:
                if not index[other]:
                    count += 1
                    index[other] = low[other] = count
                    stack.append(other)
                    work.append((other, iter(out[other])))
                    break
                if part[other] < 0:
                    low[vertex] = min(low[vertex], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[vertex])
                if low[vertex] == index[vertex]:
                    while True:
                        other = stack.pop()
                        part[other] = vertex
                        if other == vertex:
                            break
    return part


# Part 4: what is due of INTERACT, PXP and PXP(k): under which assumptions each claim is proved for
# all parameters, and what it says. Sources and titles: `pxp list claims`.

FORMAT, ANEW = 1, "write it anew with: pxp check --certificate FILE"


def followed(*tags: str) -> Any:
    """A ghost that follows sessions, from s0 on, while they begin with these tags; else "off"."""
    step = "off"
    for place, tag in reversed([*enumerate(tags)]):
        step = f"s{place + 1} if watch == s{place} and tag == {tag} else ({step})"
    of = ["off", *(f"s{place}" for place in range(len(tags) + 1))]
    return {"watch": {"of": of, "init": "s0", "step": f"watch if kind == event else ({step})"}}


def _seen(init: bool, step: str) -> Any:
    return {"type": "bool", "init": init, "step": step}


_SENT = {"sent": {"type": "int", "init": 0, "step": "sent if kind == event else sent + 1"}}
_LAST = {"last_tag": {"of": ["NONE", "INIT", "RATIFY", "REFUTE", "REVISE", "REJECT", "TERM"],
                      "init": "NONE", "step": "tag"}}  # fmt: skip
_STRONG = _seen(True, "strong and (kind == event or who == m or tag in {INIT, RATIFY, REVISE})")
_SOME = _seen(False, "some or (kind != event and who == h and tag in {RATIFY, REVISE})")
_REVISED = _seen(False, "revised or (kind != event and who == h and tag == REVISE)")
REPLIES = {"INIT": "RATIFY, REFUTE, REVISE, REJECT", "RATIFY": "RATIFY", "REVISE": "RATIFY",
           "REFUTE": "REFUTE, REVISE, REJECT", "REJECT": "REJECT"}  # fmt: skip
"""How PXP answers each tag, TERM aside (arXiv 2301.01819, Proposition 5)."""

NEVER_STUCK, ONE_GUARD = ("never-stuck", "never-stuck", ""), ("one-guard", "one-guard", "")
SILENT_END = ("silent-end", "step", "(not m.over and not h.over) or kind == event")
_LOOPS = ("ratified", "refuted", "revised", "rejected")
SELF_LOOPS = " or ".join(f"{name}.{register} > k" for name in "mh" for register in _LOOPS)


def _replies(*tags: str) -> list[tuple[str, str, str]]:
    rule = "last_tag != {0} or tag in {{{1}, TERM}}"
    return [(f"replies-{tag}", "step", rule.format(tag, REPLIES[tag])) for tag in tags]


def _due(
    relations: str,
    claims: Iterable[tuple[str, str, str]],
    ghosts: Any = None,
    along: str = "",
    assume: Iterable[str] = (),
) -> Any:
    """A part of what is due: all that it says but atoms, lemmas and ranks."""
    stated: list[dict[str, str]] = [
        {"name": name, "check": check} | ({check: text} if text else {})
        for name, check, text in claims
    ]
    rest = {"ghosts": ghosts or {}, "while": along, "claims": stated}
    return {"relations": relations, "starts": "m", "assume": [*assume]} | rest


_ON = "watch != off"
_REVISING = followed("INIT", "REVISE", "REVISE", "RATIFY", "RATIFY")
DUE: dict[str, list[Any]] = {
    "interact": [
        _due("", [
            ("terminates", "terminates", ""), NEVER_STUCK, ONE_GUARD, SILENT_END,
            ("at-most-n", "never", "sent > n"),
            ("reject-after-k", "step", "tag != REJECT or sent + 1 > k"),
        ], _SENT),
        _due("r", [("no-revise-at-2", "never", "watch == s2")], followed("INIT", "REVISE"), _ON),
        _due("r", [("revised-never", "never", "watch == s5")], _REVISING, _ON),
        _due("dst", [("revised-never", "never", "watch == s5")], _REVISING, _ON),
        _due("dhs", [("ratified-at-3", "step",
                      "(watch != s2 or tag == RATIFY) and (watch != s3 or kind == event)")],
             followed("INIT", "RATIFY", "RATIFY"), _ON, ["n >= 3"]),
        _due("dhrs", [("strong-once", "never", "over and strong and some and watch != s3")],
             {"strong": _STRONG, "some": _SOME} | followed("INIT", "RATIFY", "RATIFY"), "strong",
             ["n >= 3"]),
        _due("dhrs", [("never-ultra", "never", "over and strong and revised")],
             {"strong": _STRONG, "revised": _REVISED}, "strong"),
        _due("dhst", [("refuted-never", "never", "watch == s4")],
             followed("INIT", "REFUTE", "REFUTE", "RATIFY"), _ON),
    ],
    "pxp": [
        _due("", [NEVER_STUCK, ONE_GUARD, SILENT_END, *_replies("INIT")], _LAST),
        _due("dhs", _replies("RATIFY", "REJECT"), _LAST),
        _due("dh", _replies("REFUTE", "REVISE"), _LAST),
    ],
    "pxp(k)": [
        _due("", [NEVER_STUCK, ONE_GUARD, SILENT_END, ("self-loops", "never", SELF_LOOPS),
                  *_replies("INIT")], _LAST),
        _due("dhs", [
            ("terminates", "terminates", ""),
            ("no-alternation", "step", "last_tag != REFUTE or tag != RATIFY"),
            *_replies("RATIFY", "REJECT"),
        ], _LAST),
        _due("dhs", [("within-2k-and-5", "never", "sent > 2*k + 5")], _SENT),
        _due("dh", _replies("REFUTE", "REVISE"), _LAST),
    ],
}  # fmt: skip
"""The parts of each protocol's certificate, in order."""

DIGESTS = {
    "interact": "6f8f68db637f2d8d1998b1180d7286e2b28acad4c1f5c67de58a7a5bbbd503ac",
    "pxp": "99e3dc94bbfec2b0e5b26eedcb07ebd4e9d5b9dfd8634a5cdb208d70d6cf0ebf",
    "pxp(k)": "04857bf2655c3cc96d6e891c9c1e267a2746a079d7d05ad2497dfba38cc6cd5e",
}
"""The tables that these are, by `Rules.digest`."""


# Part 5: certificates of what is so for all numbers.

PART_KEYS = {"relations", "starts", "assume", "ghosts", "while", "claims"}
CLAIM = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
CLAIM_KEYS = {"never": {"never"}, "step": {"step"}, "terminates": {"ranks"}}
CLAIM_KEYS |= {"never-stuck": set(), "one-guard": set()}


def lemma(listed: Any, about: Knowledge) -> list[int]:
    """The atoms of a lemma: [TERMS, CONSTANT] with a factor each, whose sum is a constant above 0,
    though no atom is. Raises ValueError where it is none.
    """
    total, atoms = number(0), list[Linear]()
    for (terms, constant), factor in listed:
        atom = _atom(terms, constant)
        if _integer(factor) <= 0 or atom in atoms:
            raise ValueError(f"a factor that is not positive, or an atom twice: {listed}")
        atoms.append(atom)
        total = total.plus(atom, factor)
    if total.terms or total.constant <= 0:
        raise ValueError(f"this is no contradiction: {listed}")
    return [about.literal(atom) for atom in atoms]


def _atom(terms: Any, constant: Any) -> Linear:
    """An atom as a certificate has it: sorted, with factors that have no common divisor."""
    atom = Linear(tuple((name, _integer(factor)) for name, factor in terms), _integer(constant))
    plain = number(atom.constant)
    for name, factor in atom.terms:
        plain = plain.plus(variable(name), factor)
    if not atom.terms or at_most_0(plain) != atom or not all(type(x) is str for x, _ in terms):
        raise ValueError(f"this is no atom: {[terms, constant]}")
    return atom


def sessions_of(members: list[tuple[str, Rules]], part: Any) -> Sessions:
    """All sessions of a part, with nothing but its own lemmas.

    Raises ValueError for a part that is none.
    """
    if {*part} != PART_KEYS | {"atoms", "lemmas"}:
        raise ValueError(f"a part with other keys than {', '.join(sorted(PART_KEYS))}")
    kinds = {"starts": str, "while": str, "assume": list, "ghosts": dict, "claims": list}
    kinds |= {"atoms": list, "lemmas": list}
    kinds |= {"relations": str} if part["relations"] is not None else {}
    if any(type(part[key]) is not kind for key, kind in kinds.items()):
        raise ValueError("a part with values of other types than they must be")
    about, seen = Knowledge(), set[frozenset[int]]()
    for written in part["lemmas"]:
        literals_of = frozenset(lemma(written, about))
        if literals_of in seen:
            raise ValueError(f"a lemma is there twice: {written}")
        seen.add(literals_of)
        about.learn(literals_of)
    atoms = [_atom(*pair) for pair in part["atoms"]]
    literals = [about.literal(atom) & -2 for atom in atoms]
    if len({*literals}) < len(literals):
        raise ValueError("an atom is there twice, or with its contrary")
    sessions = Sessions(members, part, atoms, about)
    sessions.explore("terminates" in [claim["check"] for claim in part["claims"]])
    return sessions


def given(part: Any) -> Iterator[str]:
    """What a part assumes, in words: all of it."""
    if part["relations"] is not None:
        yield f"relations {part['relations'] or 'noisy'}"
    if part["starts"]:
        yield f"{part['starts']} starts"
    yield from (f"where {_line(text)}" for text in part["assume"])
    if part["while"]:
        yield f"while {_line(part['while'])}"
    for name, ghost in part["ghosts"].items():
        yield f"with {name} = {ghost['init']} and then {_line(ghost['step'])}"


def _line(text: str) -> str:
    """An expression on one line: nothing that is printed can look like a line of ours."""
    return " ".join(text.split())


def check_rules(certificate: Any, *raw: Any) -> Iterator[tuple[bool, str]]:
    """Each claim with whether it holds; or False with why all of it is refused.

    `raw` are the tables as TOML reads them, each once, in any order. Raises ValueError, LookupError
    or the like where something is wrong, or it is no certificate.
    """
    keys, protocol = {"format", "members", "parts"}, certificate.get("protocol")
    if _text(certificate["format"]) != _text(FORMAT) or {*certificate} - {"protocol"} != keys:
        yield False, f"its format is another; {ANEW}"
        return
    tables = {table.digest: table for table in map(Rules, raw)}
    members = [(name, digest) for name, digest in certificate["members"]]
    if {digest for _, digest in members} != {*tables} or len(tables) < len(raw):
        yield False, f"the tables that are given are not those of its members; {ANEW}"
        return
    if not all(NAME.fullmatch(name) for name, _ in members):
        raise ValueError("a member without a name")
    both, told = [(name, tables[digest]) for name, digest in members], set[tuple[str, str]]()
    if "protocol" in certificate:
        stated = [_stated(part) for part in certificate["parts"]]
        if members != [("m", DIGESTS[protocol]), ("h", DIGESTS[protocol])]:
            yield False, f"its tables are not those of {protocol}; {ANEW}"
            return
        if _text(stated) != _text(DUE[protocol]):
            yield False, f"what it says of {protocol} is not what is due; {ANEW}"
            return
    if not certificate["parts"] or not all(part["claims"] for part in certificate["parts"]):
        raise ValueError("nothing is claimed")
    for part in certificate["parts"]:
        for claim in part["claims"]:
            key = claim["name"], _text([part["relations"], part["assume"]])
            if not CLAIM.fullmatch(claim["name"]) or key in told:
                raise ValueError(f"a claim without a name, or twice: {claim['name']}")
            if {*claim} != {"name", "check"} | CLAIM_KEYS[claim["check"]]:
                raise ValueError(f"a claim with unknown keys: {claim['name']}")
            told.add(key)
        sessions = sessions_of(both, part)
        for claim in part["claims"]:
            statement = f"{claim['name']}: {claim['check']} {_line(claim.get(claim['check'], ''))}"
            yield sessions.against(claim) is None, ", ".join([statement.rstrip(), *given(part)])


def _stated(part: Any) -> Any:
    """What a part says: all but its evidence."""
    evidence = ("atoms", "lemmas")
    rest = {key: stated for key, stated in part.items() if key not in evidence}
    claims = [{key: x for key, x in claim.items() if key != "ranks"} for claim in part["claims"]]
    return rest | {"claims": claims}


# Part 6: what can happen in a system: what a channel does with messages, when a guard is settled.

FAULTS = ("lossy", "duplicating", "reordering")


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
        for tag, schema in raw.get("payloads", {}).items():
            written = json.dumps(schema, sort_keys=True, ensure_ascii=False)
            lines.append(f"payload {tag} {written}")
        text = "".join(f"{line}\n" for line in sorted(lines))
        self.fingerprint = hashlib.sha256(text.encode()).hexdigest()
        self.states = {self.initial, *self.final, *(s for row in self.rows for s in row[:2])}
        self.states |= {state["name"] for state in raw["states"]}
        names = {*self.states, *(x for row in self.rows for x in (row[2], *row[4:])), "x"} - {""}
        alike = [(r.source, r.sign, r.label, r.guard * (r.sign == "!")) for r in self.rows]
        for row_key, row in zip(alike, self.rows, strict=True):
            twins = [
                r for r, other_key in zip(self.rows, alike, strict=True) if row_key == other_key
            ]
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
        self.carries = [own.get(link, channel) for link in between]
        for (i, row), some in self.ways.items():
            if i in some or (row.sign == "+" and not some):
                raise ValueError(f"a row sends to nobody: {row}")
        self.stops = not self.capacity and len(names) == 2
        self.leaving = [
            {at: [row for row in table.rows if row.source == at] for at in table.states}
            for table in tables
        ]

    def __str__(self) -> str:
        marks = (table.fingerprint[:12] for table in self.tables)
        return ", ".join(f"{name} {mark}" for name, mark in zip(self.names, marks, strict=True))

    def _partners(self, i: int, row: Row) -> tuple[int, ...]:
        """Who may be at the other end of a row: whom it names, or all who could be."""
        if row.partner:
            return (self.names.index(row.partner),)
        opposite, others = {"+": "-", "-": "+"}.get(row.sign), [j for j in self.everybody if j != i]
        possible = tuple(j for j in others if self._has(j, opposite, row.label, i))
        # Of two members, what is received in no state can only be for the other one.
        return possible or tuple(others if row.sign == "+" and len(others) == 1 else ())

    def _has(self, j: int, sign: str | None, label: str, i: int) -> bool:
        """Whether j has a row for a tag to or from i, in some state."""
        some = (r for r in self.tables[j].rows if (r.sign, r.label) == (sign, label))
        return any(r.partner in ("", self.names[i]) for r in some)

    @property
    def first(self) -> State:
        nothing = ("",) * len(self.names)
        return State(
            tuple(table.initial for table in self.tables), ((),) * len(self.links), nothing
        )

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
                    sends = [
                        target for j in self.ways[i, row] for target in self._sent(moved, i, j, row)
                    ]
                yield from sends
                if row.sign == "!" and row.guard:
                    yield Step(moved, ((i, row),), self.names[i])
                elif row.guard and not sends and not state.settled[i] and self._settles(i, row):
                    settled = (*state.settled[:i], row.guard, *state.settled[i + 1 :])
                    yield Step(state._replace(settled=settled), ((i, row),), self.names[i], True)
        for link in enumerate(self.links):
            yield from self._delivered(state, *link)
        events = {r.label: None for table in self.tables for r in table.rows if r.sign == "!"}
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
                for after in (
                    _holding(moved, link, (*there,)),
                    *[moved] * ("duplicating" in self.carries[link]),
                ):
                    yield Step(after, ((ends[1], row),), self.names[ends[1]])


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
    at = tuple(where.get(i, before) for i, before in enumerate(state.at))
    settled = tuple("" if i in where else before for i, before in enumerate(state.settled))
    return State(at, state.buffers, settled)


def _holding(state: State, link: int, tags: tuple[str, ...]) -> State:
    return state._replace(buffers=(*state.buffers[:link], tags, *state.buffers[link + 1 :]))


# Part 7: what holds of a system.

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

    def __init__(self, system: System, evidence: Any, listed: Any) -> None:
        self.system, self.states, self.given, self.used = (
            system,
            [system.first],
            evidence,
            set[str](),
        )
        self.steps, numbers = list[list[tuple[int, Step]]](), {_text(system.first): 0}
        targets = [{_text(step.target): step.target for step in system.steps(system.first)}]
        if _text(listed[0]) != _text([*system.first, None]):
            raise ValueError("the first state is another")
        for number, (at, buffers, settled, before) in enumerate(listed[1:], start=1):
            text = _text([at, buffers, settled])
            if type(before) is not int or not 0 <= before < number or text not in targets[before]:
                raise ValueError(f"no step of a state before it leads to state {number}: {text}")
            if text in numbers:
                raise ValueError(f"state {number} is there twice: {text}")
            numbers[text] = number
            self.states.append(targets[before][text])
            targets.append({_text(s.target): s.target for s in system.steps(self.states[-1])})
        for missing in (text for some in targets for text in some if text not in numbers):
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
        evidence = self.given[key]
        self.used.add(key)
        if type(evidence) is not list or len(evidence) != len(self.states):
            raise ValueError(f"there are not as many distances as states: {key}")
        for number, distance in enumerate(evidence):
            near = [evidence[to] for to, step in self.steps[number] if step.actor != without]
            least = min((x for x in near if x is not None), default=None)
            due = 0 if goal(number) else None if least is None else least + 1
            if due != distance or type(due) is not type(distance):
                raise ValueError(f"{key}: state {number} is at the distance {due}, not {distance}")
        return [entry is not None for entry in evidence]

    def ends(self, evidence: Any, how: str, whose: str) -> bool:
        """Whether ranks show that every run, as fair as that, comes to an end.

        A state has ranks where a run may be that has not come to an end yet.
        """
        if type(evidence) is not list or len(evidence) != len(self.states):
            raise ValueError("there are not as many ranks as states")
        left = [number for number, rank in enumerate(evidence) if rank is not None]
        due = {0, *(to for number in left for to, _ in self.steps[number])}
        running = {number for number in due if not self.over[number]} == {*left}
        return (
            running
            and all(self.steps[number] for number in left)
            and self._falls(evidence, left, 0, how, whose)
        )

    def _falls(self, evidence: Any, among: list[int], level: int, how: str, whose: str) -> bool:
        """No step goes up. Where runs could stay on one rank they would be unfair to what is named
        there: no step of it stays. Weakly fair: it can happen in all states of that rank.
        Strongly: where it can happen is left for good, and the rest have ranks of their own.
        """
        ranks, blocks = {n: evidence[n][level] for n in among}, dict[int, set[int]]()
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
            if stays or any(len(evidence[n]) != level + 1 for n in can):
                return False
            if not self._falls(evidence, sorted(block - can), level + 1, how, whose):
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
            taken = {
                taken_row
                for some in self.steps
                for _, s in some
                if not s.settles
                for taken_row in s.rows
            }
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
                can[system.ways[sending][0], sending[0]][n] for n in numbers for sending in waits[n]
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
        own = {receiving for receiving in own if self.system.ways[receiving] == (i,)}
        taken = [any({*step.rows} & own for _, step in some) for some in self.steps]
        key = f"receives {self.system.names[i]}>{self.system.names[j]}"
        return self.distances(key, lambda n: taken[n])

    # Formulas: in which states they hold.

    def _always(self, formula: str) -> bool:
        """Whether G p or AG p holds, where p speaks of states. Raises ValueError for others."""
        tokens, where = list[str](), 0
        while not tokens or tokens[-1]:
            token = TOKEN.match(formula, where)
            if token is None:
                raise ValueError(f"this formula cannot be read: {formula}")
            tokens.append(token[1])
            where = token.end()
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
            inner = self._joined(left, 0)
            if left.pop() != ")":
                raise ValueError("a parenthesis is missing")
            return inner
        if word in ("true", "false"):
            return every if word == "true" else set()
        return self._where(word.strip('"'))

    def _joined(self, left: list[str], level: int) -> set[int]:
        """What is joined by <->, -> (to the right), | and &, from the loosest."""
        if level == len(JOINS):
            return self._part(left)
        every, states = {*range(len(self.states))}, self._joined(left, level + 1)
        while left[-1] and left[-1] in JOINS[level]:
            sign = left.pop()
            other = self._joined(left, level + (sign != "->"))
            if sign[0] in "&|":
                states = states & other if sign[0] == "&" else states | other
            else:
                states = (every - states) | other if sign == "->" else every - (states ^ other)
        return states

    def _where(self, name: str) -> set[int]:
        """In which states a proposition is true. Raises ValueError where there is none."""
        system, (who, _, proposition) = self.system, name.partition("@")
        places = dict(zip(system.names, system.everybody, strict=True))
        places |= {str(place + 1): place for place in system.everybody}
        if name == "ended":
            return {n for n, over in enumerate(self.over) if over}
        if who in places and proposition in system.tables[places[who]].states:
            return {
                n for n, state in enumerate(self.states) if state.at[places[who]] == proposition
            }
        sender, _, receiver = who.partition(":")
        i, j = system.names.index(sender), system.names.index(receiver)
        link, sent = system.links.index((i, j)), [r for k, r in system.ways if k == i]
        on_it = [r.label for r in sent if r.sign == "+" and j in system.ways[i, r]]
        true: dict[str, Callable[[tuple[str, ...]], bool]] = {
            "empty": lambda tags: not tags,
            "full": lambda tags: len(tags) == int(system.carries[link].partition(":")[2]),
        } | {f"has.{tag}": lambda tags, tag=tag: tag in tags for tag in on_it}
        return {n for n, state in enumerate(self.states) if true[proposition](state.buffers[link])}


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
    by_fingerprint = {table.fingerprint: table for table in tables}
    members = [(member["name"], member["fingerprint"]) for member in certificate["members"]]
    due = [{"name": name, "fingerprint": fingerprint} for name, fingerprint in members]
    if _text(due) != _text(certificate["members"]) or len(by_fingerprint) < len(tables):
        raise ValueError("a member has a name and a fingerprint; each table is given once")
    if {*by_fingerprint} != {fingerprint for _, fingerprint in members}:
        raise ValueError("the tables that are given are not those of its members")
    channel = certificate["channel"]
    if channel == "fifo":
        channel = f"fifo:{_text(certificate['k'])}"
    return System(
        [name for name, _ in members],
        [by_fingerprint[fingerprint] for _, fingerprint in members],
        channel,
    )


# Part 8: files.


MOST_BYTES = 200_000_000


def content(name: str) -> str:
    """The text of a file; raises ValueError for one that is a pipe or a device, or too large."""
    path = Path(name)
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ValueError(f"{name} is a pipe or a device; give a file")
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"{name} has more than {MOST_BYTES:,} bytes")
    return data.decode()


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

    `tables` are those of the members as TOML reads them. Raises ValueError, LookupError or the like
    where evidence is wrong, or it is no certificate.
    """
    which: Any = check_system if "states" in certificate else check_rules
    return which(certificate, *tables)  # type: ignore[no-any-return]


def main(certificate: Any, *tables: str) -> bool:
    """Print each claim with whether its verdict is right; whether all are."""
    lines = list(check(certificate, *map(table, tables)))
    for fine, text in lines:
        print("ok   " if fine else "WRONG", text)
    return bool(lines) and all(fine for fine, _ in lines)


if __name__ == "__main__":
    if __spec__ is not None:  # as a module it would run the package around it first
        sys.exit(f"run it by its path: python -I -S {__file__} CERTIFICATE.json TABLE.toml...")
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        first, *others = map(content, sys.argv[1:])
        sys.exit(not main(read(first), *others))
    except OSError as error:
        sys.exit(f"These cannot be checked: {error.filename} cannot be read: {error.strerror}")
    except KeyError as error:
        sys.exit(f"These cannot be checked: KeyError: {error} is missing, or is no name here")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        sys.exit(f"These cannot be checked: {type(error).__name__}: {error}")
