"""Who sits in panels: models over HTTP, a person at the terminal, functions, guards by chance."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

import pxp_fsm as pxp
from backends.databases import Origin, SqlBlackboard
from backends.databases.erasure import clean, erase, sessions_of
from backends.databases.verify import verify
from backends.models.settings import Settings
from guards import ChanceGuards
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import runs
from pxp_fsm.experiments.plans import check_plan
from tests.experiments.scripted_server import Body, Table, frames, judging
from tests.terminals import Terminal

LABELS = Path(__file__).parents[3] / "examples" / "labels"
NAMES = ("chemist", "sceptic", "novice")


def speaks(body: Body) -> str:
    """Each model begins with a label of its own; a sceptic persuades who has heard of its."""
    heard = [frame["prediction"] for frame in frames(body) if "tag" in frame]
    own = ("delivery", "payment", "account")[NAMES.index(body["model"])]
    prediction = "payment" if "payment" in heard else own
    return json.dumps({"prediction": prediction, "explanation": f"I am the {body['model']}."})


@pytest.fixture
def table(httpserver: HTTPServer) -> Table:
    return Table(httpserver, speaks, lambda _body: json.dumps({"consistent": "yes"}))


def plan(table: Table, **more: object) -> pxp.Plan:
    url = table.server.url_for("/v1")
    given: dict[str, object] = {
        "data": str(LABELS),
        "instances": "2",
        "agents": 3,
        "machine": ", ".join(f"openai:{name}@{url}" for name in NAMES),
        "judge": f"openai:judge@{url}",
        "stop": "consensus",
        "order": "fixed",
    }
    return pxp.Plan("labels", **given | more)  # type: ignore[arg-type]


@pytest.mark.deep
def test_three_models_talk_over_http_and_are_resumed_without_asking_twice(table: Table) -> None:
    def stop(step: runs.Progress) -> None:
        if step.event is not None and step.event.number == 5:
            raise KeyboardInterrupt

    with SqlBlackboard(":memory:") as board:
        run = runs.start(plan(table), board, settings=Settings(in_flight=1))
        with pytest.raises(KeyboardInterrupt):
            run.execute(stop)
        runs.resume(run.name, board, Settings(in_flight=1)).execute()
        stored = [board.session(one.session) for one in board.sessions(run.name)]
        assert [one.record.cause for one in stored] == ["consensus", "consensus"]
        said = {message.answer.prediction for message in stored[0].history[-3:]}
        assert said == {"payment"}  # the sceptic has persuaded the others
        begun = {one.sender: one.answer.explanation for one in stored[0].history}
        assert begun == {f"m{n}": f"I am the {who}." for n, who in enumerate(NAMES, 1)}
    asked = [json.dumps(body) for body in table.asked if not judging(body)]
    assert len(asked) == len(set(asked))
    assert {body["model"] for body in table.asked} == {*NAMES, "judge"}


@pytest.mark.deep
def test_machines_of_one_model_have_replies_of_their_own(table: Table) -> None:
    one = f"openai:chemist@{table.server.url_for('/v1')}"
    with SqlBlackboard(":memory:") as board:
        run = runs.start(plan(table, machine=one, instances="1"), board)
        run.execute()
    first = [body for body in table.asked if not judging(body) and "tag" not in json.dumps(body)]
    ((_, asked),) = Counter(json.dumps(body) for body in first).most_common(1)
    assert asked == 2  # by m1 and by m2: m3 begins nowhere


def test_models_are_one_for_all_machines_or_one_for_each() -> None:
    check_plan(pxp.Plan("labels", agents=3, human="terminal", machine="openai:a,openai:b"))
    for wrong in ("openai:a,openai:b", "openai:a,openai:b,openai:c,openai:d"):
        with pytest.raises(UsageError, match="has 3 machines here"):
            check_plan(pxp.Plan("labels", agents=3, machine=wrong))
    check_plan(pxp.Plan("labels", agents=3, human="browser"))
    with pytest.raises(UsageError, match="assistants are in sessions of two"):
        check_plan(pxp.Plan("labels", agents=3, machine="mcp"))


@pytest.mark.deep
def test_a_person_sees_the_board_and_answers_one_message_at_a_time(tmp_path: Path) -> None:
    options = ("--agents", "3", "--human", "terminal", "--instances", "1", "--n", "3")
    desk = Terminal(tmp_path, "run", "labels", "--data", str(LABELS), *options)
    shown = desk.sees("Your answer (theirs, edit):")
    board = shown.partition("The board")[2]
    assert "m1: " in board
    assert "h has said nothing yet" in board
    assert "Owed: m1 to m2, h to m1, h to m2" in board
    assert "m1 → m2" in shown  # the conversation of the two others
    desk.types("edit")
    desk.sees("Your prediction:")
    desk.types("product")
    desk.sees("Your explanation")
    desk.types("It is broken.", "")
    assert "What may you send to m1 as message" in desk.sees("Your tag:")
    desk.types("REFUTE")
    assert "to m1, as it would be sent:" in desk.sees("send or edit?")
    desk.types("send")
    assert "h: product" in desk.sees("Your answer (theirs")
    desk.types_on("\x03")
    assert desk.ends() != 0
    with SqlBlackboard(str(tmp_path / "runs" / "blackboard.sqlite")) as stored:
        (session,) = stored.sessions("labels-1")
        mine = [one for one in stored.session(session.session).history if one.sender == "h"]
        assert [(one.receiver, one.tag) for one in mine] == [("m1", "REFUTE")]


def test_what_was_said_in_a_panel_is_erased_and_its_verdicts_stay(tmp_path: Path) -> None:
    def says(prediction: str) -> pxp.Agent:
        answer = pxp.Answer(prediction, f"because of {prediction}")
        return pxp.Agent(lambda _question: answer, match=pxp.exact, agree=pxp.exact)

    path = tmp_path / "b.sqlite"
    members = {name: says(f"secret {name}") for name in "abc"}
    with SqlBlackboard(str(path)) as board:
        panel = pxp.Panel(pxp.Interact(n=4, k=2))
        session = pxp.Session(panel, members, instance="x", name="run/1", blackboard=board)
        session.run_sync()
        before = board.directions("run")
        erase(board, sessions_of(board, ["run/1"]))
        clean(board)
        assert board.directions("run") == before
        stored = board.session("run/1")
        assert all("secret" not in one.answer.prediction for one in stored.history)
        assert len(stored.history) == session.length
    assert b"secret" not in path.read_bytes()
    assert verify(str(path)).problems == ()


def test_chance_in_a_channel_does_not_depend_on_what_others_say() -> None:
    def agents() -> dict[str, pxp.Agent]:
        def answer(_question: pxp.Question) -> pxp.Answer:
            return pxp.Answer("y", "e")

        return {
            name: pxp.Agent(answer, match=pxp.exact, agree=pxp.exact, guards=ChanceGuards(7))
            for name in "abc"
        }

    with SqlBlackboard(":memory:") as board:
        panel = pxp.Panel(pxp.Interact(n=9, k=1))
        session = pxp.Session(panel, agents(), instance="x", name="one/1", blackboard=board)
        session.run_sync()
        other = pxp.Panel(pxp.Interact(n=9, k=1), without=[("c", 4)])
        fork = pxp.experiments.fork(board, "one/1@4", agents(), name="two/1", subject=other)
        fork.run_sync()

    def tags(of: pxp.Session, *pair: str) -> list[str]:
        return [one.tag for one in of.history if {one.sender, one.receiver} == {*pair}]

    assert tags(fork, "a", "b") == tags(session, "a", "b")
    assert len(tags(session, "a", "b")) > 2
    assert tags(session, "a", "b") != tags(session, "a", "c")  # a stream for each pair


@pytest.mark.deep
def test_a_session_is_forked_with_models_from_a_message(table: Table) -> None:
    with SqlBlackboard(":memory:") as board:
        run = runs.start(plan(table, instances="1"), board)
        run.execute()
        fork = runs.fork(Origin(f"{run.name}/1/1", 2), board, {"added": "without:m2@2"})
        fork.execute()
        (forked,) = board.sessions(fork.name)
        later = board.session(forked.session).history[2:]
        assert all("m2" not in (one.sender, one.receiver) for one in later)
        assert "payment" not in {one.answer.prediction for one in later}
