// The reachable states as one picture, folded: where the trace is in it, and a way to each state.
import { memo, useCallback, useEffect, useState } from "react";
import { Drawing } from "../automaton.js";
import { html } from "../html.js";
import { PICTURES, Save } from "./exports.js";
import { alike } from "./session.js";

const PAUSE = 150;
const TITLES = { none: "each state", symmetry: "up to symmetry", control: "by control" };

export function Graph({ source, folds, choices, position, fingerprint, onGo, setNotice }) {
  const [open, setOpen] = useState(false), [fold, setFold] = useState("none"), [view, setView] = useState(/** @type {any} */ ({}));
  const path = choices.join(".");
  useEffect(() => {
    if (!open) return undefined;
    let wanted = true;
    const timer = setTimeout(async () => {
      try {
        const found = await source.graph(choices, fold);
        if (wanted) setView((old) => (old.fold === fold && old.of === fingerprint
          ? { ...old, path: found.path, along: choices } : { ...found, fold, of: fingerprint, along: choices }));
      } catch (error) {
        if (wanted) setView({ error: error.message });
      }
    }, PAUSE);
    return () => { wanted = false; clearTimeout(timer); };
  }, [open, source, fold, path, fingerprint]);
  const write = useCallback((form) => source.exported(form, { choices: [], fold }), [source, fold]);
  const known = view.layout && view.of === fingerprint && alike(view.along, choices) >= position; // of this trace
  const here = known ? view.path[position] ?? null : null, before = known && position ? view.path[position - 1] ?? null : null;
  return html`<section className="graph" aria-labelledby="graph-title">
    <details onToggle=${(event) => setOpen(event.currentTarget.open)}>
      <summary><h2 id="graph-title">Reachable states</h2></summary>
      <div className="exports">
        <label htmlFor="fold">One node is</label>
        <select id="fold" value=${fold} onChange=${(event) => setFold(event.target.value)}>
          ${folds.map((one) => html`<option key=${one} value=${one}>${TITLES[one]}</option>`)}</select>
        ${source.live && html`<${Save} forms=${PICTURES} name="graph" ...${{ write, setNotice }} />`}
      </div>
      <p className="muted" aria-live="polite">${view.error ?? view.count ?? "drawing …"}
        ${known && here === null ? " The present state is not drawn." : ""}</p>
      ${view.layout && html`<${Picture} layout=${view.layout} nodes=${view.nodes} ...${{ here, before, onGo }} />`}
    </details>
  </section>`;
}

const Picture = memo(/** @param {any} props */ function Picture({ layout, nodes, here, before, onGo }) {
  const name = (number) => layout.states[number]?.name;
  const ofArrow = ({ source, target }) =>
    source && before !== null && source === name(before) && target === name(here) ? "passed" : "";
  const ofState = (state, number) => {
    const go = () => onGo(nodes[number].choices);
    const press = (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      go();
    };
    return {
      className: "state" + (number === here ? " current" : "") + (nodes[number].deadlocks ? " dead" : ""),
      role: "button", tabIndex: 0, onClick: go, onKeyDown: press,
      "aria-label": `${state.name}: ${state.about}`,
      "aria-current": number === here ? "true" : undefined,
    };
  };
  return html`<${Drawing} id="states" role="group" label="states and steps" at=${name(here)} ...${{ layout, ofArrow, ofState }} />`;
});
