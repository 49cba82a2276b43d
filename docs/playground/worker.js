// The worker: Python with fairtrial, which reads files in a folder of its memory and writes a report.
let python;
let answered = Promise.resolve();

/** Loads Python and fairtrial. The archive is fetched while Python starts. */
async function start(base) {
  const fetched = fetch(`${base}packages.zip`).then((response) => {
    if (!response.ok) throw new Error(`packages.zip: ${response.status}`);
    return response.arrayBuffer();
  });
  const { loadPyodide } = await import(`${base}pyodide/pyodide.mjs`);
  const [started, archive] = await Promise.all([loadPyodide({ indexURL: `${base}pyodide/` }), fetched]);
  postMessage({ status: "starting" });
  started.unpackArchive(archive, "zip", { extractDir: "/packages" });
  started.runPython("import sys; sys.path.insert(0, '/packages')");
  await started.pyimport("playground").warm_up();
  return started;
}

/** Answers one message after the other: their files stand in the same folder. One without files only loads Python. */
onmessage = ({ data }) => {
  answered = answered.then(() => answer(data));
};

async function answer(data) {
  try {
    python ??= start(data.base);
    const started = await python.catch((error) => {
      python = undefined; // the next message loads it again
      throw error;
    });
    if (!data.recorded) return;
    postMessage({ status: "scoring" });
    const make_report = started.pyimport("playground").make_report;
    const result = await make_report(started.toPy(data.recorded), started.toPy(data.expected), data.match);
    const { report, said, problem } = result.toJs({ dict_converter: Object.fromEntries });
    postMessage({ report, said, problem, turn: data.turn });
  } catch (error) {
    if (data.recorded) postMessage({ problem: String(error).trim().split("\n").at(-1), turn: data.turn });
  }
}
