// Region 3: an input and its output, the examples, and what became of each.
import { useState } from "react";
import { SINGLE, html } from "../html.js";
import { Compared } from "./dialogue.js";
import { useDraft } from "./drafts.js";
import { asked, Developer, FileButton, PERSON } from "./measures.js";

const STATUS = {
  handled: "✓ handled", now: "● in training", waiting: "waiting", failed: "✕ not handled", noted: "not trained yet",
};

function Judge({ question, view, act }) {
  const [truth, setTruth] = useDraft(`truth:${question.id}`, view.truth);
  const send = (satisfied) => act.answer(question, { kind: "Judged", satisfied, truth: satisfied ? "" : truth });
  return html`<div className="judge" tabIndex="-1" data-question=${question.id} role="group" aria-label="output">
    <p><strong>Will this output do?</strong></p>
    <p className="buttons" ...${SINGLE}><button type="button" className="primary" onClick=${() => send(true)}>Satisfied</button></p>
    <label className="field"><span>Else, the right output</span>
      <textarea rows="2" value=${truth} onChange=${(event) => setTruth(event.target.value)} /></label>
    <p className="buttons" ...${SINGLE}><button type="button" disabled=${!truth.trim()} onClick=${() => send(false)}>Not yet: improve the network</button></p>
  </div>`;
}

export function Examples({ network, run, training, notes, comparison, hasModel, act }) {
  const [input, setInput] = useDraft("input");
  const [truth, setTruth] = useDraft("truth");
  const [showAll, setShowAll] = useState(false);
  const [developer, setDeveloper] = useState({ kind: "person" });
  const view = training.question?.view;
  const busy = run.running || training.going;
  const trainOn = (examples) => act.train({ examples, ...asked(developer) });
  const train = async () => {
    if (await trainOn([{ input, output: truth }])) {
      setInput(null);
      setTruth(null);
    }
  };
  const rows = rowsOf(network, training, notes);
  const left = rows.filter((one) => one.status === "noted" || one.status === "failed");
  const shown = showAll ? rows : rows.slice(0, 8);
  return html`<div>
    <label className="field"><span>Input</span>
      <textarea rows="2" value=${input} onChange=${(event) => setInput(event.target.value)} /></label>
    <label className="field"><span>Right output, if you know it already</span>
      <textarea rows="2" value=${truth} onChange=${(event) => setTruth(event.target.value)} /></label>
    <p className="buttons" ...${SINGLE}>
      <button type="button" disabled=${busy || !hasModel || !input.trim()} onClick=${() => act.run(input)}>Run</button>
      <button type="button" className="primary" disabled=${busy || !hasModel || !input.trim()} onClick=${train}>Train on it</button>
      <button type="button" disabled=${!input.trim()} onClick=${async () => {
        if (await act.addExample({ input, output: truth })) { setInput(null); setTruth(null); }
      }}>Note it</button>
      <${FileButton} label="Note a file" accept=".jsonl,.json,.txt" take=${act.addExamples} />
      <button type="button" disabled=${!busy} onClick=${act.cancel}>Stop</button>
      ${hasModel && html`<${Developer} kinds=${PERSON} value=${developer} onChange=${setDeveloper} />`}
    </p>
    ${!hasModel && html`<p className="muted">Start the studio with --machine to run and train the network.</p>`}
    ${run.external !== null && html`<div className="output" aria-live="polite">
      <p className="muted">${run.reason ? `Run, since ${run.reason}: ` : ""}${run.external}
        ${!run.running && run.version < network.version ? ` (in version ${run.version})` : ""}</p>
      <p className="text" data-output="true">${run.output ?? run.failure ?? (run.text || "…")}</p>
    </div>`}
    ${view?.kind === "OutputView" && html`<${Judge} key=${training.question.id} question=${training.question} ...${{ view, act }} />`}
    <h3>Examples</h3>
    ${rows.length === 0 && html`<p className="muted">There is none yet.</p>`}
    <ul className="example-list">${shown.map((one) => html`<li key=${one.input}>
      <span className=${`badge ${one.status}`}>${STATUS[one.status]}</span>
      <span className="what"><span>${one.input}</span>${one.output && html`<span className="reason">→ ${one.output}</span>`}
        ${one.why && html`<span className="reason">${one.why}</span>`}</span>
      <span className="buttons" ...${SINGLE}>
        ${one.status !== "now" && html`<button type="button" disabled=${busy || !hasModel} onClick=${() => act.run(one.input)}
          aria-label=${`Run ${one.input}`}>Run</button>`}
        ${(one.status === "noted" || one.status === "failed") && html`<button type="button" disabled=${busy || !hasModel}
          aria-label=${`Train on ${one.input}`} onClick=${() => trainOn([{ input: one.input, output: one.output }])}>Train</button>
          <button type="button" aria-label=${`Drop ${one.input}`} onClick=${() => act.dropExample(one.input)}>✕</button>`}
        ${one.status === "handled" && html`<button type="button" aria-label=${`Forget ${one.input}`}
          onClick=${() => act.edit([{ do: "forget", external: one.input }], `forget ${one.input}`)}>Forget</button>`}
      </span></li>`)}</ul>
    ${rows.length > shown.length && html`<button type="button" onClick=${() => setShowAll(true)}>All ${rows.length} examples</button>`}
    <p className="buttons">
      ${left.length > 0 && html`<button type="button" disabled=${busy || !hasModel}
        onClick=${() => trainOn(left.map(({ input: one, output }) => ({ input: one, output })))}>Train on the ${left.length} left</button>`}
      ${network.handled.length > 0 && html`<button type="button" disabled=${!hasModel} onClick=${act.compare}>Compare earlier results</button>
        <label className="check"><input type="checkbox" checked=${notes.compares}
          onChange=${(event) => act.set("measures", { compares: event.target.checked })} /> after each change</label>`}
    </p>
    ${comparison && html`<div aria-live="polite"><p>${comparedAs(comparison)}</p>
      ${comparison.regressions.length > 0 && html`<${Compared} regressions=${comparison.regressions} />`}</div>`}
  </div>`;
}

/** How far a comparison of earlier results is, or what it says. */
function comparedAs({ version, done, total, regressions, failure }) {
  if (failure) return `Earlier results could not be compared in version ${version}: ${failure}`;
  if (done < total) return `Comparing earlier results in version ${version}: ${done} of ${total} …`;
  if (!regressions.length) return `All ${total} earlier examples are right in version ${version}.`;
  return `Of ${total} earlier examples ${regressions.length} changed, in version ${version}:`;
}

/** Each example once: those in training, those that are noted, those that are handled. */
export function rowsOf(network, training, notes) {
  const found = new Map();
  notes.examples.forEach((one) => found.set(one.input, { ...one, status: "noted", why: "" }));
  network.handled.forEach((one) => found.set(one.input, { input: one.input, output: one.output, status: "handled", why: "" }));
  training.outcomes.filter((one) => !one.handled).forEach(({ example, why }) =>
    found.set(example.external, { input: example.external, output: example.truth, status: "failed", why }));
  training.examples.forEach((one, place) => {
    if (training.going && place >= training.outcomes.length) {
      found.set(one.external, { input: one.external, output: one.truth, why: "",
        status: place === training.outcomes.length ? "now" : "waiting" });
    }
  });
  const order = ["now", "waiting", "failed", "noted", "handled"];
  return [...found.values()].sort((one, other) => order.indexOf(one.status) - order.indexOf(other.status));
}
