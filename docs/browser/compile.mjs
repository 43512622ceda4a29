// node compile.mjs ZIP: its Python modules, compiled by the very Python that the page runs.
import { readFileSync, writeFileSync } from "node:fs";
import { loadPyodide } from "pyodide";

const path = process.argv[2];
const pyodide = await loadPyodide();
pyodide.FS.writeFile("/package.zip", readFileSync(path));
await pyodide.runPythonAsync(`
import importlib.util, marshal, zipfile

def compiled(source, name):
    """What py_compile writes where a module is never compared with its source."""
    code = compile(source, name, "exec", dont_inherit=True, optimize=0)
    return importlib.util.MAGIC_NUMBER + b"\\x01" + bytes(11) + marshal.dumps(code)

with zipfile.ZipFile("/package.zip") as before, zipfile.ZipFile(
    "/compiled.zip", "w", zipfile.ZIP_DEFLATED
) as after:
    for entry in before.infolist():
        data = before.read(entry)
        if entry.filename.endswith(".py"):
            after.writestr(entry.filename + "c", compiled(data, "/package/" + entry.filename))
        else:
            after.writestr(entry, data)
`);
writeFileSync(path, pyodide.FS.readFile("/compiled.zip"));
