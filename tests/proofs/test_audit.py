"""Audits: correct sessions have no findings, and every fault of other sessions is found."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guards import Exact
from proofs.audit import (
    Audited,
    AuditedMessage,
    AuditedSession,
    FindingKind,
    Possible,
    audited,
)
from proofs.audit.sessions import GivenAnswer, ProtocolTags, contradictions, of_tags
from proofs.audit.sessions import given as answers_of
from proofs.audit.systems import SystemTables
from proofs.languages import sequences
from proofs.languages.protocols import ProtocolReading, realised
from proofs.sessions.replay import replay
from pxp_fsm.automata.actions import Deliver, Exchange, Send, SystemAction
from pxp_fsm.automata.system import System
from pxp_fsm.automata.tables import build_automaton
from pxp_fsm.errors import Refused, UsageError
from pxp_fsm.protocol.messages import Answer, Json, Message
from pxp_fsm.protocol.relations import (
    EQUIVALENCE,
    NOISY,
    TOLERANCE,
    Assumption,
    JudgedAnswer,
    Judgement,
    Outcome,
)
from pxp_fsm.protocol.rules import Interact, Pxp, Rules
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.session import Session
from tests.proofs.audited_sessions import run

RULES = Interact(10, 3)


def of(recording: AuditedSession, rules: Rules = RULES) -> Audited:
    return audited(recording, ProtocolTags(rules))


def kinds(found: Audited) -> list[FindingKind]:
    return [one.kind for one in found.findings]


def tagged(*tags: str, ending: str | None = None) -> AuditedSession:
    """A recording of tags alone, by two agents whose guards follow from nothing recorded."""
    said = tuple(
        AuditedMessage(place % 2 == 0, tag, f"y{place}", f"e{place}")
        for place, tag in enumerate(tags)
    )
    return AuditedSession("s", said, ending)


# Sessions of the real machines


bounds = st.one_of(
    st.builds(Interact, st.integers(1, 12), st.integers(1, 5)),
    st.builds(Pxp, st.one_of(st.none(), st.integers(1, 2))),
)


def values(seed: int, many: int = 4) -> Iterator[tuple[str, str]]:
    rng = random.Random(seed)
    while True:
        yield str(rng.randrange(many)), str(rng.randrange(many))


@pytest.mark.deep
@settings(max_examples=40)
@given(bounds, st.integers(0, 2**32), st.booleans())
def test_nothing_is_found_where_the_judges_are_equality(
    rules: Rules, seed: int, memo: bool
) -> None:
    _, recording = run(rules, values(seed), lambda a, b: a == b, memo=memo)
    assert of(recording, rules) == Audited(Possible.EQUIVALENCE, ())


@settings(max_examples=60)
@given(bounds, st.integers(0, 2**32), st.booleans())
def test_of_a_tolerance_nothing_is_found_but_that_it_is_not_transitive(
    rules: Rules, seed: int, memo: bool
) -> None:
    rng = random.Random(seed)
    near = {frozenset(pair): rng.random() < 0.5 for pair in combinations("0123", 2)}
    _, recording = run(rules, values(seed), lambda a, b: a == b or near[frozenset((a, b))],
                       memo=memo)  # fmt: skip
    found = of(recording, rules)
    assert set(kinds(found)) <= {FindingKind.CHAIN, FindingKind.TAGS_TOLERANCE}
    assert found.possible is (Possible.TOLERANCE if found.findings else Possible.EQUIVALENCE)
    if FindingKind.TAGS_TOLERANCE in kinds(found):  # the answers must show it too
        assert FindingKind.CHAIN in kinds(found)


@settings(max_examples=60)
@given(bounds, st.integers(0, 2**32), st.booleans())
def test_of_a_judge_that_throws_coins_only_the_judge_is_blamed(
    rules: Rules, seed: int, memo: bool
) -> None:
    rng = random.Random(seed)
    _, recording = run(rules, values(seed), lambda *_: rng.random() < 0.5, memo=memo)
    found = of(recording, rules)
    assert found.possible is not Possible.NEVER
    assert not set(kinds(found)) & {
        FindingKind.TAG,
        FindingKind.QUESTION,
        FindingKind.PAIR,
        FindingKind.ENDING,
    }
    if FindingKind.TAGS_NOISY in kinds(found):  # tags that no tolerance gives come of answers
        assert set(kinds(found)) & {
            FindingKind.ITSELF,
            FindingKind.TWICE,
            FindingKind.MIRROR,
            FindingKind.APART,
        }


# Judges: exactly what can be extended to a tolerance, or to an equivalence


def judging(*given: tuple[int, str, str, bool]) -> AuditedSession:
    """Five messages with texts a to e; answers of MATCH (at which message, pair, held)."""
    said = [
        AuditedMessage(
            place % 2 == 0,
            "INIT" if place == 0 else "REFUTE",
            text,
            "-",
            tuple(JudgedAnswer("MATCH", *one[1:]) for one in given if one[0] == place + 1),
        )
        for place, text in enumerate("abcde")
    ]
    return AuditedSession("s", tuple(said), None)


@pytest.mark.parametrize(
    ("given", "kind", "agent", "number", "shown"),
    [
        ([(2, "a", "a", False)], FindingKind.ITSELF, "h", 2,
         ["h at 2: MATCH(message 1, message 1) = no"]),
        ([(2, "a", "b", True), (4, "a", "b", False)], FindingKind.TWICE, "h", 4,
         ["h at 2: MATCH(message 1, message 2) = yes", "h at 4: MATCH(message 1, message 2) = no"]),
        ([(3, "a", "b", True), (5, "b", "a", False)], FindingKind.MIRROR, "m", 5,
         ["m at 3: MATCH(message 1, message 2) = yes", "m at 5: MATCH(message 2, message 1) = no"]),
        ([(2, "a", "b", False), (3, "b", "a", True)], FindingKind.APART, "both agents", 3,
         ["h at 2: MATCH(message 1, message 2) = no", "m at 3: MATCH(message 2, message 1) = yes"]),
        ([(2, "a", "b", True), (3, "c", "b", True), (4, "a", "c", False)], FindingKind.CHAIN,
         "3 texts in a row", 4,
         ["h at 2: MATCH(message 1, message 2) = yes", "m at 3: MATCH(message 3, message 2) = yes",
          "h at 4: MATCH(message 1, message 3) = no"]),
        ([(2, "a", "x", True), (4, "x", "b", True), (4, "a", "b", False)], FindingKind.CHAIN,
         "3 texts in a row", 4,
         ["h at 2: MATCH(message 1, a text not sent) = yes",
          "h at 4: MATCH(a text not sent, message 2) = yes",
          "h at 4: MATCH(message 1, message 2) = no"]),
    ],
)  # fmt: skip
def test_a_contradiction_is_shown_by_its_answers(
    given: list[tuple[int, str, str, bool]],
    kind: FindingKind,
    agent: str,
    number: int,
    shown: list[str],
) -> None:
    (found,) = contradictions(judging(*given))
    assert (found.kind, found.what, found.number) == (kind, agent, number)
    assert list(map(str, found.answers)) == shown


def test_a_tag_that_somebody_named_stands_for_its_answers() -> None:
    """The same two texts ratified by the one and rejected by the other, and nothing recorded."""
    pair = [("a", "x"), ("b", "y"), ("c", "z"), ("b", "y"), ("c", "z")]
    tags = ("INIT", "RATIFY", "REFUTE", "REFUTE", "REJECT")
    said = tuple(AuditedMessage(i % 2 == 0, tag, *pair[i]) for i, tag in enumerate(tags))
    assert not list(contradictions(AuditedSession("s", said, None)))
    mirrored = (*said[:2], AuditedMessage(True, "REFUTE", "a", "x"), said[3], said[4])
    match, agree = contradictions(AuditedSession("s", mirrored, None))
    assert (match.kind, match.number) == (FindingKind.APART, 5)
    assert list(map(str, match.answers)) == [
        "h at 2: MATCH(message 1, message 2) = yes by its tag",
        "m at 5: MATCH(message 2, message 1) = no by its tag",
    ]
    assert agree.answers[0].relation == "AGREE"


def test_an_unanswered_question_contradicts_nothing() -> None:
    said = tagged("INIT", "REFUTE").said
    late = said[1]._replace(judged=(JudgedAnswer("MATCH", "y0", "y1", None),))
    recording = AuditedSession(
        "s", (said[0], late), "late", (JudgedAnswer("MATCH", "y0", "y1", True),)
    )
    assert list(contradictions(recording)) == []


def test_an_assumption_that_the_answers_contradict_is_told() -> None:
    recording = judging((2, "a", "b", False), (3, "b", "a", True))
    for assumed, told in ((TOLERANCE, True), (NOISY, False),
                          (TOLERANCE - {Assumption.SYMMETRIC}, False)):  # fmt: skip
        found = of(replace(recording, assumptions=frozenset(assumed)))
        assert (FindingKind.ASSUMED in kinds(found)) is told
        assert found.possible is Possible.NOISY


# Tags


@pytest.mark.parametrize(
    ("tags", "possible", "kind", "number", "there"),
    [
        ("INIT RATIFY RATIFY", Possible.EQUIVALENCE, None, 0, ()),
        ("INIT REFUTE REFUTE RATIFY", Possible.TOLERANCE, FindingKind.TAGS_TOLERANCE, 4,
         ("h:REFUTE", "h:REJECT", "h:REVISE")),
        ("INIT RATIFY REFUTE", Possible.NOISY, FindingKind.TAGS_NOISY, 3, ("m:RATIFY",)),
        ("INIT REJECT", Possible.NEVER, FindingKind.MESSAGE, 2,
         ("h:RATIFY", "h:REFUTE", "h:REVISE")),
        ("INIT RATIFY RATIFY REFUTE", Possible.NEVER, FindingKind.MESSAGE, 4, ()),
        ("RATIFY", Possible.NEVER, FindingKind.MESSAGE, 1, ("m:INIT",)),
        ("INIT " + "REVISE " * 10, Possible.NEVER, FindingKind.MESSAGE, 11, ()),
        ("INIT REFUTE <b>", Possible.NEVER, FindingKind.MESSAGE, 3,
         ("m:RATIFY", "m:REFUTE", "m:REVISE")),
    ],
)  # fmt: skip
def test_tags_alone_say_for_which_judges_they_are_possible(
    tags: str, possible: Possible, kind: FindingKind | None, number: int, there: tuple[str, ...]
) -> None:
    found = of(tagged(*tags.split()))
    assert found.possible is possible
    if kind is None:
        assert found.findings == ()
    else:
        (one,) = found.findings
        assert (one.kind, one.number, one.possible) == (kind, number, there)


@settings(max_examples=150)
@given(
    bounds,
    st.lists(st.sampled_from(["RATIFY", "REFUTE", "REVISE", "REJECT", "TERM"]), max_size=12),
)
def test_a_message_is_impossible_just_where_the_real_machines_refuse_it(
    rules: Rules, tags: list[str]
) -> None:
    """`Session.replay` moves the machines by what was recorded."""
    try:
        found = of(tagged("INIT", *tags), rules)
    except UsageError:
        return
    empty, entries = Answer("y", "e"), list[Event]()
    for number, tag in enumerate(["INIT", *tags], start=1):
        sender, receiver = ("m", "h") if number % 2 else ("h", "m")
        entries.append(Event.of_message(Message("s", number, sender, tag, empty, receiver)))
    silent = Agent(lambda _question: empty, match=Exact(), agree=Exact())
    session = Session(rules, {"m": silent, "h": silent}, instance="x", name="s")
    refused = None
    for number, entry in enumerate(entries, start=1):
        try:
            session.replay([entry])
        except Refused:
            refused = number
            break
    told = [one.number for one in found.findings if one.kind is FindingKind.MESSAGE]
    if isinstance(rules, Pxp) and rules.k is not None and told:
        assert told[0] is not None
        # a replay does not count self-loops: it takes one more than PXP(k) allows
        assert refused is None or told[0] <= refused
        return
    assert told == ([] if refused is None else [refused])


@pytest.mark.parametrize("name", [EQUIVALENCE, TOLERANCE, NOISY])
def test_every_sequence_of_a_language_is_found_possible_for_it(
    name: frozenset[Assumption],
) -> None:
    levels = {EQUIVALENCE: 3, TOLERANCE: 2, NOISY: 1}
    for word in sequences(ProtocolReading(Interact(5, 2), name)).words():
        found = of_tags(ProtocolTags(Interact(5, 2)), word)
        assert found.possible >= levels[name]
        assert found.ending in ("ratified", "rejected", "bound")


def test_one_automaton_serves_every_bound() -> None:
    for n, k in ((2, 5), (3, 3), (10**6, 2), (7, 10**9)):
        assert of(tagged("INIT", "REFUTE"), Interact(n, k)).possible is Possible.EQUIVALENCE
    assert of(tagged("INIT", "REFUTE", "REJECT"), Interact(3, 10**9)).possible is Possible.NEVER


# Tags and answers, endings, classes


def the_change_of_mind() -> AuditedSession:
    """INIT, REFUTE, REFUTE, RATIFY, RATIFY of the real machines, with a tolerance."""
    reading = ProtocolReading(Interact(5, 1), TOLERANCE)
    word = ("m:INIT", "h:REFUTE", "m:REFUTE", "h:RATIFY", "m:RATIFY")
    trace = realised(reading, word)
    assert trace is not None
    messages = replay(reading.model, trace)
    said = []
    for message, step in zip(messages, trace.steps, strict=True):
        number, answer = message.number, message.answer
        received = messages[number - 2].answer if number > 1 else answer
        own = messages[number - 3].answer if number > 2 else answer
        sides = [(received, own), (answer, own)]
        judged = []
        for place, fact in enumerate(step.facts):
            left, right = sides[place // 2]
            judged.append(
                JudgedAnswer("MATCH", left.prediction, right.prediction, fact)
                if place % 2 == 0
                else JudgedAnswer("AGREE", left.explanation, right.explanation, fact)
            )
        said.append(
            AuditedMessage(
                message.sender == "m",
                message.tag,
                answer.prediction,
                answer.explanation,
                tuple(judged),
            )
        )
    return AuditedSession("s", tuple(said), "ratified", (), (True, True))


def test_which_texts_are_similar_in_a_row_is_told() -> None:
    found = of(the_change_of_mind(), Interact(5, 1))
    assert found.possible is Possible.TOLERANCE
    assert found.findings[0].kind is FindingKind.TAGS_TOLERANCE
    chains = [one for one in found.findings if one.kind is FindingKind.CHAIN]
    assert chains
    for one in chains:
        *links, no = one.answers
        assert all(link.held for link in links)
        assert not no.held
        ends = {no.left, no.right}
        assert len(links) >= 2
        assert ends <= {place for link in links for place in (link.left, link.right)}


def test_a_tag_against_its_judgements_is_found_and_the_due_one_named() -> None:
    recording = the_change_of_mind()
    said = list(recording.said)
    said[3] = said[3]._replace(tag="REFUTE")
    found = of(replace(recording, said=tuple(said[:4]), ending=None), Interact(5, 1))
    (one,) = [one for one in found.findings if one.kind is FindingKind.TAG]
    assert (one.number, one.possible) == (4, ("RATIFY",))
    assert found.possible is Possible.NEVER
    undirected = replace(recording, said=tuple(said[:4]), ending=None, derived=(True, False))
    assert FindingKind.TAG not in kinds(of(undirected, Interact(5, 1)))


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_judgements_of_other_texts_are_found(place: int) -> None:
    recording = the_change_of_mind()
    said = list(recording.said)
    judged = list(said[2].judged)
    assert len(judged) == 4
    judged[place] = judged[place]._replace(left="another")
    said[2] = said[2]._replace(judged=tuple(judged))
    found = of(replace(recording, said=tuple(said)), Interact(5, 1))
    (one,) = [one for one in found.findings if one.kind is FindingKind.QUESTION]
    assert one.number == 3
    assert one.what.startswith(f"question {place + 1} ")


def test_pxp_ratifies_and_rejects_with_its_pair_unchanged() -> None:
    said = list(tagged("INIT", "RATIFY", "RATIFY").said)
    assert of(AuditedSession("s", tuple(said), None), Pxp()).findings[0].kind is FindingKind.PAIR
    said[2] = said[2]._replace(prediction="y0", explanation="e0")
    assert of(AuditedSession("s", tuple(said), None), Pxp()).findings == ()
    assert (
        of(AuditedSession("s", tagged("INIT", "RATIFY", "RATIFY").said, "ratified")).findings == ()
    )


@pytest.mark.parametrize(
    ("tags", "ending", "told"),
    [
        ("INIT RATIFY RATIFY", "ratified", None),
        ("INIT RATIFY RATIFY", None, None),
        ("INIT RATIFY RATIFY", "bound", "the rules end it as ratified"),
        ("INIT RATIFY RATIFY", "late", "the rules end it as ratified"),
        ("INIT REFUTE", "rejected", "the rules go on"),
        ("INIT REFUTE", "late", None),
        ("", "no answer", None),
    ],
)
def test_an_ending_is_the_one_that_the_rules_give(
    tags: str, ending: str | None, told: str | None
) -> None:
    found = of(tagged(*tags.split(), ending=ending))
    assert [one.what for one in found.findings] == ([] if told is None else [told])
    assert found.possible is Possible.EQUIVALENCE


def test_what_an_audit_counts_and_assumes_is_said_in_words() -> None:
    assert (tagged("INIT").counts, replace(tagged(), events=()).counts) == ("message", "action")
    assert [one.words for one in Possible] == [
        "for no correct agents",
        "for noisy judges alone",
        "for tolerance, not for equivalence",
        "for equivalence",
    ]


def test_a_wrong_guard_and_a_wrong_payload_of_a_system_are_found() -> None:
    seats = {"type": "object", "required": ["seat"]}
    client = build_automaton(
        "client",
        [{"from": "IDLE", "to": "GONE", "receive": "GRANT"}],
        final=["GONE"],
        peer="server",
        payloads={"GRANT": seats},
    )
    server = build_automaton(
        "server",
        [
            {"from": "IDLE", "to": "GONE", "guard": "FREE", "send": "GRANT"},
            {"from": "IDLE", "to": "GONE", "guard": "TAKEN", "event": "DENIED"},
        ],
        final=["GONE"],
        peer="client",
        payloads={"GRANT": seats},
    )
    tables = SystemTables(System.load(client, server))

    def found_of(payload: str, guard: str, judged: str) -> list[tuple[FindingKind, str]]:
        message = Message("s", 1, "server", "GRANT", Json(payload), "client")
        judgement = Judgement(judged, "", "", Outcome.YES, asked=True, seconds=0.0)
        action = Exchange("server", "client", "GRANT")
        event = Event(1, action, guard, message, judgements=(judgement,))
        followed = tables.follow(replace(tagged(), events=(event,), ending="finished"))
        return [(one.kind, one.what) for one in followed.findings]

    assert found_of('{"seat": 7}', "FREE", "FREE") == []
    assert found_of("{}", "FREE", "FREE") == [
        (FindingKind.PAYLOAD, f"the payload of GRANT does not fit the schema of {name}'s table")
        for name in ("server", "client")
    ]
    said = "server>client GRANT"
    assert found_of('{"seat": 7}', "TAKEN", "FREE") == [
        (FindingKind.TAG, f"{said} follows from FREE, not from TAKEN")
    ]
    assert found_of('{"seat": 7}', "FREE", "TAKEN") == [
        (FindingKind.TAG, f"TAKEN was judged to be true, and {said} follows from FREE")
    ]


def test_what_rules_cannot_read_is_told_of_the_message_that_carries_it() -> None:
    """And not again where it is delivered."""
    seats = {"type": "object", "properties": {"seat": {"type": "integer"}}, "required": ["seat"]}
    client = build_automaton(
        "client",
        [{"from": "IDLE", "to": "GONE", "receive": "GRANT", "do": {"seat": "msg.seat"}}],
        final=["GONE"],
        peer="server",
        registers={"seat": {"init": 0}},
        payloads={"GRANT": seats},
    )
    server = build_automaton(
        "server",
        [{"from": "IDLE", "to": "GONE", "send": "GRANT"}],
        final=["GONE"],
        peer="client",
        payloads={"GRANT": seats},
    )

    def found_of(channel: str, *events: tuple[SystemAction, str]) -> list[tuple[FindingKind, str]]:
        tables = SystemTables(System.load(client, server, channel=channel).by_rules())
        taken = tuple(
            Event(number, action, "", Message("s", 1, "server", "GRANT", Json(payload), "client"))
            for number, (action, payload) in enumerate(events, 1)
        )
        followed = tables.follow(replace(tagged(), events=taken, ending="finished"))
        return [(one.kind, one.what) for one in followed.findings]

    exchange, send, deliver = (
        Exchange("server", "client", "GRANT"),
        Send("server", "client", "GRANT"),
        Deliver("server", "client", "GRANT"),
    )
    right, wrong = '{"seat": 7}', "{}"
    unfit = [
        (FindingKind.PAYLOAD, f"the payload of GRANT does not fit the schema of {name}'s table")
        for name in ("server", "client")
    ]
    another = f"{deliver} delivers a message that was not the next"
    assert found_of("sync", (exchange, right)) == []
    assert found_of("sync", (exchange, wrong)) == unfit
    assert found_of("fifo:1", (send, right), (deliver, right)) == []
    assert found_of("fifo:1", (send, wrong), (deliver, wrong)) == unfit
    for said in (wrong, '{"seat": 8}'):
        assert found_of("fifo:1", (send, right), (deliver, said)) == [
            (FindingKind.MESSAGE, another)
        ]
    early = f"{deliver} cannot happen there"
    assert found_of("fifo:1", (deliver, right)) == [(FindingKind.MESSAGE, early)]
    tables = SystemTables(System.load(client, server).by_rules())
    [without] = tables.follow(replace(tagged(), events=(Event(1, exchange),))).findings
    assert without.kind is FindingKind.MESSAGE  # there is no message, so nothing that fits


def test_what_was_judged_after_the_last_message_is_of_whoever_received_it() -> None:
    for tags, agent in (((), "m"), (("INIT",), "h"), (("INIT", "REFUTE"), "m")):
        closing = (JudgedAnswer("MATCH", "a", "b", True), JudgedAnswer("AGREE", "a", "b", None))
        assert answers_of(replace(tagged(*tags), closing=closing)) == [
            GivenAnswer(len(tags) + 1, agent, "MATCH", "a", "b", True)
        ]


def test_the_messages_of_a_session_of_two_are_counted() -> None:
    assert [tagged(*tags).messages for tags in ((), ("INIT",), ("INIT", "RATIFY"))] == [0, 1, 2]
