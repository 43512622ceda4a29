// The page of who conducts a study: how far everybody is, whom they wait for, two sessions side by side.
import { useCallback, useEffect, useRef, useState } from "react";
import { get, post } from "../http.js";
import { SINGLE, counted, html } from "../html.js";
import { Differences, Results } from "./curves.js";
import { useAsked } from "./asked.js";
import { who } from "./session.js";

const BASE = "/api/study", PAUSE = 300;
const WORDS = { open: "Open", pause: "Pause", resume: "Resume", close: "Close", anonymise: "Anonymise" };
const FINAL = ["close", "anonymise", "withdraw", "reassign"];
const AGAIN = {
  close: "Close the study? Everybody is brought to the debrief; it cannot be opened again.",
  anonymise: "Anonymise the study? Who took part is removed, and nobody can withdraw any more.",
  withdraw: "Withdraw this participant? What they said is erased.",
  reassign: "Give this place to somebody else? The participant lapses, and goes to the debrief.",
};

export function Study({ news }) {
  const { found: study, trouble, refresh } = useAsked(BASE, news, PAUSE);
  const [told, setTold] = useState("");
  const [open, setOpen] = useState("");
  const [pair, setPair] = useState([]);
  const [sure, setSure] = useState(null);
  const over = JSON.stringify([study?.endings, study?.statuses]);
  const { found: results } = useAsked(`${BASE}/results`, over, PAUSE);

  const doing = useRef(new Set());
  /** Do it, and not twice at once. */
  const act = useCallback(async (path, tell) => {
    setSure(null);
    if (doing.current.has(path)) return;
    doing.current.add(path);
    try {
      setTold(tell(await (await post(`${BASE}/${path}`, {})).json()));
    } catch (error) {
      setTold(error.message);
    }
    doing.current.delete(path);
    refresh();
  }, [refresh]);
  const ask = (word, path, tell) => (FINAL.includes(word) ? setSure({ word, path, tell }) : act(path, tell));
  const pick = (one) => setPair((old) => (old.some((each) => each.key === one.key)
    ? old.filter((each) => each.key !== one.key) : [...old.slice(-1), one]));

  if (!study) return html`<main className="loading"><p role="status">${trouble || "Loading …"}</p></main>`;
  const done = study.statuses.DONE ?? 0, opened = study.lines.find((one) => one.subject === open);
  return html`<main className="research">
    <p className="notice" role="status">${trouble || told}</p>
    ${sure && html`<section role="alertdialog" aria-label="are you sure?" className="alert"><p>${AGAIN[sure.word]}</p>
      <p className="buttons" ...${SINGLE}><button type="button" onClick=${() => act(sure.path, sure.tell)}>Yes</button>
        <button type="button" onClick=${() => setSure(null)}>No</button></p></section>`}
    <section aria-labelledby="study-title"><h2 id="study-title">${study.title} <span className="muted">${study.name}</span></h2>
      <p><progress max=${study.experts} value=${done} aria-label="participants who have finished" />
        ${" "}${done} of ${study.experts} have finished · ${study.places !== null && `${counted(study.places, "place")} left · `}<strong>${study.state}</strong></p>
      <p>${Object.entries(study.statuses).sort().map(([name, count]) => html`<span className="count" key=${name}>${count} ${name}</span>`)}</p>
      ${Object.keys(study.endings).length > 0 && html`<p>Sessions that are over: ${Object.entries(study.endings)
        .map(([name, count]) => html`<span className="count" key=${name}>${count} ${name}</span>`)}</p>`}
      ${results && html`<${Results} results=${results} name=${study.name}
        title="So far, of sessions that are over, in all arms together" />`}
      ${study.costs && html`<p className="muted">${study.costs}</p>`}
      ${study.given_out.map((text) => html`<p className="alert" key=${text}>No erasure reaches it: ${text}.</p>`)}
      ${study.unclean && html`<p className="alert">The database’s files may still hold what was erased, while another
        process has them open.</p>`}
      <p className="buttons" ...${SINGLE}>${study.events.map((event) => html`<button type="button" key=${event}
        onClick=${() => ask(event, `events/${event}`, (found) => `The study is ${found.state}.`)}>${WORDS[event]}</button>`)}
        ${["PREPARED", "OPEN"].includes(study.state) && study.places > 0 && html`<button type="button"
          onClick=${() => act("participants", (found) => `${found.subject}: ${found.link}`)}>Invite somebody</button>`}</p>
      ${study.panel.length > 0 && html`<p className="muted">A panel’s address: ${location.origin}/?${study.panel
        .map((name) => `${name}={{%${name}%}}`).join("&")}</p>`}
    </section>
    <section aria-labelledby="people-title"><h2 id="people-title">Participants</h2>
      ${study.lines.length === 0 && html`<p className="muted">Nobody has come yet.</p>`}
      <div className="scroll" tabIndex="0" role="group" aria-label="participants"><table>
        <thead><tr>${["participant", "status", "task", "waits", "sessions", ""].map((text, place) =>
          html`<th scope="col" key=${place}>${text || html`<span className="unseen">what can be done</span>`}</th>`)}</tr></thead>
        <tbody>${study.lines.map((one) => html`<tr key=${one.subject}><th scope="row">${one.subject}</th>
          <td>${one.status}</td><td>${one.given} of ${study.tasks}</td>
          <td>${one.waits}${one.trouble && html` <span className="alert">${one.trouble}</span>`}</td><td>${one.sessions}</td>
          <td><button type="button" aria-expanded=${open === one.subject}
            onClick=${() => setOpen(open === one.subject ? "" : one.subject)}>More <span className="unseen">of ${one.subject}</span></button></td>
          </tr>`)}</tbody></table></div>
      ${opened && html`<${More} key=${open} line=${opened} news=${news} ask=${ask} tell=${setTold}
        pair=${pair} pick=${pick} />`}
    </section>
    ${pair.length > 0 && html`<section aria-labelledby="pair-title"><h2 id="pair-title">${pair.length > 1
      ? "Two sessions side by side" : "A session; choose another one to compare"}</h2>
      <div className="pair">${pair.map((one) => html`<${Transcript} key=${one.key} one=${one} news=${news} />`)}</div></section>`}
    <${Arms} state=${study.state} />
  </main>`;
}

