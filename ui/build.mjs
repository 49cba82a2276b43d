// Bundles the program and its style sheet into the package, or with `test` the unit tests into build/.
import { build } from "esbuild";
import { readdirSync } from "node:fs";

const shared = {
  bundle: true,
  target: "es2023",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
};

if (process.argv[2] === "test") {
  const tests = readdirSync("test").filter((name) => /\.test\.tsx?$/.test(name));
  await build({
    ...shared,
    entryPoints: tests.map((name) => `test/${name}`),
    outdir: "build",
    platform: "node",
    format: "esm",
    outExtension: { ".js": ".mjs" },
  });
} else {
  const assets = "../src/fairtrial/reports/assets";
  await build({
    ...shared,
    entryPoints: { report: "src/main.tsx" },
    outdir: assets,
    platform: "browser",
    format: "iife",
    minify: true,
  });
  await build({ ...shared, entryPoints: { report: "src/pages.css" }, outdir: assets, minify: true });
}
