// The field in which one searches, on the list of cases and on the list of runs.
import { useLanguage } from "./context";
import { badge } from "./keys";

export function SearchBox(props: { text: string; hint: string; onText: (text: string) => void }) {
  const language = useLanguage();
  return (
    <label class="search">
      <span class="visually-hidden">{language.text("search")}</span>
      <input
        id="search"
        type="search"
        value={props.text}
        placeholder={props.hint}
        onInput={(event) => props.onText(event.currentTarget.value)}
      />
      <kbd aria-hidden="true">{badge("search")}</kbd>
    </label>
  );
}
