"""OpenTelemetry spans as recordings: our sessions through OpenTelemetry's own file exporter, and
conversations of other programs by a mapping.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from pytest_httpserver import HTTPServer

from backends.databases import SqlBlackboard
from pxp_fsm.errors import PXPError
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.runs import resume, start
from pxp_fsm.experiments.telemetry import CAPTURE
from tests.analysis.recorded import HOSTILE, RUN, audited, pxp, record_sessions


class Spans:
    """A file that spans are exported to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(path=path)))

    def written(self) -> list[dict[str, Any]]:
        """Each span with its attributes as texts."""
        return [
            {
                **span,
                "attributes": {
                    one["key"]: _plain(one["value"]) for one in span.get("attributes", ())
                },
            }
            for line in self.path.read_text("utf-8").splitlines()
            for resource in json.loads(line)["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
        ]


def _plain(value: dict[str, Any]) -> str:
    return str(next(iter(value.values())))


@pytest.fixture
def spans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Spans]:
    found = Spans(tmp_path / "spans.jsonl")
    monkeypatch.setattr(trace, "get_tracer", found.provider.get_tracer)
    monkeypatch.delenv(CAPTURE, raising=False)
    yield found
    found.provider.shutdown()


@pytest.fixture
def board(tmp_path: Path) -> Iterator[SqlBlackboard]:
    with SqlBlackboard(str(tmp_path / "lab.sqlite")) as made:
        yield made


@pytest.mark.deep
def test_spans_of_sessions_give_the_same_audit_without_a_text(
    spans: Spans, board: SqlBlackboard
) -> None:
    record_sessions(board, 24, traced=True)
    expected = audited(str(board.engine.url.database))
    assert {"noisy", "equivalence"} <= {key for key, value in expected["possible"].items() if value}
    assert expected["findings"]
    assert audited(spans.path) == expected
    assert "script" not in spans.path.read_text("utf-8")


def test_spans_have_texts_where_the_conventions_variable_asks_for_them(
    spans: Spans, board: SqlBlackboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CAPTURE, "SPAN_ONLY")
    record_sessions(board, 3, traced=True)
    assert audited(spans.path) == audited(str(board.engine.url.database))
    first = next(one for one in spans.written() if one["name"] == "invoke_agent m")
    [output] = json.loads(first["attributes"]["gen_ai.output.messages"])
    [part] = output["parts"]
    sent = board.session(f"{RUN}/1/1").history[0]
    assert json.loads(part["content"])["prediction"] == sent.answer.prediction
    assert HOSTILE in sent.answer.prediction


def test_a_monitor_of_spans_is_that_of_the_database(spans: Spans, board: SqlBlackboard) -> None:
    record_sessions(board, 3, traced=True)
    arguments = ("monitor", f"{RUN}/1/1", "F ended.ratified", "G number<=3", "--json", "--database")
    database = str(board.engine.url.database)
    expected = pxp(*arguments, database, code=None)
    done = pxp(*arguments, str(spans.path), code=None)
    assert (done.exit_code, done.output) == (expected.exit_code, expected.output)
    assert json.loads(done.output)


def test_a_run_is_traced_and_one_that_was_resumed_is_traced_whole(
    spans: Spans, board: SqlBlackboard
) -> None:
    class Stopped(Exception):
        pass

    def stop(step: Any) -> None:
        if step.event is not None and step.event.number == 2:
            raise Stopped

    begun = start(Plan("drug", instances="2"), board)
    with pytest.raises(Stopped):
        begun.execute(stop)
    assert [one["name"] for one in spans.written()].count("invoke_workflow interact") == 1
    resume(begun.name, board).execute()
    sessions = board.sessions()
    assert len(sessions) == 2
    own = [one for one in spans.written() if one["name"].startswith("invoke_workflow")]
    assert len(own) == 3
    assert audited(spans.path) == audited(str(board.engine.url.database))


