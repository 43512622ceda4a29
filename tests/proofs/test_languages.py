"""Tag languages: exactly the sequences that sessions have, counted, compared and replayed."""

from __future__ import annotations

import random
from itertools import islice, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.core.explore import explore
from proofs.core.properties import complete_words
from proofs.languages import (
    CLASSES,
    SYMBOLS,
    Language,
    ProtocolReading,
    Word,
    class_language,
    of_words,
    realised,
    replayed,
    sequences,
    started,
)
from proofs.languages.language import of_automaton, symbol
from proofs.sessions.model import AGENTS
from pxp_fsm.diagrams import render
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.decisions import Category, Guard
from pxp_fsm.protocol.intelligibility import DEFINITIONS, holds_for, two_way
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption
from pxp_fsm.protocol.rules import Interact, Pxp, Rules
from pxp_fsm.protocol.situation import Derived
from pxp_fsm.sessions.agent import Agent
from tests.oracles.tag_sequences import by_hand
from tests.sampling import sampled
from tests.sessions import agents
from tests.sessions.agents import Saying, now, session

NAMED = {"equivalence": EQUIVALENCE, "tolerance": TOLERANCE, "noisy": NOISY}
TAGS = {"RAT": "RATIFY", "REF": "REFUTE", "REV": "REVISE", "REJ": "REJECT"}


def of(name: str, rules: Rules, *, bounded: bool = True) -> Language:
    return sequences(ProtocolReading(rules, NAMED[name], bounded))


def messages_of(word: Word) -> list[Message]:
    """Messages that have the tags of `word`."""
    sent = [one.split(":") for one in word]
    return [
        Message("s", number, sender, tag, Answer("y", "e"), "h" if sender == "m" else "m")
        for number, (sender, tag) in enumerate(sent, start=1)
    ]


# What the languages are


@pytest.mark.parametrize(
    ("n", "k", "name", "count"),
    [
        (3, 1, "equivalence", 4),
        (3, 1, "tolerance", 4),
        (3, 1, "noisy", 13),
        (4, 2, "equivalence", 8),
        (4, 2, "tolerance", 10),
        (4, 2, "noisy", 36),
    ],
)
def test_the_six_totals_that_check_a_reading(n: int, k: int, name: str, count: int) -> None:
    found = of(name, Interact(n, k))
    assert found.count() == len(list(found.words())) == sum(found.counts(n)) == count


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (3, 1), (3, 2), (4, 1), (4, 2), (4, 3)])
def test_the_language_is_what_trying_all_data_gives(n: int, k: int, name: str) -> None:
    assert set(of(name, Interact(n, k)).words()) == by_hand(n, k, name)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("rules", sampled([Interact(4, 2), Interact(5, 1)], 2), ids=str)
def test_real_sessions_send_every_sequence(rules: Interact, name: str) -> None:
    """The running machines, with judges that say what the model says, take each of them."""
    reading = ProtocolReading(rules, NAMED[name])
    for word in sequences(reading).words():
        assert tuple(f"{m.sender}:{m.tag}" for m in replayed(reading, word)) == word


@settings(max_examples=60)
@given(st.integers(1, 12), st.integers(1, 5), st.sampled_from(["tolerance", "equivalence"]),
       st.integers(0, 2**32))  # fmt: skip
def test_no_session_with_such_data_is_outside(n: int, k: int, name: str, seed: int) -> None:
    """Random values and a random relation on them, tagged by the decision functions."""
    rng, rules = random.Random(seed), Interact(n, k)
    near = {frozenset(pair): rng.random() < 0.5 for pair in product(range(6), repeat=2)}

    def same(a: int, b: int) -> bool:
        return a == b or (name == "tolerance" and near[frozenset((a, b))])

    said, tags = [(rng.randrange(6), rng.randrange(6))], [symbol("m", "INIT")]
    while rules.ending(messages_of(tuple(tags))) is None:
        j = len(tags) + 1
        fresh = rng.randrange(6), rng.randrange(6)
        own = said[-2] if j > 2 else fresh
        found = Category("DCBA"[2 * same(said[-1][0], own[0]) + same(said[-1][1], own[1])])
        changed = not all(map(same, fresh, own))
        guard: Guard = rules.guard(found, changed, j)
        tags.append(symbol("hm"[j % 2], TAGS[guard]))
        said.append(fresh)
    assert tuple(tags) in of(name, rules)


