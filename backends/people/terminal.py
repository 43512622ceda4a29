"""A person at the terminal, as an agent (arXiv 2410.20600, section 4.1.2) or a member of a system.

An agent is shown the instance, the conversation, and what the automaton allows; nothing is sent
before a last look, and whoever leaves finds what they had typed when they come back. A member of a
system chooses what to do, and writes what is sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from backends.people.choices import MINE, WhyNot, choices_of, offers_of, words_of
from backends.people.input import (
    LEFT,
    Drafts,
    UnsentAnswer,
    ask_line,
    ask_lines,
    one_of,
    say,
)
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.payloads import payload_problem
from pxp_fsm.errors import DataError, NoAnswer
from pxp_fsm.prompting.members import WAIT, MemberOption, may_wait, options_of
from pxp_fsm.prompting.prompts import Problem
from pxp_fsm.protocol.messages import (
    Answer,
    Instance,
    Message,
    Overview,
    Question,
    number_after,
)
from pxp_fsm.protocol.relations import NOISY, Assumption, Outcome
from pxp_fsm.protocol.situation import Situation
from pxp_fsm.sessions.actors import Intent, Turn

_SAID = {"yes": Outcome.YES, "no": Outcome.NO, "unsure": Outcome.UNSURE}
_SEND, _EDIT, _WHY = "send", "edit", "why"
_HEADING, _NAME = "bold", "ansicyan"
_INSTRUCTIONS = (
    "Pictures are files at the paths that are shown: open them in a viewer beside this terminal.",
    "Answer theirs to send the other's answer as yours, mine to keep your last one, edit to type.",
)


class TerminalPerson:
    """Answers, names tags, and looks at each message before it is sent, all at the terminal.

    `shown` leaves an instance's picture somewhere and says where, or gives None. What was typed
    when the person leaves (Ctrl-C, Ctrl-D) is kept in the folder `drafts`. `why_not` answers, at
    the last look, why the other agent does not predict the same; it is not part of the session.
    """

    name = "person at the terminal"

    def __init__(
        self,
        problem: Problem,
        shown: Callable[[Instance], Path | None],
        drafts: Path,
        why_not: WhyNot = lambda *_: None,
    ) -> None:
        self._problem = problem
        self._shown = shown
        self._why_not = why_not
        self._drafts = Drafts(drafts)
        self._draft = UnsentAnswer()
        self._restored = False
        self._place = ("", 0)
        self._told = ("", 0)
        self._instructed = False

    async def answer(self, question: Question) -> Answer:
        """Their prediction and explanation, once the conversation so far has been shown.

        They may take the other's answer or their own last one, and need not type it again.
        """
        self._come_to(_session(question), question.number)
        self._show_all(question)
        if question.overview is not None and not question.history:
            say((_HEADING, f"You begin with {question.to}."))
        there = offers_of(question)
        if self._restored:  # said last, or the conversation scrolls it away
            self._restored = False
            say((_HEADING, "What you typed for this message when you left is here again:"))
            say("  go on with it, change it, or delete it.")
        if self._draft == UnsentAnswer() and there:
            with self._kept():
                words = (*there, _EDIT)
                word = await one_of(f"Your answer ({', '.join(words)}): ", words)
            if word in there and self._usable(there[word]):
                return there[word]
            own = there.get(MINE, Answer("", ""))
            self._draft = UnsentAnswer(own.prediction, own.explanation)
        with self._kept("prediction"):
            typed = await ask_line(
                "Your prediction: ",
                self._problem.from_text,
                default=self._draft.prediction,
                words=words_of(self._problem),
                earlier=[answer.prediction for answer in reversed(there.values())],
            )
        self._draft = replace(self._draft, prediction=typed)
        with self._kept("explanation"):
            explained = await ask_lines(
                "Your explanation (an empty line ends it):\n", default=self._draft.explanation
            )
        self._draft = replace(self._draft, explanation=explained)
        return Answer(self._problem.from_text(typed), explained)

    def _usable(self, answer: Answer) -> bool:
        """Whether an answer can be sent as it is; else it says why not."""
        try:
            self._problem.from_text(answer.prediction)
        except DataError as error:
            say("   ", str(error))
            return False
        return True

    async def choose(self, situation: Situation, allowed: Sequence[str]) -> str:
        """The guard whose tag they name; only what automaton, j and k allow is accepted."""
        overview, received = situation.overview, situation.received
        number = number_after([received], overview) if overview is not None else situation.number
        self._come_to(received.session, number)
        self._show_new([received] if overview is None else overview.messages)
        to = ""
        if overview is not None:
            to = f" to {received.sender}"
            _show_overview(overview)
            say(f"You answer message {received.number}, {received.tag} by {received.sender}.")
        choices = choices_of(situation.rules, situation.guards, situation.number, allowed)
        say((_HEADING, f"What may you send{to} as message {number}?"))
        for choice in choices:
            say("  ", (_NAME if choice.allowed else "", f"{choice.tag:8}"), choice.about)
        may_be = {choice.tag.upper(): choice.guard for choice in choices if choice.allowed}
        with self._kept():
            return may_be[await one_of("Your tag: ", tuple(may_be))]

    async def judge(self, aspect: str, left: str, right: str) -> Outcome:
        """Whether two texts count as the same `aspect` for them; unsure counts as no."""
        say((_HEADING, f"Is it the same {aspect}?"))
        for number, text in enumerate((left, right), start=1):
            _show_text(f"{number}", text)
        with self._kept():
            return _SAID[(await one_of("yes, no or unsure? ", tuple(_SAID))).lower()]

    async def review(self, question: Question, tag: str, answer: Answer) -> bool:
        """A last look at the message; whether to send it, or to make it again."""
        self._come_to(_session(question), question.number)
        to = "" if question.overview is None else f" to {question.to}"
        say((_HEADING, f"Message {question.number}{to}, as it would be sent:"))
        self._show_answer(tag, answer)
        with self._kept():
            if await self._last_choice(question, answer.prediction) == _EDIT:
                return False
        self._drafts.drop(*self._place)
        self._draft = UnsentAnswer()
        return True

    async def _last_choice(self, question: Question, prediction: str) -> str:
        """Send or edit; before that they may ask why the other agent predicts otherwise."""
        try:
            why = self._why_not(question.instance, prediction, question.to)
        except NoAnswer as error:
            why = str(error)
        words = (_SEND, _EDIT, *([_WHY] if why else []))
        if why:
            say("   ", (_NAME, _WHY), " tells why the other agent does not predict this.")
        while (word := (await one_of("send or edit? ", words)).lower()) == _WHY:
            say("   ", why or "")
        return word

    def _come_to(self, session: str, number: int) -> None:
        """Turn to a message, with the draft of it that there may be."""
        if self._place != (session, number):
            self._place = (session, number)
            self._draft = self._drafts.read(session, number) or UnsentAnswer()
            self._restored = self._draft != UnsentAnswer()

    @contextmanager
    def _kept(self, part: str | None = None) -> Iterator[None]:
        """Write the draft down if the person leaves now; the line they left is its `part`."""
        try:
            yield
        except LEFT as left:
            if part is not None:
                self._draft = replace(self._draft, **{part: left.typed})
            if self._draft != UnsentAnswer():
                path = self._drafts.keep(*self._place, self._draft)
                say(f"What you typed and did not send is kept in {path}.")
            raise

    def _show_all(self, question: Question) -> None:
        """The instance, where the session is new to them, and what has been said since."""
        if not self._instructed:
            self._instructed = True
            for line in filter(None, (self._problem.form, *_INSTRUCTIONS)):
                say(line)
        if self._told[0] != _session(question):
            say("")
            say((_HEADING, f"{_session(question)}: {question.query}"))
            described = self._problem.described(question.instance)
            say("  ", question.instance.key, f": {described}" if described is not None else "")
            picture = self._shown(question.instance)
            if picture is not None:
                say(f"  its picture: {picture}")
            if self._problem.labels:
                labels, none = ", ".join(self._problem.labels), self._problem.none
                many = f"any of: {labels}; or {none}" if none is not None else f"one of: {labels}"
                say(f"  a prediction is {many}")
        overview = question.overview
        self._show_new(question.history if overview is None else overview.messages)
        if overview is not None:
            _show_overview(overview)

    def _show_new(self, history: Sequence[Message]) -> None:
        for message in history:
            if self._told[0] != message.session or self._told[1] < message.number:
                say((_HEADING, f"{message.number}  {message.sender} → {message.receiver}"))
                self._show_answer(message.tag, message.answer)
                self._told = (message.session, message.number)

    def _show_answer(self, tag: str, answer: Answer) -> None:
        """What is said, and where it is drawn."""
        say("   ", (_NAME, tag))
        _show_text("prediction", answer.prediction)
        if self._problem.smiles:
            with suppress(DataError):  # what another hand wrote may be no molecule
                drawn = self._shown(Instance(answer.prediction, answer.prediction))
                say(f"     drawn in {drawn}")
        _show_text("explanation", answer.explanation)


class PersonsRelation:
    """MATCH or AGREE by a person's own word, for one agent; nothing is assumed of it."""

    name = "person"
    assumptions: frozenset[Assumption] = NOISY

    def __init__(self, person: TerminalPerson, aspect: str) -> None:
        self._person = person
        self._what = aspect

    async def holds(self, left: str, right: str) -> Outcome:
        return await self._person.judge(self._what, left, right)


