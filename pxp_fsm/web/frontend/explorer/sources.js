// Where states come from: a server that computes them, or the tables in a file. Both give the same
// views, so that nothing else on the page knows the difference.

import { get, post, socket } from "../http.js";

/** The states of a file in which the nearest one is searched. */
const MOST_SEARCHED = 200_000;

/** The server of `pxp serve`. */
export class ServerSource {
  live = true;
  system = "";

  async open() {
    const opened = await (await get("/api/system")).json();
    this.system = opened.system.fingerprint;
    return opened;
  }

  /** Ask about the system that was opened; the server refuses where it is another one by now. */
  async ask(path, query) {
    return post(path, { ...query, system: this.system });
  }

  async states(choices, start) {
    return (await this.ask("/api/trace", { choices, start })).json();
  }

  async path(choices, goal) {
    return (await this.ask("/api/path", { choices, goal })).json();
  }

  async color(choices, cycle, formula) {
    return (await this.ask("/api/color", { choices, cycle, formula })).json();
  }

  async exported(form, what) {
    return (await this.ask(`/api/export/${form}`, what)).blob();
  }

  async graph(choices, fold) {
    return (await this.ask("/api/graph", { choices, fold })).json();
  }

  async answers(choices, assumptions) {
    return (await this.ask("/api/answers", { choices, assumptions })).json();
  }

  async edit(table, text, choices) {
    return (await this.ask("/api/edit", { table, text, choices })).json();
  }

  async save(table) {
    return (await this.ask("/api/save", { table })).json();
  }

  /** Listen to events; the function that is returned asks a question. */
  listen(tell, lost) {
    return socket("/api/events", tell, lost).send;
  }
}

/** The data of a file (`pxp_fsm/web/files.py`): a state is the numbers of its parts, and what can
 * happen in it is looked up in tables. */
export class FileSource {
  live = false;

  constructor(packed) {
    this.packed = packed;
  }

  async open() {
    const bytes = Uint8Array.from(atob(this.packed), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    this.data = await new Response(stream).json();
    this.deadlocks = new Map(this.data.deadlocks.map(([state, view]) => [state.join(), view]));
    return this.data;
  }

  /** What a table says of a state; undefined where it is beyond the file. */
  at({ on, table }, state) {
    return table[on.map((part) => state[part]).join()];
  }

  /** What can happen, each with the state that it leads to; null where that is beyond the file. */
  happening(state) {
    const found = [];
    for (const local of this.data.happens) {
      const known = this.at(local, state);
      if (!known) return null;
      for (const [move, numbers] of known) {
        const target = [...state];
        local.on.forEach((part, place) => { target[part] = numbers[place]; });
        found.push({ move, target });
      }
    }
    return found;
  }

  along(choices) {
    const found = [this.data.start];
    for (const choice of choices) {
      const step = this.happening(found.at(-1))?.[choice];
      if (!step) throw new Error("the trace is of another system, or beyond this file");
      found.push(step.target);
    }
    return found;
  }

  /** Why rows of the members' present states can do nothing. */
  blocked(state, at) {
    const { reasons, texts, system } = this.data;
    return reasons.flatMap((locals, member) => {
      const rows = new Map();
      for (const local of locals) {
        for (const [row, text] of this.at(local, state) ?? []) {
          rows.set(row, (rows.get(row) ?? new Set()).add(texts[text]));
        }
      }
      return system.members[member].rows.flatMap(({ source }, row) =>
        source === at[member] && rows.has(row) ? [{ member, row, reasons: [...rows.get(row)] }] : []);
    });
  }

  parts(state) {
    return state.map((number, part) => this.data.parts[part][number]);
  }

  ended(members) {
    return members.every(([, , final]) => final);
  }

  view(state) {
    const parts = this.parts(state), { length } = this.data.system.members;
    const members = parts.slice(0, length), moves = this.happening(state);
    const at = members.map(([where]) => where);
    return {
      at,
      settled: members.map(([, guard]) => guard),
      buffers: parts.slice(length).map(([tags]) => tags),
      ended: this.ended(members),
      deadlock: this.deadlocks.get(state.join()) ?? null,
      moves: (moves ?? []).map(({ move }) => this.data.moves[move]),
      blocked: moves ? this.blocked(state, at) : [],
      beyond: !moves,
    };
  }

  async states(choices, start) {
    return this.along(choices).slice(start).map((state) => this.view(state));
  }

  async graph(choices, fold) {
    const { on, numbers, ...view } = this.data.graphs[fold];
    const key = (state) => on.map((part) => state[part]).join();
    return { ...view, path: this.along(choices).map((state) => numbers[key(state)] ?? null) };
  }

  /** Whether a proposition holds in a state. */
  holds(state, goal) {
    const parts = this.parts(state);
    if (goal === "ended") return this.ended(parts.slice(0, this.data.system.members.length));
    return parts.some((part) => part.at(-1).includes(goal));
  }

  async path(choices, goal) {
    const start = this.along(choices).at(-1);
    if (goal && !this.data.system.propositions.includes(goal)) throw new Error(`there is no proposition ${goal}`);
    const is = (state, moves) => (goal ? this.holds(state, goal) : moves?.length === 0);
    const came = new Map([[start.join(), null]]), queue = [start];
    for (const state of queue) {
      const moves = this.happening(state);
      if ((state !== start || !goal) && is(state, moves)) {
        const found = [];
        for (let back = came.get(state.join()); back; back = came.get(back.key)) found.push(back.choice);
        return found.reverse();
      }
      for (const [choice, { target }] of (queue.length < MOST_SEARCHED ? moves ?? [] : []).entries()) {
        const key = target.join();
        if (came.has(key)) continue;
        came.set(key, { key: state.join(), choice });
        queue.push(target);
      }
    }
    throw new Error(`no state that is found after this one has ${goal || "no move"}`);
  }

  listen(tell) {
    for (const result of this.data.results) tell({ type: "result", id: null, result });
    tell({ type: "done", id: null });
    return () => {};
  }
}
