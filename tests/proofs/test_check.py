"""`check`, the one door: whoever asks gets the same results in the same order."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pxp_fsm as pxp
from proofs import subjects
from proofs.check import Results, answer, checkables, known_properties
from proofs.claims.checking import ClaimChecker
from proofs.core.results import Result, Status, Verdict, table
from proofs.requests import Request
from proofs.rules.certificates import RulesCertificate
from proofs.subjects import Answer
from proofs.systems import Interrupted, System, check_standard
from pxp_fsm.automata.serialization import to_json
from pxp_fsm.automata.system_files import read_system
from pxp_fsm.automata.table_files import Property
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments.proved import proved
from pxp_fsm.protocol.relations import TOLERANCE
from pxp_fsm.web.checks import claim_results
from pxp_fsm.web.subjects import subject_in
from pxp_fsm.web.verdicts import standard_results
from tests import command_line

ROOT = Path(__file__).parents[2]
TWO_PHASE = str(ROOT / "examples/two_phase_commit/two_phase.toml")


def named(result: Any) -> tuple[str, ...]:
    return result.name, result.title, result.assumptions, str(result.status)


def by_command(*arguments: str) -> list[tuple[str, ...]]:
    done = command_line.pxp("check", *arguments, "--json", cwd=ROOT)
    keys = ("property", "title", "assumptions", "verdict")
    return [tuple(one[key] for key in keys) for one in json.loads(done.stdout)]


@pytest.mark.parametrize(
    ("results", "arguments", "count"),
    [
        (lambda: pxp.check("interact"), ("interact",), 71),
        (lambda: pxp.check("pxp_hang_up"), ("pxp_hang_up",), 7),
        (lambda: pxp.check(TWO_PHASE), (TWO_PHASE,), 10),
        pytest.param(
            lambda: pxp.check("interact", relations="tolerance", n=4, k=2),
            ("interact", "--relations", "tolerance", "--n", "4", "--k", "2"),
            30,
            marks=pytest.mark.deep,
        ),
        (
            lambda: pxp.check("pxp", "no-deadlock", "F ended", channels=["sync", "fifo:1"]),
            (
                "pxp",
                "--property",
                "no-deadlock",
                "--formula",
                "F ended",
                "--channel",
                "sync",
                "--channel",
                "fifo:1",
            ),
            4,
        ),
        (
            lambda: pxp.check("pxp", "F ended", relations="noisy", k=2),
            ("pxp", "--formula", "F ended", "--relations", "noisy", "--k", "2"),
            2,
        ),
    ],
)
def test_a_program_gets_what_the_command_prints(
    results: Callable[[], Results], arguments: tuple[str, ...], count: int
) -> None:
    found = [*map(named, results())]
    assert (found, len(found)) == (by_command(*arguments), count)


@pytest.mark.deep
def test_the_explorers_page_gets_the_same() -> None:
    subject = subject_in((TWO_PHASE,), None)
    assert [*map(named, standard_results(subject))] == by_command(TWO_PHASE)
    interact = subject_in(("machine=interact", "human=interact"), None)
    claims = pxp.check(pxp.Interact(n=5, k=1), relations="tolerance")
    assert [*map(named, claim_results(interact, TOLERANCE))] == [*map(named, claims)]
    of_command = by_command("interact", "--relations", "tolerance", "--n", "5", "--k", "1")
    assert [*map(named, claims)] == of_command[7:]  # without the standard checks of the tables


def test_what_is_proved_before_a_run_is_the_same(tmp_path: Path) -> None:
    system, file = pxp.System.load(TWO_PHASE), read_system(TWO_PHASE)
    known = proved(system, file, tmp_path / "proved.json").known
    names = [one.name for one in known]
    assert names[:3] == ["no-deadlock", "end-reachable-from-everywhere", "always-ends"]
    same = pxp.check(TWO_PHASE, *names)
    assert [(one.name, one.status) for one in known] == [
        (result.name, result.status) for result in same
    ]


def test_a_system_has_its_standard_checks_and_rules_their_claims() -> None:
    of_system = pxp.check(pxp.System.load("interact"))
    everything = pxp.check("interact")
    assert [*map(named, of_system)] == [*map(named, everything[:7])]
    of_rules = pxp.check(pxp.Interact(n=4, k=2))
    expected = [one.name for one in everything[7:] if one.assumptions == "noisy"]
    assert [one.name for one in of_rules if one.name in expected] == expected
    assert {str(one.bound) for one in of_rules if one.bound and not one.bound.is_all} <= {
        "n = 4, k = 2"
    }


def test_a_certificate_speaks_of_the_table_and_the_functions_that_it_is_of() -> None:
    shipped = pxp.check(pxp.Interact(n=4, k=2), "reject-after-k")[0]
    assert (shipped.status, str(shipped.bound)) == (Status.HOLDS, "for all n and k")
    interact = pxp.load_automaton("interact")
    own = replace(interact, transitions=interact.transitions[:-1])
    explored = pxp.check(pxp.Interact(n=4, k=2, table=own), "reject-after-k")[0]
    assert (explored.status, str(explored.bound)) == (Status.HOLDS_UP_TO, "n = 4, k = 2")


ONE = Result("s", "first", "t", "a", Verdict(Status.HOLDS), Status.HOLDS)
TWO = replace(ONE, name="second", verdict=Verdict(Status.FAILS))


def computed(*answers: Answer | BaseException) -> tuple[Results, list[str]]:
    """Results of which each is noted when it is computed."""
    noted: list[str] = []

    def compute() -> Iterator[Answer]:
        for one in answers:
            if isinstance(one, BaseException):
                raise one
            noted.append(getattr(one, "name", "?"))
            yield one

    return Results(compute()), noted


def test_results_are_computed_as_they_are_read_and_kept() -> None:
    results, noted = computed(ONE, TWO)
    assert noted == []
    assert (results[0], noted) == (ONE, ["first"])
    assert next(iter(results)) is ONE
    assert noted == ["first"]
    assert (len(results), results[-1], results[:1], list(results)) == (2, TWO, [ONE], [ONE, TWO])
    assert noted == ["first", "second"]
    with pytest.raises(IndexError):
        results[2]
    assert TWO in results


def test_results_show_themselves_as_the_table_of_the_command() -> None:
    results, _ = computed(ONE, TWO)
    assert repr(results) == "\n".join(table([ONE, TWO]))
    assert repr(results).endswith("2 verdicts, 1 not as expected: second (a)")
    html = results._repr_html_()
    assert html.count("<tr>") == 3
    assert "<td>second</td><td>a</td><td>FAILS</td>" in html


def test_results_are_neither_true_nor_false() -> None:
    results, _ = computed(ONE)
    with pytest.raises(TypeError, match=r"results\.as_expected"):
        bool(results)
    assert results.as_expected
    assert not computed(ONE, TWO)[0].as_expected


def test_an_error_is_raised_whenever_what_comes_after_it_is_read() -> None:
    results, _ = computed(ONE, UsageError("no"))
    assert results[0] is ONE
    for _ in range(2):
        with pytest.raises(UsageError, match="no"):
            len(results)
    assert results.computed == (ONE,)


def test_what_was_found_before_an_interrupt_is_kept() -> None:
    results, _ = computed(ONE, Interrupted(TWO))
    with pytest.raises(KeyboardInterrupt):
        len(results)
    assert results.computed == (ONE, TWO)


def test_a_request_of_nothing_that_a_subject_has_is_refused() -> None:
    for subject, name in ((pxp.Interact(), "no-deadlock"), ("pxp_hang_up", "terminates")):
        with pytest.raises(UsageError, match="is not a property of"):
            len(pxp.check(subject, name))
    with pytest.raises(UsageError, match="have their own n and k"):
        len(pxp.check(pxp.Interact(), channels="fifo:1"))


def test_each_property_has_one_title() -> None:
    known = known_properties()
    assert Counter((one.name, one.subject) for one in known).most_common(1)[0][1] == 1
    kinds = [kind.kind for kind in checkables()]
    assert (kinds[0], kinds[-1]) == ("protocol", "system")
    titles = {one.name: one.title for one in known if one.subject == "any table"}
    asked = answer(Request(("pxp",), names=tuple(titles)))
    assert {one.name: one.title for one in asked} == titles


def test_parameters_are_those_of_the_command() -> None:
    """`parameters=` and `--with` give the same results; a number is exactly an int."""
    texts = answer(Request(("interact",), formulas=("AF ended",), parameters=("n=3,k=2",)))
    given = pxp.check("interact", "AF ended", parameters={"n": 3, "k": 2})
    assert [replace(one, seconds=0.0) for one in given] == [
        replace(one, seconds=0.0) for one in texts
    ]
    for wrong, problem in (
        ({"n": 2.5, "k": 1}, "n is a whole number"),
        ({"n": 3, "k": True}, "k is a whole number"),
        ({"n": 3, "k": 1, "j": 1}, "no table of .* has a parameter j"),
    ):
        with pytest.raises(UsageError, match=problem):
            len(pxp.check("interact", "AF ended", parameters=wrong))
    with pytest.raises(UsageError, match="parameters are a mapping"):
        pxp.check("interact", parameters="n=3")  # type: ignore[arg-type] # a mistake


def test_one_constraint_and_one_channel_may_be_texts() -> None:
    system = System.load("pxp")
    for options in ({"fair": "weak:rows"}, {"channels": "fifo:1"}):
        several = {key: (value,) for key, value in options.items()}
        found, same = (
            [(one.assumptions, one.status) for one in pxp.check(system, "F ended", **given)]
            for given in (options, several)
        )
        assert found == same
        assert next(iter(options.values())) in found[0][0]


@pytest.mark.parametrize(
    ("options", "field", "problem"),
    [
        ({"relations": "nonsense"}, None, "nonsense"),
        ({"values": 2, "relations": "noisy"}, "values", "must be equivalence, not noisy"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_checked(
    options: dict[str, Any], field: str | None, problem: str
) -> None:
    results = pxp.check("interact", **options)
    with pytest.raises(UsageError, match=problem) as raised:
        len(results)
    assert results.computed == ()
    assert field in (None, raised.value.field)


@pytest.mark.parametrize("options", [{"fair": "weak:rows"}, {"runs": "finite"}])
def test_a_choice_of_runs_without_a_formula_names_its_field(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="has no effect without a formula") as raised:
        len(pxp.check(System.load("pxp"), **options))
    assert raised.value.field == next(iter(options))


def test_what_holds_and_cannot_be_certified_says_why() -> None:
    request = Request(("pxp",), formulas=("EF ended",), certificate=Path("unused.json"))
    (result,) = answer(request)
    assert result.status is Status.UNKNOWN
    assert result.reason.startswith("not certified: a certificate is of formulas G p")


def test_what_an_assumption_is_needed_for_is_shown_in_a_small_session() -> None:
    found = pxp.check("interact", "no-revise-at-2", n=6, k=2)
    models = {one.assumptions: one.model for one in found}
    assert models["noisy"] == "interact(n = 6, k = 2)"
    assert models["without reflexive"] == "interact(n = 5, k = 1)"
    (alone,) = pxp.check("interact", "no-revise-at-2", relations="without reflexive", n=6, k=2)
    assert alone.model == "interact(n = 6, k = 2)"


def test_rules_with_a_bound_are_those_of_the_bounded_protocol() -> None:
    found = [pxp.check(pxp.Pxp(k=k), "never-stuck")[0].subject for k in (None, 1)]
    assert found == ["pxp", "pxp(k)"]


def test_what_the_package_proves_is_of_all_bounds() -> None:
    assert {str(one.bound) for one in pxp.check("interact", "reject-after-k")} == {
        "for all n and k"
    }


def test_running_agents_and_explicit_values_are_checked_alone() -> None:
    running = pxp.check("interact", "running", relations="equivalence", n=2, k=1)
    assert [one.name for one in running] == ["sessions-agree-with-model"]
    explicit = pxp.check("interact", "never-ultra", "no-deadlock", values=1, n=2, k=1)
    assert [one.name for one in explicit] == ["never-ultra"]


def test_with_a_certificate_only_what_is_proved_is_asked_for() -> None:
    file = str(ROOT / "examples/with_rules/polls.toml")
    claims = ["terminates", "never-stuck", "one-guard", "at-most-most-polls"]
    assert [one.name for one in answer(Request((file,), certificate=Path("unused.json")))] == claims
    found = [one.name for one in pxp.check(file)]
    assert found[-4:] == claims
    assert "no-deadlock" in found[:-4]


@pytest.mark.parametrize(
    ("channel", "advice"),
    [("fifo:2", "a smaller capacity than 2"), ("fifo:1", "the channel sync"), ("sync", "")],
)
def test_advice_is_of_what_would_need_fewer_states(channel: str, advice: str) -> None:
    (result,) = pxp.check(System.load("pxp", channel=channel), "F ended", limit=1)
    assert result.status is Status.UNKNOWN
    told = [
        text for text in ("a smaller capacity than", "the channel sync") if text in result.reason
    ]
    assert told == [
        text for text in ("a smaller capacity than", "the channel sync") if text in advice
    ]
    assert advice in result.reason


def test_a_claim_of_a_file_is_asked_for_by_its_name() -> None:
    """In Python as on the command line (`--property`)."""
    for file, name in (
        ("polls.toml", "at-most-most-polls"),
        ("approval_gateway.toml", "one-guard"),
    ):
        path = str(ROOT / "examples/with_rules" / file)
        found = [[*pxp.check(path, name)], [*answer(Request((path,), names=(name,)))]]
        assert [[one.name for one in each] for each in found] == [[name], [name]]
    with pytest.raises(UsageError, match="polls"):  # no name of a claim: it is read as a formula
        len(pxp.check(TWO_PHASE, "at-most-most-polls"))


@pytest.mark.parametrize("channel", ["fifo:1", "fifo"])
def test_claims_are_of_the_channel_that_is_asked_for(channel: str) -> None:
    file = str(ROOT / "examples" / "with_rules" / "polls.toml")
    asked = Request(
        subjects=(file,), names=("terminates", "at-most-most-polls"), channels=(channel, "sync")
    )
    results = answer(asked)
    reason = f"rules are proved over synchronous channels, not {channel}"
    assert [(str(result.status), result.verdict.reason) for result in results] == [
        *[("UNKNOWN", reason)] * 2,
        *[("HOLDS", "for all most")] * 2,
    ]


@pytest.mark.parametrize("name", ["polls.json", "polls.toml", "polls_client.toml"])
def test_a_certificate_is_not_written_over_what_is_checked(name: str, tmp_path: Path) -> None:
    for path in (ROOT / "examples" / "with_rules").glob("polls*.toml"):
        (tmp_path / path.name).write_text(path.read_text("utf-8"), "utf-8")
    table = pxp.load_automaton(tmp_path / "polls_client.toml")
    (tmp_path / "polls.json").write_text(to_json(table), "utf-8")
    before = (tmp_path / name).read_text("utf-8")
    checked = "m=polls.json" if name == "polls.json" else "polls.toml"
    done = command_line.pxp("check", checked, "--certificate", name, cwd=tmp_path)
    assert done.returncode == 2
    assert "a certificate is JSON, beside the tables that it is of" in done.stderr
    assert (tmp_path / name).read_text("utf-8") == before


def test_over_a_channel_without_a_bound_alone_nothing_else_is_checked() -> None:
    found = [(one.name, one.assumptions) for one in pxp.check("pxp", channels="fifo")]
    assert found and all("fifo of any capacity" in under for _, under in found)
    both = [(one.name, one.assumptions) for one in pxp.check("pxp", channels=["fifo", "sync"])]
    assert both[: len(found)] == found and len(both) > len(found)


@pytest.mark.parametrize(
    ("request_", "field", "problem"),
    [
        (Request(("pxp",), names=("termination",), channels=("fifo",)), "channels", "write fifo:C"),
        (Request(("pxp",), formulas=("F ended",), channels=("fifo",)), "channels", "write fifo:C"),
        (Request(("pxp",), relations="noisy", channels=("sync",)), "relations", "not to systems"),
        (Request(("pxp",), values=2, channels=("sync",)), "values", "not to systems"),
    ],
)
def test_what_a_channel_has_not_is_refused(request_: Request, field: str, problem: str) -> None:
    results = answer(request_)
    with pytest.raises(UsageError, match=problem) as raised:
        len(results)
    assert (results.computed, raised.value.field) == ((), field)


def test_no_reduction_is_advised_where_none_is_taken() -> None:
    """Whether everything ends is asked of every state."""
    asked = Request(("pxp",), names=("termination",), channels=("fifo:2",), limit=1)
    unknown = [one.reason for one in answer(asked) if one.status is Status.UNKNOWN]
    assert unknown and all("a smaller capacity than 2" in reason for reason in unknown)
    assert not [reason for reason in unknown if "reduction" in reason]


def test_what_was_found_before_an_interruption_is_given_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the second channel nothing is found, and the third is not asked about."""
    system, asked = System.load("pxp"), list[str]()

    def interrupted(over: System, *rest: Any) -> Iterator[Result]:
        asked.append(over.channel.name)
        for result in check_standard(over, *rest):
            if len(asked) > 1:
                raise Interrupted(replace(result, verdict=Verdict(Status.UNKNOWN, "interrupted")))
            yield result

    monkeypatch.setattr(subjects, "check_standard", interrupted)
    found = list[Result]()
    with pytest.raises(Interrupted):
        found.extend(
            subjects.standard([system.over(f"fifo:{size}") for size in (1, 2, 3)], ["no-deadlock"])
        )
    assert [one.name for one in found] == ["no-deadlock"]
    assert asked == ["fifo:1", "fifo:2"]


