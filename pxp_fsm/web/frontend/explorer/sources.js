// Where states come from: a server that computes them, or the data in a file. Both give the same
// views, so that nothing else on the page knows the difference.

import { get, post, socket } from "../http.js";

/** The server of `pxp explore`. */
export class ServerSource {
  live = true;

  async open() {
    return (await get("/api/system")).json();
  }

  async states(choices, start) {
    return (await post("/api/trace", { choices, start })).json();
  }

  async path(choices, goal) {
    return (await post("/api/path", { choices, goal })).json();
  }

  async color(choices, cycle, formula) {
    return (await post("/api/color", { choices, cycle, formula })).json();
  }

  async exported(form, choices, cycle, members) {
    return (await post(`/api/export/${form}`, { choices, cycle, members })).blob();
  }

  /** Listen to events; the function that is returned asks for the verdict on a formula. */
  listen(tell, lost) {
    const send = socket("/api/events", tell, lost);
    return (id, formula) => send({ type: "check", id, formula });
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
