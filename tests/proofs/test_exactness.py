"""Decision functions of which symbols would say what is not so of numbers: UNKNOWN, and where."""

from __future__ import annotations

import ast
import asyncio
import functools
import importlib.util
import inspect
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.checks import check
from proofs.checks import prove as prove_protocol
from proofs.claims.theorems import THEOREMS, prove
from proofs.core.results import Status
from proofs.induction import exact as exactness
from proofs.induction.exact import exact
from proofs.induction.numbers import Argument, Atom, Case, Numbers, Unknown, Whole
from proofs.induction.opaque import Inexact
from proofs.induction.source import Source, read
from pxp_fsm.analysis import checks
from pxp_fsm.analysis.requests import Request
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol import decisions
from pxp_fsm.protocol.interfaces import Decisions
from pxp_fsm.protocol.messages import Answer, Question, Tag
from pxp_fsm.protocol.relations import Outcome
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.sessions.session import Session
from tests.proofs.mutants import Mutant, decision_mutants

ROOT = Path(__file__).parents[2]
NUMBERS = Numbers()
TWENTY = {20: True}
CALLS: list[int] = []
HALF = 0.5
BOUND = 20


def changed(name: str, function: Callable[..., Any]) -> Decisions:
    functions = SimpleNamespace(**vars(decisions))
    setattr(functions, name, function)
    return cast(Decisions, functions)


# Each is `done`, and right or wrong for reasons that symbols do not show.


def in_a_set(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and n not in {20})


def in_a_dictionary(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and not TWENTY.get(n))


def by_a_key(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and {False: True}[n == 20])


def with_a_float(sent: int, n: int, stopped: bool) -> bool:
    return stopped or sent > n - 0.5


def with_a_named_float(sent: int, n: int, stopped: bool) -> bool:
    return stopped or sent > n - HALF


def with_a_quotient(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1) / n > 1


def with_a_whole_quotient(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1) // n > 0


def with_a_power(sent: int, n: int, stopped: bool) -> bool:
    return stopped or sent**2 > n**2


def with_a_product(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1) * (sent + 1) > n * n


def by_bits(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and not n & 16)


def by_its_text(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and str(n) != "20")


def by_a_formatted_text(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and f"{n}" != "20")


def by_its_representation(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and f"{n!r}" != "20")


def by_percent(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and "%d" % n != "20")  # noqa: UP031 - an attack


def by_its_length(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and n.bit_length() != 5)


def by_its_hash(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and hash(n) != 20)


def as_an_index(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and (True,)[n - n])


def in_a_range(sent: int, n: int, stopped: bool) -> bool:
    return stopped or sent not in range(n)


def converted(sent: int, n: int, stopped: bool) -> bool:
    return stopped or int(sent) + 1 > int(n)


def rounded(sent: int, n: int, stopped: bool) -> bool:
    return stopped or round(n, -1) < sent + 1


def by_its_type(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and not (type(n) is int and n == 20))


def by_its_identity(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and n is not sent)


def remembering(sent: int, n: int, stopped: bool) -> bool:
    CALLS.append(sent)
    return stopped or sent + 1 > n


def by_what_it_remembers(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and not CALLS)


def by_a_default(sent: int, n: int, stopped: bool, seen: list[int] = []) -> bool:  # noqa: B006
    return stopped or (sent + 1 > n and not seen)


def in_a_loop(sent: int, n: int, stopped: bool) -> bool:
    while sent > n:
        sent -= 1
    return stopped or sent == n


def calling_itself(sent: int, n: int, stopped: bool) -> bool:
    return stopped or sent >= n if sent < 1 else calling_itself(sent - 1, n - 1, stopped)


def swallowing(sent: int, n: int, stopped: bool) -> bool:
    try:
        return stopped or (sent + 1 > n and n not in {20})
    except BaseException:  # noqa: BLE001 - an attack
        return True


