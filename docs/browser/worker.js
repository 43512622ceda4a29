// Python beside the page: the package itself, and Graphviz, which it asks for pictures.
import { loadPyodide } from "./pyodide/pyodide.mjs";

/** Graphviz, which the explorer alone asks for: loaded after Python, so that verdicts come first. */
let drawing;
const draws = () => drawing ??= import("./viz.js").then(async ({ instance }) => {
  const viz = await instance();
  self.graphviz = (source, format, engine) => viz.renderString(source, { format, engine });
});

const python = (async () => {
  const [pyodide, code] = await Promise.all([
    loadPyodide({ indexURL: new URL("pyodide/", location.href).href }),
    fetch("package.zip").then((response) => response.arrayBuffer()),
  ]);
  pyodide.unpackArchive(code, "zip", { extractDir: "/package" });
  pyodide.runPython("import sys; sys.path.insert(0, '/package')");
  const work = pyodide.pyimport("work");
  postMessage({ type: "ready" });
  draws();  // now, since the page may be offline when it is asked for
  return { pyodide, work };
})();
python.catch((error) => postMessage({ type: "refused", error: reason(error) }));

/** The last line of Python's traceback that names an error. */
function reason(error) {
  const lines = String(error.message ?? error).trim().split("\n");
  return lines.findLast((line) => /^[\w.]+(?:Error|Exception|Interrupt)\b/.test(line)) ?? lines.at(-1);
}

onmessage = async ({ data }) => {
  const { work } = await python;
  try {
    if (data.type === "explore") await draws();
    const answer = work[data.type](JSON.stringify(data));
    postMessage({ type: data.type, id: data.id, answer: answer?.toJs ? answer.toJs() : answer });
  } catch (error) {
    postMessage({ type: "refused", id: data.id, error: reason(error) });
  }
};
