// The page: hands dropped files to a worker, and shows the report in a frame that has no origin and no network.
"use strict";
const part = (id) => document.getElementById(id);
const base = new URL(".", location.href).href;
let worker;
let shown;
let newest = 0;
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
    if (data.turn !== newest) return; // other files came meanwhile
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
  part("report").hidden = true; // the files as they are stay, if they were shown
}

function show(report, text) {
  URL.revokeObjectURL(shown);
  shown = URL.createObjectURL(new Blob([report], { type: "text/html" }));
  // A new frame: one that was hidden while its document changed may stay without a size, and then shows nothing.
  const frame = part("report").cloneNode();
  frame.src = shown;
  frame.hidden = false;
  part("report").replaceWith(frame);
  part("files").hidden = true;
  say(text);
}

const MOST_FILES = 20;
const MOST_MESSAGES = 200;
const MOST_CHARACTERS = 20_000;

/** Shows files as they are, at once and without Python: their messages, or else their text. A report replaces this. */
function view(files) {
  const rest = files.length - MOST_FILES;
  part("files").replaceChildren(
    ...files.slice(0, MOST_FILES).flatMap(view_file),
    ...(rest > 0 ? [element("p", `… and ${rest} more files`)] : []),
  );
  part("files").hidden = false;
  part("report").hidden = true;
}

function view_file({ name, bytes }) {
  const text = new TextDecoder().decode(bytes);
  const messages = find_messages(parse(text));
  const rest = messages.length - MOST_MESSAGES;
  const shown = messages.slice(0, MOST_MESSAGES).map(({ role, said }) => {
    const line = element("p", shorten(said));
    line.prepend(element("b", `${role}: `));
    return line;
  });
  if (rest > 0) shown.push(element("p", `… and ${rest} more messages`));
  return [element("h2", name), ...(shown.length ? shown : [element("pre", shorten(text))])];
}

/** Makes an element of text alone: nothing in a file is markup. */
function element(tag, text) {
  const own = document.createElement(tag);
  own.textContent = text;
  return own;
}

function shorten(text) {
  const rest = text.length - MOST_CHARACTERS;
  return rest > 0 ? `${text.slice(0, MOST_CHARACTERS)} … and ${rest} more characters` : text;
}

function parse(text) {
  const value = (json) => {
    try {
      return JSON.parse(json);
    } catch {
      return undefined;
    }
  };
  return value(text) ?? text.split("\n").map(value);
}

/** Finds the messages in a value, in their order: an object with a role, and with a text, parts or calls. */
function find_messages(value, depth = 0) {
  if (!value || typeof value !== "object" || depth > 12) return [];
  if (typeof value.role === "string") {
    const said = [value.content ?? value.parts, value.tool_calls].map(read_text).filter(Boolean).join("\n");
    if (said) return [{ role: value.role, said }];
  }
  return Object.values(value).flatMap((own) => find_messages(own, depth + 1));
}

/** Reads the text of a content: of parts, and of calls and results of tools. */
function read_text(value) {
  if (typeof value !== "object" || !value) return typeof value === "string" ? value : "";
  if (Array.isArray(value)) return value.map(read_text).filter(Boolean).join("\n");
  const call = value.function ?? value.functionCall ?? value.function_call ?? value;
  if (typeof call.name === "string") {
    const given = call.arguments ?? call.args ?? call.input ?? call.response ?? "";
    return `${call.name}(${typeof given === "string" ? given : JSON.stringify(given)})`;
  }
  return read_text(value.text ?? value.content ?? value.parts);
}

async function read(files) {
  return Promise.all(Array.from(files, async (file) => ({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) })));
}

/** Opens files that are being read. What was said before belongs to other files, whose report nobody waits for. */
async function open(...reading) {
  const turn = ++newest;
  waits = false;
  part("problem").hidden = true;
  part("problem").textContent = "";
  part("files").hidden = true;
  say("The files are read …");
  try {
    const files = await Promise.all(reading);
    if (turn === newest) show_report(...files);
  } catch (error) {
    if (turn === newest) fail(`a file cannot be read, or it is a folder: ${error.message}`);
  }
}

function show_report(recorded, expected, match) {
  if (!recorded.length) return fail("choose at least one file");
  // A report brings its own policy. Its program runs only if it is the one of this version.
  if (recorded.some((file) => /\.html?$/i.test(file.name))) {
    if (recorded.length > 1) return fail("choose a report alone, without other files");
    return show(recorded[0].bytes, `${recorded[0].name} as it was written`);
  }
  view(recorded);
  start();
  waits = true;
  say("Python is loading …");
  worker.postMessage({ base, recorded, expected, match, turn: newest });
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