def test_calls_and_messages_are_spans_below_their_session(
    spans: Spans, board: SqlBlackboard, httpserver: HTTPServer
) -> None:
    text = json.dumps({"prediction": ["CCO"], "explanation": "By an esterification."})
    message = {"role": "assistant", "content": text}
    reply = {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    httpserver.expect_request("/v1/chat/completions").respond_with_json(reply)
    model = f"openai:x@{httpserver.url_for('/v1')}"
    start(Plan("drug", instances="2", machine=model), board).execute()
    written = {one["spanId"]: one for one in spans.written()}
    below = [one for one in written.values() if not one["name"].startswith("invoke_workflow")]
    assert {one["name"] for one in below} == {"chat x", "invoke_agent m", "invoke_agent h"}
    for one in below:
        parent = written[one["parentSpanId"]]
        assert parent["name"] == "invoke_workflow interact"
        key = "gen_ai.conversation.id"
        assert parent["attributes"][key] == one["attributes"][key]
        assert int(parent["startTimeUnixNano"]) <= int(one["startTimeUnixNano"])
        assert int(one["endTimeUnixNano"]) <= int(parent["endTimeUnixNano"])
    assert audited(spans.path) == audited(str(board.engine.url.database))


def keep(path: Path, *kept: int) -> Path:
    """The spans of some lines, as if the others had been lost."""
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join(lines[one] for one in kept), "utf-8")
    return path


def test_lost_spans_are_counted_and_nothing_is_made_up(spans: Spans, board: SqlBlackboard) -> None:
    record_sessions(board, 3, traced=True)
    names = [one["name"] for one in spans.written()]
    ends = [place for place, name in enumerate(names) if name.startswith("invoke_workflow")]
    found = audited(keep(spans.path, *(n for n in range(len(names)) if n not in (1, ends[1]))))
    assert found["sessions"] == 3
    assert found["not_audited"] == {
        "message 2 is missing": 1,
        "the span of the session is missing: it had not ended, or was lost": 1,
    }


def test_an_attribute_that_was_cut_is_an_error(spans: Spans, board: SqlBlackboard) -> None:
    record_sessions(board, 1, traced=True)
    text = spans.path.read_text("utf-8").replace(', \\"judgements\\": []}', "", 1)
    spans.path.write_text(text, "utf-8")
    done = pxp("audit", str(spans.path), code=2)
    assert "has no session that can be read: an attribute was cut off" in done.output


def span(agent: str, text: str, at: int, **more: Any) -> dict[str, Any]:
    output = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": text}]}])
    values = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": "c-17",
        "gen_ai.agent.name": agent,
        "gen_ai.output.messages": output,
        **more,
    }
    return {
        "traceId": "t",
        "spanId": f"s{at}",
        "startTimeUnixNano": str(at),
        "endTimeUnixNano": str(at + 5),
        "attributes": [{"key": key, "value": {"stringValue": one}} for key, one in values.items()],
    }


def otlp(path: Path, *found: dict[str, Any], indent: int | None = None) -> Path:
    document = {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "x"}, "spans": list(found)}]}]}
    path.write_text(json.dumps(document, indent=indent), "utf-8")
    return path


def said(tag: str) -> str:
    return json.dumps({"verdict": tag, "prediction": "yes", "explanation": "because"})


MAPPING = """
format = 1
protocol = "interact"
n = 6
k = 3
agents = ["planner", "critic"]
tag = "verdict"
[tags]
propose = "INIT"
agree = "RATIFY"
disagree = "REFUTE"
"""


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    path = tmp_path / "mapping.toml"
    path.write_text(MAPPING, "utf-8")
    return path


@pytest.mark.parametrize("indent", [None, 1])
def test_conversations_of_other_programs_are_audited_by_a_mapping(
    tmp_path: Path, mapping: Path, indent: int | None
) -> None:
    call = {"gen_ai.operation.name": "chat"}
    path = otlp(
        tmp_path / "spans.json",
        span("critic", said("agree"), 30),
        span("planner", "I shall propose a plan.", 5),
        span("planner", said("propose"), 10),
        span("planner", said("propose"), 9, **call),
        span("planner", f"```json\n{said('agree')}\n```", 50),
        span("critic", said("REJECT"), 30, **{"gen_ai.conversation.id": "c-18"}),
        indent=indent,
    )
    found = audited(path, "--mapping", str(mapping))
    assert (found["sessions"], found["messages"]) == (2, 4)
    assert found["possible"] == {"equivalence": 1, "tolerance": 0, "noisy": 0, "never": 1}
    [noted] = found["noted"]
    assert noted["session"] == "spans/c-18"
    assert noted["findings"][0]["kind"] == "impossible message"
    recording = ("--database", str(path), "--mapping", str(mapping))
    formula = "F (1.RATIFY & number=3)"
    done = pxp("monitor", "spans/c-17", formula, "--json", *recording)
    assert json.loads(done.stdout)["verdicts"][-1]["verdicts"] == {formula: "true"}
    named = pxp("monitor", "spans", formula, *recording, code=4)
    assert f"Monitor {formula}: true in 1\n" in named.output
    assert "Not monitored: spans/c-18: " in named.output


