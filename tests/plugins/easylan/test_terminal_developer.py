"""A developer at the terminal: keys in, acts out; what was typed is never lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from pxp_fsm.plugins.easylan.experiments.terminal import TerminalDeveloper
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.history import Author
from pxp_fsm.plugins.easylan.model.network import HandledExample
from pxp_fsm.plugins.easylan.running.execution import NetworkRun
from pxp_fsm.plugins.easylan.training.developer import (
    Act,
    Continuation,
    DeveloperChoice,
    RegressionChoice,
    StepView,
)
from pxp_fsm.plugins.easylan.training.regressions import Regression
from pxp_fsm.plugins.easylan.training.steps import UpdateStep

T = TypeVar("T")
REASON = {"reason_type": "lack_of_agent", "agent_name": "", "reason_content": "nobody rhymes"}
ENTER, BACK, LEAVE, END = "\r", "\x7f", "\x03", "\x1b\r"
"""Enter; Backspace; Ctrl-C; Alt-Enter, which ends a text of many lines as an empty line does."""


def view(may_reject: bool = True, proposal: Any = None) -> StepView:
    run = NetworkRun("the input", "out", {})
    shown = REASON if proposal is None else proposal
    return StepView(UpdateStep.REASON, None, shown, "because", run, "truth", may_reject=may_reject)


def typed(keys: str, ask: Callable[[], Awaitable[T]]) -> T:
    async def asked() -> T:
        return await ask()

    with create_pipe_input() as pipe:
        pipe.send_text(keys)
        with create_app_session(input=pipe, output=DummyOutput()):
            return asyncio.run(asked())


def reviewed(keys: str, drafts: Path, shown: StepView | None = None, lan: Lan | None = None) -> Act:
    developer = TerminalDeveloper(drafts)
    return typed(keys, lambda: developer.review(shown or view(), lan or Lan.new("t")))


def test_confirming_is_a_word_and_its_keys_are_counted(tmp_path: Path) -> None:
    assert reviewed("confirm" + ENTER, tmp_path) == Act(DeveloperChoice.CONFIRM, None, "", 8)
    assert reviewed("c" + ENTER, tmp_path) == Act(DeveloperChoice.CONFIRM, None, "", 2)


def test_a_hint_goes_with_a_retry(tmp_path: Path) -> None:
    act = reviewed(f"hint{ENTER}two steps{END}ret{ENTER}", tmp_path)
    assert act == Act(DeveloperChoice.RETRY, None, "two steps", len("hint.two steps..ret."))


def test_a_field_is_made_a_hole_and_a_type_is_set_without_writing_json(tmp_path: Path) -> None:
    keys = f"hole{ENTER}agent{ENTER}type{ENTER}poor{ENTER}retry{ENTER}"
    act = reviewed(keys, tmp_path)
    changed = {"reason_type": "poor_performance_of_agent", "agent_name": "<??>"}
    assert (act.choice, act.result) == (DeveloperChoice.RETRY, REASON | changed)
    assert act.distance == len(keys)


def test_a_reset_puts_the_result_back_and_takes_the_hint_away(tmp_path: Path) -> None:
    keys = f"hole{ENTER}agent{ENTER}hint{ENTER}x{END}reset{ENTER}confirm{ENTER}"
    act = reviewed(keys, tmp_path)
    assert (act.choice, act.result, act.hint) == (DeveloperChoice.CONFIRM, None, "")


def test_what_is_no_json_is_not_sent_and_stays_to_be_edited(tmp_path: Path) -> None:
    broken = f"edit{ENTER}x{END}confirm{ENTER}"
    mended = f"edit{ENTER}{BACK}{END}confirm{ENTER}"
    act = reviewed(broken + mended, tmp_path)
    assert (act.choice, act.result) == (DeveloperChoice.CONFIRM, None)


def test_whoever_leaves_finds_version_and_hint_again(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        reviewed(f"hole{ENTER}agent{ENTER}hint{ENTER}two st{LEAVE}", tmp_path)
    act = reviewed(f"hint{ENTER}eps{END}retry{ENTER}", tmp_path)
    assert act.result == REASON | {"agent_name": "<??>"}
    assert act.hint == "two steps"
    assert list(tmp_path.iterdir()) == []


def test_what_was_refused_stays_to_be_mended_beside_the_proposal(tmp_path: Path) -> None:
    mine = REASON | {"agent_name": "Poet"}
    refused = replace(view(), version=mine, refused="there is no agent 'Poet'")
    sent = reviewed(f"confirm{ENTER}", tmp_path, refused)
    assert (sent.choice, sent.result) == (DeveloperChoice.CONFIRM, mine)
    sent = reviewed(f"reset{ENTER}confirm{ENTER}", tmp_path, refused)
    assert (sent.choice, sent.result) == (DeveloperChoice.CONFIRM, None)


def test_confirming_with_a_hint_that_was_not_sent_asks_first(tmp_path: Path) -> None:
    hinted = f"hint{ENTER}two steps{END}confirm{ENTER}"
    kept = reviewed(f"{hinted}no{ENTER}retry{ENTER}", tmp_path)
    assert (kept.choice, kept.hint) == (DeveloperChoice.RETRY, "two steps")
    dropped = reviewed(f"{hinted}yes{ENTER}", tmp_path)
    assert (dropped.choice, dropped.hint) == (DeveloperChoice.CONFIRM, "")


def test_rejecting_is_offered_only_where_it_is_allowed(tmp_path: Path) -> None:
    assert reviewed(f"reject{ENTER}", tmp_path).choice is DeveloperChoice.REJECT
    refused = reviewed(f"rej{ENTER}{BACK * 3}confirm{ENTER}", tmp_path, view(may_reject=False))
    assert refused.choice is DeveloperChoice.CONFIRM


def test_whether_an_output_will_do_is_put_to_them(tmp_path: Path) -> None:
    run, lan = NetworkRun("x", "out", {}), Lan.new("t")
    developer = TerminalDeveloper(tmp_path)
    assert typed(f"yes{ENTER}", lambda: developer.satisfied(run, "truth", lan))
    assert not typed(f"no{ENTER}", lambda: developer.satisfied(run, "truth", lan))


def test_regressions_and_hand_overs_are_answered_in_a_word(tmp_path: Path) -> None:
    lan = Lan.new("t")
    lost = (Regression(HandledExample("x", "t", "o", ()), None, "no agent was active"),)
    developer = TerminalDeveloper(tmp_path)
    assert typed(f"take{ENTER}", lambda: developer.weigh(lost, lan.network, lan)) == (
        RegressionChoice.TAKE_OVER
    )
    assert typed(f"forget{ENTER}", lambda: developer.weigh(lost, lan.network, lan)) == (
        RegressionChoice.FORGET
    )
    assert typed(f"res{ENTER}", lambda: developer.handed("why", lan)) is Continuation.RESUME


def test_the_network_is_edited_from_within_a_step_and_nothing_typed_is_lost(tmp_path: Path) -> None:
    shown, lan = view(), Lan.new("t")
    operations: tuple[str, ...] = ("create Polisher polish 'a text'", "connect Solver Polisher")
    operations += ("set Polisher knowledge 'rhyme by sound'", "")
    edits = "".join(f"network{ENTER}{one}{ENTER}" for one in operations)
    act = reviewed(f"hint{ENTER}two steps{END}{edits}retry{ENTER}", tmp_path, shown, lan)
    network = lan.network
    assert (act.choice, act.hint) == (DeveloperChoice.RETRY, "two steps")
    assert network.edges == {("Solver", "Polisher")}
    assert network.agent("Polisher").knowledge == ("rhyme by sound",)
    assert [change.by for change in lan.history.changes[1:]] == [Author.DEVELOPER] * 3


def test_what_the_network_refuses_stays_to_be_mended_and_changes_nothing(tmp_path: Path) -> None:
    lan = Lan.new("t")
    refused = f"connect Solver Nobody{ENTER}" + BACK * len("connect Solver Nobody")
    keys = f"network{ENTER}{refused}undo{ENTER}skip{ENTER}"
    developer = TerminalDeveloper(tmp_path)
    assert typed(keys, lambda: developer.handed("why", lan)) is Continuation.SKIP
    assert (lan.version, lan.network.names) == (1, ("Solver",))
