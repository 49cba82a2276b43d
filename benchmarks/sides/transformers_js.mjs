// Embeds the texts of a JSON file one after the other, as KnowledgePulse's SDK does, and compares each with the 1,000
// vectors before it. Usage: node transformers_js.mjs NODE_MODULES MODELS TEXTS
// Prints the CPU milliseconds of a text, loading aside, and the first vector.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [, , modules, models, texts] = process.argv;
const entry = JSON.parse(readFileSync(`${modules}/@huggingface/transformers/package.json`)).exports.node.import.default;
const { env, pipeline } = await import(pathToFileURL(`${modules}/@huggingface/transformers/${entry}`));
env.allowRemoteModels = false;
env.localModelPath = models;
const options = { dtype: "fp32", device: "cpu", session_options: { intraOpNumThreads: 1, interOpNumThreads: 1 } };
const extract = await pipeline("feature-extraction", "minilm", options);

const cache = [];
let nearest = 0;
async function embed(text) {
  const { data } = await extract(text, { pooling: "mean", normalize: true });
  for (const other of cache) {
    let cosine = 0;
    for (let place = 0; place < data.length; place++) cosine += data[place] * other[place];
    nearest = Math.max(nearest, cosine);
  }
  cache.push(data);
  if (cache.length > 1000) cache.shift();
  return data;
}

const list = JSON.parse(readFileSync(texts));
const first = await embed(list[0]);
const before = process.cpuUsage();
for (const text of list) await embed(text);
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ milliseconds: (user + system) / 1000 / list.length, vector: [...first] }));