def test_a_claim_that_is_interrupted_is_told_with_what_it_assumes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: Any) -> Result:
        raise KeyboardInterrupt

    monkeypatch.setattr(ClaimChecker, "check", interrupted)
    with pytest.raises(Interrupted) as raised:
        list(answer(Request((pxp.Interact(2, 1),), names=("never-ultra",), relations="noisy")))
    cut_off = raised.value.result
    assert (cut_off.name, cut_off.assumptions) == ("never-ultra", "noisy")
    assert (cut_off.status, cut_off.reason) == (Status.UNKNOWN, "interrupted")


def test_of_rules_running_agents_are_checked_alone() -> None:
    [result] = pxp.check(pxp.Interact(2, 1), "running", relations="equivalence")
    assert result.name == "sessions-agree-with-model"


def test_more_explicit_values_are_more_states() -> None:
    found = [pxp.check("interact", "never-ultra", values=n, n=2, k=1)[0] for n in (1, 2)]
    assert found[0].model != found[1].model


@pytest.mark.parametrize(
    "options", [{"channels": ("sync", "fifo:1")}, {"reduction": "symmetry", "channels": ("sync",)}]
)
def test_a_certificate_of_channels_or_of_fewer_states_is_refused(options: dict[str, Any]) -> None:
    request = Request((System.load("pxp"),), certificate=Path("unused.json"), **options)
    with pytest.raises(UsageError, match="give one channel, no reduction"):
        list(answer(request))