RULES = st.one_of(st.builds(Interact, st.integers(1, 10), st.integers(1, 4)), st.just(Pxp(2)))


@given(RULES, st.integers(0, 2**32), st.tuples(st.booleans(), st.booleans()))
def test_a_session_is_in_the_language_of_what_it_assumes(
    rules: Rules, seed: int, oracles: tuple[bool, bool]
) -> None:
    """Real agents, oracle agents too, whose respondents change their minds at any time."""
    rng = random.Random(seed)

    def member(is_oracle: bool) -> Agent:
        change = Saying(lambda _: Answer(rng.choice("ab"), rng.choice("ab")))
        return agents.agent(change, guards=Derived(revises=not is_oracle))

    made = session(member(oracles[0]), member(oracles[1]), rules, limit=12)
    now(made.run())
    assert made.assumptions == EQUIVALENCE
    word = tuple(symbol(one.sender, one.tag) for one in made.history)
    assert word in started(ProtocolReading(rules, made.assumptions))


def test_pxp_k_is_what_its_model_enumerates() -> None:
    for k in (1, 2):
        reading = ProtocolReading(Pxp(k), EQUIVALENCE)
        words = complete_words(explore(reading.model))
        named = {tuple(one.replace(" ", ":") for one in word) for word in words}
        assert set(sequences(reading).words()) == named
    assert of("equivalence", Pxp(1)).lengths() == (2, 7)


# Counts


@pytest.mark.parametrize(
    ("name", "states", "total"),
    sampled(
        [
            ("equivalence", 294, 42609581180495263263643487348226115688),
            ("tolerance", 197, 8153768794885778276461128935118406659604479),
            ("noisy", 198, 30430279415683380213572994656898362447495163),
        ],
        3,
    ),
)
def test_a_hundred_messages_are_counted_exactly(name: str, states: int, total: int) -> None:
    found = of(name, Interact(100, 3))
    assert (found.states, found.count()) == (states, total)
    assert sum(found.counts(100)) == total == _counted(found)


def _counted(language: Language) -> int:
    """Paths to acceptance, by adding up: whole numbers of any size, in code of its own."""
    one, total = language.automaton, 0
    at = {one.initial_state: 1}
    while at:
        total += sum(ways for state, ways in at.items() if state in one.final_states)
        following: dict[object, int] = {}
        for state, ways in at.items():
            for target in one.transitions[state].values():
                following[target] = following.get(target, 0) + ways
        at = following
    return total


@pytest.mark.deep
def test_each_class_of_a_hundred_messages_is_counted_exactly() -> None:
    """Added up by the tags that each agent has sent, and sorted by the definitions' predicates."""
    language = of("tolerance", Interact(100, 3))
    one, nothing = language.automaton, frozenset[str]()
    at: dict[tuple[str, frozenset[str], frozenset[str]], int] = {
        (one.initial_state, nothing, nothing): 1
    }
    ended: dict[tuple[frozenset[str], frozenset[str]], int] = {}
    while at:
        following: dict[tuple[str, frozenset[str], frozenset[str]], int] = {}
        for (state, m, h), ways in at.items():
            if state in one.final_states:
                ended[m, h] = ended.get((m, h), 0) + ways
            for letter, target in one.transitions[state].items():
                agent, _, tag = letter.partition(":")
                sent = {tag} - {"INIT"}
                key = (target, m | sent, h) if agent == "m" else (target, m, h | sent)
                following[key] = following.get(key, 0) + ways
        at = following
    for name in CLASSES:
        definition, _, agent = name.partition(":")
        names = [(definition, agent)] if agent else [("one_way", "m"), ("one_way", "h")]
        total = sum(
            ways
            for sets, ways in ended.items()
            if all(DEFINITIONS[d].holds(sets[AGENTS.index(a)]) for d, a in names)
        )
        assert (language & class_language(name)).count() == total


