// What is known about an attempt beside its criteria: failures, warnings, injections, labels of people, usage, state.
import { usePage } from "./context";
import { Fold } from "./fold";
import type { TextName } from "./i18n";
import { Name, PartName, sideWord } from "./marks";
import { reasonText } from "./reasons";
import { FinalState } from "./statedelta";
import { Usage, usagesOf } from "./summary";
import { Foreign } from "./text";
import type { AttemptView, Label } from "./view";

export function Callouts({ attempt }: { attempt: AttemptView }) {
  const { language } = usePage();
  const { failure, fault, mutation } = attempt;
  const warnings = [...new Set(attempt.warnings ?? [])];
  return (
    <>
      {failure && (
        <section class="callout error" aria-label={language.text("failure")}>
          <h2>
            {language.text("failure")}: {sideWord(language, failure.side)}
          </h2>
          <Foreign text={reasonText(language, failure.cause)} />
          {failure.traceback && (
            <Fold summary={language.text("traceback")}>{() => <Foreign class="code" text={failure.traceback!} />}</Fold>
          )}
        </section>
      )}
      {(attempt.invalidations ?? []).map((invalid) => (
        <section key={invalid.side} class="callout warning" aria-label={language.text("invalid")}>
          <h2>
            {language.text("invalid")}: {sideWord(language, invalid.side)}
          </h2>
          {(invalid.evidence ?? []).map((text) => (
            <Foreign key={text} text={reasonText(language, text)} />
          ))}
        </section>
      ))}
      {fault && fault.side === "agent" && !failure && (
        <p class="muted">{language.text("faultOfAgent", { evidence: language.list((fault.evidence ?? []).map((own) => reasonText(language, own))) })}</p>
      )}
      {attempt.ended_by === "cap" && <p class="warning">{language.text("endedByCap")}</p>}
      {mutation && (
        <p class="warning">
          {language.text("mutated", { operator: mutation.operator, number: String(mutation.invocation) })}
        </p>
      )}
      {warnings.length > 0 && (
        <Fold class="warning" summary={language.text("warningsFound", { count: warnings.length })}>
          {() => warnings.map((text) => <Foreign key={text} class="warning" text={reasonText(language, text)} />)}
        </Fold>
      )}
      {(attempt.injections ?? []).map(({ invocation, tool, injected }, index) => (
        <p key={index} class={injected.invalidates ? "warning" : "note"}>
          {language.text("injected", {
            number: String(invocation),
            tool,
            effect: injected.effect,
            detail: injected.detail ?? "",
          })}
        </p>
      ))}
    </>
  );
}

export function Labels({ labels }: { labels: readonly Label[] }) {
  const { language } = usePage();
  if (labels.length === 0) return null;
  return (
    <section aria-labelledby="labels-title">
      <h2 id="labels-title">{language.text("labels")}</h2>
      <ul class="labels">
        {labels.map((label, index) => (
          <li key={index}>
            <b>
              <Name text={label.author || "–"} />
            </b>{" "}
            <Name text={label.criterion} /> {label.part && <PartName part={{ key: label.part }} />} {language.count(label.value)}
            {label.note && <Foreign text={label.note} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

const USAGE: Readonly<Record<string, TextName>> = {
  input_tokens: "tokensIn",
  output_tokens: "tokensOut",
  inference_calls: "modelCalls",
};

export function Details({ attempt }: { attempt: AttemptView }) {
  const { language } = usePage();
  const { usage, reward, final_state: state } = attempt;
  const usages = usagesOf(attempt);
  const counts = Object.entries(usage ?? {});
  if (counts.length + usages.length === 0 && !state && typeof reward !== "number") return null;
  return (
    <section aria-labelledby="details-title">
      <h2 id="details-title">{language.text("details")}</h2>
      <dl class="facts">
        {counts.map(([name, value]) => (
          <div key={name}>
            <dt>{USAGE[name] ? language.text(USAGE[name]) : name}</dt>
            <dd>{language.count(value)}</dd>
          </div>
        ))}
        {usages.map(([side, used]) => (
          <div key={side}>
            <dt>{sideWord(language, side)}</dt>
            <dd>
              <Usage usage={used} />
            </dd>
          </div>
        ))}
        {typeof reward === "number" && (
          <div>
            <dt>{language.text("reward")}</dt>
            <dd>{language.number(reward)}</dd>
          </div>
        )}
      </dl>
      {state && <FinalState state={state} />}
    </section>
  );
}
