// The page: hands dropped files to a worker, and shows the report in a frame that has no origin and no network.
"use strict";
const part = (id) => document.getElementById(id);
const base = new URL(".", location.href).href;
let worker;
let shown;
let waits = false;

/**
 * Starts the worker from a blob: it inherits the policy of this page, so that no file can leave for another server.
 * The first sign that someone will want a report starts it, so that Python loads while files are being chosen.
 */
function start() {
  if (worker) return;
  const source = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
  worker = new Worker(source, { type: "module" });
  worker.onmessage = ({ data }) => {
    if (data.status) return waits && say(data.status);
    waits = false;
    if (data.problem) fail(data.problem);
    else show(data.report, data.said);
  };
  worker.onerror = (event) => fail(event.message || "the browser cannot run Python: it needs WebAssembly and modules");
  worker.postMessage({ base });
}

function say(text) {
  part("status").textContent = text;
}

function fail(text) {
  say("");
  part("problem").textContent = text;
  part("problem").hidden = false;
  part("report").hidden = true;
}

function show(report, text) {
  URL.revokeObjectURL(shown);
  shown = URL.createObjectURL(new Blob([report], { type: "text/html" }));
  part("report").src = shown;
  part("report").hidden = false;
  say(text);
}

async function read(files) {
  return Promise.all(Array.from(files, async (file) => ({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) })));
}

/** Opens files that are being read. What was said before belongs to other files. */
async function open(...reading) {
  part("problem").hidden = true;
  part("problem").textContent = "";
  say("The files are read …");
  try {
    show_report(...(await Promise.all(reading)));
  } catch (error) {
    fail(`a file cannot be read, or it is a folder: ${error.message}`);
  }
}

function show_report(recorded, expected, match) {
  if (!recorded.length) return fail("choose at least one file");
  // A report brings its own policy. Its program runs only if it is the one of this version.
  if (recorded.some((file) => /\.html?$/i.test(file.name))) {
    if (recorded.length > 1) return fail("choose a report alone, without other files");
    return show(recorded[0].bytes, `${recorded[0].name} as it was written`);
  }
  start();
  waits = true;
  say("Python is loading …");
  worker.postMessage({ base, recorded, expected, match });
}

part("recorded").form.addEventListener("submit", async (event) => {
  event.preventDefault();
  await open(read(part("recorded").files), read(part("expected").files), part("match").value);
});
part("example").addEventListener("click", async () => {
  const file = async (name) => ({ name, bytes: new Uint8Array(await (await fetch(base + name)).arrayBuffer()) });
  await open(Promise.all([file("example.json")]), Promise.all([file("example.evalset.json")]), "order");
});
for (const sign of ["focusin", "pointerover"]) part("recorded").form.addEventListener(sign, start);
addEventListener("dragenter", start);
addEventListener("dragover", (event) => {
  event.preventDefault();
  document.querySelector("main").classList.add("dropping");
});
addEventListener("dragleave", () => document.querySelector("main").classList.remove("dropping"));
addEventListener("drop", async (event) => {
  event.preventDefault();
  document.querySelector("main").classList.remove("dropping");
  await open(read(event.dataTransfer.files), read(part("expected").files), part("match").value);
});
