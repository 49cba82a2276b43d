// The help: every key with what it does, from the table of keys.
import { useEffect, useRef } from "preact/hooks";
import { usePage } from "./context";
import { KEYS, badge } from "./keys";

export function Help(props: { onClose: () => void; onSingleKeys: (on: boolean) => void }) {
  const { language, singleKeys } = usePage();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="help-title" onClose={props.onClose}>
      <h2 id="help-title">{language.text("keyboard")}</h2>
      <dl class="key-list">
        {KEYS.map((entry) => (
          <div key={entry.key}>
            <dt>
              <kbd>{badge(entry.action)}</kbd>
            </dt>
            <dd>{language.text(entry.text)}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input type="checkbox" checked={singleKeys} onChange={(event) => props.onSingleKeys(event.currentTarget.checked)} />{" "}
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
