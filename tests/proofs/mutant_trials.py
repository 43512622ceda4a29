"""The trial of each mutant of what runs: which comparison or test notices it.

One process imports the product and collects the tests, and runs none of them. It measures, in a
child, which lines each comparison and each test runs. Then it forks a child for each mutant, which
puts the changed code into the function and runs only what runs a changed line, up to the first that
notices it. So a trial costs what the tests that it needs cost, and no import. The function that the
most tests run is tried first as it is: no test may notice that.

A kernel of the checker also runs compiled, from its source: the changed one is compiled then.

What the tests compute while they are collected, the unchanged code computes: a mutant may survive
for that, but none is noticed for it.
"""

from __future__ import annotations

import functools
import gc
import inspect
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NamedTuple

import pytest

from proofs.claims.catalogue import assumptions_of
from proofs.core.kernels import Compiled
from proofs.core.webassembly import Kernel
from proofs.sessions.model import SessionModel
from proofs.sessions.relational import Theory
from proofs.sessions.running import compare
from proofs.systems.results import compare_machine
from pxp_fsm.automata.tables import builtin
from pxp_fsm.protocol.rules import Interact, Pxp, Rules
from tests.proofs.source_changes import function_of, installed
from tests.proofs.source_mutants import MODULES, Mutant, unchanged

SESSIONS: tuple[tuple[Rules, str], ...] = (
    (Interact(5, 2), "equivalence"),
    (Interact(5, 2), "noisy"),
    (Pxp(), "noisy"),
    (Interact(5, 2), "tolerance"),
    (Interact(3, 1), "without shared"),
    (Pxp(1), "tolerance"),
)
TESTS: Mapping[str, tuple[str, ...]] = {
    "what runs": (
        *("tests/automata", "tests/protocol", "tests/sessions"),
        *("tests/proofs/test_channels.py", "tests/proofs/test_machines.py"),
        "tests/proofs/test_running.py",
        *("tests/house/test_face.py", "tests/house/test_registry.py"),
        *("tests/backends/test_system_sessions.py", "tests/plugins/panels/test_sessions.py"),
    ),
    "systems": (
        *(
            f"tests/proofs/test_{name}.py"
            for name in (
                *("naive_receptions", "compositions", "channels", "systems", "fair_systems"),
                *("reductions", "reductions_fair", "reduction_traps", "folding", "coloring"),
                *("chosen_guards", "compatibility", "endless_systems", "compiled_systems"),
                *("compiled_formulas", "machines", "options", "system_details"),
                *("message_systems", "running_systems"),
            )
        ),
        "tests/automata/test_unfolding.py",
    ),
    "logic": tuple(
        f"tests/proofs/test_{name}.py"
        for name in (
            *("naive_lassos", "logic", "compiled_formulas", "session_formulas", "termination"),
            *("monitor", "system_monitors", "systems", "fair_systems", "past", "satisfiability"),
            "explained_checks",
        )
    ),
    "sessions": tuple(
        f"tests/proofs/test_{name}.py"
        for name in (
            *("relational", "answers", "amalgamation", "valuation", "running", "verdicts"),
            *("compiled", "claims"),
        )
    ),
    "core": tuple(
        f"tests/proofs/test_{name}.py"
        for name in (
            *("compiled", "compiled_systems", "compiled_formulas", "webassembly", "limits"),
            *("stopped_checks", "verdicts", "trace_exports", "clauses"),
        )
    ),
    "rules": tuple(
        f"tests/proofs/test_{name}.py"
        for name in (
            *("rules", "rule_certificates", "conditions", "stuck_sessions", "forgeries"),
            *("recheck", "system_certificates", "system_forgeries", "amalgamation"),
            *("checker_details", "certificates"),
        )
    ),
    "claims": tuple(
        f"tests/proofs/test_{name}.py"
        for name in (
            *("claims", "certificates", "theorems", "verdicts", "system_certificates"),
            *("system_forgeries", "check"),
        )
    ),
    "refinement": (
        *("tests/proofs/test_refinement.py", "tests/proofs/test_known_parameters.py"),
        "tests/proofs/test_languages.py",
        "tests/proofs/test_published_code.py",
    ),
    "requests": (
        *(
            f"tests/proofs/test_{name}.py"
            for name in ("check", "known_parameters", "monitor", "system_monitors", "audit")
        ),
        *(
            f"tests/proofs/test_{name}.py"
            for name in ("audit_judges", "options", "trace_exports", "endless_systems", "verdicts")
        ),
        "tests/proofs/test_explained_checks.py",
        "tests/automata/test_unfolding.py",
    ),
}
"""The tests that may notice a change, by the part of the code."""
NOTHING, UNREACHED = "nothing", "nothing runs it"
"""The answers where a mutant survives."""

