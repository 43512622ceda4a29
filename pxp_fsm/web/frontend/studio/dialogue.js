// Region 4: the four steps of an update. The system proposes, the developer confirms, edits or hints.
import { useMemo, useRef, useState } from "react";
import { Automaton } from "../automaton.js";
import { Chart } from "../chart.js";
import { SINGLE, html } from "../html.js";
import { useDraft } from "./drafts.js";

const HOLE = "<??>";
const STEPS = [
  ["GAP", "What is wrong with the output"], ["REASON", "Why it is"],
  ["WEAKNESS", "Why the agent does poorly"], ["PARAMETERS", "What to change"],
];
const TOKEN = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d[\d.eE+-]*|true|false|null/g;

export const written = (value) => JSON.stringify(value, null, 2);

/** `text` with a hole for the value at a place of it; null where no value stands there. */
export function holeAt(text, place) {
  for (const found of text.matchAll(TOKEN)) {
    const end = found.index + found[0].length;
    if (found[1] === undefined && found.index <= place && place <= end) {
      return text.slice(0, found.index) + JSON.stringify(HOLE) + text.slice(end);
    }
  }
  return null;
}

function parsed(text) {
  try {
    return { value: JSON.parse(text), fault: "" };
  } catch (error) {
    return { value: null, fault: `This is no JSON yet: ${error.message}` };
  }
}

function Steps({ values, now }) {
  return html`<ol className="steps" aria-label="steps of the update">
    ${STEPS.map(([step, title], index) => {
      const agreed = step === now ? undefined : values[step];
      return html`<li key=${step} className=${step === now ? "current" : agreed === undefined ? "" : "agreed"}
          aria-current=${step === now ? "step" : undefined}>
        <strong>${index + 1}. ${title}</strong>
        ${agreed !== undefined && html`<details><summary>agreed</summary><pre>${written(agreed)}</pre></details>`}
      </li>`;
    })}
  </ol>`;
}

function Review({ question, view, training, automaton, act }) {
  const start = written(view.version ?? view.proposal);
  const [text, setText, typed] = useDraft(`step:${question.id}`, start);
  const [hint, setHint] = useDraft(`hint:${question.id}`);
  const area = useRef(null);
  const { value, fault } = useMemo(() => parsed(text), [text]);
  const reset = () => { setText(written(view.proposal)); setHint(null); };
  const original = written(view.proposal);
  const changed = !fault && written(value) !== original;
  const holes = text.includes(HOLE);
  const closed = training.closed.reason_type ?? [];

  const insert = () => {
    const { selectionStart, selectionEnd } = area.current;
    const place = selectionStart + HOLE.length;
    setText(text.slice(0, selectionStart) + HOLE + text.slice(selectionEnd));
    requestAnimationFrame(() => {
      area.current?.focus();
      area.current?.setSelectionRange(place, place);
    });
  };
  const press = (event) => {
    if (event.altKey && event.key.toLowerCase() === "h") {
      event.preventDefault();
      insert();
    }
  };
  const click = (event) => {
    const next = event.altKey ? holeAt(text, area.current.selectionStart) : null;
    if (next !== null) setText(next);
  };
  const quick = (type) => !fault && value && typeof value === "object" && setText(written({ ...value, reason_type: type }));
  const send = (choice, more = {}) => act.answer(question, {
    kind: "Act", choice, result: changed ? value : null, hint: hint.trim(), to: null, ...more });

  return html`<div tabIndex="-1" data-question=${question.id} role="group" aria-label=${`step ${view.step}`}>
    ${view.rationale && html`<p className="rationale"><span className="muted">The system: </span>${view.rationale}</p>`}
    ${view.refused && html`<p className="alert" role="alert">Refused: ${view.refused}</p>`}
    <div className="versions">
      <div><h3>Proposal${view.strategy ? ` (${view.strategy})` : ""}</h3>
        <pre className="scroll" tabIndex="0" role="group" aria-label="proposal">${original}</pre></div>
      <div><h3><label htmlFor="editor">Your version</label></h3>
        <textarea id="editor" className="json" spellCheck=${false} ref=${area} value=${text} rows="9"
          aria-describedby="editor-fault" onKeyDown=${press} onClick=${click}
          onChange=${(event) => setText(event.target.value)} />
        <p id="editor-fault" className=${fault ? "faults" : "muted"} aria-live="polite">
          ${fault || (typed && changed ? (holes ? "Edited, with holes: Retry lets the system fill them in." : "Edited.") : "As proposed.")}</p></div>
    </div>
    <p className="buttons">
      <button type="button" onClick=${insert}>Insert ${HOLE} <kbd>Alt H</kbd></button>
      <span className="muted">Alt and a click make a value a hole.</span>
      ${closed.map((type) => html`<button type="button" key=${type} aria-pressed=${value?.reason_type === type}
        onClick=${() => quick(type)}>${type.replaceAll("_", " ")}</button>`)}
    </p>
    <label className="field"><span>Hint</span>
      <textarea rows="2" value=${hint} onChange=${(event) => setHint(event.target.value)} /></label>
    ${hint.trim() && html`<p className="muted">Retry sends the hint; Confirm ${changed && !holes ? "takes your version as it is" : "confirms what stands there"} and leaves the hint out.</p>`}
    <p className="buttons" ...${SINGLE}>
      <button type="button" className="primary" disabled=${Boolean(fault) || holes} onClick=${() => send("confirm", { hint: "" })}>Confirm</button>
      <button type="button" disabled=${Boolean(fault)} onClick=${() => send("retry")}>Retry</button>
      <button type="button" onClick=${reset}>Reset</button>
      ${view.back.map((step) => html`<button type="button" key=${step}
        onClick=${() => send("back", { to: step, result: null, hint: "" })}>Back to step ${STEPS.findIndex(([one]) => one === step) + 1}</button>`)}
      <button type="button" disabled=${!view.may_reject}
        onClick=${() => send("reject", { result: null, hint: "" })}>Take over</button>
    </p>
    <${Session} messages=${view.history} automaton=${automaton} />
  </div>`;
}

