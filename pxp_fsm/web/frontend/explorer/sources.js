// Where states come from: a server that computes them, or the data in a file. Both give the same
// views, so that nothing else on the page knows the difference.

import { get, post, socket } from "../http.js";

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

/** The data of a file: every state with its moves, by number. */
export class FileSource {
  live = false;

  constructor(packed) {
    this.packed = packed;
  }

  async open() {
    const bytes = Uint8Array.from(atob(this.packed), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    this.data = await new Response(stream).json();
    return this.data;
  }

  along(choices) {
    const found = [0];
    for (const choice of choices) {
      const target = this.data.states[found.at(-1)].targets[choice];
      if (target === undefined) throw new Error("the trace is of another system, or beyond this file");
      found.push(target);
    }
    return found;
  }

  view(number) {
    const { texts, moves, blocked, states, limit } = this.data;
    const state = states[number];
    const text = (one) => texts[one];
    return {
      at: state.at.map(text),
      settled: state.settled.map(text),
      buffers: state.buffers.map((buffer) => buffer.map(text)),
      propositions: state.propositions.map(text),
      ended: state.ended ?? false,
      deadlock: state.deadlock ?? null,
      moves: state.moves.map((one) => moves[one]),
      blocked: state.blocked.map((one) => blocked[one]),
      bound: state.cut ? limit : 0,
    };
  }

  async states(choices, start) {
    return this.along(choices).slice(start).map((number) => this.view(number));
  }

  async graph(choices, fold) {
    const { numbers, ...view } = this.data.graphs[fold];
    return { ...view, path: this.along(choices).map((number) => numbers[number]) };
  }

  async path(choices, goal) {
    const start = this.along(choices).at(-1);
    const { states, texts } = this.data;
    const wanted = goal ? texts.indexOf(goal) : -1;
    if (goal && wanted < 0) throw new Error(`no state of this file has ${goal}`);
    const is = (number) =>
      goal
        ? states[number].propositions.includes(wanted)
        : !states[number].targets.length && !states[number].cut;
    if (!goal && is(start)) return [];
    const came = new Map([[start, null]]);
    const queue = [start];
    for (const number of queue) {
      for (const [choice, target] of states[number].targets.entries()) {
        if (is(target)) {
          const found = [choice];
          for (let at = number; came.get(at); at = came.get(at)[0]) found.push(came.get(at)[1]);
          return found.reverse();
        }
        if (!came.has(target)) {
          came.set(target, [number, choice]);
          queue.push(target);
        }
      }
    }
    throw new Error(`no state of this file after this one has ${goal || "no move"}`);
  }

  listen(tell) {
    for (const result of this.data.results) tell({ type: "result", id: null, result });
    tell({ type: "done", id: null });
    return () => {};
  }
}