@pytest.mark.parametrize("name", NAMED)
def test_each_class_is_counted_as_the_definitions_sort_the_sequences(name: str) -> None:
    language = of(name, Interact(7, 3))
    for each in CLASSES:
        definition, _, agent = each.partition(":")

        def holds(word: Word, definition: str = definition, agent: str = agent) -> bool:
            messages = messages_of(word)
            if definition == "two_way":
                return two_way(messages, *AGENTS)
            return holds_for(DEFINITIONS[definition], messages, agent)

        expected = set(filter(holds, language.words()))
        assert set((language & class_language(each)).words()) == expected


# Without a bound


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("k", sampled([1, 2, 3, 6], 2))
def test_a_bound_cuts_the_unbounded_protocol_and_nothing_else(name: str, k: int) -> None:
    """With n: what ends by itself within n messages, and all that has got as far as n."""
    endless = ProtocolReading(Interact(1, k), NAMED[name], bounded=False)
    assert not sequences(endless).finite
    assert sequences(endless).count() is None
    for n in (1, 2, 5, 9):
        short = _up_to(n, exactly=False) & sequences(endless)
        cut = _up_to(n, exactly=True) & started(endless)
        assert short | cut == of(name, Interact(n, k))


def _up_to(length: int, *, exactly: bool) -> Language:
    from automata.fa.dfa import DFA

    least = length if exactly else 0
    return of_automaton("short", DFA.of_length(set(SYMBOLS), min_length=least, max_length=length))


def test_without_a_bound_what_is_proved_for_all_n_is_read_off() -> None:
    once = of_words("once", [("m:INIT", "h:RATIFY", "m:RATIFY")])
    for name in ("equivalence", "tolerance"):
        found = of(name, Interact(10, 3), bounded=False)
        assert found & class_language("strong:human") == once
        assert (found & class_language("ultra-strong:human")).count() == 0
    noisy = of("noisy", Interact(10, 3), bounded=False)
    assert not (noisy & class_language("ultra-strong:human")).finite


def test_the_automata_without_a_bound_are_small() -> None:
    sizes = {name: of(name, Interact(10, 3), bounded=False).states for name in NAMED}
    assert sizes == {"equivalence": 12, "tolerance": 9, "noisy": 9}
    assert {name: of(name, Pxp()).states for name in NAMED} == {
        "equivalence": 9, "tolerance": 9, "noisy": 4,
    }  # fmt: skip


# Comparisons


@pytest.mark.deep
@pytest.mark.parametrize(
    "rules", [Interact(10, 3), Interact(6, 1), Pxp(), Pxp(2)], ids=["10", "6", "pxp", "pxp2"]
)
def test_more_assumptions_allow_fewer_sequences(rules: Rules) -> None:
    same, similar, any_ = (of(name, rules) for name in NAMED)
    assert same <= similar <= any_
    assert not any_ <= similar


def test_similar_is_more_than_the_same_in_interact_and_not_in_pxp() -> None:
    assert of("equivalence", Pxp()) == of("tolerance", Pxp())
    assert of("equivalence", Pxp(3)) == of("tolerance", Pxp(3))
    more = of("tolerance", Interact(4, 2)) - of("equivalence", Interact(4, 2))
    assert more.shortest() == ("m:INIT", "h:REFUTE", "m:REFUTE", "h:RATIFY")
    assert more.count() == 2


def test_a_witness_is_a_session_of_the_one_and_of_no_other() -> None:
    similar, same = (
        ProtocolReading(Interact(10, 3), NAMED[n]) for n in ("tolerance", "equivalence")
    )
    word = (sequences(similar) - sequences(same)).shortest()
    assert word == ("m:INIT", "h:REFUTE", "m:REFUTE", "h:RATIFY", "m:RATIFY")
    assert len(replayed(similar, word)) == 5
    assert realised(same, word) is None
    assert replayed(same, word) == ()
    assert len(replayed(same, word[:3], complete=False)) == 3
    assert replayed(similar, word[:4]) == ()


