// The attempts at a case as a tree: what all of them did is the trunk, and where they differ it has branches.
import type { AttemptView, InvocationView } from "./view";

export interface Branch {
  /** What the attempts of the branch did alike, one after the other. */
  readonly steps: readonly string[];
  readonly attempts: readonly number[];
  readonly passed: number;
  readonly branches: readonly Branch[];
}

interface Path {
  readonly attempt: number;
  readonly isPassed: boolean;
  readonly steps: readonly string[];
}

const MOST_STEPS = 400;

/** What an agent did, as texts that are equal if the same tool is called with the same arguments. */
export function stepsOf(trace: readonly InvocationView[]): string[] {
  return trace
    .flatMap((invocation, index) => [
      ...(invocation.steps ?? [])
        .filter((step) => step.kind === "tool_call")
        .map((step) => `${index + 1}. ${step.name ?? ""} ${JSON.stringify(step.args ?? {})}`),
      ...(invocation.reply ? [`${index + 1}. →`] : []),
    ])
    .slice(0, MOST_STEPS);
}

export function branchesOf(attempts: readonly AttemptView[]): Branch {
  return grow(
    attempts.map(({ attempt, verdict, trace }) => ({ attempt, isPassed: verdict === "passed", steps: stepsOf(trace ?? []) })),
    0,
  );
}

function grow(paths: readonly Path[], start: number): Branch {
  let end = start;
  const first = paths[0]!;
  while (end < first.steps.length && paths.every((path) => path.steps[end] === first.steps[end])) end += 1;
  const groups = new Map<string, Path[]>();
  for (const path of paths) {
    const key = path.steps[end] ?? "";
    groups.set(key, [...(groups.get(key) ?? []), path]);
  }
  return {
    steps: first.steps.slice(start, end),
    attempts: paths.map((path) => path.attempt),
    passed: paths.filter((path) => path.isPassed).length,
    branches: groups.size > 1 ? [...groups.values()].map((own) => grow(own, end)) : [],
  };
}