def test_a_message_in_lines_and_other_agents(tmp_path: Path, mapping: Path) -> None:
    mapping.write_text('format = 1\nprotocol = "pxp"\nform = "lines"\ntag = "act"\n', "utf-8")
    text = "Act: {}\nPrediction: yes\nExplanation: because\nof this"
    path = otlp(
        tmp_path / "spans.json",
        *(span(f"a{n % 2}", text.format(tag), n) for n, tag in enumerate(("INIT", "RATIFY"))),
        *(
            span(f"a{n}", text.format("INIT"), n, **{"gen_ai.conversation.id": "three"})
            for n in range(3)
        ),
        span("a0", text.format("INIT"), 1, **{"gen_ai.conversation.id": "cut"}),
        span("a1", "nothing", 2, **{"gen_ai.conversation.id": "cut"}),
    )
    found = audited(path, "--mapping", str(mapping))
    assert found["possible"]["equivalence"] == 1
    assert sorted(found["not_audited"]) == [
        "it has messages of 3 agents ('a0, a1, a2'); a session has two",
        "its text 2, of 'a1': it lacks lines that begin with act:, prediction:, explanation:",
    ]
    recording = ("--database", str(path), "--mapping", str(mapping), "--json")
    monitored = json.loads(pxp("monitor", "spans", "F number=2", *recording, code=4).stdout)
    assert [one["verdict"] for one in monitored["verdicts"]] == ["true"]
    assert {one["session"]: one["reason"] for one in monitored["not_monitored"]} == {
        "conversation 'three'": "it has messages of 3 agents ('a0, a1, a2'); a session has two",
        "conversation 'cut'": "its text 2, of 'a1': it lacks lines that begin with act:, "
        "prediction:, explanation:",
    }


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("format = 1\n", "protocol"),
        ('format = 1\nprotocol = "talk"\n', "line 2: protocol"),
        ('format = 1\nprotocol = "pxp"\nn = 3\n', "line 3: n is INTERACT's bound"),
        ('format = 1\nprotocol = "interact"\nagents = ["a"]\n', "line 3: agents"),
        ("format = [\n", "this is not TOML"),
    ],
)
def test_a_wrong_mapping_is_refused_with_its_line(
    tmp_path: Path, mapping: Path, written: str, problem: str
) -> None:
    mapping.write_text(written, "utf-8")
    path = otlp(tmp_path / "spans.json", span("a", "x", 1))
    done = pxp("audit", str(path), "--mapping", str(mapping), code=2)
    assert "mapping.toml" in done.output
    assert problem in done.output


def test_what_needs_a_mapping_says_so(tmp_path: Path, board: SqlBlackboard, mapping: Path) -> None:
    path = otlp(tmp_path / "spans.json", span("a", said("agree"), 1))
    assert "name a --mapping" in pxp("audit", str(path), code=2).output
    record_sessions(board, 1)
    database = str(board.engine.url.database)
    assert "--mapping applies" in pxp("audit", database, "--mapping", str(mapping), code=2).output


@pytest.mark.parametrize(
    "text",
    [
        '{"resourceSpans": [',
        '{"resourceSpans": 3}',
        '{"resourceSpans": [7]}',
        '{"resourceSpans": [{"scopeSpans": [{"spans": ["x"]}]}]}',
        '{"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": "x"}]}]}]}',
        '{"resourceSpans": []}\n{"resourceSpans": [}',
        '{"resourceSpans": ' + "[" * 100_000,
        '{"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": [{"key": "a", "value": '
        + '{"arrayValue": {"values": [' * 60
        + "]}}" * 60
        + "}]}]}]}]}",
        '{"resourceSpans": []}',
        '{"resourceSpans": "\xff"}',
    ],
)
def test_bad_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "spans.json"
    path.write_bytes(text.encode("latin-1"))
    done = pxp("audit", str(path), code=2)
    assert done.output.startswith("Error: ")
    assert "spans.json" in done.output
    assert not isinstance(done.exception, PXPError)