def test_bounds_are_of_the_protocol_where_there_are_both_kinds(tmp_path: Path) -> None:
    file = tmp_path / "own.json"
    file.write_text(to_json(replace(pxp.load_automaton("pxp"), name="own")), "utf-8")
    [result, *_] = answer(Request(("interact", str(file)), names=("never-ultra",), n=3, k=1))
    assert isinstance(result, Result)
    assert result.name == "never-ultra"
    with pytest.raises(UsageError, match="sessions of interact and pxp"):
        list(answer(Request((str(file),), names=("no-deadlock",), n=3)))


def test_what_ones_own_tables_say_of_themselves_is_told() -> None:
    own = replace(pxp.load_automaton("pxp"), name="own", note="its rows are guesses")
    told = list(subjects.SYSTEMS.checked(Request((System.load(own, "pxp"),))))
    assert [note for note in told if isinstance(note, str)] == ["own: its rows are guesses"]


def test_of_rules_with_a_formula_that_alone_is_decided() -> None:
    [result] = pxp.check(pxp.Interact(3, 1), "F ended", relations="equivalence")
    assert result.name == "F ended"


def test_a_system_and_a_table_beside_it_are_refused() -> None:
    for beside in ("pxp", System.load("pxp")):
        with pytest.raises(UsageError, match="is a whole system; check it alone, without"):
            list(answer(Request((System.load("interact"), beside), channels=("sync",))))


