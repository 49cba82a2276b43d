// The page: hands dropped files to a worker, and shows the report in a frame that has no origin and no network.
"use strict";
const part = (id) => document.getElementById(id);
const base = new URL(".", location.href).href;
let worker;
let shown;
let newest = 0;
let waits = false;

/** The language of the browser, as the report chooses it. English stands in the page itself. */
const CODE = (navigator.languages ?? [navigator.language]).map(read_language).find(Boolean) ?? "en";
const OWN = TEXTS[CODE];

function read_language(tag) {
  const name = tag.toLowerCase();
  if (/^zh\b.*(hant|tw|hk|mo)/.test(name)) return "zh-TW";
  if (name.startsWith("zh")) return "zh-CN";
  return ["ko", "ja", "en"].find((own) => name === own || name.startsWith(`${own}-`));
}

/** Returns a text of this page in its language, with values in the places of `{name}`. */
function text(key, values = {}) {
  return OWN[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

function translate_page() {
  if (CODE === "en") return;
  const root = document.documentElement;
  root.lang = CODE;
  for (const own of document.querySelectorAll("[data-text]")) own.textContent = text(own.dataset.text, { n: root.dataset.size });
  document.title = `${text("title")} – fairtrial`;
}

translate_page();

/**
 * Starts the worker from a blob: it inherits the policy of this page, so that no file can leave for another server.
 * The first sign that someone will want a report starts it, so that Python loads while files are being chosen.
 */
function start() {
  if (worker) return;
  const source = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
  worker = new Worker(source, { type: "module" });
  worker.onmessage = ({ data }) => {
    if (data.status) return waits && say(text(data.status));
    if (data.turn !== newest) return; // other files came meanwhile
    waits = false;
    if (data.problem) fail(data.problem);
    else show(data.report, describe(data.said));
  };
  worker.onerror = (event) => fail(event.message || text("noPython"));
  worker.postMessage({ base });
}

/** Says how many cases have each verdict. One verdict of all cases needs no second number. */
function describe({ cases, verdicts, is_compared }) {
  const names = Object.entries(verdicts);
  const listed = names.map(([verdict, n]) => (names.length > 1 ? text("counted", { n, verdict: text(verdict) }) : text(verdict)));
  const said = text(cases === 1 ? "case" : "cases", { n: cases, verdicts: listed.join(text("comma")) });
  return is_compared ? said : `${said} ${text("nothing")}`;
}

function say(sentence) {
  part("status").textContent = sentence;
}

function fail(problem) {
  say("");
  part("problem").textContent = problem;
  part("problem").hidden = false;
  part("report").hidden = true; // the files as they are stay, if they were shown
}

function show(report, sentence) {
  URL.revokeObjectURL(shown);
  shown = URL.createObjectURL(new Blob([report], { type: "text/html" }));
  // A new frame: one that was hidden while its document changed may stay without a size, and then shows nothing.
  const frame = part("report").cloneNode();
  frame.src = shown;
  frame.hidden = false;
  part("report").replaceWith(frame);
  part("files").hidden = true;
  say(sentence);
}

const MOST_FILES = 20;
const MOST_MESSAGES = 200;
const MOST_CHARACTERS = 20_000;

/** Shows files as they are, at once and without Python: their messages, or else their text. A report replaces this. */
function view(files) {
  const rest = files.length - MOST_FILES;
  part("files").replaceChildren(
    ...files.slice(0, MOST_FILES).flatMap(view_file),
    ...(rest > 0 ? [element("p", text("moreFiles", { n: rest }))] : []),
  );
  part("files").hidden = false;
  part("report").hidden = true;
}

function view_file({ name, bytes }) {
  const content = new TextDecoder().decode(bytes);
  const messages = find_messages(parse(content));
  const rest = messages.length - MOST_MESSAGES;
  const shown = messages.slice(0, MOST_MESSAGES).map(({ role, said }) => {
    const line = element("p", shorten(said));
    line.prepend(element("b", `${role}: `));
    return line;
  });
  if (rest > 0) shown.push(element("p", text("moreMessages", { n: rest })));
  return [element("h2", name), ...(shown.length ? shown : [element("pre", shorten(content))])];
}

/** Makes an element of text alone: nothing in a file is markup. */
function element(tag, content) {
  const own = document.createElement(tag);
  own.textContent = content;
  return own;
}

function shorten(content) {
  const rest = content.length - MOST_CHARACTERS;
  return rest > 0 ? `${content.slice(0, MOST_CHARACTERS)} ${text("moreCharacters", { n: rest })}` : content;
}

function parse(content) {
  const value = (json) => {
    try {
      return JSON.parse(json);
    } catch {
      return undefined;
    }
  };
  return value(content) ?? content.split("\n").map(value);
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
  say(text("reading"));
  try {
    const files = await Promise.all(reading);
    if (turn === newest) show_report(...files);
  } catch (error) {
    if (turn === newest) fail(text("unreadable", { why: error.message }));
  }
}

function show_report(recorded, expected, match) {
  if (!recorded.length) return fail(text("noFile"));
  // A report brings its own policy. Its program runs only if it is the one of this version.
  if (recorded.some((file) => /\.html?$/i.test(file.name))) {
    if (recorded.length > 1) return fail(text("reportAlone"));
    return show(recorded[0].bytes, text("opened", { name: recorded[0].name }));
  }
  view(recorded);
  start();
  waits = true;
  say(text("loading"));
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
