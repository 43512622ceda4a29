// What is assumed of MATCH and AGREE, as switches: which claims fall, and which answers are left.
import { memo, useEffect, useState } from "react";
import { Fold, html } from "../html.js";
import { Verdict } from "./panels.js";

const ALL = ["deterministic", "reflexive", "symmetric", "shared", "transitive"];
const PAUSE = 150;

export function Assumptions({ source, ask, answer, initial, choices, position, fingerprint, onPlay }) {
  const [assumed, setAssumed] = useState(ALL);
  useEffect(() => { if (initial) setAssumed(ALL.filter((one) => initial.includes(one))); }, [initial?.join()]);
  const [matrix, setMatrix] = useState(/** @type {{ cells: any[], error?: string }} */ ({ cells: [] }));
  const wanted = assumed.join(" "), path = choices.slice(0, position).join(".");

  useEffect(() => ask(assumed), [wanted, fingerprint]);

  useEffect(() => {
    let current = true;
    const timer = setTimeout(async () => {
      try {
        const cells = await source.answers(choices.slice(0, position), assumed);
        if (current) setMatrix({ cells });
      } catch (error) {
        if (current) setMatrix({ cells: [], error: error.message });
      }
    }, PAUSE);
    return () => { current = false; clearTimeout(timer); };
  }, [source, wanted, path, fingerprint]);

  const turn = (name) => setAssumed((old) =>
    ALL.filter((one) => (one === name ? !old.includes(one) : old.includes(one))));
  return html`<section aria-labelledby="assumptions-title"><h2 id="assumptions-title">Assumptions on MATCH and AGREE</h2>
    <fieldset className="switches"><legend className="unseen">assumed</legend>${ALL.map((name) =>
      html`<label key=${name}><input type="checkbox" checked=${assumed.includes(name)}
        onChange=${() => turn(name)} /> ${name}</label>`)}</fieldset>
    <${Matrix} ...${matrix} />
    <${Claims} answer=${answer} onPlay=${onPlay} />
  </section>`;
}

const Claims = memo(/** @param {any} props */ function Claims({ answer, onPlay }) {
  const fallen = answer.results.filter((one) => one.status === "FAILS");
  return html`<div aria-live="polite">
      ${answer.error && html`<p className="alert">${answer.error}</p>`}
      <p className="muted">${answer.done
        ? `${fallen.length} of ${answer.results.length} claims fail under these assumptions.` : "checking …"}</p>
    </div>
    <${Fold} className="verdicts" most=${Math.max(6, fallen.length)} what="claim">${[...fallen, ...answer.results.filter((one) => !fallen.includes(one))].map((result) =>
      html`<${Verdict} key=${result.name} result=${result} onPlay=${onPlay} plainly />`)}<//>`;
});

function Matrix({ cells, error }) {
  if (error) return html`<p className="muted">No answers here: ${error}</p>`;
  if (!cells.length) return html`<p className="muted">MATCH and AGREE are not asked here.</p>`;
  const of = (match, agree) => cells.find((one) => one.match === match && one.agree === agree);
  return html`<table className="matrix"><caption>What they may answer to the latest message, and the reply</caption>
    <thead><tr><td /><th scope="col">AGREE yes</th><th scope="col">AGREE no</th></tr></thead>
    <tbody>${[true, false].map((match) => html`<tr key=${match}><th scope="row">MATCH ${match ? "yes" : "no"}</th>
      ${[true, false].map((agree) => {
        const { category, replies } = of(match, agree);
        return html`<td key=${agree} className=${replies.length ? "open" : "closed"}>
          <strong>${category}</strong> ${replies.join(", ") || "not possible"}</td>`;
      })}</tr>`)}</tbody></table>`;
}