/** The arms side by side, on request. */
function Arms({ state }) {
  const [found, setFound] = useState(null);
  const [trouble, setTrouble] = useState("");
  const ask = () => get(`${BASE}/arms`).then((reply) => reply.json()).then(setFound).catch((error) => setTrouble(error.message));
  useEffect(() => { setTrouble(""); }, [state]);
  return html`<section aria-labelledby="arms-title"><h2 id="arms-title">Arms compared</h2>
    ${trouble && html`<p className="alert" role="alert">${trouble}</p>`}
    ${found ? html`<div className="pair">${found.arms.map((one) => html`<article key=${one.name} aria-label=${`arm ${one.name}`}>
        <h3>${one.name}</h3>${one.costs && html`<p className="muted">${one.costs}</p>`}
        <${Results} results=${one.results} name=${`arm ${one.name}`} title="Of sessions that are over" 
          beside=${found.arms.map((each) => each.results)} /></article>`)}</div>
        ${found.differences.map((one, place) => html`<${Differences} key=${place} found=${one} title="How they differ" />`)}`
      : html`<p><button type="button" onClick=${ask}>Compare the arms (you are not blind any more)</button></p>`}</section>`;
}

function More({ line, news, ask, tell, pair, pick }) {
  const [arms, setArms] = useState(null);
  const path = `participants/${line.subject}`;
  const sessions = useAsked(`${BASE}/${path}/sessions`, news, PAUSE).found ?? [];
  const reveal = () => get(`${BASE}/${path}/arms`).then((found) => found.json()).then(setArms)
    .catch((error) => tell(error.message));
  const state = (found) => `${line.subject} is ${found.lines.find((one) => one.subject === line.subject)?.status}.`;
  return html`<div className="more"><h3>${line.subject}: ${line.status}</h3>
    <ul className="sessions">${sessions.map((one) => html`<li key=${one.id}><button type="button"
      aria-pressed=${pair.some((each) => each.key === `${line.subject}/${one.id}`)}
      onClick=${() => pick({ key: `${line.subject}/${one.id}`, subject: line.subject, ...one })}>Task ${one.place}, ${one.instance}</button>
      ${" "}${counted(one.messages, "message")} ${one.ending}</li>`)}</ul>
    <p className="buttons">
      <button type="button" onClick=${() => ask("link", `${path}/link`, (found) => `${found.subject}: ${found.link}`)}>New link</button>
      <button type="button" onClick=${() => ask("revoke", `${path}/revoke`, (found) => `${found.revoked} links of ${found.subject} revoked`)}>Revoke all links</button>
      <button type="button" onClick=${() => ask("reassign", `${path}/reassign`, state)}>Give the place to somebody else</button>
      <button type="button" onClick=${() => ask("withdraw", `${path}/withdraw`, state)}>Withdraw</button>
      ${arms ? html`<span>${arms.join("; ")}</span>`
        : html`<button type="button" onClick=${reveal}>Show the arms (you are not blind any more)</button>`}</p></div>`;
}

function Transcript({ one, news }) {
  const { found: said, trouble } = useAsked(`${BASE}/participants/${one.subject}/sessions/${one.id}`, news, PAUSE);
  if (!said || trouble) return null; // where it was erased, it is shown no longer
  return html`<article aria-label=${`${one.subject}, task ${one.place}, ${one.instance}`}>
    <h3>${one.subject}, task ${one.place}: ${one.instance}</h3>
    <ol className="messages">${said.messages.map((each) => html`<li key=${each.number} className=${each.mine ? "mine" : "theirs"}>
      <p className="speaker"><span className="muted">${each.number}</span> <strong>${each.mine ? one.subject : who(false)}</strong>
        ${" "}<span className="tag">${each.tag}</span> ${each.active !== null && html`<span className="muted">${each.active} s active, ${each.idle} s idle</span>`}</p>
      <p className="prediction">${each.prediction}</p><p className="explanation">${each.explanation}</p></li>`)}</ol>
    <p>${said.ending || "It is not over."}</p></article>`;
}
