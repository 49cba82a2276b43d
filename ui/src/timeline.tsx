// The time line of a conversation: model, tools and waiting by turn, with tokens and cost.
import { useState } from "preact/hooks";
import { useLanguage } from "./context";
import type { Language } from "./i18n";
import { Name } from "./marks";
import { Table } from "./table";
import type { InvocationView, StepView } from "./view";

const PAGE = 30;
const MOST = 200;

interface Segment {
  readonly kind: "model" | "tool" | "wait";
  readonly start: number;
  readonly seconds: number;
  readonly name: string;
}

/** The parts of the time of a turn: where calls began if that is recorded, else one after the other. */
export function segmentsOf(invocation: InvocationView): { readonly total: number; readonly segments: readonly Segment[] } {
  const durations = invocation.durations ?? {};
  const calls = (invocation.steps ?? []).filter((step) => step.kind === "tool_call" && typeof step.seconds === "number");
  const inCalls = calls.reduce((sum, step) => sum + (step.seconds ?? 0), 0);
  const tool = durations.tool ?? inCalls;
  const model = durations.model ?? 0;
  const total = Math.max(durations.total ?? 0, tool + model);
  const first = invocation.user?.started ?? startOf(invocation);
  const isPlaced = typeof first === "number" && calls.length > 0 && calls.every((step) => typeof step.started === "number");
  const segments: Segment[] = [];
  if (isPlaced) {
    for (const step of calls) {
      const start = Math.max(0, step.started! - first);
      if (start <= total) segments.push({ kind: "tool", start, seconds: Math.min(step.seconds!, total - start), name: step.name ?? "" });
    }
    return { total, segments: filled(segments, total, durations.model) };
  }
  let start = 0;
  const add = (kind: Segment["kind"], seconds: number, name = "") => {
    if (seconds > 0) segments.push({ kind, start, seconds, name });
    start += Math.max(0, seconds);
  };
  add("model", model);
  if (calls.length > 0 && Math.abs(inCalls - tool) < 1e-6) for (const step of calls) add("tool", step.seconds ?? 0, step.name);
  else add("tool", tool);
  add("wait", total - model - tool);
  return { total, segments };
}

function startOf(invocation: InvocationView): number | undefined {
  const steps: readonly (StepView | null | undefined)[] = [invocation.user, ...(invocation.steps ?? []), invocation.reply];
  const times = steps.map((step) => step?.started).filter((time) => typeof time === "number");
  return times.length ? Math.min(...times) : undefined;
}

/** The time between calls belongs to the model as far as its time is known, and is otherwise waiting. */
function filled(tools: readonly Segment[], total: number, model: number | null | undefined): Segment[] {
  const found: Segment[] = [];
  let end = 0;
  let left = model ?? 0;
  const gap = (until: number) => {
    const own = Math.min(left, until - end);
    if (own > 1e-9) found.push({ kind: "model", start: end, seconds: own, name: "" });
    if (until - end - own > 1e-9) found.push({ kind: "wait", start: end + own, seconds: until - end - own, name: "" });
    left -= Math.max(0, own);
  };
  for (const tool of [...tools].sort((a, b) => a.start - b.start)) {
    if (tool.start > end) gap(tool.start);
    found.push(tool);
    end = Math.max(end, tool.start + tool.seconds);
  }
  if (total > end) gap(total);
  return found;
}