/** The session of a step on request: its tags as a sequence chart, and the automaton of a machine. */
function Session({ messages, automaton }) {
  const [open, setOpen] = useState(false);
  const moves = messages.map((one) => ({
    kind: "exchange", member: one.sender, partner: one.receiver, label: one.tag, text: one.tag, rows: [] }));
  const last = messages.at(-1);
  return html`<details open=${open} onToggle=${(event) => setOpen(event.target.open)}>
    <summary>Session: ${messages.map((one) => one.tag).join(", ") || "no message yet"}</summary>
    ${open && html`<${Chart} names=${["system", "developer"]} moves=${moves} position=${moves.length} cycle=${0}
      deadlock=${null} onStep=${() => {}} />
    <${Automaton} member=${automaton} place=${0} at=${last ? "DECIDE" : "IDLE"} settled="" before="" possible=""
      latest="" onRow=${() => {}} />`}
  </details>`;
}

function Regressions({ question, view, act }) {
  const choose = (choice) => act.answer(question, { kind: "RegressionChoice", choice });
  return html`<div tabIndex="-1" data-question=${question.id} role="group" aria-label="earlier examples">
    <p>With this update (${view.about}) earlier examples would no longer be right:</p>
    <${Compared} regressions=${view.regressions} />
    <p className="buttons" ...${SINGLE}>
      <button type="button" onClick=${() => choose("ACCEPT")}>Accept the new outputs</button>
      <button type="button" onClick=${() => choose("FORGET")}>Forget these examples</button>
      <button type="button" onClick=${() => choose("RETRY")}>Retry the update</button>
      <button type="button" onClick=${() => choose("TAKE_OVER")}>Take over</button>
    </p>
  </div>`;
}

/** Earlier examples, what was right, and what it would be. */
export function Compared({ regressions }) {
  return html`<div className="scroll" tabIndex="0" role="group" aria-label="earlier examples compared"><table className="examples">
    <thead><tr><th scope="col">Input</th><th scope="col">Was</th><th scope="col">Now</th></tr></thead>
    <tbody>${regressions.map((one, index) => html`<tr key=${index}><td>${one.handled.external}</td>
      <td>${one.handled.output}</td><td>${one.run?.output ?? one.why}</td></tr>`)}</tbody></table></div>`;
}

function Handed({ question, view, act }) {
  const choose = (choice) => act.answer(question, { kind: "Continuation", choice });
  return html`<div tabIndex="-1" data-question=${question.id} role="group" aria-label="taken over">
    <p>It is yours now: ${view.why}. Edit the network, and let the training go on.</p>
    <p className="buttons" ...${SINGLE}>
      <button type="button" className="primary" onClick=${() => choose("RESUME")}>Resume: run it again</button>
      <button type="button" onClick=${() => choose("SKIP")}>Skip this example</button>
    </p>
  </div>`;
}

export function Dialogue({ training, written: piece, streams, automaton, act }) {
  const streaming = html`<label className="check"><input type="checkbox" checked=${streams}
    onChange=${(event) => act.set("measures", { streams: event.target.checked })} /> Show streaming</label>`;
  if (!training.going) {
    return html`${streaming}<p className="muted" tabIndex="-1" data-question=${training.ended || null}>${training.ended || "Nothing is being trained. Send an input with the output that you want, on the left."}</p>`;
  }
  const { question } = training;
  const view = question?.view;
  const now = view?.kind === "StepView" ? view.step : training.step;
  return html`<div>
    ${streaming}
    <${Steps} values=${now ? training.values : {}} now=${now} />
    ${!view && html`<p role="status" className="waiting">${training.doing || "The models are working …"}</p>`}
    ${!view && streams && piece && html`<pre className="scroll" tabIndex="0" role="group" aria-label="what the model writes">${piece}</pre>`}
    ${view?.kind === "OutputView" && html`<p className="muted">Say first whether the output will do, under Run and examples.</p>`}
    ${view?.kind === "StepView" && html`<${Review} key=${question.id} ...${{ question, view, training, automaton, act }} />`}
    ${view?.kind === "RegressionView" && html`<${Regressions} ...${{ question, view, act }} />`}
    ${view?.kind === "HandedView" && html`<${Handed} ...${{ question, view, act }} />`}
  </div>`;
}
