// The attempts at a case drawn as a trunk with branches, with the pass rate at each branch.
import { useEffect, useState } from "preact/hooks";
import { type Branch, branchesOf } from "./branches";
import { usePage } from "./context";
import { Fold } from "./fold";
import { Name } from "./marks";
import type { AttemptView, CaseRow } from "./view";

const MOST = 50;
const SHOWN = 6;

export function Trunk({ row }: { row: CaseRow }) {
  const { source, run } = usePage();
  const [attempts, setAttempts] = useState<readonly AttemptView[] | null>(null);
  const { language } = usePage();
  useEffect(() => {
    let isCurrent = true;
    void Promise.all(row.attempts.slice(0, MOST).map((own) => source.attempt(run.id, row.position, own.attempt))).then(
      (found) => isCurrent && setAttempts(found.filter((own) => own.trace)),
      () => isCurrent && setAttempts([]),
    );
    return () => {
      isCurrent = false;
    };
  }, [source, run.id, row]);
  if (!attempts) return <p class="muted">{language.text("reading")}</p>;
  if (attempts.length === 0) return <p class="note">{language.text("tracesNone")}</p>;
  return (
    <ul class="trunk">
      <Limb branch={branchesOf(attempts)} />
    </ul>
  );
}

function Limb({ branch }: { branch: Branch }) {
  const { language, link } = usePage();
  const { steps, attempts, passed, branches } = branch;
  const hidden = steps.length - SHOWN;
  return (
    <li>
      <div class={`limb ${passed === attempts.length ? "passed" : passed === 0 ? "failed" : "unscored"}`}>
        <b>{language.text("attemptsPassed", { passed, count: attempts.length })}</b>{" "}
        {attempts.slice(0, SHOWN).map((attempt) => (
          <a key={attempt} href={link({ attempt })}>
            {language.text("attempt", { number: String(attempt) })}
          </a>
        ))}
      </div>
      <Steps steps={steps.slice(0, SHOWN)} />
      {hidden > 0 && (
        <Fold summary={language.text("showMore", { count: hidden })}>{() => <Steps steps={steps.slice(SHOWN)} />}</Fold>
      )}
      {branches.length > 0 && (
        <ul>
          {branches.map((own, index) => (
            <Limb key={index} branch={own} />
          ))}
        </ul>
      )}
    </li>
  );
}

function Steps({ steps }: { steps: readonly string[] }) {
  return (
    <ol class="limb-steps">
      {steps.map((step, index) => (
        <li key={index}>
          <Name text={step} />
        </li>
      ))}
    </ol>
  );
}
