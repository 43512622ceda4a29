// Tests, actions, editing distances and comparisons: tables that the server makes.
import { useState } from "react";
import { html } from "../html.js";

/** A button that opens a file; `take` is given its name and its text. */
export function FileButton({ label, accept, disabled = false, take }) {
  const choose = () => {
    const input = Object.assign(document.createElement("input"), { type: "file", accept });
    input.onchange = async () => {
      const [file] = input.files;
      if (file) take({ name: file.name, text: await file.text() });
    };
    input.click();
  };
  return html`<button type="button" disabled=${disabled} onClick=${choose}>${label} …</button>`;
}

const SIMULATED = { confirms: "who confirms all", nobody: "nobody", edits: "who edits some", follows: "who follows a file" };
export const PERSON = { person: "me", ...SIMULATED };

/** What the server is asked of a developer; a person's and nobody's name is the kind. */
export function asked({ kind, probability = "0.2", acts = null }) {
  return { developer: kind === "edits" ? `edits:${probability}` : kind, acts };
}

/** Who supervises a training, with how often they edit, or the file that they (or others) follow. */
export function Developer({ kinds, value, follows = value.kind === "follows", onChange }) {
  const { kind, probability = "0.2", acts } = value;
  return html`<label>Supervised by <select value=${kind} onChange=${(event) => onChange({ ...value, kind: event.target.value })}>
      ${Object.entries(kinds).map(([name, title]) => html`<option key=${name} value=${name}>${title}</option>`)}</select></label>
    ${kind === "edits" && html`<label>with probability <input inputMode="decimal" size="4" value=${probability}
      onChange=${(event) => onChange({ ...value, probability: event.target.value })} /></label>`}
    ${follows && html`<${FileButton} label=${acts ? acts.name : "The file"} accept=".toml,.json"
      take=${(file) => onChange({ ...value, acts: file })} />`}`;
}

function Table({ sheet }) {
  return html`<table className="examples">${sheet.title && html`<caption>${sheet.title}</caption>`}
    <thead><tr>${sheet.headings.map((one, index) => html`<th scope="col" key=${index}>${one}</th>`)}</tr></thead>
    <tbody>${sheet.rows.map((row, index) => html`<tr key=${index}>
      ${row.map((cell, place) => html`<td key=${place}>${cell}</td>`)}</tr>`)}</tbody></table>`;
}

function Report({ report, act }) {
  if (!report.title) return null;
  return html`<div className="report"><h3>${report.title}</h3>
    <p role="status">${report.doing}${report.doing && html` <button type="button" onClick=${act.stopMeasuring}>Stop it</button>`}</p>
    ${report.sheets.length > 0 && html`<div className="scroll" tabIndex="0" role="group" aria-label=${report.title}>
      ${report.sheets.map((sheet, index) => html`<${Table} key=${index} sheet=${sheet} />`)}</div>`}
    ${report.notes.map((note, index) => html`<p className="muted" key=${index}>${note}</p>`)}</div>`;
}

const whole = (text) => /^\d{1,9}$/.test(text.trim());

/** What measures the network; `examples` are those with an output, `tasks` those of the package. */
export function Measures({ network, report, examples, tasks, stores, hasModel, act }) {
  const [task, setTask] = useState({ name: Object.keys(tasks)[0], text: "" });
  const [seeds, setSeeds] = useState("1");
  const [developer, setDeveloper] = useState({ kind: "confirms" });
  const [hand, setHand] = useState("adds-examples");
  const [stored, setStored] = useState("");
  const [resume, setResume] = useState(false);
  const [version, setVersion] = useState(1);
  const busy = report.doing !== "";
  const numbers = seeds.split(",");
  const sound = numbers.every(whole);
  const idle = hasModel && !busy;
  return html`<details className="tools" data-region="measures"><summary>Measures: test, actions, distance, comparison</summary>
    <p className="buttons">
      <button type="button" disabled=${!idle || !examples.length} onClick=${() => act.test({ examples })}>Test on the ${examples.length} examples</button>
      <button type="button" disabled=${busy} onClick=${() => act.actions({})}>Actions by hand</button>
      ${stores && html`<button type="button" disabled=${busy} onClick=${() => act.actions({ run: stored.trim() })}>Actions in steps too</button>
        <label>of the training <input value=${stored} size="12" placeholder="the latest" onChange=${(event) => setStored(event.target.value)} /></label>`}</p>
    <p className="buttons"><label>Distance from version <select value=${version} onChange=${(event) => setVersion(Number(event.target.value))}>
        ${network.log.map((one) => html`<option key=${one.number} value=${one.number}>${one.number}</option>`)}</select></label>
      <button type="button" disabled=${busy} onClick=${() => act.distanceSince(version)}>Measure</button>
      <${FileButton} label="From a network's file" accept=".json" disabled=${busy} take=${act.distance} /></p>
    <fieldset className="pieces"><legend>On a task</legend>
      <p className="buttons"><label>Task <select value=${task.text ? "" : task.name} onChange=${(event) => setTask({ name: event.target.value, text: "" })}>
          ${task.text && html`<option value="">${task.name}</option>`}
          ${Object.entries(tasks).map(([name, title]) => html`<option key=${name} value=${name}>${title}</option>`)}</select></label>
        <${FileButton} label="A task's file" accept=".toml,.json" take=${setTask} />
        <label>Seeds <input value=${seeds} size="6" aria-invalid=${!sound} onChange=${(event) => setSeeds(event.target.value)} /></label>
        <button type="button" disabled=${!idle || !sound} onClick=${() => act.test({ task, seed: Number(numbers[0]) })}>Test on the task</button></p>
      <p className="buttons"><${Developer} kinds=${SIMULATED} value=${developer} onChange=${setDeveloper}
          follows=${[developer.kind, hand].includes("follows")} />
        <label>By hand <select value=${hand} onChange=${(event) => setHand(event.target.value)}>
          <option value="adds-examples">who adds examples</option>
          <option value="follows">who follows the file</option></select></label>
        <label className="check"><input type="checkbox" checked=${resume} onChange=${(event) => setResume(event.target.checked)} /> resume the last one</label>
        <button type="button" disabled=${!idle || !sound}
          onClick=${() => act.threeWays({
            task, seeds: numbers.map(Number), resume, ...asked(developer), hand })}>Compare three ways to train</button></p>
    </fieldset>
    <${Report} report=${report} act=${act} />
  </details>`;
}