MEMORY = 3 << 30
"""The bytes that a trial may take."""

SECONDS = 3
"""What a judge may take of a processor, beside ten times what it takes without a change."""

SLOW = 3.0
"""The seconds from which a test, while its lines are noted, tries no mutant."""

PATIENCE = 30
"""The seconds for which a judge may wait for what does not come."""


class Judge(NamedTuple):
    """A comparison or a test: its name, and what returns why it fails, or ""."""

    name: str
    fails: Callable[[], str]


class Cost(NamedTuple):
    """What a judge takes where nothing is changed: seconds, and the lines it runs by their file."""

    seconds: float
    lines: Mapping[str, frozenset[int]]


@dataclass(eq=False)
class Trials:
    """What runs in place of the tests once pytest has collected them."""

    mutants: Sequence[Mutant]
    note: Callable[[Mutant, str], None]
    jobs: int = 1
    compares: bool = True
    judges: list[Judge] = field(default_factory=list)
    failed: str = ""
    _noticed: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)

    def pytest_collection(self) -> None:
        """Have properties tried on few examples, always the same."""
        from hypothesis import settings  # pytest warns where its plugin came first

        few = settings(derandomize=True, max_examples=25, database=None, deadline=None)
        settings.register_profile("mutants", few)
        settings.load_profile("mutants")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed = f"{report.nodeid} cannot be collected"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = f"{report.nodeid}: {report.longreprtext[-2000:]}"

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.judges = [
            *(comparisons() if self.compares else ()),
            *(Judge(i.nodeid, partial(self._fails, i)) for i in session.items),
        ]
        if self.failed or not session.items:
            return True
        _forget()
        costs = self._costs()
        if not self.failed:
            self._try_all(costs)
        return True

    def _fails(self, item: pytest.Item) -> str:
        self.failed = ""
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return self.failed

    def _costs(self) -> dict[str, Cost]:
        """What each judge takes; `failed` names one that fails where nothing is changed."""
        modules = {mutant.module for mutant in self.mutants}
        # All tests run in one process here, and what one has compiled keeps its memory reserved.
        measured = partial(_measured, self.judges, modules)
        child = _Child(lambda: json.dumps(list(measured())), resource.RLIM_INFINITY)
        answer = child.answer(wait=True)
        try:
            found = json.loads(answer)
        except ValueError:
            self.failed = f"the measurement of the tests: {answer}"
            return {}
        self.failed = next((why for _, why, _, _ in found if why), "")
        return {
            name: Cost(seconds, {file: frozenset(lines) for file, lines in ran.items()})
            for name, _, seconds, ran in found
        }

    def _try_all(self, costs: Mapping[str, Cost]) -> None:
        most = max(self.mutants, key=lambda one: sum(runs(cost, one) for cost in costs.values()))
        control = unchanged(most.module, most.name)
        by = _Child(partial(self._judge, control, costs)).answer(wait=True)
        if by not in (NOTHING, UNREACHED):
            self.failed = f"{control} is noticed by {by}"
            return
        left = list(reversed(self.mutants))
        running: list[tuple[Mutant, _Child]] = []
        while left or running:
            while left and len(running) < self.jobs:
                mutant = left.pop()
                running.append((mutant, _Child(partial(self._judge, mutant, costs))))
            for one in list(running):
                mutant, child = one
                by = child.answer()
                if by:
                    running.remove(one)
                    self._learn(mutant, by)
                    self.note(mutant, by)
            time.sleep(0.002)

    def _learn(self, mutant: Mutant, by: str) -> None:
        """What has noticed a change of a function is tried first on its next one."""
        place = mutant.module.__name__, mutant.name
        self._noticed.setdefault(place, Counter())[by] += 1

    def _judge(self, mutant: Mutant, costs: Mapping[str, Cost]) -> str:
        """In the child: what notices the mutant."""
        seen = self._noticed.get((mutant.module.__name__, mutant.name), Counter())
        chosen = [
            judge
            for judge in self.judges
            if costs[judge.name].seconds < SLOW or judge.name in TITLES
            if runs(costs[judge.name], mutant)
        ]
        if not chosen:
            return UNREACHED

        def order(judge: Judge) -> tuple[bool, int, float]:
            return judge.name in TITLES, seen[judge.name], -costs[judge.name].seconds

        with installed(mutant.module, mutant.name, mutant.function), compiled_from(mutant):
            for judge in sorted(chosen, key=order, reverse=True):
                with _limit(costs[judge.name].seconds):
                    try:
                        if judge.fails():
                            return TITLES.get(judge.name, judge.name)
                    except BaseException as error:  # noqa: BLE001 - whatever stops it, shows the mutant
                        return f"{type(error).__name__} stops the check"
        return NOTHING


