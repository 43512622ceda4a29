// An A2A server of the JavaScript SDK (@a2a-js/sdk) whose work does what a test says.
//
// node a2a_javascript.mjs PORT [OPENING [keep]]
//
// OPENING and POST /control/TASK/EVENT are those of a2a_python.py. With `keep` the event bus of a task
// that works is kept when one execution of it returns (the option keepBusAliveStates).
import { randomUUID } from 'node:crypto';
import express from 'express';
import { Role, TaskState } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore, ServerCallContext } from '@a2a-js/sdk/server';
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express';

const OPENINGS = {
  submitted: TaskState.TASK_STATE_SUBMITTED,
  working: TaskState.TASK_STATE_WORKING,
  rejected: TaskState.TASK_STATE_REJECTED,
};
const STATES = {
  BEGINS: TaskState.TASK_STATE_WORKING,
  NEEDS_INPUT: TaskState.TASK_STATE_INPUT_REQUIRED,
  NEEDS_AUTH: TaskState.TASK_STATE_AUTH_REQUIRED,
  AUTHORIZED: TaskState.TASK_STATE_WORKING,
  WORK_DONE: TaskState.TASK_STATE_COMPLETED,
  WORK_BROKEN: TaskState.TASK_STATE_FAILED,
  WORK_REFUSED: TaskState.TASK_STATE_REJECTED,
};
const WAITS = [TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED];
const GOES_ON = new Set(['BEGINS', 'NEEDS_AUTH', 'AUTHORIZED']);

const now = () => new Date().toISOString();
const statusOf = (state) => ({ state, message: undefined, timestamp: now() });

class Work {
  constructor(opening) {
    this.opening = opening;
    this.waiting = new Map(); // what the work of a task does at its next event
  }

  async execute(context, bus) {
    const { taskId, contextId } = context;
    const before = context.task?.status?.state;
    let state = before;
    if (before === undefined) state = OPENINGS[this.opening];
    else if (WAITS.includes(before)) state = TaskState.TASK_STATE_WORKING;
    if (before === undefined && this.opening === 'answer') {
      bus.publish(AgentEvent.message({
        messageId: randomUUID(), contextId, taskId: '', role: Role.ROLE_AGENT,
        parts: [], metadata: undefined, extensions: [], referenceTaskIds: [],
      }));
      return;
    }
    bus.publish(AgentEvent.task({
      ...(context.task ?? { id: taskId, contextId, artifacts: [], history: [context.userMessage], metadata: undefined }),
      status: statusOf(state),
    }));
    if (state === TaskState.TASK_STATE_REJECTED) {
      return;
    }
    if (this.waiting.has(taskId)) return; // a message to work that goes on
    while (true) {
      const event = await new Promise((resolve) => this.waiting.set(taskId, { contextId, happens: resolve }));
      if (event === 'CANCELED') break;
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: statusOf(STATES[event]), metadata: undefined }));
      if (!GOES_ON.has(event)) break;
    }
    this.waiting.delete(taskId);
  }

  async cancelTask(taskId, bus) {
    const waiting = this.waiting.get(taskId);
    bus.publish(AgentEvent.statusUpdate({
      taskId, contextId: waiting?.contextId ?? '', status: statusOf(TaskState.TASK_STATE_CANCELED), metadata: undefined,
    }));
    waiting?.happens('CANCELED');
  }
}

const work = new Work(process.argv[3] ?? 'submitted');
const store = new InMemoryTaskStore();
const card = {
  name: 'scripted', description: 'Work that a test drives', version: '1',
  supportedInterfaces: [{ url: 'http://127.0.0.1/', protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
  provider: undefined, capabilities: { streaming: true, extensions: [] },
  securitySchemes: {}, securityRequirements: [], defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'], skills: [], signatures: [],
};
const alive = ['SUBMITTED', 'WORKING', 'INPUT_REQUIRED', 'AUTH_REQUIRED'].map((name) => TaskState[`TASK_STATE_${name}`]);
const options = process.argv[4] === 'keep' ? { keepBusAliveStates: alive } : {};
const handler = new DefaultRequestHandler(
  card, store, work, undefined, undefined, undefined, undefined, undefined, options,
);
const server = express();
server.post('/control/:task/:event', async (request, response) => {
  const { task, event } = request.params;
  work.waiting.get(task)?.happens(event);
  for (let times = 0; times < 200; times += 1) {
    const stored = await store.load(task, new ServerCallContext());
    if (stored?.status?.state === STATES[event]) return response.status(204).end();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return response.status(409).end();
});
server.use('/', jsonRpcHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication }));
server.listen(Number(process.argv[2]), '127.0.0.1');
