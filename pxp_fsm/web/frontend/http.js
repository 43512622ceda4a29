// Requests to the server that has sent the page.

async function answered(response) {
  if (response.ok) return response;
  const { detail } = await response.json().catch(() => ({ detail: response.statusText }));
  const error = new Error(typeof detail === "string" ? detail : "the server cannot read the request");
  throw Object.assign(error, { status: response.status });
}

export async function get(path, signal = undefined) {
  return answered(await fetch(path, { signal }));
}

function sent(method) {
  return async (path, body, keepalive = false) => answered(
    await fetch(path, {
      method,
      keepalive,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
}

export const post = sent("POST"), put = sent("PUT");

/** Events by WebSocket; `send` of what is returned sends one, `close` ends it. Of those sent before
 * the connection stands the last of each type is kept. */
export function socket(path, tell, lost) {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const connection = new WebSocket(`${scheme}://${location.host}${path}`);
  const waiting = new Map();
  connection.onmessage = (event) => tell(JSON.parse(event.data));
  connection.onopen = () => {
    waiting.forEach((one) => connection.send(one));
    waiting.clear();
  };
  connection.onclose = () => lost();
  const send = (message) => {
    const text = JSON.stringify(message);
    if (connection.readyState === WebSocket.OPEN) connection.send(text);
    else waiting.set(message.type, text);
  };
  return { send, close: () => connection.close() };
}