@pytest.mark.parametrize("name", sampled(sorted(NAMED), 3))
def test_a_witness_without_a_bound_is_replayed_too(name: str) -> None:
    reading = ProtocolReading(Interact(10, 2), NAMED[name], bounded=False)
    long = next(word for word in sequences(reading).words() if len(word) == 15)
    assert tuple(f"{m.sender}:{m.tag}" for m in replayed(reading, long)) == long


def test_words_come_the_shortest_first_and_then_by_the_alphabet() -> None:
    words = list(islice(of("noisy", Interact(10, 3), bounded=False).words(), 300))
    assert words == sorted(words, key=lambda word: (len(word), word))
    assert len(set(words)) == 300


words = st.lists(st.lists(st.sampled_from(SYMBOLS[:3]), max_size=4).map(tuple), max_size=8)


@given(words, words)
def test_operations_are_those_of_sets(one: list[Word], two: list[Word]) -> None:
    left, right, a, b = of_words("l", one), of_words("r", two), set(one), set(two)
    assert set((left & right).words()) == a & b
    assert set((left | right).words()) == a | b
    assert set((left - right).words()) == a - b
    assert (left <= right) is (a <= b)
    assert (left == right) is (a == b)
    assert left.count() == len(a)
    assert left.shortest() == min(a, key=lambda word: (len(word), word), default=None)
    begun = {word[:length] for word in a for length in range(len(word) + 1)}
    assert set(left.prefixes().words()) == begun
    for word in b:
        assert left.follows(word) == max((i for i in range(len(word) + 1) if word[:i] in begun),
                                         default=0)  # fmt: skip
        known = {w[len(word)] for w in begun if w[: len(word)] == word and len(w) > len(word)}
        assert set(left.after(word)) == known


def test_the_definitions_are_ordered_as_the_papers_say() -> None:
    for agent in AGENTS:
        strong, one_way = class_language(f"strong:{agent}"), class_language(f"one_way:{agent}")
        assert class_language(f"ultra_strong:{agent}") <= strong <= one_way
        assert one_way <= class_language(f"one_way_any:{agent}")
        assert not one_way <= strong
    both = class_language("one_way:m") & class_language("one_way:h")
    assert both == class_language("two_way")


def test_what_is_no_class_or_symbol_is_said() -> None:
    for name in ("strong", "stronger:h", "two_way:h", "strong:x", ""):
        with pytest.raises(UsageError, match=r"there is no class .*strong:h"):
            class_language(name)
    with pytest.raises(UsageError, match="is not a symbol of a tag sequence"):
        of_words("w", [("m:INIT", "RATIFY")])


def test_titles_say_what_was_assumed() -> None:
    assert of("noisy", Interact(4, 2), bounded=False).title == "interact(any n, k = 2), noisy"
    lacking = ProtocolReading(Pxp(), EQUIVALENCE - {Assumption.SYMMETRIC})
    assert sequences(lacking).title == "pxp, without symmetric"


# Pictures


def test_a_picture_shows_the_minimal_automaton(monkeypatch: pytest.MonkeyPatch) -> None:
    diagram = of("tolerance", Interact(10, 3), bounded=False).diagram()
    assert len(diagram.nodes) == 9
    assert [node.name for node in diagram.nodes if node.final] == ["4"]
    assert sum(len(edge.rows) for edge in diagram.edges) == 22
    assert diagram.note == "the minimal automaton of infinitely many tag sequences"
    assert b"m:INIT" in render(diagram, "svg")
    monkeypatch.setattr("proofs.languages.language.DRAWN", 9)
    assert of("tolerance", Interact(10, 3), bounded=False)._repr_svg_() is not None
    monkeypatch.setattr("proofs.languages.language.DRAWN", 8)
    assert of("tolerance", Interact(10, 3), bounded=False)._repr_svg_() is None
    monkeypatch.undo()
    with pytest.raises(UsageError, match="cannot be read"):
        of("noisy", Interact(100, 3)).diagram()
