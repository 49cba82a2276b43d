// The worker: Python with fairtrial, which reads files in a folder of its memory and writes a report.
let python;
let answered = Promise.resolve();

async function start(base) {
  const { loadPyodide } = await import(`${base}pyodide/pyodide.mjs`);
  const [started, response] = await Promise.all([
    loadPyodide({ indexURL: `${base}pyodide/` }),
    fetch(`${base}packages.zip`),
  ]);
  if (!response.ok) throw new Error(`packages.zip: ${response.status}`);
  started.unpackArchive(await response.arrayBuffer(), "zip", { extractDir: "/packages" });
  started.runPython("import sys; sys.path.insert(0, '/packages')");
  return started;
}

/** Answers one message after the other: their files stand in the same folder. */
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
    postMessage({ status: "fairtrial reads and scores …" });
    const make_report = started.pyimport("playground").make_report;
    const result = await make_report(started.toPy(data.recorded), started.toPy(data.expected), data.match);
    const { report, said, problem } = result.toJs({ dict_converter: Object.fromEntries });
    postMessage({ report, said, problem });
  } catch (error) {
    postMessage({ problem: String(error).trim().split("\n").at(-1) });
  }
}
