"""Tables that are edited in the explorer: what is explored follows, older queries are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pxp_fsm.automata.serialization import to_toml
from pxp_fsm.automata.tables import load_automaton
from pxp_fsm.web.editing import Editor
from tests.web.explorers import client_of, events_of

pytestmark = pytest.mark.usefixtures("quick")


def test_a_table_is_edited_and_what_is_explored_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "my.toml"
    text = to_toml(load_automaton("pxp"))
    path.write_text(text, "utf-8")
    editor = Editor((str(path),), "fifo:1")
    with client_of(editor.subject, editor) as client:
        opened = client.get("/api/system").json()
        assert (opened["tables"][0]["text"], opened["tables"][0]["saved"]) == (text, True)
        wrong = text.replace('send = "TERM"', 'sends = "TERM"', 1)
        query = {"table": 0, "text": wrong, "choices": [0]}
        (fault, *_) = client.post("/api/edit", json=query).json()["faults"]
        assert "sends" in wrong.splitlines()[fault["line"] - 1]
        assert client.get("/api/system").json()["system"] == opened["system"]
        new = text.replace("REFUTE", "DOUBT")
        query = {"table": 0, "text": new, "choices": [0, 1]}
        edited = client.post("/api/edit", json=query).json()
        now = client.get("/api/system").json()
        stands = {"faults": [], "choices": [0, 1], "system": now["system"]["fingerprint"]}
        assert edited == stands
        assert now["system"]["fingerprint"] != opened["system"]["fingerprint"]
        assert path.read_text("utf-8") == text
        assert client.post("/api/save", json={"table": 1}).status_code == 422
        assert client.post("/api/save", json={"table": 0}).json()["tables"][0]["saved"]
        assert path.read_text("utf-8") == new
        with events_of(client) as socket:
            assert socket.receive_json()["fingerprint"] == now["system"]["fingerprint"]


def test_a_query_about_tables_that_were_edited_since_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    text = to_toml(load_automaton("pxp"))
    path.write_text(text, "utf-8")
    editor = Editor((str(path),), "fifo:1")
    more: dict[str, dict[str, Any]] = {
        "path": {"goal": ""},
        "color": {"formula": "F ended"},
        "export/svg": {},
    }
    more |= {"answers": {}, "graph": {}, "trace": {}, "save": {"table": 0}}
    edit: dict[str, Any] = {"table": 0, "text": text.replace("REFUTE", "DOUBT")}
    with client_of(editor.subject, editor) as client:

        def ask(name: str, query: dict[str, Any]) -> int:
            return client.post(f"/api/{name}", json=query).status_code

        system = client.get("/api/system").json()["system"]["fingerprint"]
        assert ask("edit", edit | {"system": system}) == 200
        assert {ask(name, query | {"system": system}) for name, query in more.items()} == {409}
        assert ask("edit", edit | {"system": system, "text": text}) == 409
        assert path.read_text("utf-8") == text
        now = client.get("/api/system").json()["system"]["fingerprint"]
        assert 409 not in {ask(name, query | {"system": now}) for name, query in more.items()}
        assert path.read_text("utf-8") == edit["text"]
