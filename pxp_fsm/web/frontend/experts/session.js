// A session: what it is about, what was said, where one is, and the form with which one answers.
import { memo, useCallback, useEffect, useRef, useState } from "react";
import { Automaton } from "../automaton.js";
import { get } from "../http.js";
import { html } from "../html.js";
import { Board, name } from "./board.js";
import { Form } from "./form.js";
import { useWritten } from "./news.js";
import { Viewer } from "./viewer.js";

/** What a tag says, of the other side and of oneself. */
const WORDS = {
  INIT: ["begins", "begin"], RATIFY: ["agrees", "agree"], REFUTE: ["disagrees", "disagree"],
  REVISE: ["has changed the answer", "have changed your answer"], REJECT: ["gives up", "give up"],
  TERM: ["ends it", "end it"],
};
/** Where one is, by the state of the table. */
const HERE = {
  IDLE: "nothing has been said yet", WAIT: "the other side answers next", DECIDE: "you answer next", END: "the conversation is over",
};
export const who = (mine) => (mine ? "You" : "The other side");
/** Who sent a message: of several agents to whom, too. */
const speaker = (one) => (one.sender ? name(one.sender, one.mine) : who(one.mine));

export function Session({ id, news, next, onChange }) {
  const [view, setView] = useState(null);
  const [trouble, setTrouble] = useState("");
  const latest = useRef(0);

  const refresh = useCallback(async () => {
    const number = (latest.current += 1);
    try {
      const found = await (await get(`/api/sessions/${id}`)).json();
      if (number === latest.current) { setView(found); setTrouble(""); }
    } catch (error) {
      if (number === latest.current && error.status) setTrouble(error.message);
    }
  }, [id]);
  useEffect(() => { refresh(); }, [refresh, news]);

  /** Show what a reply brought; where the session was asked for meanwhile, which of the two is newer is
   * not known, and it is asked for again. */
  const keep = useCallback(async (reply) => {
    const before = latest.current;
    const found = await reply;
    if (latest.current === before) {
      latest.current += 1;
      setView(found);
    } else refresh();
    onChange();
  }, [onChange, refresh]);

  if (!view) return html`<section className="empty"><p role="status">${trouble || "Loading …"}</p></section>`;
  return html`<${SessionPane} view=${view} base=${`/api/sessions/${id}`} next=${next} trouble=${trouble}
    pasting=${true} onReply=${keep} onMoved=${refresh} />`;
}

