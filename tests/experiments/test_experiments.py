"""Experiments as files: known by what they mean, run once, refused with lines."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from backends.databases import SqlBlackboard
from pxp_fsm.cli.main import main
from pxp_fsm.errors import DataError, FileError, UsageError
from pxp_fsm.experiments import files, outcomes, runs
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.runs import Progress

BASE = 'format = 1\ntask = "animals"\ninstances = 3\n'


def written(folder: Path, text: str, name: str = "e.toml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_the_schema_has_every_key_of_a_plan() -> None:
    schema = files.EXPERIMENT.schema()
    parts = [schema, *(schema["properties"][key] for key in ("agents", "panel", "learning"))]
    keys = {key for part in parts for key in part["properties"]}
    named = {"keep": "learn", "rules": "added"}
    of_a_fork = {"answer"}
    due = {one.name for one in fields(Plan)} - of_a_fork
    assert {named.get(key, key) for key in keys} >= due
    assert all("description" in schema["properties"][key] for key in schema["properties"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BASE + "repititions = 2\n", "line 4: unknown key repititions; known here: "),
        (BASE + "repetitions = 0\n", "line 4: repetitions: 0 is too small; it is at least 1"),
        (BASE + "\n[learning]\nkeep = 'best'\n", "line 6: learning.keep: 'best' is none of always"),
        (BASE + "[learning]\ncarries = true\n", "line 5: learning: unknown key carries"),
        (BASE + "n = 0\n", "line 4: n: 0 is too small"),
        (BASE + "k = 'unbounded'\n", "line 4: only PXP can be unbounded"),
        (BASE + "k = 'many'\n", "line 4: k: 'many' is no bound; k is a number"),
        (BASE + "protocol = 'pxp'\nn = 3\n", "line 5: n is INTERACT's bound"),
        (BASE + "seed = 1.5\n", "line 4: seed: 1.5 is not of the type integer"),
        (BASE + "seed = 9223372036854775808\n", "line 4: seed: 9223372036854775808 is too large"),
        (BASE + "timeout = 0\n", "line 4: timeout: 0 is too small; it is more than 0"),
        (BASE + "order = 'sampled'\nrepetitions = 7\n", "line 3: 3 instances have 6 orders"),
        ("format = 2\ntask = 'animals'\n", "line 1: format: 2 is not one that this version reads"),
        ("format = 1\n", "line 1: task is missing"),
        ("format = 1\n\ntask = 'dragon'\n", "line 3: there is no task 'dragon'"),
        ("format = 1\ntask = 'animals'\ninstances = 13\n", "line 3: there are 12 instances"),
        (
            "format = 1\ntask = 'animals'\ninstances = ['gold']\n",
            "line 3: there is no instance 'gold'",
        ),
        (
            "format = 1\ntask = 'animals'\ninstances = ['a,b']\n",
            "line 3: instances[0]: 'a,b' is no name",
        ),
        (BASE + "format = 1\n", "line 4: this is not TOML: Cannot overwrite a value"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_its_line(
    text: str, says: str, tmp_path: Path
) -> None:
    with pytest.raises(FileError) as caught:
        files.load(written(tmp_path, text))
    assert says in str(caught.value)
    assert "e.toml" in str(caught.value)


def test_every_fault_of_a_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        files.load(written(tmp_path, BASE + "x = 1\nn = 0\nrepetitions = 0\n"))
    assert len(caught.value.problems) == 3


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot be read"):
        files.load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'title = "caf\xe9"\n')
    with pytest.raises(FileError, match="line 1: not UTF-8"):
        files.load(tmp_path / "latin.toml")
    with pytest.raises(DataError, match="there is no such folder"):
        files.load(written(tmp_path, BASE + 'data = "nowhere"\n'))


def test_control_without_a_validation_set_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("x,prediction,explanation\nfur,mammal,It has fur.\n")
    text = 'format = 1\ntask = "animals"\ndata = "."\n[learning]\nkeep = "better"\n'
    with pytest.raises(FileError, match=r"line 4: .* requires a validation set"):
        files.load(written(tmp_path, text))


def test_what_an_experiment_means_is_its_fingerprint(tmp_path: Path) -> None:
    def fingerprint(text: str) -> str:
        return files.load(written(tmp_path, text)).fingerprint

    first = fingerprint(BASE)
    alike = [
        'task = "animals"\n# a remark\ninstances = 3\nformat = 1\ntitle = "another title"\n',
        BASE + 'n = 10\nk = 3\nrepetitions = 1\nseed = 0\n[learning]\nkeep = "always"\n',
        'format = 1\ntask = "animals"\ninstances = ["sparrow", "trout", "dog"]\n',
    ]
    keys = [row.instance.key for row in files.load(tmp_path / "e.toml").data.sessions]
    alike[2] = f'format = 1\ntask = "animals"\ninstances = {keys!r}\n'
    assert {fingerprint(text) for text in alike} == {first}
    others = [
        BASE + more
        for more in (
            "n = 9\n",
            "k = 4\n",
            "seed = 1\n",
            "repetitions = 2\n",
            "memo = false\n",
            "timeout = 9\n",
            'order = "fixed"\n',
            'protocol = "pxp"\n',
            '[learning]\nkeep = "better"\n',
            '[learning]\nkeep = "better"\ngate = "context"\n',
            "[learning]\ncarry = false\n",
        )
    ]
    assert len({first, *map(fingerprint, others)}) == 1 + len(others)


@pytest.mark.parametrize(
    ("text", "fingerprint"),
    [
        (BASE, "347cb016f36537c508ccbee14630192fdb2c925d0df5c9674411387fdd94d0de"),
        (
            BASE + 'protocol = "pxp"\nk = "unbounded"\nseed = 7\norder = "sampled"\nmemo = false\n'
            "timeout = 9\n",
            "d7cb05679b764a3e6d39d91918055ddae152c8de4c27672a6e7ca51df74f044d",
        ),
        (
            'format = 1\ntask = "animals"\nn = 4\nk = 2\nrepetitions = 5\ntimeout = 0.5\n'
            '[agents]\nhuman = "terminal"\nscope = "run"\nvotes = 3\n'
            '[learning]\nkeep = "better"\ngate = "context"\ncarry = false\n',
            "53adfaccc1c6a9e5a39d90a88da3be7170c5fa838aed934c90730f67ab0c8eeb",
        ),
        (
            'format = 1\ntask = "animals"\nprotocol = "pxp"\n'
            '[agents]\nmachine = "openai:m"\njudge = "openai:j"\n',
            "7e92e07680d11acf580d7b69dcc1253f6770f8fba3b951ba6dff29b64e0f0cc3",
        ),
    ],
)
def test_files_keep_their_fingerprints(
    text: str, fingerprint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "__version__", "0.1.0")
    assert files.load(written(tmp_path, text)).fingerprint == fingerprint


def test_an_experiment_is_run_once_and_a_changed_one_is_another(tmp_path: Path) -> None:
    path = written(tmp_path, BASE)
    with SqlBlackboard(":memory:") as board:
        files.open_run(files.load(path), board).execute()
        sent: list[Progress] = []
        again = files.open_run(files.load(path), board)
        assert again.finished == again.total == 3
        again.execute(sent.append)
        assert sent == []
        changed = files.load(written(tmp_path, BASE + "k = 2\n"))
        files.open_run(changed, board).execute()
        assert len(board.runs()) == 2


def outline(board: SqlBlackboard, run: str) -> list[object]:
    found: list[object] = []
    for record in board.sessions(run):
        found.append((record.session, record.instance, record.ending, record.agents))
        for e in board.events(record.session):
            judged = [(j.relation, j.outcome, j.left, j.right, j.detail) for j in e.judgements]
            found.append((e.message, judged))
    return found


class Stopped(Exception):
    """What stops a run in the middle."""


POLICIES: list[dict[str, Any]] = [
    {"learn": "better"},
    {"learn": "better", "gate": "context"},
    {"learn": "equal", "gate": "context", "carry": False},
    {"learn": "never"},
    {"carry": False},
    {"order": "sampled", "repetitions": 3},
]


@pytest.mark.parametrize("parts", [(0.5,), pytest.param((0, 0.2, 0.8, 1), marks=pytest.mark.deep)])
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_run_under_any_policy_resumes_as_if_it_had_not_been_stopped(
    policy: dict[str, Any], parts: tuple[float, ...]
) -> None:
    """`parts` is how far the run is when it is stopped."""
    plan = replace(Plan("animals", instances="3", repetitions=2, seed=5), **policy)
    with SqlBlackboard(":memory:") as board:
        runs.start(plan, board).execute()
        whole = outline(board, "animals-1")
        total = sum(record.messages for record in board.sessions("animals-1"))
    for after in (1 + int(part * (total - 2)) for part in parts):
        seen = 0

        def stop(step: Progress, after: int = after) -> None:
            nonlocal seen
            seen += step.event is not None
            if seen > after:
                raise Stopped

        with SqlBlackboard(":memory:") as board:
            with pytest.raises(Stopped):
                runs.start(plan, board).execute(stop)
            runs.resume("animals-1", board).execute()
            assert outline(board, "animals-1") == whole


def test_without_carrying_the_order_of_instances_changes_nothing() -> None:
    plan = Plan("animals", instances="6", repetitions=3, carry=False)
    with SqlBlackboard(":memory:") as board:
        runs.start(plan, board).execute()
        effect = outcomes.order_effect(outcomes.outcomes_of(board, "animals-1"), "two-way")
    assert effect is not None
    assert effect.varying == 0


def test_what_is_none_of_a_policy_is_refused() -> None:
    for wrong in ({"learn": "best"}, {"gate": "agent"}, {"order": "random"}, {"carry": 1}):
        with SqlBlackboard(":memory:") as board, pytest.raises(UsageError):
            runs.start(replace(Plan("animals"), **wrong), board)


@pytest.mark.deep
def test_the_commands_run_skip_and_compare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def pxp(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out + said.err

    monkeypatch.chdir(tmp_path)
    written(tmp_path, BASE, "a.toml")
    other = written(tmp_path, BASE + '[learning]\nkeep = "never"\n', "b.toml")
    code, said = pxp("run", "a.toml", "-v")
    assert (code, "How sure the proportions are" in said) == (0, True)
    code, said = pxp("run", "a.toml")
    assert (code, "Resumed: 3 of 3 sessions over already" in said) == (0, True)
    with SqlBlackboard("runs/blackboard.sqlite") as board:
        files.open_run(files.load(other), board).execute()
    code, said = pxp("compare", "a.toml", "b.toml")
    assert (code, "McNemar's exact test" in said, "3 pairs" in said) == (0, True, True)
    code, said = pxp("compare", "a.toml", "animals-9")
    assert (code, "has no run 'animals-9'" in said) == (2, True)
    code, said = pxp("compare", "a.toml", "a.toml")
    assert (code, "give two different runs" in said) == (2, True)
    written(tmp_path, BASE + '"x\\u001b" = 1\n', "c.toml")
    code, said = pxp("run", "c.toml")
    assert (code, "line 4: unknown key" in said, "\x1b" in said) == (2, True, False)
    code, said = pxp("run", "a.toml", "--executor", "dask://h:1")
    assert (code, "workers on several machines require a PostgreSQL blackboard" in said) == (
        2,
        True,
    )
