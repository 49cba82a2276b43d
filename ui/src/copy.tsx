// Copies of what names a case: its id, a link to it, the command that shows it, and its data.
import { useState } from "preact/hooks";
import { usePage } from "./context";
import { Fold } from "./fold";
import type { AttemptView } from "./view";

export function CopyMenu({ attempt }: { attempt: AttemptView }) {
  const { language, run } = usePage();
  const [copied, setCopied] = useState("");
  const command = `fairtrial show ${quoted(run.id)} ${quoted(attempt.case_id)}`;
  const texts = [
    ["copyId", () => attempt.case_id],
    ["copyLink", () => location.href],
    ["copyCommand", () => command],
    ["copyCase", () => JSON.stringify(attempt, null, 2)],
  ] as const;
  const save = async (name: string, text: string) => setCopied((await write(text)) ? name : "");
  return (
    <Fold class="menu" summary={language.text("copy")}>
      {() => (
        <div class="menu-items">
          {texts.map(([name, text]) => (
            <button key={name} type="button" onClick={() => void save(name, text())}>
              {language.text(name)} <span aria-hidden="true">{copied === name ? "✓" : ""}</span>
            </button>
          ))}
          <span class="visually-hidden" role="status">
            {copied && language.text("copied")}
          </span>
        </div>
      )}
    </Fold>
  );
}

/** An argument of a shell. Wildcards and quotes of a name stay a part of it. */
function quoted(text: string): string {
  return /^[\w.:/@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Writes to the clipboard, also where the page came without encryption, so that the browser hides its clipboard. */
async function write(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}
