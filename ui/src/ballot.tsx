// Votes of judges: one row of answers with the judges' names, the rationale on demand, and what was sent behind a fold.
import { useState } from "preact/hooks";
import { useLanguage } from "./context";
import { Fold } from "./fold";
import { Name } from "./marks";
import { Foreign, Json } from "./text";
import type { AttemptView, BallotView, Score, VoteView } from "./view";
import { visibleText } from "./visible";

/** The item of a ballot that a part is about. `siblings` are the parts that share the ballot, in the order of items. */
export function itemOf(ballot: BallotView, part: Score, siblings: readonly Score[]): string | undefined {
  const items = Object.keys(ballot.decisions);
  const id = part.key?.id ?? "";
  if (items.length === 1 || items.includes(id)) return items.length === 1 ? items[0] : id;
  const sharing = siblings.filter((own) => own.ballots?.includes(ballot.id));
  return sharing.length === items.length ? items[sharing.indexOf(part)] : undefined;
}

/** The text of a rubric as a judge read it. It stands between two marks with one code. */
export function askedText(ballot: BallotView, item: string): string {
  for (const { system, text } of ballot.prompts ?? []) {
    const whole = `${system}\n${text}`;
    const name = ` rubric ${item} `;
    const place = whole.indexOf(name);
    const start = whole.indexOf(">>>\n", place);
    const end = whole.indexOf("\n<<<end", start);
    if (place > 0 && start > 0 && start - place < name.length + 40 && end > start) return whole.slice(start + 4, end);
  }
  return "";
}

/** The ids of all ballots of a part and of its parts. */
export function ballotsIn(part: Pick<Score, "ballots" | "parts">): string[] {
  return [...new Set([...(part.ballots ?? []), ...(part.parts ?? []).flatMap(ballotsIn)])];
}

function judgeOf(vote: VoteView): string {
  return (vote.calls ?? []).map((call) => call.served).filter(Boolean).at(-1) ?? vote.voter;
}

/** The votes on an item in a row. An answer that agrees with the decision has a full dot. */
export function Votes({ ballot, item }: { ballot: BallotView; item: string }) {
  const language = useLanguage();
  const [opened, setOpened] = useState<number | null>(null);
  const counted = Object.entries(ballot.decisions[item]?.counted ?? {}).sort(([, a], [, b]) => b - a);
  const decided = counted[0]?.[0];
  const shown = ballot.votes.find((vote) => vote.draw === opened);
  return (
    <>
      <ul class="votes" aria-label={language.text("votes")}>
        {ballot.votes.map((vote) => {
          const answer = vote.opinions?.[item];
          const rationale = answer?.rationale || vote.problems?.[item] || "";
          const isOpen = vote.draw === opened;
          return (
            <li key={vote.draw}>
              <button
                type="button"
                class="vote"
                title={visibleText(rationale.slice(0, 600))}
                aria-expanded={isOpen}
                onClick={() => setOpened(isOpen ? null : vote.draw)}
              >
                <span aria-hidden="true">{!answer ? "–" : answer.answer === decided ? "●" : "○"}</span>{" "}
                <Name text={judgeOf(vote)} /> <b>{answer ? <Name text={answer.answer} /> : language.text("noAnswer")}</b>
              </button>
            </li>
          );
        })}
      </ul>
      {shown && <Rationale vote={shown} item={item} />}
    </>
  );
}

function Rationale({ vote, item }: { vote: VoteView; item: string }) {
  const answer = vote.opinions?.[item];
  const problem = vote.problems?.[item];
  return (
    <div class="rationale">
      {answer?.rationale && <Foreign text={answer.rationale} />}
      {answer?.quote && (
        <blockquote>
          <Foreign text={answer.quote} />
        </blockquote>
      )}
      {problem && <Foreign class="warning" text={problem} />}
    </div>
  );
}

/** Everything about some questions to judges, each once: items that no part shows, settings, prompts, raw replies. */
export function Questions({ ids, attempt, shown }: { ids: readonly string[]; attempt: AttemptView; shown: boolean }) {
  const language = useLanguage();
  const ballots = ids.map((id) => attempt.ballots?.[id]).filter((ballot) => ballot !== undefined);
  if (ballots.length === 0) return null;
  return (
    <>
      {!shown && ballots.map((ballot) => <Items key={ballot.id} ballot={ballot} />)}
      <Fold class="questions" summary={language.text("questionsToJudges", { count: ballots.length })}>
        {() => ballots.map((ballot) => <Question key={ballot.id} ballot={ballot} />)}
      </Fold>
    </>
  );
}

function Items({ ballot }: { ballot: BallotView }) {
  const items = Object.keys(ballot.decisions);
  return (
    <>
      {items.map((item) => (
        <div key={item} class="asked">
          {items.length > 1 && (
            <div class="caption">
              <Name text={item} />
            </div>
          )}
          <Votes ballot={ballot} item={item} />
        </div>
      ))}
    </>
  );
}

function Question({ ballot }: { ballot: BallotView }) {
  const language = useLanguage();
  const replies = ballot.votes.flatMap((vote) =>
    (vote.replies ?? []).flatMap((reply) => (reply ? [{ judge: judgeOf(vote), text: reply.text }] : [])),
  );
  return (
    <section class="ballot">
      <div class="caption">
        <Name text={ballot.prompt} />
      </div>
      {Object.entries(ballot.decisions).map(([item, decision]) => (
        <p key={item} class="decision">
          <Name text={item} />{" "}
          {Object.entries(decision.counted ?? {}).map(([answer, count]) => (
            <span key={answer} class="tag">
              <Name text={answer} /> × {language.count(count)}
            </span>
          ))}{" "}
          {decision.abstained ? language.text("abstentions", { count: decision.abstained }) : null}
        </p>
      ))}
      {Object.keys(ballot.settings ?? {}).length > 0 && (
        <>
          <div class="caption">{language.text("judgeSettings")}</div>
          <Json value={ballot.settings} />
        </>
      )}
      {(ballot.prompts ?? []).map((prompt, index) => (
        <div key={index}>
          <div class="caption">{language.text("prompt")}</div>
          {prompt.system && <Foreign class="code" text={prompt.system} />}
          <Foreign class="code" text={prompt.text} />
        </div>
      ))}
      {replies.map((reply, index) => (
        <div key={index}>
          <div class="caption">
            {language.text("rawReply")} · <Name text={reply.judge} />
          </div>
          <Foreign class="code" text={reply.text} />
        </div>
      ))}
    </section>
  );
}
