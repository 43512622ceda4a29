"""Graphs of LangGraph: its documented workflows, and random graphs beside their own runs."""

from __future__ import annotations

import doctest
import random
import re
import sys
from pathlib import Path
from typing import Any, Literal, TypedDict

import pytest

import pxp_fsm as pxp
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.plugins.machines.reading import read_machine
from tests.command_line import pxp as command

pytest.importorskip("langgraph", reason="langgraph is not installed")

from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

pytestmark = pytest.mark.deep

ROOT = Path(__file__).parents[3]


class Values(TypedDict):
    """The state of a graph."""

    text: str


def node(_state: Values) -> dict[str, Any]:
    return {}


def graph(*names: str) -> Any:
    built: Any = StateGraph(Values)
    for name in names:
        built.add_node(name, node)
    return built


def found(built: Any) -> list[str]:
    return [result.verdict.reason for result in pxp.check(built) if result.verdict.fault]


def status(built: Any, formula: str) -> str:
    return str(pxp.check(built, formula)[0].status)


def test_prompt_chaining_with_a_gate() -> None:
    built = graph("generate", "improve", "polish")
    built.add_edge(START, "generate")
    built.add_conditional_edges("generate", node, {"Fail": "improve", "Pass": END})
    built.add_edge("improve", "polish")
    built.add_edge("polish", END)
    assert found(built) == []
    assert status(built, "AF ended") == "HOLDS"
    assert status(built, "A(!graph@polish W graph@improve)") == "HOLDS"


def test_parallel_calls_are_joined() -> None:
    built = graph("joke", "story", "poem", "combine")
    for name in ("joke", "story", "poem"):
        built.add_edge(START, name)
        built.add_edge(name, "combine")
    built.add_edge("combine", END)
    table = read_machine(built).table
    assert [state.name for state in table.states] == [
        "START", "joke_and_story_and_poem", "combine", "END",
    ]  # fmt: skip
    assert found(built) == []
    assert status(built, "A(!graph@combine W graph@story)") == "HOLDS"
    assert status(built, "A G(graph@joke <-> graph@poem)") == "HOLDS"


def test_a_node_is_where_it_runs_also_beside_others() -> None:
    built = graph("ask", "approve", "log", "pay")
    built.add_edge(START, "ask")
    built.add_conditional_edges("ask", node, {"ask": "approve", "cheap": "log"})
    built.add_edge("approve", "pay")
    built.add_edge("log", END)
    built.add_edge("pay", END)
    assert status(built, "A(!graph@pay W graph@approve)") == "HOLDS"
    built.add_conditional_edges("ask", lambda _state: "now", {"now": "pay", "later": END})
    # It runs alone after approve, and beside log without it: the latter is no exception.
    assert status(built, "EF graph@log_and_pay") == "HOLDS"
    [result] = pxp.check(built, "A(!graph@pay W graph@approve)")
    assert str(result.status) == "FAILS"
    assert status(built, "EG !graph@pay") == "HOLDS"
    compiled = built.compile(interrupt_before=["pay"])
    assert status(compiled, "A(!graph@pay W graph@interrupt_before_pay)") == "HOLDS"


def test_an_orchestrator_sends_to_workers() -> None:
    def assign(_state: Values) -> list[Send]:
        return [Send("worker", {"text": "a"}), Send("worker", {"text": "b"})]

    built = graph("orchestrator", "worker", "synthesize")
    built.add_edge(START, "orchestrator")
    built.add_conditional_edges("orchestrator", assign, ["worker"])
    built.add_edge("worker", "synthesize")
    built.add_edge("synthesize", END)
    assert found(built) == []
    assert status(built, "AF ended") == "HOLDS"


def test_an_agent_with_tools_has_a_cycle_that_the_recursion_limit_bounds() -> None:
    built = graph("agent", "tools")
    built.add_edge(START, "agent")
    built.add_conditional_edges("agent", node, {"tools": "tools", "end": END})
    built.add_edge("tools", "agent")
    results = pxp.check(built.compile())
    [cycle] = [result for result in results if result.name == "no-unbounded-cycle"]
    assert (
        cycle.verdict.reason
        == "agent → tools → agent: outside its nodes' code only the recursion limit bounds it"
    )
    assert cycle.as_expected
    assert results.as_expected


def test_an_approval_by_a_command_is_passed_or_not() -> None:
    def approve(_state: Values) -> Command[Literal["pay", "cancel"]]:
        return Command(goto="pay" if interrupt("pay?") else "cancel")

    built = graph("ask", "pay", "cancel")
    built.add_node("approve", approve)
    built.add_edge(START, "ask")
    built.add_edge("ask", "approve")
    built.add_edge("pay", END)
    built.add_edge("cancel", END)
    results = pxp.check(built, "A(!graph@pay W graph@approve)", "EF graph@cancel")
    assert [str(result.status) for result in results] == ["HOLDS", "HOLDS"]
    assert "node approve calls interrupt(): it goes on when it is resumed" in results.notes
    built.add_edge("ask", "pay")
    assert status(built, "EF graph@pay_and_approve") == "HOLDS"
    assert status(built, "A(!graph@pay W (graph@approve & !graph@pay))") == "FAILS"


def made_elsewhere() -> Command[Any]:
    return Command(goto="pay")


def indirectly(_state: Values) -> Any:
    return made_elsewhere()


class Caller:
    def __call__(self, _state: Values) -> Any:
        return Command(goto="pay")