def test_a_property_is_called_as_it_is_described() -> None:
    described = Property(formula="F ended", expected="FAILS", about="all come to an end")
    plain = Property(formula="G !ended", expected="FAILS")
    found = pxp.check(System.load("pxp"), properties=[described, plain])
    titles = {result.name: result.title for result in found}
    assert titles["F ended"] == "all come to an end"
    assert titles["G !ended"] != ""


def test_what_a_plug_in_checks_is_its_own_whatever_is_asked() -> None:
    gateway = pytest.importorskip("pxp_fsm.plugins.gateway")
    policy = gateway.load_policy(ROOT / "examples/gateway/confirm.toml")
    [result] = pxp.check(policy, "G (change@NEW | change@APPROVED)")
    assert (result.subject, result.status) == ("change", Status.HOLDS)


def test_an_order_is_advised_where_it_keeps_what_is_asked() -> None:
    system = System.load("pxp", channel="fifo:1")
    for formula, kept in (("F ended", True), ("F 1.TERM", False)):
        [result] = pxp.check(system, formula, limit=1)
        assert ("reduction by partial-order" in result.reason) is kept


def test_relations_without_a_formula_are_of_claims() -> None:
    """A formula over relations is about sessions; relations alone choose what claims assume."""
    for formulas, sessions in (((), False), (("F ended",), True)):
        request = Request(("pxp",), formulas=formulas, relations="noisy")
        assert subjects.is_about_sessions(request) is sessions


