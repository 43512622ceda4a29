// The researcher's page: runs as they go, whom they wait for, links of experts, pause and resume.
import { useState } from "react";
import { post } from "../http.js";
import { SINGLE, counted, html } from "../html.js";
import { Differences, Results } from "./curves.js";
import { useAsked } from "./asked.js";
import { Session } from "./session.js";

const WAITS = { you: "for the expert", partner: "for the machine", later: "not begun", paused: "paused", over: "over" };
const PAUSE = 300;

export function Research({ news }) {
  const { found: runs, trouble, refresh } = useAsked("/api/research/runs", news, PAUSE);
  const [told, setTold] = useState("");
  const [open, setOpen] = useState(null);

  const act = (path, tell) => async () => {
    try {
      setTold(tell(await (await post(path, {})).json()));
    } catch (error) {
      setTold(error.message);
    }
    refresh();
  };
  if (!runs) return html`<main className="loading"><p role="status">${trouble || "Loading …"}</p></main>`;
  const subjects = [...new Set(runs.map((one) => one.subject))];
  return html`<main className="research">
    <p className="notice" role="status">${trouble || told}</p>
    ${runs.map((one) => html`<section key=${one.number} aria-label=${`run ${one.name}`}>
      <h2>${one.name} <span className="muted">${one.task} · ${one.protocol} · ${one.subject}</span></h2>
      <${Progress} run=${one} />
      ${one.trouble && html`<p className="alert">${one.trouble}</p>`}
      ${one.over < one.total && html`<p>Waiting: ${Object.entries(one.waits).filter(([name]) => name !== "over")
        .map(([name, count]) => html`<span className="count" key=${name}>${count} ${WAITS[name]}</span>`)}</p>`}
      ${one.costs && html`<p className="muted">${one.costs}</p>`}
      <${Results} results=${one.results} name=${one.name} title="So far, of sessions that are over" />
      <p className="buttons" ...${SINGLE}>
        ${one.state === "running" && html`<button type="button" onClick=${act(`/api/research/runs/${one.number}/pause`,
          (found) => `${found.name} is ${found.state}`)}>Pause <span className="unseen">${one.name}</span></button>`}
        ${["paused", "stopped"].includes(one.state) && html`<button type="button"
          onClick=${act(`/api/research/runs/${one.number}/resume`, (found) => `${found.name} is ${found.state}`)}>
          Resume <span className="unseen">${one.name}</span></button>`}
        <button type="button" aria-expanded=${open === one.number}
          onClick=${() => setOpen(open === one.number ? null : one.number)}>Sessions <span className="unseen">of ${one.name}</span></button>
      </p>
      ${open === one.number && html`<${Sessions} number=${one.number} news=${news} />`}
    </section>`)}
    ${runs.length > 1 && html`<${Compared} runs=${runs} news=${news} />`}
    <section aria-labelledby="experts-title"><h2 id="experts-title">Experts</h2>
      <ul className="experts">${subjects.map((subject) => html`<li key=${subject}><strong>${subject}</strong>
        <button type="button" onClick=${act(`/api/research/experts/${encodeURIComponent(subject)}/link`,
          (found) => `${found.subject}: ${found.link}`)}>New link <span className="unseen">for ${subject}</span></button>
        <button type="button" onClick=${act(`/api/research/experts/${encodeURIComponent(subject)}/revoke`,
          (found) => `${found.revoked} links of ${found.subject} revoked`)}>Revoke all links <span className="unseen">of
          ${subject}</span></button></li>`)}</ul></section>
  </main>`;
}

function Progress({ run }) {
  return html`<p><progress max=${run.total} value=${run.over} aria-label=${`sessions of ${run.name} that are over`} />
    ${" "}${run.over} of ${run.total} over · <strong>${run.state}</strong></p>`;
}

/** Two runs side by side, and how they differ where both have a session that is over. */
function Compared({ runs, news }) {
  const [chosen, setChosen] = useState([0, 1]);
  const pair = chosen.map((number) => runs[number]);
  const choose = (place) => (event) => setChosen(chosen.map((old, at) => (at === place ? Number(event.target.value) : old)));
  return html`<section aria-labelledby="compared-title"><h2 id="compared-title">Two runs compared</h2>
    <div className="pair">${pair.map((one, place) => html`<article key=${place} aria-label=${`compared: ${one.name}`}>
      <p><label>${place ? "With" : "Compare"} <select value=${one.number} onChange=${choose(place)}>
        ${runs.map((each) => html`<option key=${each.number} value=${each.number}
          disabled=${each.number === chosen[1 - place]}>${each.name}</option>`)}</select></label></p>
      <p className="muted">${one.task} · ${one.protocol} · ${one.subject}</p>
      <${Progress} run=${one} />
      ${one.costs && html`<p className="muted">${one.costs}</p>`}
      <${Results} results=${one.results} name=${`${one.name}, compared`} title="So far, of sessions that are over"
        beside=${[pair[1 - place].results]} /></article>`)}</div>
    <${Apart} key=${chosen.join()} first=${pair[0]} second=${pair[1]} news=${news} /></section>`;
}

function Apart({ first, second, news }) {
  const { found } = useAsked(`/api/research/differences?first=${first.number}&second=${second.number}`, news, PAUSE);
  return found && html`<${Differences} found=${found} title=${`${second.name} against ${first.name}, in sessions about the same`} />`;
}

/** The sessions of a run; one that is chosen is shown, and beside it the one that was chosen before. */
function Sessions({ number, news }) {
  const lines = useAsked(`/api/research/runs/${number}`, news, PAUSE).found ?? [];
  const [shown, setShown] = useState([]);
  const pick = (id) => setShown((old) => (old.includes(id) ? old.filter((one) => one !== id) : [...old.slice(-1), id]));
  return html`<div><ul className="sessions">${lines.map((one) => html`<li key=${one.id}>
      <button type="button" disabled=${one.standing === "later"} aria-pressed=${shown.includes(one.id)}
        onClick=${() => pick(one.id)}>${one.title}</button>
      ${" "}${WAITS[one.standing]}, ${counted(one.messages, "message")} ${one.ending}</li>`)}</ul>
    <div className=${shown.length > 1 ? "pair" : ""}>${shown.map((id) => html`<${Session} key=${id} id=${id} news=${news}
      next=${null} onChange=${() => {}} />`)}</div></div>`;
}
