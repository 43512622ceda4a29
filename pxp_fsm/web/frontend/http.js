// Requests to the server that has sent the page.

async function answered(response) {
  if (response.ok) return response;
  const { detail } = await response.json().catch(() => ({ detail: response.statusText }));
  throw new Error(typeof detail === "string" ? detail : "the server cannot read the request");
}

export async function get(path) {
  return answered(await fetch(path));
}

export async function post(path, body) {
  return answered(
    await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
}

/** Events by WebSocket; the function that is returned sends one. Of those sent before the
 * connection stands the last is kept. */
export function socket(path, tell, lost) {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const connection = new WebSocket(`${scheme}://${location.host}${path}`);
  const waiting = [];
  connection.onmessage = (event) => tell(JSON.parse(event.data));
  connection.onopen = () => waiting.splice(0).forEach((one) => connection.send(one));
  connection.onclose = () => lost();
  return (message) => {
    const text = JSON.stringify(message);
    if (connection.readyState === WebSocket.OPEN) connection.send(text);
    else waiting.splice(0, waiting.length, text);
  };
}
