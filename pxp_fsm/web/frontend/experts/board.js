// The board of a session of several agents: who predicts what, how often that has changed, who owes whom a message.
import { html } from "../html.js";

const TIMES = ["not changed", "changed once", "changed twice"];
export const name = (agent, mine) => (mine ? `You (${agent})` : agent);

/** `drawing` is a picture of a prediction, of tasks that have one. */
export function Board({ board, drawing }) {
  const own = board.agents.find((one) => one.mine)?.name;
  return html`<section className="board" aria-labelledby="board"><h2 id="board">The board</h2>
    <ul>${board.agents.map((one) => html`<li key=${one.name} className=${one.name === board.to ? "asks" : ""}>
      <p className="speaker"><strong>${name(one.name, one.mine)}</strong>
        ${one.pair && html` <span className="muted">${TIMES[one.version] ?? `changed ${one.version} times`}</span>`}</p>
      ${one.pair
        ? html`<p className="prediction">${one.pair.prediction}</p>${drawing(one.pair.prediction)}
            <details><summary>Explanation</summary><p className="explanation">${one.pair.explanation}</p></details>`
        : html`<p className="muted">has said nothing yet</p>`}
      ${one.owes.length > 0 && html`<p className="owes">owes a message to ${one.owes.map((to) => (to === own ? "you" : to)).join(", ")}</p>`}
    </li>`)}</ul></section>`;
}
