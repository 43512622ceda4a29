"""Names, catalogues, keys and presets: what is wrong is said before a run, and no key is shown."""

from __future__ import annotations

import copy
import logging
import pickle
import re
import sys
from datetime import date
from functools import partial
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.databases import CallsOf, SqlBlackboard
from backends.models.catalogue import (
    HOMES,
    catalogue,
    longest_reply,
    parse_model_name,
    warnings,
)
from backends.models.clients.keys import Key, find_key
from backends.models.clients.openai_chat import OpenAIChat
from backends.models.paper_settings import adapted, find_preset, presets
from backends.models.registry import check_model
from backends.models.settings import Settings
from pxp_fsm.errors import FileError, Halted, NoAnswer, UsageError
from pxp_fsm.prompting.model import Capability, Usage
from tests.backends.model_servers import (
    ANTHROPIC,
    BOTH,
    KEY,
    OPENAI,
    Server,
    ask,
    good,
    reply_to,
    served,
)
from tests.backends.records import NAME, RUN, record

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("name", "kind", "model", "url"),
    [
        ("anthropic:claude-haiku-4-5", "anthropic", "claude-haiku-4-5", HOMES["anthropic"]),
        ("openai:gpt-4o", "openai", "gpt-4o", HOMES["openai"]),
        (
            "openai:llama3.2:3b@http://localhost:11434/v1/",
            "openai",
            "llama3.2:3b",
            "http://localhost:11434/v1",
        ),
        ("openai:meta/a@b@https://x.org/v1", "openai", "meta/a@b", "https://x.org/v1"),
        ("anthropic:x@http://[::1]:80", "anthropic", "x", "http://[::1]:80"),
    ],
)
def test_a_name_says_kind_model_and_server(name: str, kind: str, model: str, url: str) -> None:
    found = parse_model_name(name)
    assert (found.kind, found.model, found.url) == (kind, model, url)
    assert parse_model_name(str(found)) == found


@pytest.mark.parametrize(
    "name",
    [
        "",
        "claude",
        "anthropic",
        "anthropic:",
        "gemini:x",
        "openai:@http://x/v1",
        "openai: x",
        "openai:x@http://",
        "openai:x@http://a:b",
        "openai:x@http://a@http://b",
        "openai:x\n",
        "openai:x@http://a b/v1",
        "openai:x@http://[::1",
        "openai:x@http://a:99999",
    ],
)
def test_a_name_that_is_none_is_refused_in_a_sentence(name: str) -> None:
    with pytest.raises(UsageError, match=r"write anthropic:NAME|names no|cannot be read"):
        parse_model_name(name)


@pytest.mark.parametrize("url", [f"https://me:{KEY}@x.org/v1", f"https://x.org/v1?key={KEY}"])
def test_a_key_in_a_url_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(UsageError, match="a model's URL holds no key") as refused:
        parse_model_name(f"openai:x@{url}")
    assert KEY not in str(refused.value)


@given(st.text())
def test_any_name_is_parsed_or_refused(name: str) -> None:
    for text in (name, f"openai:{name}", f"anthropic:x@http://{name}"):
        try:
            assert parse_model_name(str(parse_model_name(text))) == parse_model_name(text)
        except UsageError as error:
            assert str(error)


@pytest.mark.parametrize(
    ("name", "variable", "url"),
    [
        (ANTHROPIC, "ANTHROPIC_BASE_URL", "https://gateway.example"),
        (OPENAI, "OPENAI_BASE_URL", "https://gateway.example/v1"),
    ],
)
def test_a_server_that_the_environment_names_is_asked_in_the_vendors_place(
    monkeypatch: pytest.MonkeyPatch, name: str, variable: str, url: str
) -> None:
    at_home = catalogue().facts(name)
    monkeypatch.setenv(at_home.server.key, KEY)
    monkeypatch.setenv(variable, f"{url}/")
    facts = catalogue().facts(name)
    assert str(facts.name) == f"{name}@{url}"
    assert (facts.server, facts.price) == (at_home.server, at_home.price)
    assert catalogue().facts(str(facts.name)) == facts
    server = Server(good(name))
    assert served(name, server, ask()).text == "fine"
    (request,) = server.seen
    assert str(request.url).startswith(f"{url}/")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    other = catalogue().facts(f"{name}@https://elsewhere.example/v1")
    assert (other.server.key, other.price) == ("", None)
    monkeypatch.setenv(variable, "https://me:secret@gateway.example")
    with pytest.raises(UsageError, match="holds no key"):
        parse_model_name(name)


