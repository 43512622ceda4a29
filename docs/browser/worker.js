// Python beside the page: the package itself, and Graphviz, which it asks for pictures.
import { loadPyodide } from "./pyodide/pyodide.mjs";
import { instance } from "./viz.js";

const python = (async () => {
  const [pyodide, viz, code] = await Promise.all([
    loadPyodide({ indexURL: new URL("pyodide/", location.href).href }),
    instance(),
    fetch("package.zip").then((response) => response.arrayBuffer()),
  ]);
  self.graphviz = (source, format, engine) => viz.renderString(source, { format, engine });
  pyodide.unpackArchive(code, "zip", { extractDir: "/package" });
  pyodide.runPython("import sys; sys.path.insert(0, '/package')");
  const work = pyodide.pyimport("work");
  postMessage({ type: "ready" });
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
    const answer = work[data.type](JSON.stringify(data));
    postMessage({ type: data.type, id: data.id, answer: answer?.toJs ? answer.toJs() : answer });
  } catch (error) {
    postMessage({ type: "refused", id: data.id, error: reason(error) });
  }
};