def _session(question: Question) -> str:
    """The session's name; before its first message the instance stands for it."""
    if question.overview is not None:
        return question.session or question.instance.key
    return question.history[-1].session if question.history else question.instance.key


def _show_overview(overview: Overview) -> None:
    """The board of a session of several agents: current predictions, and who owes a message."""
    say((_HEADING, "The board"))
    for pair in overview.pairs:
        if pair.answer is None:
            say("   ", (_NAME, pair.name), " has said nothing yet")
            continue
        changed = f", changed {pair.version} times" if pair.version > 1 else ""
        changed = ", changed once" if pair.version == 1 else changed
        say("   ", (_NAME, pair.name), f": {pair.answer.prediction}{changed}")
    owed = ", ".join(f"{member} to {partner}" for member, partner in overview.owed)
    say(f"   Owed: {owed}")


def _show_text(label: str, text: str) -> None:
    first, *others = text.split("\n")
    say(f"   {label}: {first}")
    for line in others:
        say(f"     {line}")


class PersonMember:
    """Asks a person at the terminal, as the member that follows `table`; `role` is shown first.

    Leaving (Ctrl-C, Ctrl-D) stops the session, which is resumed at this very turn.
    """

    name = "person at the terminal"

    def __init__(self, table: Automaton, role: str = "") -> None:
        self._table = table
        self._role = role
        self._shown: dict[str, int] = {}

    async def __call__(self, turn: Turn) -> Intent | None:
        """What the person wants to do at `turn`."""
        self._show(turn)
        options = {
            member_option.name: member_option for member_option in options_of(turn, self._table)
        }
        names = [*options, *([WAIT] if may_wait(turn, self._table) else [])]
        say((_HEADING, f"{turn.member}, in {turn.state}: what do you do?"))
        for name in names:
            say("  ", (_NAME, f"{name:12}"), _about(options.get(name)))
        chosen = await one_of("Your choice: ", tuple(names))
        if chosen == WAIT:
            return None
        option = options[chosen]
        if not option.sends:
            return Intent(chosen)
        if option.payload is not None:
            say(f"{option.sends} carries ", _shape(option.payload))
        question = f"What {option.sends} carries (text, or JSON; empty is nothing): "
        text = await ask_line(question, lambda typed: self._payload(option, typed))
        return Intent(chosen, self._payload(option, text), option.to)

    def _show(self, turn: Turn) -> None:
        """The role, what it is about, and what came since the person was last asked."""
        shown = self._shown.get(turn.session)
        if shown is None:
            for text in filter(None, (self._role, turn.instance.x)):
                say(text)
        for message in turn.messages[shown or 0 :]:
            say((_NAME, f"{message.sender} to {message.receiver}: {message.tag} "), _said(message))
        self._shown[turn.session] = len(turn.messages)

    def _payload(self, option: MemberOption, text: str) -> object:
        """What the person wrote: JSON where it is, else the text itself, as the schema allows."""
        try:
            value: object = json.loads(text) if text.strip() else None
        except (ValueError, RecursionError):
            value = text
        problem = payload_problem(self._table, option.sends, json.dumps(value))
        if problem is None:
            return value
        if payload_problem(self._table, option.sends, json.dumps(text)) is None:
            return text
        raise DataError(problem)


def _about(option: MemberOption | None) -> str:
    if option is None:
        return "wait for what comes"
    sends = f"sends {option.sends}{f' to {option.to}' if option.to else ''}" if option.sends else ""
    return "; ".join(filter(None, (option.about, sends)))


def _shape(schema: Any) -> str:
    """What fits a JSON Schema: its first example, or where it has none the schema itself."""
    examples = schema.get("examples") if isinstance(schema, Mapping) else None
    kind, value = (
        ("a value such as", examples[0]) if examples else ("what fits the JSON Schema", schema)
    )
    return f"{kind} {json.dumps(value, ensure_ascii=False)}"


def _said(message: Message) -> str:
    value = message.value
    return value if isinstance(value, str) else "" if value is None else message.json