def test_a_server_named_in_a_folders_env_file_is_not_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("ANTHROPIC_BASE_URL=https://thief.example\n")
    assert parse_model_name(ANTHROPIC).url == HOMES["anthropic"]


@pytest.mark.parametrize(
    "name",
    [
        "anthropic:claude-opus-5-5@http://localhost:4000",
        "anthropic:claude-next-6-4-20270101",
        "anthropic:claude-haiku-7",
    ],
)
def test_a_model_that_is_not_known_by_name_keeps_its_thought_and_its_effort(name: str) -> None:
    known = catalogue().server(parse_model_name("anthropic:claude-opus-5-5"))
    server = catalogue().server(parse_model_name(name))
    assert (
        (server.thinking, server.effort)
        == (known.thinking, known.effort)
        == (
            16_000,
            ("low", "medium", "high", "xhigh", "max"),
        )
    )


def test_capabilities_are_declared_and_checked_before_a_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert Capability.TEMPERATURE not in check_model(ANTHROPIC, [Capability.IMAGES])
    with pytest.raises(UsageError, match="does not support what is requested: seed, temperature"):
        check_model(ANTHROPIC, [Capability.TEMPERATURE, Capability.SEED])
    local = "openai:llava@http://localhost:8000/v1"
    with pytest.raises(UsageError, match="images; if your server does, declare it"):
        check_model(local, [Capability.IMAGES])
    with pytest.raises(UsageError, match="batches"):
        check_model(local, settings=Settings(batches=True))
    with pytest.raises(UsageError, match=r"price of .* is unknown"):
        check_model(local, settings=Settings(dollars=1.0))
    own = tmp_path / "mine.toml"
    own.write_text(
        '[[server]]\nmodels = "openai:llava@http://localhost*"\ncan = ["images"]\n'
        '[[price]]\nmodels = "openai:llava@*"\ninput = 0\noutput = 0\nas_of = 2026-01-01\n'
    )
    settings = Settings(dollars=1.0, catalogue=own)
    assert check_model(local, [Capability.IMAGES], settings) == {Capability.IMAGES}
    assert check_model(ANTHROPIC, settings=settings)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[server]\n", "line 1: this is not TOML"),
        ("server = 1\n", "1 is not of the type array"),
        ("[server]\n", "in TOML write [[server]]"),
        ("[[servers]]\n", "unknown key servers; known here: server, price, retirement"),
        ('[[server]]\nmodels = "x"\n', "line 1: server[0]: can is missing"),
        ('[[server]]\nmodels = "x"\ncan = ["fly"]\n', "line 3: server[0].can[0]: 'fly' is none of"),
        ('[[server]]\nmodels = "x"\ncan = []\nkey = 5\n', "line 4: server[0].key: 5 is not"),
        ('[[server]]\nmodels = "x"\ncan = []\nlimit = "n"\n', "'n' is none of max_tokens, "),
        (
            '[[server]]\nmodels = "openai:x"\ncan = ["batches"]\n',
            "line 3: batches require an anthropic model",
        ),
        ('[[price]]\nmodels = "x"\ninput = 1\noutput = 1\n', "price[0]: as_of is missing"),
        (
            '[[price]]\nmodels = "x"\ninput = -1\noutput = 1\nas_of = 2026-01-01\n',
            "line 3: price[0]",
        ),
        ('[[price]]\nmodels = "x"\ninput = nan\noutput = 1\nas_of = 2026-01-01\n', "not finite"),
        ('[[price]]\nmodels = "x"\ninput = true\noutput = 1\nas_of = 2026-01-01\n', "True is no"),
        (
            '[[price]]\nmodels = "x"\ninput = 1\noutput = 1\nas_of = 2026-01-01\n'
            "long = { above = 9 }\n",
            "line 6: price[0].long: input, output are missing",
        ),
        ('[[server]]\nmodels = "x"\ncan = []\nthinking = -1\n', "thinking: -1 is too small"),
        (
            '[[server]]\nmodels = "x"\ncan = []\nimage_tokens = -1\n',
            "image_tokens: -1 is too small",
        ),
        ('[[server]]\nmodels = "x"\ncan = []\neffort = [1]\n', "effort[0]: 1 is not of the type"),
        ('[[retirement]]\nmodels = "x"\non = 2026-01-01\n', "retirement[0]: as_of is missing"),
        ("a = " + "[" * 5000, "nested too deeply"),
    ],
)
def test_a_catalogue_that_cannot_be_used_is_refused_with_its_entry(
    text: str, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(FileError) as refused:
        catalogue(path)
    assert says in str(refused.value)
    assert str(path) in str(refused.value)


def test_every_bundled_price_is_dated_and_has_its_source() -> None:
    for price in catalogue().prices:
        assert price.source.startswith("https://")
        for rates in filter(None, (price.rates, price.long)):
            assert rates.cache_read <= rates.input <= rates.output


def test_a_long_prompt_costs_its_own_rates_all_of_it() -> None:
    facts = catalogue().facts("anthropic:claude-haiku-5-5")
    price = facts.price
    assert price is not None and price.above == 100_000
    assert price.of(Usage(sent=100_000, received=1000)) == pytest.approx(0.0105)
    assert price.of(Usage(sent=90_000, received=1000, cache_read=10_001)) == pytest.approx(
        (90_000 * 0.5 + 1000 * 2.5 + 10_001 * 0.05) / 1e6
    )
    assert facts.worst(ask("x" * 1000)) < 0.01
    assert facts.worst(ask("x" * 200_000)) > 200_000 * 0.5 / 1e6


def test_a_model_may_think_beside_its_answer_and_a_cap_reckons_with_it() -> None:
    for name, thinking in (
        ("anthropic:claude-haiku-4-5-20251001", 0),
        ("anthropic:claude-opus-4-8", 0),
        ("anthropic:claude-haiku-5-5", 16_000),
        ("anthropic:claude-opus-5", 16_000),
        ("anthropic:claude-fable-5-1", 16_000),
        ("openai:gpt-4o-mini", 0),
        ("openai:gpt-6-luna", 16_000),
        ("openai:gpt-6-luna@http://localhost:1", 0),
    ):
        facts = catalogue().facts(name)
        assert facts.server.thinking == thinking, name
        assert longest_reply(ask(max_tokens=300), facts.server) == 300 + thinking
    facts = catalogue().facts("anthropic:claude-opus-5-5")
    assert facts.worst(ask()) > 16_000 * 20 / 1e6


def test_a_retired_model_is_refused_and_its_replacement_named(tmp_path: Path) -> None:
    for preset in ("B-drug", "C-rad", "C-drug"):
        name = find_preset(preset).machine.model
        with pytest.raises(UsageError, match=r"was retired by its vendor on .* such as anthropic:"):
            check_model(name)
        assert check_model(name, settings=Settings(replay=tmp_path / "recording.jsonl"))
    facts = catalogue().facts("openai:gpt-4o")
    assert facts.retirement is not None
    announced = "The vendor of openai:gpt-4o retires it on 2027-01-14; it names openai:gpt-6-luna"
    assert any(announced in said for said in warnings([facts], date(2026, 11, 22)))
    assert warnings([facts], date(2026, 7, 1)) == ()


def test_an_old_price_is_told_with_what_to_do_once_for_all_models_of_that_day() -> None:
    facts = [
        catalogue().facts(f"anthropic:{name}") for name in ("claude-opus-5-5", "claude-haiku-4-5")
    ]
    assert warnings(facts, date(2027, 4, 22)) == ()
    (said,) = warnings([*facts, facts[0]], date(2027, 4, 23))
    assert said.startswith(
        f"The prices of {facts[0].name} and {facts[1].name} were read on 2026-10-24"
    )
    assert "more than 180 days ago" in said and "--models" in said
    (said,) = warnings(facts[1:], date(2027, 4, 23))
    assert said.startswith(f"The price of {facts[1].name} was read on 2026-10-24")


def test_no_page_names_a_model_that_is_retired() -> None:
    named = re.compile(r"(?:anthropic|openai):(?:claude|gpt)-[a-z0-9.-]*[a-z0-9]")
    table = catalogue()
    pages = (ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/*"))
    for page in (one for one in pages if one.is_file() and one.suffix != ".pyc"):
        for name in named.findall(page.read_text("utf-8")):
            if name not in {preset.machine.model for preset in presets()}:
                table.facts(name).check_served()


def test_the_vendors_key_goes_to_the_vendor_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    for name in ("anthropic:claude-haiku-4-5@http://localhost:1", "openai:gpt-4o@http://l:1/v1"):
        server = Server(partial(reply_to, name=name))
        served(name, server, ask())
        assert KEY not in str(server.seen[0].headers)


@pytest.mark.parametrize("name", BOTH)
def test_without_a_key_the_remedy_and_the_offline_way_are_named(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(UsageError, match=r"\.env file.*run offline.*can be replayed"):
        check_model(name)
    assert check_model(name, settings=Settings(replay=tmp_path / "any.jsonl"))


def test_a_key_comes_from_the_environment_or_the_env_file_of_this_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert find_key("ANTHROPIC_API_KEY") is None
    (tmp_path / ".env").write_text(f'export ANTHROPIC_API_KEY="{KEY}"\nOTHER=$(rm -rf)\n')
    found = find_key("ANTHROPIC_API_KEY")
    assert found is not None and found.reveal() == KEY
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-another")
    found = find_key("ANTHROPIC_API_KEY")
    assert found is not None and found.reveal() == "sk-another"
    for wrong in ("sk a b", "sk-ü", "sk\tx"):
        monkeypatch.setenv("ANTHROPIC_API_KEY", wrong)
        with pytest.raises(UsageError, match="is not a key") as refused:
            find_key("ANTHROPIC_API_KEY")
        assert wrong not in str(refused.value)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    (tmp_path / ".env").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="lines of NAME=VALUE"):
        find_key("ANTHROPIC_API_KEY")


def test_a_key_cannot_be_printed_or_stored() -> None:
    key = Key(KEY, "X")
    assert KEY not in f"{key!r} {key} {[key]}"
    for store in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be stored"):
            store(key)


@pytest.mark.parametrize("name", BOTH)
def test_a_key_is_in_no_log_database_error_repr_or_recording(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    database, recording = tmp_path / "lab.sqlite", tmp_path / "calls.jsonl"
    refusing = httpx2.Response(
        401, json={"error": {"type": "authentication_error", "message": f"what is this {KEY}?"}}
    )
    said = list[str]()
    with caplog.at_level(logging.DEBUG), SqlBlackboard(str(database)) as board:
        board.start_run(RUN)
        board.start_session(record())
        for handlers in (
            [lambda r: httpx2.Response(529), lambda r: reply_to(r, name)],
            [lambda _r: refusing],
            [lambda _r: httpx2.Response(400, json={"error": {"message": "no"}})],
        ):
            try:
                reply = served(
                    name,
                    Server(*handlers),
                    ask(str(len(said)), session=NAME),
                    Settings(cache=recording),
                    log=CallsOf(board, "drug-1"),
                )
                said.append(repr(reply))
            except (Halted, NoAnswer) as error:
                said.append(f"{error!r} {error} {error.__cause__!r} {vars(error)}")
        board.engine.dispose()
    assert len(said) == 3
    assert caplog.records
    assert KEY not in caplog.text
    assert KEY not in "".join(said)
    assert b"fine" in recording.read_bytes()
    for path in tmp_path.iterdir():
        assert KEY.encode() not in path.read_bytes()


def test_without_the_openai_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(UsageError, match=r"pip install 'pxp-fsm\[openai\]'"):
        served(OPENAI, Server(), ask())
    assert OpenAIChat.__module__ == "backends.models.clients.openai_chat"


def test_the_papers_settings_are_presets() -> None:
    given = {
        preset.name: (
            preset.machine.temperature,
            preset.machine.max_tokens,
            preset.judge.temperature,
            preset.judge.max_tokens,
            dict(preset.plan),
        )
        for preset in presets()
    }
    assert given == {
        "B-rad": (1.0, 300, 0.0, 10, {"repetitions": 5, "carry": True}),
        "B-drug": (0.3, 1024, 0.0, 10, {"repetitions": 1, "carry": True}),
        "C-rad": (None, 300, 0.0, 10, {"repetitions": 5, "learn": "better"}),
        "C-drug": (None, 1024, 0.0, 10, {"repetitions": 1, "learn": "better"}),
    }
    with pytest.raises(UsageError, match="there are: B-rad, B-drug, C-rad, C-drug"):
        find_preset("D")


def test_a_preset_says_what_a_model_of_today_does_not_take() -> None:
    judge = find_preset("C-rad").judge
    table = catalogue()
    named = parse_model_name(ANTHROPIC)
    asking, said = adapted(judge, ANTHROPIC, table.server(named).can)
    assert (asking.temperature, asking.plain) == (None, True)
    assert said is not None and "takes no temperature (the paper's is 0)" in said
    asking, said = adapted(judge, OPENAI, table.server(parse_model_name(OPENAI)).can)
    assert (asking.temperature, said) == (0.0, None)
    for preset in presets():
        for one in (preset.machine, preset.judge):
            table.server(parse_model_name(one.model))


def test_a_library_that_is_not_installed_is_missed_before_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pxp_fsm.errors.find_spec", lambda _name: None)
    with pytest.raises(
        UsageError, match=r"needs the library openai, .* pip install 'pxp-fsm\[openai\]'"
    ):
        check_model("openai:llama@http://localhost:1/v1")
