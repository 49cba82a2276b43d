// Compiles the modules of an archive with the Python of the playground, so that no browser has to.
// node compile_modules.mjs FOLDER_OF_PYODIDE SOURCES.zip TARGET.zip
import { readFileSync, writeFileSync } from "node:fs";

const [, , runtime, sources, target] = process.argv;
const { loadPyodide } = await import(`${runtime}/pyodide.mjs`);
const python = await loadPyodide({ indexURL: `${runtime}/` });
python.FS.writeFile("/sources.zip", readFileSync(sources));
// A module's name keeps its place, for example fairtrial/errors.pyc. Nothing compares it with a source, which is not there.
python.runPython(`
from importlib._bootstrap_external import _code_to_hash_pyc
from zipfile import ZIP_DEFLATED, ZipFile

with ZipFile("/sources.zip") as given, ZipFile("/compiled.zip", "w", ZIP_DEFLATED, compresslevel=9) as written:
    for member in given.infolist():
        content = given.read(member)
        if member.filename.endswith(".py"):
            code = compile(content, f"/packages/{member.filename}", "exec", dont_inherit=True, optimize=2)
            content = _code_to_hash_pyc(code, bytes(8), checked=False)
            member.filename += "c"
        written.writestr(member, content)
`);
writeFileSync(target, python.FS.readFile("/compiled.zip"));
