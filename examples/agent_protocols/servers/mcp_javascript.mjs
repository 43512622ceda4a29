// An MCP server of the JavaScript SDK (@modelcontextprotocol/server), with a tool that asks two questions.
//
// node mcp_javascript.mjs PORT [bind]
//
// With `bind` the tool binds the state that it gives to the client to what is to be booked.
import { randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } from '@modelcontextprotocol/node';
import {
  acceptedContent, createMcpHandler, createRequestStateCodec, inputRequired, isInitializeRequest,
  isLegacyRequest, McpServer,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

const codec = createRequestStateCodec({ key: randomBytes(32), bind: (ctx) => ctx.mcpReq.method });
const binds = process.argv[3] === 'bind';

const asked = (ctx, name) => acceptedContent(ctx.mcpReq.inputResponses, name, z.object({ [name]: z.string() }));

function scripted() {
  const server = new McpServer({ name: 'scripted', version: '1' }, { requestState: { verify: codec.verify } });
  server.registerTool('book', { inputSchema: z.object({ what: z.string() }) }, async ({ what }, ctx) => {
    const state = ctx.mcpReq.requestState();
    const answers = ctx.mcpReq.inputResponses ?? {};
    if (Object.values(answers).some((answer) => answer.action === 'decline')) throw new Error('declined');
    const [place, day] = [asked(ctx, 'place'), asked(ctx, 'day')];
    if (place && day && state && (!binds || state.what === what)) {
      return { content: [{ type: 'text', text: `${what}, ${place.place}, ${day.day}` }] };
    }
    const question = (name) => inputRequired.elicit({ message: `${name}?`, requestedSchema: z.object({ [name]: z.string() }) });
    return inputRequired({
      inputRequests: { place: question('place'), day: question('day') },
      requestState: await codec.mint({ what }, ctx),
    });
  });
  return server;
}

const modern = toNodeHandler(createMcpHandler(scripted, { legacy: 'reject' }));
const sessions = new Map();

async function legacy(request, response, body) {
  const id = request.headers['mcp-session-id'];
  let transport = sessions.get(id);
  if (!transport && isInitializeRequest(body)) {
    transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (started) => sessions.set(started, transport),
      onsessionclosed: (ended) => sessions.delete(ended),
    });
    await scripted().connect(transport);
  }
  if (transport) return transport.handleRequest(request, response, body);
  // as in the SDK's example of sessions: without one, only an initialization is taken
  return response.writeHead(id ? 404 : 400).end();
}

createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const text = Buffer.concat(parts).toString();
  const body = text ? JSON.parse(text) : undefined;
  if (await isLegacyRequest(await toWebRequest(request, body), body)) return legacy(request, response, body);
  return modern(request, response, body);
}).listen(Number(process.argv[2]), '127.0.0.1');