CALL = """
.outputs
.state graph
q0 1 ! call q1
.marking q0
.end

.outputs
.state graph
q0 0 ? call q1
.marking q0
.end
"""


def test_a_file_of_another_tool_is_checked_over_the_channel_that_its_format_means(
    tmp_path: Path,
) -> None:
    pytest.importorskip("pxp_fsm.plugins.exports")
    file = tmp_path / "call.cfsm"
    file.write_text(CALL, "utf-8")
    meant = [*answer(Request((str(file),), names=("progress",)))]
    assert [found.assumptions for found in meant] == ["free guards, fifo of any capacity"]
    given = [*answer(Request((str(file),), names=("progress",), channels=("fifo:2",)))]
    assert [found.assumptions for found in given] == ["free guards, fifo:2"]


def test_of_rules_a_formula_is_checked_alone_unless_claims_are_named() -> None:
    rules = pxp.Interact(2, 1)
    [alone] = pxp.check(rules, "F ended", relations="noisy")
    assert alone.name == "F ended"
    both = pxp.check(rules, "F ended", "never-ultra", relations="noisy")
    assert [found.name for found in both] == ["never-ultra", "F ended"]


def test_a_certificate_made_anew_comes_after_what_it_proves(tmp_path: Path) -> None:
    *proofs, last = subjects._proved("pxp", pxp.Pxp(), [], anew=True)
    assert proofs and all(hasattr(proof, "assumptions") for proof in proofs)
    assert isinstance(last, RulesCertificate)
    assert len(last.claims) > 3