@pytest.mark.parametrize(
    "plan", [lambda _state: Command(goto="pay"), indirectly, Caller(), Caller().__call__]
)
def test_a_command_without_targets_may_lead_to_every_node(plan: Any) -> None:
    built = graph("approve", "pay", "refund")
    built.add_node("plan", plan)
    built.add_edge(START, "plan")
    built.add_edge("plan", "approve")
    built.add_edge("approve", "pay")
    built.add_edge("pay", END)
    built.add_edge("refund", END)
    results = pxp.check(built, "A(!graph@pay W (graph@approve & !graph@pay))", "EF graph@refund")
    assert [str(result.status) for result in results] == ["FAILS", "HOLDS"]
    assert (
        "node plan uses Command and names no targets: it may lead to every node; annotate what it "
        "returns with Command[Literal[...]]"
    ) in results.notes
    assert status(built, "EF (graph@approve & !graph@pay)") == "HOLDS"


def test_interrupts_are_states_that_are_left_by_resume() -> None:
    built = graph("plan", "pay")
    built.add_edge(START, "plan")
    built.add_edge("plan", "pay")
    built.add_edge("pay", END)
    compiled = built.compile(interrupt_before=["pay"], interrupt_after=["plan"])
    assert status(compiled, "A(!graph@pay W graph@interrupt_before_pay)") == "HOLDS"
    assert status(compiled, "A(!graph@pay W graph@interrupt_after_plan_to_pay)") == "HOLDS"


def test_a_dead_node_and_dead_ends_are_found() -> None:
    built = graph("a", "b", "c", "dead")
    built.add_edge(START, "a")
    built.add_conditional_edges("a", node, {"b": "b", "end": END})
    built.add_edge("b", "c")
    built.add_edge("c", "b")
    built.add_edge("dead", "a")
    line = node.__code__.co_firstlineno
    where = str(Path(__file__).relative_to(Path.cwd()))
    assert found(built) == [
        f"{where}, line {line}: node dead cannot be reached from START: nothing leads to it",
        f"{where}, line {line}: nodes b, c are a dead end: they lead to each other alone, and to "
        f"no end (END)",
    ]


def test_a_join_that_waits_for_ever_is_a_dead_end() -> None:
    built = graph("a", "b", "c", "joined")
    built.add_edge(START, "a")
    built.add_conditional_edges("a", node, {"b": "b", "c": "c"})
    built.add_edge(["b", "c"], "joined")
    built.add_edge("joined", END)
    told = " ".join(found(built))
    assert "the graph stops there: the edge from b, c to joined still waits" in told
    assert "node joined cannot be reached from START: the edge from b, c to it waits" in told


def random_graph(rng: random.Random) -> Any:
    names = [f"n{number}" for number in range(rng.randint(2, 6))]
    built = graph(*names)

    def route(ends: list[str]) -> Any:
        return lambda _state: rng.choice(ends)

    for name in (START, *names):
        kind = rng.choice(("edge", "edge", "edges", "branch", "branch", "both", "none"))
        targets = [other for other in (*names, END) if other != START]
        if kind in ("edge", "edges", "both") or name == START:
            for target in rng.sample(targets[:-1], min(2 if kind == "edges" else 1, len(names))):
                built.add_edge(name, target)
        if kind in ("branch", "both"):
            ends = rng.sample(targets, rng.randint(2, min(3, len(targets))))
            built.add_conditional_edges(name, route(ends), ends)
    if len(names) > 2 and rng.random() < 0.4:
        *starts, end = rng.sample(names, 3)
        built.add_edge(starts, end)
    return built


def allowed(table: Automaton, supersteps: list[set[str]]) -> bool:
    """Whether the table can go through states in which just these nodes run."""
    at = {table.initial}
    for nodes in supersteps:
        after = {row.target for state in at for row in table.leaving(state)}
        at = {state for state in after if running(state) == nodes}
        if not at:
            return False
    return True


def running(state: str) -> set[str]:
    return set(re.sub(r"_after_.*", "", state).split("_and_"))


def test_a_table_allows_every_run_of_random_graphs() -> None:
    runs = 0
    for seed in range(70):
        rng = random.Random(seed)
        built = random_graph(rng)
        table = read_machine(built).table
        compiled = built.compile()
        for _ in range(3):
            steps: dict[int, set[str]] = {}
            ended = True
            try:
                for event in compiled.stream(
                    {"text": ""}, {"recursion_limit": 10}, stream_mode="debug"
                ):
                    if event["type"] == "task":
                        steps.setdefault(event["step"], set()).add(event["payload"]["name"])
            except GraphRecursionError:
                ended = False
            run = [nodes for _, nodes in sorted(steps.items())]
            assert allowed(table, run), (seed, run)
            assert not ended or stops(table, run), (seed, run)
            runs += 1
    assert runs == 210


def stops(table: Automaton, supersteps: list[set[str]]) -> bool:
    """Whether the table can end, or be stuck, after the last of these."""
    at = {table.initial}
    for nodes in supersteps:
        after = {row.target for state in at for row in table.leaving(state)}
        at = {state for state in after if running(state) == nodes}
    after = {row.target for state in at for row in table.leaving(state)}
    return any(state == "END" or state.startswith("STOPPED") for state in after)


def test_the_page_about_a_graph_says_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "machines.md").read_text("utf-8")
    [code] = re.findall(r"```py\n# shop\.py\n(.*?)```", page, re.DOTALL)
    [shown] = re.findall(r"```text\n(\$ pxp check shop.*?)```", page, re.DOTALL)
    (tmp_path / "shop.py").write_text(f"# shop.py\n{code}", "utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path])
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for block in shown.split("$ pxp ")[1:]:
        line, _, expected = block.partition("\n")
        name, what, *rest = line.split(" ", 3)
        formula = [rest[0], rest[1].strip("'")] if rest else []
        done = command(name, what, *formula, cwd=tmp_path)
        assert doctest.OutputChecker().check_output(expected, done.stdout, options), done.stdout
