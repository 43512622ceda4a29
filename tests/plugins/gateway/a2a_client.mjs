// A client of the JavaScript SDK of A2A: sends messages, and prints what it gets as JSON, one a line.
//
// node a2a_client.mjs ADDRESS TOKEN PURPOSE...
import { randomUUID } from 'node:crypto';
import { Role } from '@a2a-js/sdk';
import { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client';

const [address, token, ...purposes] = process.argv.slice(2);
const fetchImpl = (url, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set('authorization', `Bearer ${token}`);
  return fetch(url, { ...init, headers });
};
const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
  transports: [new JsonRpcTransportFactory({ fetchImpl })],
  cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
});
const client = await new ClientFactory(options).createFromUrl(address, `${address}/.well-known/agent-card.json`);
const request = (purpose) => ({
  tenant: '',
  configuration: undefined,
  metadata: undefined,
  message: {
    messageId: randomUUID(), contextId: '', taskId: '', role: Role.ROLE_USER, extensions: [], referenceTaskIds: [],
    parts: [{ content: { $case: 'text', value: purpose }, metadata: undefined, filename: '', mediaType: '' }],
    metadata: { purpose },
  },
});
for (const purpose of purposes) {
  for await (const answer of client.sendMessageStream(request(purpose))) {
    console.log(JSON.stringify(answer));
  }
  console.log(JSON.stringify(await client.sendMessage(request(purpose))));
}
