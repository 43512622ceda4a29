"""A program under test may do anything: it is bounded, ended, and told about in a sentence."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError, validate

from pxp_fsm.automata.automaton import DECIDE, Kind, Trigger, happening, receiving, sending
from pxp_fsm.errors import NoAnswer, UsageError
from pxp_fsm.plugins.conformance import process
from pxp_fsm.plugins.conformance.process import (
    RESET,
    InvalidLine,
    Program,
    ProgramFailed,
    command_of,
    parse_answer,
    request,
    schema,
    written,
)
from tests.sampling import sampled
from tests.waiting import PATIENCE, until

SAYS_RESET = """
import sys, time, os, json
for line in sys.stdin:
    if "reset" in line:
        print('{"did": "reset"}', flush=True)
        continue
"""


def program(then: str, timeout: float = PATIENCE, restart: bool = False) -> Program:
    """A program that starts anew as it should, and answers everything else by `then`."""
    code = SAYS_RESET + "".join(f"    {line}\n" for line in then.splitlines())
    return Program([sys.executable, "-I", "-S", "-c", code], timeout=timeout, restart=restart)


HOSTILE: dict[str, tuple[str, str]] = {
    "garbage": ("print('hello', flush=True)", "it said a line that is not JSON: 'hello', to"),
    "an empty line": ("print(flush=True)", "it said a line that is not JSON: '', to"),
    "a number": ("print(7, flush=True)", "it said a line that is not an answer: '7'"),
    "a digit bomb": ("print('9' * 60000, flush=True)", "a line that is not JSON: '99999"),
    "nested": ("print('[' * 60000, flush=True)", "a line that is not JSON: '"),
    "an action that is none": ("""print('{"did": "RATIFY"}', flush=True)""", "not an answer"),
    "two answers in one": (
        """print('{"did": "+A", "refused": ""}', flush=True)""",
        "not an answer",
    ),
    "more keys": ("""print('{"did": "+A", "why": 1}', flush=True)""", "that is not an answer"),
    "true": ("""print('{"did": true}', flush=True)""", "that is not an answer"),
    "two lines": (
        """print('{"did": "+A"}\\n{"did": "+A"}', flush=True)""",
        "it said more than one line to",
    ),
    "a long line": ("print('x' * 10**6, flush=True)", "more than 65536 bytes in one line"),
    "an endless line": (
        "while True: os.write(1, b'x' * 65536)",
        "it said more than 65536 bytes in one line",
    ),
    "endless lines": (
        """while True: os.write(1, b'{"did": "+A"}\\n' * 5000)""",
        "it said more than one line to",
    ),
    "not UTF-8": ("os.write(1, bytes([255, 254, 10]))", "a line that is not UTF-8: b'.xff.xfe'"),
    "an end": ("sys.exit(7)", "it ended with exit code 7 instead of an answer to"),
    "an error": ("raise ValueError('no')", r"exit code 1 \(ValueError: no\) instead of"),
    "a kill": ("os.kill(os.getpid(), 9)", "it was ended by SIGKILL instead of an answer"),
    "a closed output": ("os.close(1); time.sleep(600)", "it closed its input or output instead"),
    "half a line and an end": ("os.write(1, b'{'); sys.exit(0)", "ended with exit code 0 instead"),
}


@pytest.mark.parametrize("case", sampled(HOSTILE, 3))
def test_what_is_no_answer_is_told_in_a_sentence(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    then, said = HOSTILE[case]
    monkeypatch.setattr(process, "_LAST_WORDS", 0.1 if case == "a closed output" else PATIENCE)
    with program(then) as tested:
        tested.reset()
        with pytest.raises(ProgramFailed, match=said) as told:
            tested.step(receiving("INIT"))
        assert '{"do": "receive", "tag": "INIT"}' in str(told.value)
        assert len(str(told.value)) < 400
        tested.reset()  # and it is started again
        with pytest.raises(ProgramFailed, match=said):
            tested.step(receiving("INIT"))


SILENT = {
    "silence": "time.sleep(600)",
    "half a line": "os.write(1, b'{'); time.sleep(600)",
    "an answer that is not flushed": """sys.stdout.write('{"did": "+A"}\\n'); time.sleep(600)""",
    "complaints without end": "while True: os.write(2, b'complaint' * 999)",
}


@pytest.mark.parametrize("case", SILENT)
def test_a_program_that_says_nothing_in_time_is_no_longer_waited_for(case: str) -> None:
    with program(SILENT[case]) as tested:
        tested.reset()  # which may take its time: the program is started
        tested._timeout = 0.6
        with pytest.raises(NoAnswer, match=r"it did not reply within 0.6 s to {.*flush it"):
            tested.step(receiving("INIT"))


def test_what_it_complains_of_is_heard_and_does_not_disturb() -> None:
    then = """
os.write(2, b'x' * 300000 + b'\\nalas\\x1b[0m\\n')
print('{"did": "+A"}', flush=True)
""".strip()
    with program(then) as tested:
        tested.reset()
        for _ in range(3):
            assert tested.step(sending("A")) == "+A"
        assert tested.complaint == "alas\\u001b[0m"


def test_a_program_that_refuses_to_start_anew_is_started_again_each_time() -> None:
    code = """