/** A session as it is; pictures, drafts and replies are at `base`, `waits` is shown where nothing is asked. */
export function SessionPane({ view, base, next, trouble, pasting, onReply, onMoved, waits }) {
  const [asked, reply] = useQuestion(view, onReply);
  const last = (mine) => view.messages.filter((one) => one.mine === mine).at(-1);
  const several = view.board !== null;
  const proposals = view.smiles && !several ? [last(false), last(true)].filter(Boolean) : [];
  return html`<article className="session" aria-label=${view.title}>
    <div className="subject">
      <h2>${view.title}</h2>
      <p className="query">${view.query}</p>
      ${view.pictured && html`<${Viewer} source=${`${base}/pictures/0?${view.id}`} photograph=${!view.smiles}
        label=${view.smiles ? "the molecule" : "the picture"} />`}
      ${view.described && html`<p className="described"><code>${view.described}</code></p>`}
      ${proposals.length > 0 && html`<div className="proposals">${proposals.map((one) => html`<figure key=${one.number}>
        <figcaption>${one.mine ? "Your latest answer" : "The other side’s latest answer"}</figcaption>
        <${Drawing} session=${view.id} base=${base} message=${one} /></figure>`)}</div>`}
      ${several && html`<${Board} board=${view.board} drawing=${(text) => view.smiles && html`<${Structure} smiles=${text} />`} />`}
    </div>
    <div className="talk">
      <${Conversation} view=${view} base=${base} />
      ${trouble && html`<p className="alert">${trouble}</p>`}
      ${asked
        ? html`<${Form} key=${`${view.id}/${asked.number}`} view=${{ ...view, asked }} onReply=${reply}
            ...${{ base, pasting, onMoved }} />`
        : html`<section role="status"><h2>${{ over: "This session is over", paused: "This session is paused" }[view.standing]
            ?? waits ?? (several ? "The other agents are at work" : "The other side is at work")}</h2><p>${view.ending}</p>
            ${view.standing === "partner" && html`<${Writing} view=${view} />`}
            ${next && html`<a className="button" href=${`#s=${next.id}`}>Go to ${next.title}</a>`}</section>`}
      <${Where} view=${view} />
    </div>
  </article>`;
}

/** What is asked, and what replies to it. A server that was started again asks nothing for a while, and
 * then the same: until it does, the question stays, so that nothing is lost of what is being typed. */
function useQuestion(view, onReply) {
  const latest = useRef(null), answered = useRef("");
  latest.current = view.asked ?? latest.current;
  const { number, key } = latest.current ?? {};
  const stays = view.standing === "partner" && number === view.messages.length + 1 && key !== answered.current;
  const reply = useCallback(async (sent) => {
    answered.current = latest.current.key;
    try {
      await onReply(sent);
    } catch (error) {
      if (error.status !== 409) answered.current = "";
      throw error;
    }
  }, [onReply]);
  return [view.asked ?? (stays ? latest.current : null), reply];
}

const Drawing = memo(/** @param {any} props */ function Drawing({ session, base, message }) {
  return html`<img className="structure" src=${`${base}/pictures/${message.number}?${session}`}
    alt=${`the molecules of message ${message.number}: ${message.prediction}`} />`;
}, (old, now) => old.message.number === now.message.number && old.session === now.session);

/** The molecules of a prediction on the board. */
const Structure = memo(/** @param {any} props */ function Structure({ smiles }) {
  return html`<img className="structure" src=${`/api/drawing?smiles=${encodeURIComponent(smiles)}`}
    alt=${`the molecules ${smiles}`} />`;
});

/** What the other side has written of its next message; an older text than what is shown is none. */
function Writing({ view }) {
  const number = view.messages.length + 1;
  const said = [useWritten(view.id), view.writing].find((one) => one?.number === number);
  return said ? html`<div className="writing" aria-live="off"><p className="muted">${view.board ? "An agent is" : "It is"} writing. Nothing is sent yet.</p>
    <p className="prediction">${said.prediction}</p><p className="explanation">${said.explanation}</p></div>` : null;
}

function Conversation({ view, base }) {
  const list = useRef(null), own = view.board?.agents.find((one) => one.mine)?.name;
  useEffect(() => { // a list of many messages is shown from its end
    if (view.board && list.current) list.current.scrollTop = list.current.scrollHeight;
  }, [view.board !== null, view.messages.length]);
  const side = (one) => (one.mine ? "mine" : one.receiver && one.receiver !== own ? "others" : "theirs");
  return html`<section aria-labelledby="conversation"><h2 id="conversation">What was said</h2>
    <ol className=${`messages ${view.board ? "several" : ""}`} aria-live="polite" tabIndex=${view.board ? 0 : undefined}
      aria-label=${view.board ? "messages" : undefined} ref=${list}>${view.messages.map((one) => html`<li key=${one.number}
      className=${side(one)}>
      <p className="speaker"><span className="muted">${one.number}</span> <strong>${speaker(one)}</strong>
        ${one.receiver && html` to <strong>${one.receiver === own ? "you" : one.receiver}</strong>`}
        ${" "}${WORDS[one.tag]?.[one.mine ? 1 : 0] ?? ""} <span className="tag">${one.tag}</span></p>
      <p className="prediction">${one.prediction}</p>
      ${one.drawn && !view.board && html`<${Drawing} session=${view.id} base=${base} message=${one} />`}
      <p className="explanation">${one.explanation}</p></li>`)}</ol>
    ${!view.messages.length && html`<p className="muted">Nothing yet.</p>`}</section>`;
}

function Where({ view }) {
  return html`<details className="where"><summary>How this conversation works</summary>
    ${view.state && html`<p className="muted">Where you are now${view.board?.to ? ` with ${view.board.to}` : ""}:
      ${" "}${HERE[view.state] ?? view.about ?? view.state}</p>`}
    ${view.moves.length > 0 && html`<dl className="moves">${view.moves.map((one) => html`<div key=${one.guard}
      className=${one.allowed ? "" : "muted"}><dt>${one.tag}</dt><dd>${one.about}</dd></div>`)}</dl>`}
    <${Automaton} member=${view.automaton} place=${0} at=${view.state} settled="" before="" possible="" latest="" />
  </details>`;
}
