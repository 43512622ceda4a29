"""Calls as OpenTelemetry spans: where a tracer is set up, and without a word of what was said."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from backends.models.catalogue import parse_model_name
from backends.models.middleware.recording import traced
from pxp_fsm.errors import NoAnswer
from pxp_fsm.prompting.model import ModelRequest, Reply, Usage, layered
from tests.backends.model_servers import (
    ANTHROPIC,
    KEY,
    Scripted,
    Server,
    ask,
    reply_to,
    run,
    served,
)

NAMED = parse_model_name("openai:x@http://localhost:8000/v1")


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield exporter
    provider.shutdown()


def test_a_call_is_a_span_by_the_conventions(exported: InMemorySpanExporter) -> None:
    model = layered(Scripted(lambda _: Reply("said", usage=Usage(10, 5, 3, 2))), traced(NAMED))
    run(model.reply(ask("asked", session="drug-1/1/1", purpose="judge", temperature=0.5)))
    (span,) = exported.get_finished_spans()
    found = dict(span.attributes or {})
    assert span.name == "chat x"
    assert span.kind is trace.SpanKind.CLIENT
    assert found["gen_ai.operation.name"] == "chat"
    assert found["gen_ai.provider.name"] == "openai"
    assert found["gen_ai.request.temperature"] == 0.5
    assert found["gen_ai.conversation.id"] == "drug-1/1/1"
    assert found["gen_ai.usage.input_tokens"] == 15
    assert found["gen_ai.usage.output_tokens"] == 5
    assert (found["server.address"], found["server.port"]) == ("localhost", 8000)
    assert found["pxp.purpose"] == "judge"
    assert not {"asked", "said"} & {str(value) for value in found.values()}


def test_a_failure_is_marked_without_its_words(exported: InMemorySpanExporter) -> None:
    def fails(_request: ModelRequest) -> Reply:
        raise NoAnswer("secret words")

    with pytest.raises(NoAnswer):
        run(layered(Scripted(fails), traced(NAMED)).reply(ask()))
    (span,) = exported.get_finished_spans()
    assert span.status.status_code is trace.StatusCode.ERROR
    assert dict(span.attributes or {})["error.type"] == "NoAnswer"
    assert "secret words" not in span.to_json()


def test_one_call_is_one_span_though_the_vendors_library_can_trace_too(
    exported: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    served(ANTHROPIC, Server(lambda request: reply_to(request, ANTHROPIC)), ask())
    spans = exported.get_finished_spans()
    assert [span.name for span in spans] == ["chat claude-haiku-4-5"]
    assert KEY not in spans[0].to_json()


def test_nothing_happens_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    assert run(layered(Scripted(lambda _: Reply("x")), traced(NAMED)).reply(ask())).text == "x"