export function TimeLine({ trace }: { trace: readonly InvocationView[] }) {
  const language = useLanguage();
  const [shown, setShown] = useState(PAGE);
  const turns = trace.map((invocation) => ({ invocation, ...segmentsOf(invocation) }));
  const longest = Math.max(...turns.map((turn) => turn.total), 0);
  const words = { model: language.text("timeModel"), tool: language.text("timeTool"), wait: language.text("timeWait") };
  const sum = (kind: Segment["kind"]) =>
    turns.flatMap((turn) => turn.segments).reduce((all, own) => all + (own.kind === kind ? own.seconds : 0), 0);
  const isStreamed = trace.some((invocation) => typeof invocation.durations?.first_token === "number");
  const costs = trace.map((invocation) => invocation.cost).filter((cost) => typeof cost === "number");
  if (longest === 0) return <p class="note">{language.text("noTimes")}</p>;
  const go = (index: number) => document.dispatchEvent(new CustomEvent("page-turn", { detail: index }));
  return (
    <div class="time-line">
      <p class="legend">
        {(["model", "tool", "wait"] as const).map((kind) => (
          <span key={kind}>
            <svg width="12" height="12" aria-hidden="true">
              <rect class={kind} width="12" height="12" />
            </svg>{" "}
            {words[kind]} <b>{language.seconds(sum(kind))}</b>
          </span>
        ))}
        {isStreamed && (
          <span>
            <svg width="12" height="12" aria-hidden="true">
              <rect class="first-token" x="4" width="4" height="12" />
            </svg>{" "}
            {language.text("firstToken")}
          </span>
        )}
        {costs.length > 0 && (
          <span>
            {language.text("cost")} <b>{language.dollars(costs.reduce((all, own) => all + own, 0))}</b>
          </span>
        )}
      </p>
      <Table
        name={{ label: language.text("timeLine") }}
        columns={[
          language.text("turn"),
          language.text("timeLine"),
          ...(isStreamed ? [language.text("firstToken")] : []),
          language.text("duration"),
          language.text("tokensName"),
          language.text("cost"),
        ]}
        rows={turns.slice(0, shown).map(({ invocation, total, segments }, index) => ({
          key: index,
          head: (
            <button type="button" class="quiet" onClick={() => go(index)}>
              {language.text("invocation", { number: String(index + 1) })}
            </button>
          ),
          cells: [
            <Bar segments={segments} longest={longest} words={words} firstToken={invocation.durations?.first_token} />,
            ...(isStreamed ? [secondsOr(language, invocation.durations?.first_token)] : []),
            total > 0 ? language.seconds(total) : "–",
            tokensOf(invocation) ? language.count(tokensOf(invocation)) : "–",
            typeof invocation.cost === "number" ? language.dollars(invocation.cost) : "–",
          ],
        }))}
      />
      {trace.length > shown && (
        <button type="button" class="quiet" onClick={() => setShown(shown + PAGE)}>
          {language.text("showMore", { count: Math.min(PAGE, trace.length - shown) })}
        </button>
      )}
    </div>
  );
}

function secondsOr(language: Language, seconds: number | null | undefined): string {
  return typeof seconds === "number" ? language.seconds(seconds) : "–";
}

function tokensOf(invocation: InvocationView): number {
  return (invocation.usages ?? []).reduce((sum, usage) => sum + (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0), 0);
}

interface BarProps {
  readonly segments: readonly Segment[];
  readonly longest: number;
  readonly words: Readonly<Record<Segment["kind"], string>>;
  readonly firstToken: number | null | undefined;
}

function Bar({ segments, longest, words, firstToken }: BarProps) {
  const language = useLanguage();
  return (
    <>
      <svg class="time-bar" viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true">
        {segments.slice(0, MOST).map((own, index) => (
          <rect
            key={index}
            class={own.kind}
            x={(1000 * own.start) / longest}
            width={Math.max(2, (1000 * own.seconds) / longest)}
            y={own.kind === "wait" ? 5 : 1}
            height={own.kind === "wait" ? 4 : 12}
          />
        ))}
        {typeof firstToken === "number" && firstToken <= longest && (
          <rect class="first-token" x={Math.min(996, (1000 * firstToken) / longest)} width="4" height="14" />
        )}
      </svg>
      <span class="time-names muted">
        {segments.slice(0, 8).map((own, index) => (
          <span key={index}>
            {own.name ? <Name text={own.name} /> : words[own.kind]} {language.seconds(own.seconds)}
          </span>
        ))}
      </span>
    </>
  );
}
