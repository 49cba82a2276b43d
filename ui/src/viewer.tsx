// The viewer: which page belongs to the fragment of the address.
import { useEffect, useState } from "preact/hooks";
import { App } from "./app";
import { Board } from "./board";
import { type Choices, useChoices } from "./choices";
import type { Client } from "./client";
import { Labelling } from "./labelling";
import { Labels } from "./labels";
import { Runs } from "./runs";
import { ServerSource, problemOf } from "./server";
import { RUNS } from "./state";
import { visibleLine } from "./visible";

export function Viewer({ client, made }: { client: Client; made: string }) {
  const choices = useChoices(made);
  const [fragment, setFragment] = useState(location.hash);
  useEffect(() => {
    const onChange = () => setFragment(location.hash);
    window.addEventListener("hashchange", onChange);
    window.addEventListener("popstate", onChange);
    return () => {
      window.removeEventListener("hashchange", onChange);
      window.removeEventListener("popstate", onChange);
    };
  }, []);
  const values = new URLSearchParams(fragment.replace(/^#/, ""));
  const [run, base, also] = [values.get("run") ?? "", values.get("base") ?? "", values.get("also") ?? ""];
  const key = `${values.get("page")}/${run}`;
  if (run && values.get("page") === "labels") return <Labels key={key} client={client} choices={choices} run={run} />;
  if (run && values.get("page") === "board") return <Board key={key} client={client} choices={choices} run={run} />;
  if (run && values.get("page") === "label") {
    const queue = Number(values.get("queue")) || 0;
    const name = values.get("as") ?? "";
    return <Labelling key={`${key}/${queue}`} client={client} choices={choices} run={run} queue={queue} named={name} />;
  }
  if (!run || values.get("page") === "runs") return <Runs client={client} choices={choices} />;
  // With several runs, each of them may be the one that is shown.
  return <Opened key={base ? "" : run} client={client} choices={choices} run={run} base={base} also={also} />;
}

interface OpenedProps {
  readonly client: Client;
  readonly choices: Choices;
  readonly run: string;
  readonly base: string;
  readonly also: string;
}

function Opened({ client, choices, run, base, also }: OpenedProps) {
  const [source, setSource] = useState<ServerSource | null>(null);
  const [problem, setProblem] = useState("");
  const has = (id: string) => source?.runs.some((view) => view.id === id) ?? false;
  const isOpen = has(run) && (!base || has(base)) && (!also || also.split(",").every(has));
  useEffect(() => {
    if (isOpen) return;
    let isCurrent = true;
    ServerSource.open(client, run, base, also).then(
      (opened) => {
        if (isCurrent) setSource(opened);
        else opened.close();
      },
      (error: unknown) => isCurrent && setProblem(problemOf(error)),
    );
    return () => {
      isCurrent = false;
    };
  }, [client, run, base, also, isOpen]);
  useEffect(() => () => source?.close(), [source]);
  if (problem) {
    const text = problem === "lost" ? choices.language.text("lostServer") : visibleLine(problem);
    return (
      <main>
        <p class="callout warning" role="alert">
          {text}
        </p>
        <a href={RUNS}>{choices.language.text("runs")}</a>
      </main>
    );
  }
  if (!source) return <main class="muted">{choices.language.text("reading")}</main>;
  return <App key={source.runs.map((view) => view.id).join()} source={source} choices={choices} />;
}