TITLES = {
    **{f"machine {name}": "machine-agrees-with-table" for name in ("interact", "pxp")},
    **{f"sessions {of} {under}": "sessions-agree-with-model" for of, under in SESSIONS},
}
"""The checks that the comparisons are, by the names of their judges."""


def comparisons() -> Iterator[Judge]:
    """The comparisons of `pxp check --property running`, of small sessions."""
    for name in ("interact", "pxp"):
        yield Judge(f"machine {name}", partial(_machine_differs, name))
    for of, under in SESSIONS:
        yield Judge(f"sessions {of} {under}", partial(_sessions_differ, of, under))


def _machine_differs(name: str) -> str:
    return "; ".join(map(str, compare_machine(builtin(name)).differences))


def _sessions_differ(of: Rules, under: str) -> str:
    model = SessionModel(of, Theory(assumptions_of(under)), observes=of.n is not None)
    return str(compare(model).difference or "")


def runs(cost: Cost, mutant: Mutant) -> bool:
    """Whether the judge runs what the mutant changes."""
    return not cost.lines.get(mutant.file, frozenset()).isdisjoint(mutant.lines)


def _measured(
    judges: Iterable[Judge], modules: Iterable[ModuleType]
) -> Iterator[tuple[str, str, float, dict[str, list[int]]]]:
    files = {str(module.__file__): f"{module.__name__.replace('.', '/')}.py" for module in modules}
    for judge in judges:
        with lines_run(files) as ran:
            started = time.process_time()
            why = judge.fails()
            seconds = time.process_time() - started
        yield judge.name, why, seconds, {file: sorted(ran[file]) for file in ran if ran[file]}


@contextmanager
def lines_run(files: Mapping[str, str]) -> Iterator[dict[str, set[int]]]:
    """The lines of `files` (by path, with what each is called) that run meanwhile."""
    found: dict[str, set[int]] = {name: set() for name in files.values()}

    def local(lines: set[int], frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            lines.add(frame.f_lineno)
        return traces[id(lines)]

    traces = {id(lines): partial(local, lines) for lines in found.values()}

    def called(frame: FrameType, _event: str, _argument: Any) -> Any:
        name = files.get(frame.f_code.co_filename)
        return None if name is None else traces[id(found[name])]

    def run(compiled: Compiled, kernel: Kernel, *arguments: Any) -> int:
        for each in with_called(kernel):  # compiled, their lines are not traced: each may run
            name = files.get(each.__code__.co_filename)
            if name is not None:
                found[name] |= {line for *_, line in each.__code__.co_lines() if line}
        return plain(compiled, kernel, *arguments)

    plain = Compiled.run
    before = sys.gettrace()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Compiled, "run", run)
        threading.settrace(called)
        sys.settrace(called)
        try:
            yield found
        finally:
            sys.settrace(before)
            threading.settrace(before)