import sys
count = 0
for line in sys.stdin:
    count += 1
    print('{"refused": "no"}' if "reset" in line else '{"did": "+%d"}' % count, flush=True)
"""
    with Program([sys.executable, "-I", "-S", "-c", code]) as tested:
        for _ in range(3):
            tested.reset()
            assert [tested.step(sending("A")) for _ in range(2)] == ["+1", "+2"]


def test_by_restart_it_is_never_told_to_start_anew() -> None:
    code = """
import sys, os
for line in sys.stdin:
    print('{"did": "+reset"}' if "reset" in line else '{"did": "+%d"}' % os.getpid(), flush=True)
"""
    with Program([sys.executable, "-I", "-S", "-c", code], restart=True) as tested:
        seen = set()
        for _ in range(3):
            tested.reset()
            seen.add(tested.step(sending("A")))
        assert len(seen) == 3


def test_nothing_that_it_has_started_outlives_it(tmp_path: Path) -> None:
    then = """
if os.fork() == 0:
    open('child', 'w').write(str(os.getpid()))
    time.sleep(600)
print('{"did": "+A"}', flush=True)
"""
    code = SAYS_RESET + "".join(f"    {line}\n" for line in then.strip().splitlines())
    code = f"import os; os.chdir({str(tmp_path)!r})\n" + code
    with Program([sys.executable, "-I", "-S", "-c", code]) as tested:
        tested.reset()
        assert tested.step(sending("A")) == "+A"
        until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text())
    child = int((tmp_path / "child").read_text())
    try:
        until(lambda: not running(child))
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize(("then", "patience"), [("", PATIENCE), ("time.sleep(600)", 0.1)])
def test_at_the_end_it_may_tidy_up_and_is_not_waited_for_long(
    then: str, patience: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert process._LAST_WORDS == 1.0
    monkeypatch.setattr(process, "_LAST_WORDS", patience)
    code = f"{SAYS_RESET}open({str(tmp_path / 'tidy')!r}, 'w').close()\n{then}\n"
    with Program([sys.executable, "-I", "-S", "-c", code]) as tested:
        tested.reset()
    assert then or (tmp_path / "tidy").exists()


def running(process: int) -> bool:
    """Whether it is there and not a zombie that waits for its parent."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text("utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def test_a_shell_has_no_say(tmp_path: Path) -> None:
    assert command_of("a 'b c' $HOME `d` ; e > f") == (
        *("a", "b c", "$HOME", "`d`", ";", "e", ">", "f"),
    )
    victim = tmp_path / "victim"
    for text, problem in [
        ("", "no program is given"),
        ("  ", "no program is given"),
        ("'x", "cannot be split into words"),
        (f"nonesuch ; touch {victim}", "nonesuch cannot be started"),
        (str(tmp_path), "cannot be started: Permission denied"),
        ("a\0b", "cannot be started: embedded null byte"),
    ]:
        with pytest.raises(UsageError, match=problem):
            Program(command_of(text)).reset()
    assert not victim.exists()
    for timeout in (0, -1, float("inf"), float("nan"), 1e9):
        with pytest.raises(UsageError, match="a number of seconds above 0, at most 86400"):
            Program(("true",), timeout=timeout)


@pytest.fixture(scope="module", name="answers")
def _answers() -> Iterator[Draft202012Validator]:
    loaded = schema()
    Draft202012Validator.check_schema(loaded)
    yield Draft202012Validator(loaded["$defs"]["answer"])


def test_every_request_is_of_the_published_form() -> None:
    events: list[Trigger] = [sending("A", "b"), receiving("\n\u2028"), happening("C"), DECIDE]
    for asked in (RESET, *(request(event, {"RAT": True}) for event in events)):
        validate(asked, schema())
        line = written(asked)
        assert line.count(b"\n") == 1
        assert json.loads(line) == asked
    assert request(receiving("A", "b"), None) == {"do": "receive", "tag": "A", "partner": "b"}
    kinds = {kind: request(Trigger(kind, "X"), None)["do"] for kind in Kind}
    assert sorted(kinds.values()) == ["event", "receive", "send"]
    with pytest.raises(ValidationError):
        validate({"do": "reset", "now": True}, schema())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=6,
)
ALMOST = st.dictionaries(
    st.sampled_from(["did", "refused", "do"]), st.sampled_from(["+A", "-B", "!C", "A", "+", 1, ""])
)


@given(JSON | ALMOST)
def test_an_answer_is_read_if_and_only_if_it_is_of_the_published_form(
    answers: Draft202012Validator, said: object
) -> None:
    line = json.dumps(said).encode()
    if answers.is_valid(said):
        assert isinstance(said, dict)
        assert parse_answer(line) == said.get("did")
    else:
        with pytest.raises(InvalidLine):
            parse_answer(line)


@given(st.binary(max_size=40))
def test_no_bytes_are_more_than_an_unfit_line(line: bytes) -> None:
    with pytest.raises(InvalidLine):
        parse_answer(line)
