// The help: every key with what it does, from the table of keys.
import { useEffect, useRef } from "preact/hooks";
import type { Choices } from "./choices";
import { KEYS, type Key, badgeOf } from "./keys";
import { visibleLine } from "./visible";

export function Help(props: { choices: Choices; keys?: readonly Key<unknown>[]; onClose: () => void }) {
  const { language, singleKeys, setSingleKeys } = props.choices;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="help-title" onClose={props.onClose}>
      <h2 id="help-title">{language.text("keyboard")}</h2>
      <dl class="key-list">
        {(props.keys ?? KEYS).map((entry) => (
          <div key={entry.key}>
            <dt>
              <kbd>{badgeOf(entry)}</kbd>
            </dt>
            <dd>{typeof entry.text === "string" ? language.text(entry.text) : visibleLine(entry.text.answer)}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input type="checkbox" checked={singleKeys} onChange={(event) => setSingleKeys(event.currentTarget.checked)} />{" "}
        {language.text("singleKeys")}
      </label>
      <p>
        <button type="button" onClick={() => dialog.current?.close()}>
          {language.text("close")}
        </button>
      </p>
    </dialog>
  );
}