@functools.cache
def with_called(kernel: Kernel) -> tuple[Kernel, ...]:
    """A kernel and those that it calls, which are compiled with it."""
    found = {kernel: None}
    for each in (left := [kernel]):
        called = (each.__globals__.get(name) for name in each.__code__.co_names)
        new = [one for one in called if inspect.isfunction(one) and one not in found]
        found |= dict.fromkeys(new)
        left += new
    return tuple(found)


@contextmanager
def compiled_from(mutant: Mutant) -> Iterator[None]:
    """Kernels are compiled from their source: have the changed one compiled from the change."""
    changed, plain = function_of(mutant.module, mutant.name), inspect.getsource
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            inspect, "getsource", lambda of: mutant.source if of is changed else plain(of)
        )
        yield


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """End the process if what comes now computes or waits for too long."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS + 10 * seconds)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE + 30 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def _forget() -> None:
    """Clear what functions of the project have kept, so that a changed one is asked again."""
    gc.unfreeze()
    for one in gc.get_objects():
        if isinstance(one, functools._lru_cache_wrapper):
            if _is_ours(one):
                one.cache_clear()
        elif _is_ours(type(one)) and hasattr(one, "__dict__"):
            for owner in type(one).__mro__:
                for name, value in vars(owner).items():
                    if isinstance(value, functools.cached_property):
                        vars(one).pop(name, None)
    gc.collect()
    gc.freeze()


def _is_ours(what: Any) -> bool:
    return str(what.__module__).partition(".")[0] in (
        "pxp_fsm",
        "proofs",
        "guards",
        "backends",
        "tests",
    )


class _Child:
    """A process that answers one question with a text, in a folder of its own."""

    def __init__(self, ask: Callable[[], str], memory: int = MEMORY) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="mutant-"))
        self._pid = os.fork()
        if not self._pid:
            self._run(ask, memory)

    def _run(self, ask: Callable[[], str], memory: int) -> None:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        for number in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(self._folder)
        try:
            found = ask()
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is the answer
            found = f"{type(error).__name__} stops the check"
        (self._folder / "answer").write_text(found, "utf-8")
        os._exit(0)

    def answer(self, *, wait: bool = False) -> str:
        """The answer; "" if there is none yet."""
        pid, status = os.waitpid(self._pid, 0 if wait else os.WNOHANG)
        if not pid:
            return ""
        with suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)  # what its tests have left running
        file = self._folder / "answer"
        found = file.read_text("utf-8") if file.exists() else ""
        shutil.rmtree(self._folder, ignore_errors=True)
        if found:
            return found
        late = os.waitstatus_to_exitcode(status) in (-signal.SIGPROF, -signal.SIGALRM)
        return "it does not end" if late else "the process dies"


def try_all(mutants: Sequence[Mutant], note: Callable[[Mutant, str], None], jobs: int = 1) -> None:
    """Try each mutant and `note` what notices it; `AssertionError` if a test fails unchanged."""
    for part, modules in MODULES.items():
        chosen = [mutant for mutant in mutants if mutant.module in modules]
        if chosen:
            _try_part(part, chosen, note, jobs)


def _try_part(
    part: str, mutants: Sequence[Mutant], note: Callable[[Mutant, str], None], jobs: int
) -> None:
    trials = Trials(mutants, note, jobs, part == "what runs")
    options = (
        *("-q", "-s", "-n0", "-pno:cacheprovider", "-knot (postgresql or compiled_loop)"),
        "-Wignore::pytest.PytestAssertRewriteWarning",  # ours is a plug-in, and is imported by now
    )
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        code = pytest.main([*options, *TESTS[part]], plugins=[trials])
    if trials.failed or code:
        raise AssertionError(f"without any change: {trials.failed or code!r}")
