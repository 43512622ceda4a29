"""The studio in a browser: its four regions, by mouse and keys, in two tabs, over restarts."""

from __future__ import annotations

import json
import runpy
import time
from pathlib import Path
from typing import Any

import pytest

from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.network import LanAgent, Network
from tests.plugins.easylan.studio_walks import (
    agents,
    button,
    drag,
    middle,
    served,
    until,
    wait,
    wait_until,
)
from tests.plugins.easylan.studios import network_file
from tests.web.browsers import AXE, ROOT, expect, opened, server

pytestmark = pytest.mark.deep

FRENCH = ROOT / "examples" / "lan_french"
MODEL = f"script:{FRENCH / 'script.toml'}"


TRUTH = "Night falls, the hour rings, days flee, yet here I cling"


def french(folder: Path) -> tuple[Path, Path]:
    """The Translator of the paper's worked example, and the file of its examples."""
    train = runpy.run_path(str(FRENCH / "train.py"))
    path, examples = folder / "french.lan.json", folder / "french.jsonl"
    train["translator"]().save(path)
    lines = ({"input": one.external, "output": one.truth} for one in train["EXAMPLES"])
    examples.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    return path, examples


def test_the_network_is_edited_by_clicks_drags_and_keys(browser: Any, tmp_path: Path) -> None:
    path = network_file(tmp_path, agents("One", "Two", "Three"))
    with served(path) as address, opened(browser, address) as page:
        drag(page, "One", middle(page, "Two"))
        wait_until(page, path, lambda lan: lan.edges == {("One", "Two")})
        page.locator(".edge").focus()
        page.keyboard.press("Enter")
        page.get_by_label("required", exact=True).click()
        wait_until(page, path, lambda lan: lan.agent("Two").control.required == ("One",))
        page.keyboard.press("Escape")
        page.locator(".edge").focus()
        page.keyboard.press("Delete")
        wait_until(page, path, lambda lan: not lan.edges)
        page.locator('[data-agent="Three"]').click()
        wait(page, "Agent Three")
        page.keyboard.press("Delete")
        wait_until(page, path, lambda lan: lan.names == ("One", "Two"))
        button(page, "Undo").click()
        wait_until(page, path, lambda lan: lan.names == ("One", "Two", "Three"))
        button(page, "Redo").click()
        wait_until(page, path, lambda lan: lan.names == ("One", "Two"))
        page.locator('[data-agent="Three"]').wait_for(state="detached")
        x, y = middle(page, "One")
        drag(page, "One", (x - 130, y))
        button(page, "Tidy up").click()
        expect(button(page, "Tidy up")).to_be_disabled()
        page.keyboard.down("Shift")
        drag(page, "One", middle(page, "Two"))
        page.keyboard.up("Shift")
        found = wait_until(page, path, lambda lan: lan.names == ("Two",))
        assert found.agent("Two").task == "do One\ndo Two"
        button(page, "Reset").first.click()
        wait_until(page, path, lambda lan: lan.names == ("One", "Two", "Three"))
        page.get_by_text("Log: version").click()
        button(page, "Go to version 2").click()
        wait_until(page, path, lambda lan: lan.edges == {("One", "Two")})
        drag(page, "Two", middle(page, "One"))
        wait(page, "cycle: ")
        for form, begins in (("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("PDF", b"%PDF")):
            with page.expect_download() as download:
                button(page, form).click()
            assert begins in Path(download.value.path()).read_bytes()[:800]
            assert download.value.suggested_filename == f"my.{form.lower()}"


def test_an_agent_is_made_and_edited_with_faults_as_one_types(browser: Any, tmp_path: Path) -> None:
    path = network_file(tmp_path, agents("One", "Two"))
    with served(path) as address, opened(browser, address) as page:
        button(page, "New agent").click()
        page.get_by_label("Name").fill("Two")
        wait(page, "two agents are named 'Two'")
        assert button(page, "Create").is_disabled()
        page.get_by_label("Name").fill("Checker")
        page.get_by_label("Subtask").fill("check")
        page.get_by_label("Output description").fill("a list")
        button(page, "Create").click()
        wait_until(page, path, lambda lan: lan.names == ("One", "Two", "Checker"))
        wait(page, "Agent Checker")
        button(page, "Add a piece").last.click()
        page.get_by_label("Knowledge, piece 1", exact=True).fill("commas matter")
        page.get_by_label("Control module decides").check()
        page.get_by_label("Name").fill("Reader")
        button(page, "Save").click()
        found = wait_until(page, path, lambda lan: "Reader" in lan.names).agent("Reader")
        assert (found.knowledge, found.control.enabled) == (("commas matter",), True)
        wait(page, "Agent Reader")
        button(page, "Drop piece 1").click()
        button(page, "Save").click()
        wait_until(page, path, lambda lan: not lan.agent("Reader").knowledge)
        page.get_by_text("Connect, merge, split").click()
        page.get_by_label("With").select_option("One")
        button(page, "Connect to it").click()
        wait_until(page, path, lambda lan: lan.edges == {("Reader", "One")})
        button(page, "Split it …").click()
        page.get_by_label("Part 2: name").fill("Writer")
        button(page, "Split").click()
        found_all = wait_until(page, path, lambda lan: "Writer" in lan.names)
        assert found_all.edges == {("Reader 1", "Writer"), ("Writer", "One")}


def test_a_network_is_measured_and_edited_with_keys_alone(browser: Any, tmp_path: Path) -> None:
    path = network_file(tmp_path, agents("One", "Two"))
    examples = tmp_path / "some.jsonl"
    examples.write_text('{"input": "Vienne la nuit", "output": "Night falls"}\n', "utf-8")
    with served(path, "--machine", MODEL) as address, opened(browser, address) as page:
        page.locator('[data-agent="One"]').focus()
        page.keyboard.press("Enter")
        page.get_by_text("Connect, merge, split").focus()
        page.keyboard.press("Enter")
        page.get_by_label("With").focus()
        page.keyboard.type("Two")
        button(page, "Connect to it").focus()
        page.keyboard.press("Enter")
        wait_until(page, path, lambda lan: lan.edges == {("One", "Two")})
        page.get_by_text("Measures: test, actions").focus()
        page.keyboard.press("Enter")
        button(page, "Measure").focus()
        page.keyboard.press("Enter")
        wait(page, "LMD 2")
        button(page, "Actions by hand").focus()
        page.keyboard.press("Enter")
        wait(page, "; confirmations 0; modifications 1")
        with page.expect_file_chooser() as chooser:
            button(page, "Note a file …").focus()
            page.keyboard.press("Enter")
        chooser.value.set_files(examples)
        wait(page, "Vienne la nuit")
        button(page, "Test on the 1 examples").focus()
        page.keyboard.press("Enter")
        wait(page, "Right: 0 of 1")


def test_two_tabs_do_not_overwrite_each_other(browser: Any, tmp_path: Path) -> None:
    path = network_file(tmp_path, agents("One", "Two"))
    with (
        served(path) as address,
        opened(browser, address) as page,
        opened(browser, address) as other,
    ):
        for each in (page, other):
            each.locator('[data-agent="One"]').click()
        page.get_by_label("Subtask").fill("from the first tab")
        other.get_by_label("Subtask").fill("from the second tab")
        button(page, "Save").click()
        wait(other, "The agent was changed elsewhere since you began.")
        assert button(other, "Save").is_disabled()
        assert other.get_by_label("Subtask").input_value() == "from the second tab"
        wait_until(page, path, lambda lan: lan.agent("One").task == "from the first tab")
        other.locator('[data-agent="Two"]').click()  # another agent is not concerned
        other.get_by_label("Subtask").fill("do both")
        button(other, "Save").click()
        wait_until(page, path, lambda lan: lan.agent("Two").task == "do both")
        other.locator('[data-agent="One"]').click()
        button(other, "Keep mine").click()
        button(other, "Save").click()
        found = wait_until(page, path, lambda lan: lan.agent("One").task == "from the second tab")
        assert found.agent("Two").task == "do both"


def test_nothing_is_lost_by_a_reload_a_killed_server_or_another_device(
    browser: Any, tmp_path: Path
) -> None:
    """At each step something is typed, and the page is gone; the next one has it."""
    path, examples = french(tmp_path)
    arguments = ("serve", str(path), "--machine", MODEL, str(examples))
    notes = path.with_name(f"{path.name}.studio")

    def field_of(page: Any, stage: str) -> Any:
        return page.get_by_label("Else, the right output" if stage == "judge" else "Hint")

    def typed(stage: str) -> str:
        return f"what I was about to say about {stage}"

    def until_noted(page: Any, text: str) -> None:
        until(page, lambda: notes.is_file() and text in notes.read_text("utf-8"))

    def answer(page: Any, stage: str) -> None:
        if stage == "judge":
            button(page, "Not yet: improve the network").click()
            page.wait_for_selector("#editor")
        else:
            before = page.locator(".versions pre").inner_text()
            button(page, "Confirm").click()
            page.wait_for_function(
                "before => (document.querySelector('.versions pre')?.innerText ?? '') !== before",
                arg=before,
            )

    done = ""
    for now in ("judge", "GAP", "REASON", "WEAKNESS", "PARAMETERS", "end"):
        with (
            server(*arguments, cwd=tmp_path) as (address, process),
            opened(browser, address, lenient=True) as page,  # each is a new device
        ):
            if done:
                field = field_of(page, done)
                assert field.input_value() == typed(done)
                page.reload()
                assert field.input_value() == typed(done)
                field.fill(TRUTH if done == "judge" else "")
                answer(page, done)
            else:
                button(page, "Train on Vienne", exact=False).click()
            if now == "end":
                button(page, "Satisfied").wait_for()
            else:
                field_of(page, now).fill(typed(now))
                until_noted(page, typed(now))
            process.kill()
            process.wait()
            wait(page, "The server has ended.")
            if now != "end":
                assert field_of(page, now).input_value() == typed(now)
        done = now
    with server(*arguments, cwd=tmp_path) as (address, _), opened(browser, address) as page:
        button(page, "Satisfied").click()
        wait(page, "Handled: 1 of 1.")
    network = Lan.load(path).network
    assert network.names == ("Literal Translator", "Rhyming Polisher")
    assert len(network.handled) == 1


def test_the_developer_edits_with_holes_hints_and_goes_back(browser: Any, tmp_path: Path) -> None:
    path, examples = french(tmp_path)
    with (
        served(path, "--machine", MODEL, str(examples)) as address,
        opened(browser, address) as page,
    ):
        button(page, "Train on Vienne", exact=False).click()
        button(page, "Not yet: improve the network").click()
        editor = page.locator("#editor")
        editor.fill('{"gap": ')
        wait(page, "This is no JSON yet")
        assert button(page, "Confirm").is_disabled()
        button(page, "Reset").last.click()
        wait(page, "As proposed.")
        proposed = json.loads(editor.input_value())
        editor.fill('{"gap": "<??>"}')
        wait(page, "Edited, with holes: Retry lets the system fill them in.")
        confirm = button(page, "Confirm")
        assert confirm.is_disabled()  # nothing with a hole is agreed on
        confirm.click(force=True)
        assert page.get_by_role("group", name="step GAP").is_visible()
        button(page, "Retry").click()  # the system completes it
        page.get_by_text("Session: INIT, REFUTE,").wait_for()
        assert json.loads(page.locator(".versions pre").inner_text()) == proposed
        button(page, "Reset").last.click()
        wait(page, "As proposed.")
        box = editor.bounding_box()
        page.keyboard.down("Alt")
        page.mouse.click(box["x"] + 120, box["y"] + 35)
        page.keyboard.up("Alt")
        page.wait_for_function("document.querySelector('#editor').value.includes('<??>')")
        assert json.loads(editor.input_value()) == {"gap": "<??>"}
        assert button(page, "Confirm").is_disabled()
        editor.fill('{"gap": "It should rhyme, "}')
        editor.evaluate("one => one.setSelectionRange(26, 26)")
        page.keyboard.press("Alt+h")
        page.wait_for_function("document.querySelector('#editor').value.includes('rhyme, <??>')")
        editor.fill('{"gap": "It rhymes in French."}')
        button(page, "Confirm").click()
        wait(page, "poor_performance_of_agent")
        assert page.get_by_text("It rhymes in French.").count()
        page.get_by_label("Hint").fill("look again")
        wait(page, "Retry sends the hint; Confirm confirms what stands there")
        page.get_by_label("Hint").fill("")
        button(page, "lack of agent").click()
        assert json.loads(editor.input_value())["reason_type"] == "lack_of_agent"
        page.get_by_text("Session: INIT").click()
        page.locator(".lifeline").nth(1).wait_for()
        assert page.locator(".state.current text").text_content() == "DECIDE"
        button(page, "Back to step 1").click()
        wait(page, "It rhymes in French.")
        button(page, "Stop").click()
        button(page, "Skip this example").click()
        wait(page, "Handled: 0 of 1.")
        wait(page, "not trained yet")


WATCH = """() => {
  document.seen = "";
  new MutationObserver(() => {
    const found = document.querySelector('[aria-label="what the model writes"]');
    document.seen += found?.innerText ?? "";
  }).observe(document.body, { childList: true, subtree: true, characterData: true });
}"""


def slowly(socket: Any) -> None:
    """Let messages of the server come one by one, as those of a model do that takes its time."""

    def late(message: Any) -> None:
        time.sleep(0.05)
        socket.send(message)

    socket.connect_to_server().on_message(late)


def test_streaming_is_switched_off_and_on_beside_the_steps(browser: Any, tmp_path: Path) -> None:
    """What a model writes is shown while it writes it; the switch is kept with the network."""
    path, examples = french(tmp_path)
    arguments = (path, "--machine", MODEL, str(examples))
    with served(*arguments) as address, opened(browser, address) as page:
        page.route_web_socket("**/api/events", slowly)
        for shown in (False, True):
            box = page.get_by_label("Show streaming")
            box.click()
            expect(box).to_be_checked(checked=shown)
            page.reload()
            expect(box).to_be_checked(checked=shown)
            page.evaluate(WATCH)
            button(page, "Train on Vienne", exact=False).click()
            button(page, "Not yet: improve the network").click()
            page.get_by_role("group", name="step GAP").wait_for()
            assert ("gap" in page.evaluate("document.seen")) is shown
            button(page, "Stop").click()
            button(page, "Skip this example").click()
            wait(page, "Handled: 0 of 1.")


def test_what_is_done_is_counted_as_the_table_does(browser: Any, tmp_path: Path) -> None:
    path = network_file(tmp_path, agents("One", "Two"))
    with served(path) as address, opened(browser, address) as page:
        drag(page, "One", middle(page, "Two"))  # 2, as the least
        wait(page, "UED 2 (at least 2)")
        page.locator('[data-agent="One"]').click()
        page.keyboard.press("Delete")  # 2, as the least
        wait(page, "UED 4 (at least 4)")
        button(page, "Undo").click()  # 1
        wait(page, "UED 5 (at least 5)")
        page.locator('[data-agent="Two"]').click()
        page.get_by_label("Subtask").click()
        page.keyboard.press("End")
        page.keyboard.type("!?")
        page.keyboard.press("Backspace")
        button(page, "Save").click()  # 7; the least leaves End and two of the keys out
        wait(page, "UED 12 (at least 9)")


HIDDEN = """() => {
  Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_time_counts_while_the_page_is_shown_and_in_use(browser: Any, tmp_path: Path) -> None:
    path, told = network_file(tmp_path, agents("One", "Two")), list[float]()

    def note(request: Any) -> None:
        if "/api/use" in request.url:
            told.append(request.post_data_json["seconds"])

    with served(path) as address, opened(browser, address) as page:
        page.clock.install()
        page.reload()
        page.locator('[data-agent="One"]').wait_for()
        page.on("request", note)
        page.clock.run_for(20_000)
        assert not told  # it is open, but nobody is there
        page.locator('[data-agent="One"]').click()
        page.clock.run_for(120_000)
        assert 55 <= sum(told) <= 65, told  # for a minute after an act
        page.locator('[data-agent="Two"]').click()
        page.clock.run_for(5_000)
        before = sum(told)
        page.evaluate(HIDDEN)
        page.clock.run_for(30_000)
        assert 0 <= sum(told) - before <= 5, told


def test_hostile_texts_stay_texts(browser: Any, tmp_path: Path) -> None:
    hostile = '</script><img src=x onerror="window.hurt=1"><!-- ${window.hurt=1} \''
    one = LanAgent("constructor", hostile, hostile, knowledge=(hostile,))
    network = Network(hostile, (one, LanAgent(hostile[:70], hostile, hostile)))
    path = network_file(tmp_path, network)
    with served(path) as address, opened(browser, address) as page:
        page.locator('[data-agent="constructor"]').click()
        page.get_by_label("Input", exact=True).fill(hostile)
        button(page, "Note it").click()
        page.locator(".example-list li").wait_for()
        drag(page, "constructor", middle_of_other(page))
        wait_until(page, path, lambda lan: len(lan.edges) == 1)
        assert page.get_by_label("Subtask").input_value() == hostile
        assert page.evaluate("window.hurt") is None
        assert page.locator("img").count() == 0


def middle_of_other(page: Any) -> tuple[float, float]:
    box = page.locator(".agent ellipse").last.bounding_box()
    other = page.locator(".agent ellipse").first.bounding_box()
    found = (
        box if box != page.locator('[data-agent="constructor"] ellipse').bounding_box() else other
    )
    return found["x"] + found["width"] / 2, found["y"] + found["height"] / 2


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 1440), ("light", 390)])
def test_every_region_keeps_the_rules_of_accessibility(
    browser: Any, tmp_path: Path, theme: Any, width: int
) -> None:
    if not AXE.is_file():
        pytest.skip("there are no packages of the frontend: npm ci")
    path, examples = french(tmp_path)
    with (
        served(path, "--machine", MODEL, str(examples)) as address,
        opened(browser, address, theme=theme, size=(width, 900)) as page,
    ):
        page.locator('[data-agent="Translator"]').click()
        page.evaluate(AXE.read_text("utf-8"))
        for stage in ("start", "judge", "review"):
            if stage == "judge":
                button(page, "Train on Vienne", exact=False).click()
                button(page, "Satisfied").wait_for()
            if stage == "review":
                button(page, "Not yet: improve the network").click()
                page.wait_for_selector("#editor")
                page.get_by_text("Session: INIT").click()
            found = page.evaluate("axe.run().then((found) => found.violations)")
            assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_is_selected_while_a_form_is_being_saved_stays_selected(
    browser: Any, tmp_path: Path
) -> None:
    path, held = network_file(tmp_path, agents("One", "Two")), list[Any]()

    def hold(request: Any) -> None:
        held.append(request)

    with served(path) as address, opened(browser, address) as page:
        page.route("**/api/edit", hold)
        page.locator('[data-agent="One"]').click()
        page.get_by_label("Subtask").fill("slowly saved")
        button(page, "Save").click()
        page.locator('[data-agent="Two"]').click()
        page.get_by_role("heading", name="Agent Two").wait_for()
        with page.expect_response("**/api/edit"):
            held[0].continue_()
        wait_until(page, path, lambda lan: lan.agent("One").task == "slowly saved")
        wait(page, "Log: version 2")
        page.get_by_role("heading", name="Agent Two").wait_for()
        page.locator('[data-agent="One"]').click()
        page.get_by_role("heading", name="Agent One").wait_for()
        assert page.get_by_label("Subtask").input_value() == "slowly saved"