def with_an_expression_that_assigns(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (now := sent + 1) > n or now < 0


cached = functools.cache(decisions.done)
partly = functools.partial(decisions.done)

SEEN_BY_TYPE = [
    *(in_a_set, in_a_dictionary, with_a_float, with_a_named_float, with_a_quotient),
    *(with_a_whole_quotient, with_a_power, with_a_product, by_bits, by_its_text),
    *(by_a_formatted_text, by_its_representation, by_percent, by_its_length, by_its_hash),
    *(as_an_index, in_a_range, converted, rounded, cached),
]
SEEN_BY_SOURCE = [
    *(one for one in SEEN_BY_TYPE if one not in (cached, with_a_product)),
    *(by_a_key, by_its_type, by_its_identity, remembering, by_what_it_remembers),
    *(in_a_loop, swallowing, with_an_expression_that_assigns),
]


@pytest.mark.parametrize("attack", SEEN_BY_SOURCE, ids=lambda one: one.__name__)
def test_the_source_is_refused_with_file_line_and_construct(attack: Callable[..., bool]) -> None:
    with pytest.raises(Unknown) as refused:
        read(changed("done", attack))
    lines, first = inspect.getsourcelines(attack)
    places = {f"{__file__}:{first + i}: {attack.__name__}: '" for i in range(1, len(lines))}
    assert any(str(refused.value).startswith(place) for place in places), refused.value


@pytest.mark.parametrize("attack", [cached, partly, calling_itself, by_a_default, Unknown])
def test_what_remembers_or_may_not_end_is_refused(attack: Callable[..., bool]) -> None:
    with pytest.raises(Unknown, match=r"nothing is proved|calls itself"):
        read(changed("done", attack))


def test_a_closure_is_refused() -> None:
    seen: list[int] = []

    def closed(sent: int, n: int, stopped: bool) -> bool:
        return stopped or (sent + 1 > n and not seen)

    with pytest.raises(Unknown, match="done has values that are not seen"):
        read(changed("done", closed))


@pytest.mark.parametrize("attack", SEEN_BY_TYPE, ids=lambda one: getattr(one, "__name__", "?"))
@pytest.mark.parametrize("sent", [3, None])
def test_symbols_refuse_it_too(attack: Callable[..., bool], sent: int | None) -> None:
    """The second defence does not need the first, nor does it matter which number is a symbol."""

    def run(case: Case) -> bool:
        given = [Argument(case, case.named(x).terms, 0) for x in ("sent", "n")]
        return attack(given[0] if sent is None else sent, given[1], False)

    with pytest.raises(Inexact):
        for _, answer in NUMBERS.cases((), run, {}):
            assert answer in (True, False)


@pytest.mark.parametrize("attack", [by_its_type, by_its_identity])
def test_a_difference_between_symbols_and_numbers_is_found_without_the_source(
    attack: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third defence: the source is taken for one that names the number 20, and admitted."""
    lenient = Source(["taken for granted", attack.__name__], frozenset({1, 20}), {})
    monkeypatch.setattr(exactness, "read", lambda functions: lenient)
    functions = changed("done", attack)
    with pytest.raises(Unknown, match=r"done\(.*\) is (True|False), but"):
        exact(functions)


@pytest.mark.parametrize("attack", [in_a_set, by_its_type, cached, in_a_dictionary])
def test_nothing_false_is_proved(attack: Callable[..., bool]) -> None:
    with pytest.raises(Unknown, match="so nothing is proved of it"):
        prove([THEOREMS["interact.terminates"]], functions=changed("done", attack))


def test_a_check_of_such_functions_is_unknown_with_file_and_line() -> None:
    rules = Interact(4, 2, functions=changed("done", in_a_set))
    results = {result.name: result for result in check(rules)}
    stops = results["stops-as-written"]
    assert stops.status is Status.UNKNOWN
    assert stops.reason.startswith(f"{__file__}:")
    assert "in_a_set: '{20}' is not exact" in stops.reason
    assert results["terminates"].status is Status.HOLDS_UP_TO


def test_a_check_and_a_proof_of_the_protocols_are_unknown_with_such_functions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decisions, "done", in_a_set)
    (proof,) = prove_protocol("interact", "terminates")
    (line,) = checks.run(Request(("interact",), ("terminates",))).lines
    for result in (proof, line):
        assert result.status is Status.UNKNOWN
        assert "in_a_set: '{20}' is not exact arithmetic" in result.reason


class Always:
    """A relation with one answer."""

    assumptions: frozenset[Any] = frozenset()

    def __init__(self, outcome: Outcome) -> None:
        self.name, self._outcome = f"always {outcome}", outcome

    async def holds(self, left: str, right: str) -> Outcome:
        return self._outcome


def test_the_session_of_which_termination_was_proved_does_not_end_at_its_bound() -> None:
    numbers = count()

    def answer(question: Question) -> Answer:
        return Answer("y", f"e{next(numbers)}")

    agents = {
        name: Agent(answer, match=Always(Outcome.YES), agree=Always(Outcome.NO)) for name in "mh"
    }
    rules = Interact(20, 1, functions=changed("done", in_a_set))
    session = Session(rules, agents, instance="x")
    for _ in range(41):
        asyncio.run(session.step())
    assert len(session.history) == 41


# What is exact goes through, and says the same of numbers and of symbols.


def helper(number: int, bound: int = BOUND) -> bool:
    """Some other function of the same kind."""
    late = number - 1
    late += 1
    return bound <= late if late % 2 == 0 else max(late, 3) > bound


def roundabout(sent: int, n: int, stopped: bool) -> bool:
    if not isinstance(sent, int) or isinstance(n, bool | float | str):
        raise ValueError(f"{sent} and {n!r} are no whole numbers")
    if stopped is True or n in (7, 9) or n == Tag.INIT:
        return helper(n) or stopped
    return not -sent + n > 0 and helper(number=sent) is not None


def test_exact_functions_are_admitted_and_do_the_same() -> None:
    functions = exact(changed("done", roundabout))
    for case, answer in NUMBERS.cases(
        (),
        lambda case: functions.done(cast(int, case.named("x")), cast(int, case.named("n")), True),
        {},
    ):
        numbers = NUMBERS.example(case)
        assert roundabout(numbers["x"], numbers["n"], True) is answer


def test_a_message_is_no_part_of_what_is_decided() -> None:
    functions = exact(decisions)
    taken = dict(NUMBERS.cases((), lambda case: _takes(functions, case.named("k")), {}))
    assert {str(case[0]): answer for case, answer in taken.items()} == {
        "k >= 1": True,
        "k <= 0": False,
    }


def _takes(functions: Decisions, k: Whole) -> bool:
    try:
        functions.check_bound(cast(int, k), "k is")
    except UsageError:
        return False
    return True


def test_an_answer_of_another_type_is_refused() -> None:
    with pytest.raises(Unknown, match="done answers int, not bool"):
        exact(changed("done", answers_a_number))


def answers_a_number(sent: int, n: int, stopped: bool) -> bool:
    return 1 if stopped else sent + 1 > n  # type: ignore[return-value] # an attack


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["<=", "==", "!="]),
    st.integers(-4, 4),
    st.integers(-30, 30),
    st.integers(0, 5),
    st.integers(-40, 40),
)
def test_of_a_comparison_and_its_contrary_one_holds(
    relation: Any, factor: int, constant: int, modulus: int, value: int
) -> None:
    modulus = 0 if relation == "<=" else modulus
    atom = Atom((("x", factor),), constant, relation, modulus)
    assert atom.holds({"x": value}) is not atom.contrary().holds({"x": value})


@pytest.mark.parametrize("other", [12.5, 12.0, 1j, float("nan"), [1], {1}, object()])
def test_a_number_is_compared_with_nothing_but_whole_numbers(other: Any) -> None:
    x = NUMBERS.named("x")
    compared: list[Callable[[], object]] = [
        *(lambda: x <= other, lambda: x < other, lambda: x == other, lambda: x != other),
        *(lambda: other >= x, lambda: x + other, lambda: x - other, lambda: other - x),
        *(lambda: x * other, lambda: x % 2 == other, lambda: x % other, lambda: x.at_most(other)),
    ]
    for compare in compared:
        with pytest.raises(Inexact):
            compare()


# The digest.


def test_the_digest_is_that_of_what_functions_do() -> None:
    digest = read(decisions).digest
    assert read(changed("done", decisions.done)).digest == digest
    seen = {digest}
    for one in (roundabout, helper_20, helper_21, by_constant):
        seen.add(read(changed("done", one)).digest)
    assert len(seen) == 5


def helper_20(sent: int, n: int, stopped: bool) -> bool:
    return helper(sent, 20)


def helper_21(sent: int, n: int, stopped: bool) -> bool:
    return helper(sent, 21)


def by_constant(sent: int, n: int, stopped: bool) -> bool:
    return sent > BOUND


def test_a_constant_elsewhere_and_a_helper_elsewhere_are_in_the_digest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = [read(changed("done", one)).digest for one in (by_constant, helper_20)]
    monkeypatch.setattr(sys.modules[__name__], "BOUND", 21)
    monkeypatch.setattr(sys.modules[__name__], "helper", decisions.repeats)
    after = [read(changed("done", one)).digest for one in (by_constant, helper_20)]
    assert all(one != two for one, two in zip(before, after, strict=True))


def test_layout_comments_documentation_and_annotations_are_not_in_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = Path(decisions.__file__).read_text("utf-8")
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            node.body = node.body[1:] if ast.get_docstring(node) else node.body
            for argument in node.args.args:
                argument.annotation = None
    assert _digest(tmp_path / "one.py", ast.unparse(tree)) == read(decisions).digest
    spread = text.replace("return ", "return \\\n        ").replace("\n\n\n", "\n\n\n# Said.\n\n")
    assert _digest(tmp_path / "two.py", spread) == read(decisions).digest
    other = text.replace("sent + 1 > n", "sent + 2 > n")
    assert _digest(tmp_path / "three.py", other) != read(decisions).digest


def _module(path: Path, text: str) -> ModuleType:
    path.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _digest(path: Path, text: str) -> str:
    return read(cast(Decisions, _module(path, text))).digest


def test_source_that_is_not_the_code_that_runs_is_refused(tmp_path: Path) -> None:
    text = Path(decisions.__file__).read_text("utf-8")
    module = _module(tmp_path / "four.py", text)
    other = text.replace("sent + 1 > n", "sent + 2 > n")
    (tmp_path / "four.py").write_text(other, "utf-8")
    with pytest.raises(Unknown, match=r"no source of done that is the code that runs"):
        read(cast(Decisions, module))
    (tmp_path / "four.py").unlink()
    with pytest.raises(Unknown, match="no source of category"):
        read(cast(Decisions, module))


def test_a_function_without_source_is_refused() -> None:
    known: dict[str, Any] = {}
    exec("def done(sent, n, stopped): return stopped or sent + 1 > n", known)  # noqa: S102
    with pytest.raises(Unknown, match="no source of done"):
        read(changed("done", known["done"]))


def digests(mutants: Iterable[Mutant]) -> list[str]:
    found = [read(decisions).digest]
    for mutant in mutants:
        assert mutant.instead is not None
        try:
            found.append(read(mutant.instead.functions).digest)
        except Unknown:
            assert "//" in mutant.change
            found.append("refused")
    return found


@pytest.mark.deep
def test_every_single_change_of_a_decision_function_has_another_digest() -> None:
    found = digests(decision_mutants())
    assert (len({*found}), len(found)) == (415, 415)


@pytest.mark.parametrize("version", ["python3.12", "python3.13", "python3.14"])
def test_the_digest_is_the_same_on_every_python(version: str) -> None:
    installed = sorted(Path.home().glob(f".pyenv/versions/{version[6:]}.*/bin/{version}"))
    found = next(iter(installed), None) or shutil.which(version)
    if found is None or (not installed and "shims" in str(found)):
        pytest.skip(f"{version} is not installed")
    code = "from proofs.induction.source import read; from pxp_fsm.protocol import decisions; "
    done = subprocess.run(
        [found, "-c", f"{code}print(read(decisions).digest)"],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout.strip() == read(decisions).digest, done.stderr