def test_without_a_certificate_asked_for_rules_give_results_alone() -> None:
    file = str(ROOT / "examples/with_rules/polls.toml")
    assert not pxp.check(file, "at-most-most-polls").certificates
    given = answer(Request((file,), names=("at-most-most-polls",), certificate=Path("c.json")))
    assert [*given] and len(given.certificates) == 1
    over = answer(Request((file,), channels=("fifo:2",), certificate=Path("c.json")))
    assert {found.status for found in over} == {Status.UNKNOWN} and not over.certificates


def test_running_agents_are_compared_by_themselves() -> None:
    for names in (("running", "never-ultra"), ("running", "never-ultra", "replies-INIT")):
        with pytest.raises(UsageError, match="running agents are compared with the model"):
            list(answer(Request((pxp.Interact(2, 1),), names=names, relations="noisy")))


def test_a_certificate_says_that_it_leaves_the_rules_out(tmp_path: Path) -> None:
    """And a formula about a register does not seem to be misspelt."""
    system = tmp_path / "polls.toml"
    folder = ROOT / "examples" / "with_rules"
    members = "".join(
        f"[[members]]\nname = {json.dumps(name)}\n"
        f"table = {json.dumps(str(folder / f'polls_{name}.toml'))}\n"
        for name in ("client", "server")
    )
    system.write_text(
        f'format = 1\nname = "p"\ntitle = "p"\n{members}[parameters]\nmost = 3\n', "utf-8"
    )
    left_out = "rules left out: polls_client: a certificate is of every decision"
    by_rules = answer(Request((str(system),), names=("no-deadlock",)))
    assert [found.status for found in by_rules] == [Status.HOLDS]
    assert left_out not in by_rules.notes
    asked = Request((str(system),), names=("no-deadlock",), certificate=Path("c.json"))
    certified = answer(asked)
    assert len([*certified]) == 1
    assert left_out in certified.notes
    about = replace(asked, names=(), formulas=("G client.polls<=3",))
    with pytest.raises(UsageError, match=left_out):
        list(answer(about))
