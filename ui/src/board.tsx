// The board of a run: its failures in columns, one for each mode. People move, rename, merge, split and add modes.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Bar } from "./bar";
import type { Choices } from "./choices";
import { type Client, run as pathOf, ServerProblem } from "./client";
import { LanguageContext, useLanguage } from "./context";
import { Help } from "./help";
import { type Key, actionIn, isTyping } from "./keys";
import { Name } from "./marks";
import { remembered } from "./memory";
import { YourName, signed } from "./notes";
import { problemOf } from "./server";
import { RUNS, boardOf, labelsOf } from "./state";
import type { BoardRequest, BoardView, CardView, ColumnView, NoteRequest } from "./view";
import { visibleLine } from "./visible";

/** The most cards that are drawn while no column is opened. */
const DRAWN = 120;
/** The cards of a column that the page gets first, and the most that it can ask for. */
const FIRST = 50;
const MOST = 2000;
const NONE = "not a failure";
type Action = number | "none" | "left" | "right" | "up" | "down" | "back" | "help";
const KEYS: readonly Key<Action>[] = [
  { key: "ArrowDown", action: "down", text: "keyNextFailure" },
  { key: "ArrowUp", action: "up", text: "keyPreviousFailure" },
  { key: "ArrowRight", action: "right", text: "keyNextMode" },
  { key: "ArrowLeft", action: "left", text: "keyPreviousMode" },
  ...Array.from({ length: 9 }, (_, place): Key<Action> => ({ key: String(place + 1), action: place, text: "keyMoveToMode" })),
  { key: "0", action: "none", text: "notAFailure" },
  { key: "Escape", action: "back", text: "keyBackToRun" },
  { key: "?", action: "help", text: "keyHelp" },
];

const idOfColumn = (column: ColumnView) => column.key || " ";
const idOf = (card: CardView) => `${card.position}.${card.attempt}`;

interface BoardProps {
  readonly client: Client;
  readonly choices: Choices;
  readonly run: string;
}

export function Board({ client, choices, run }: BoardProps) {
  const { language, singleKeys } = choices;
  const [view, setView] = useState<BoardView | null>(null);
  const [problem, setProblem] = useState("");
  const [labeler, setLabeler] = useState(remembered("labeler") ?? "");
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [opened, setOpened] = useState("");
  const [hasHelp, setHelp] = useState(false);
  const [isQueueOnly, setQueueOnly] = useState(false);
  const [cards, setCards] = useState(FIRST);
  const query = `?cards=${cards}${isQueueOnly ? "&only=queued" : ""}`;
  const asked = useRef(query);
  asked.current = query;
  const main = useRef<HTMLElement>(null);

  const fail = useCallback(
    (error: unknown) => {
      const text = problemOf(error);
      setProblem(text === "lost" ? language.text("lostServer") : visibleLine(text));
    },
    [language],
  );
  const load = useCallback(() => client.get<BoardView>(`${pathOf(run)}/board${query}`).then((fresh) => {
    if (asked.current !== query) return; // the person has asked for other cards meanwhile
    setView(fresh);
    setProblem((old) => (old === language.text("lostServer") ? "" : old));
  }, fail), [client, run, language, fail, query]);
  useEffect(() => {
    document.title = `fairtrial – ${language.text("board")}`;
    void load();
  }, [language, load]);
  // An event comes whenever somebody changed the board.
  useEffect(
    () =>
      client.events<object>(`${pathOf(run)}/board/events`, () => ({}), (event) => {
        if (event) void load();
        else setProblem(language.text("lostServer"));
      }),
    [client, run, language, load],
  );

  const send = async (path: "board" | "notes", body: Omit<BoardRequest, "labeler"> | Omit<NoteRequest, "labeler">) => {
    const name = signed(labeler);
    if (name === null) return;
    try {
      setView(await client.send<BoardView>("POST", `${pathOf(run)}/${path}${query}`, { ...body, labeler: name }));
      setProblem("");
      if (path === "notes") setSelected(new Set());
    } catch (error) {
      if (error instanceof ServerProblem && error.status === 409) {
        await load();
        setProblem(language.text("boardConflict"));
      } else fail(error);
    }
  };
  /** Moves cards to a mode. Without cards, those that are selected, or the one with the focus. */
  const move = (to: { name: string } | null, cards?: readonly string[]) => {
    const focused = document.activeElement?.closest<HTMLElement>("[data-card]")?.dataset.card;
    const ids = cards ?? (selected.size > 0 ? [...selected] : focused ? [focused] : []);
    const attempts = ids.map((id) => id.split(".").map(Number) as [number, number]).slice(0, 200);
    if (attempts.length === 0) return;
    void send("notes", { attempts, name: to?.name ?? "", note: "", step: "", is_failure: to !== null } as Omit<NoteRequest, "labeler">);
  };
  const change = (action: "add" | "rename", name: string, to = "") =>
    void send("board", { seen: view?.seen ?? 0, action, name, to } as Omit<BoardRequest, "labeler">);
  const target = (column: ColumnView) => (column.key === NONE ? null : { name: column.name });

  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (hasHelp) return;
      const action = actionIn(KEYS, event, isTyping(event.target), singleKeys);
      if (action === undefined) return;
      if (action === "help") setHelp(true);
      else if (action === "back") {
        if (isTyping(event.target)) main.current?.focus({ preventScroll: true });
        else location.hash = `#run=${encodeURIComponent(run)}`;
      } else if (action === "none") move(null);
      else if (typeof action === "number") {
        const column = view?.columns.filter((own) => own.key && own.key !== NONE)[action];
        if (column) move(target(column));
      } else if (isTyping(event.target)) return;
      else step(main.current, action);
      event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  });

  const toggle = (id: string) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  };
  const shown = Math.max(2, Math.floor(DRAWN / Math.max(1, view?.columns.length ?? 1)));
  let number = 0;
  return (
    <LanguageContext.Provider value={language}>
      <Bar
        choices={choices}
        main={main}
        tabs={[
          { link: RUNS, text: language.text("runs"), isCurrent: false },
          { link: `#run=${encodeURIComponent(run)}`, text: language.text("summary"), isCurrent: false },
          { link: labelsOf(run), text: language.text("labels"), isCurrent: false },
          { link: boardOf(run), text: language.text("board"), isCurrent: true },
        ]}
        onHelp={() => setHelp(true)}
      >
        <code class="run-id">{visibleLine(run)}</code>
      </Bar>
      <main id="main" ref={main} tabIndex={-1}>
        <h1>{language.text("board")}</h1>
        {problem && (
          <p class="callout warning" role="alert">
            <Name text={problem} />
          </p>
        )}
        {!view && !problem && <p class="muted">{language.text("reading")}</p>}
        {view && (
          <>
            <Counts view={view} />
            {(view.queued ?? 0) > 0 && (
              <label class="field">
                <input type="checkbox" id="queue-only" checked={isQueueOnly} onChange={(event) => setQueueOnly(event.currentTarget.checked)} />{" "}
                <span>{language.text("queueOnly", { own: view.drawn, count: view.queued ?? 0 })}</span>
              </label>
            )}
            <Tools
              view={view}
              labeler={labeler}
              onLabeler={setLabeler}
              count={selected.size}
              onMove={move}
              onAdd={(name) => change("add", name)}
              onClear={() => setSelected(new Set())}
            />
            <div class="board" role="group" aria-label={language.text("board")} tabIndex={0}>
              {view.columns.map((column) => (
                <Column
                  key={column.key}
                  column={column}
                  view={view}
                  run={run}
                  badge={column.key && column.key !== NONE && number < 9 ? String(++number) : column.key === NONE ? "0" : ""}
                  most={opened === idOfColumn(column) ? Infinity : shown}
                  selected={selected}
                  onToggle={toggle}
                  onOpen={() => {
                    if (opened === idOfColumn(column) || column.cards.length <= shown) setCards(Math.min(MOST, 4 * cards));
                    setOpened(idOfColumn(column));
                  }}
                  onRename={(to) => change("rename", column.name, to)}
                  onDrop={(id) => move(target(column), selected.has(id) ? [...selected] : [id])}
                />
              ))}
            </div>
          </>
        )}
      </main>
      {hasHelp && <Help choices={choices} keys={KEYS} onClose={() => setHelp(false)} />}
    </LanguageContext.Provider>
  );
}

/** Moves the focus between the cards: up and down in a column, left and right between columns. */
function step(main: HTMLElement | null, action: "left" | "right" | "up" | "down"): void {
  const columns = [...(main?.querySelectorAll<HTMLElement>(".board-column") ?? [])]
    .map((column) => [...column.querySelectorAll<HTMLElement>("[data-card] input")])
    .filter((cards) => cards.length > 0);
  const x = columns.findIndex((cards) => cards.includes(document.activeElement as HTMLElement));
  if (x < 0) {
    columns[0]?.[0]?.focus();
    return;
  }
  const y = columns[x]!.indexOf(document.activeElement as HTMLElement);
  const side = columns[Math.min(columns.length - 1, Math.max(0, x + (action === "right" ? 1 : action === "left" ? -1 : 0)))]!;
  const next = y + (action === "down" ? 1 : action === "up" ? -1 : 0);
  side[Math.min(side.length - 1, Math.max(0, next))]?.focus();
}

function Counts({ view }: { view: BoardView }) {
  const language = useLanguage();
  const { people } = view;
  const several = people.several ?? 0;
  return (
    <p class="muted" role="status">
      {language.text("failuresRead", { read: view.read, count: view.failures })}{" "}
      {several > 0 && language.text("namedAlike", { count: several, equal: people.equal ?? 0 })}{" "}
      {typeof people.alpha === "number" && `${language.text("alpha")} ${language.number(people.alpha)}`}{" "}
      {(view.more ?? 0) > 0 && language.text("moreModes", { count: view.more ?? 0 })}
    </p>
  );
}

interface ToolsProps {
  readonly view: BoardView;
  readonly labeler: string;
  onLabeler(name: string): void;
  readonly count: number;
  onMove(to: { name: string } | null): void;
  onAdd(name: string): void;
  onClear(): void;
}

function Tools({ view, labeler, onLabeler, count, onMove, onAdd, onClear }: ToolsProps) {
  const language = useLanguage();
  const [to, setTo] = useState("");
  const [name, setName] = useState("");
  const modes = view.columns.filter((column) => column.key && column.key !== NONE);
  const column = modes.find((own) => own.key === to);
  return (
    <form class="toolbar" onSubmit={(event) => event.preventDefault()}>
      <YourName name={labeler} onName={onLabeler} />
      <label class="field">
        <span>{language.text("moveTo")}</span>
        <select value={to} onChange={(event) => setTo(event.currentTarget.value)}>
          <option value="">–</option>
          {modes.map((own) => (
            <option key={own.key} value={own.key}>
              {visibleLine(own.name)}
            </option>
          ))}
        </select>
      </label>
      <button type="button" disabled={count === 0 || !column} onClick={() => column && onMove({ name: column.name })}>
        {language.text("moveSelected", { count })}
      </button>
      <button type="button" disabled={count === 0} onClick={() => onMove(null)}>
        {language.text("notAFailure")}
      </button>
      <label class="field">
        <span>{language.text("newModeName")}</span>
        <input id="new-mode" type="text" value={name} maxLength={200} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <button
        type="button"
        disabled={!name.trim()}
        onClick={() => {
          if (count > 0) onMove({ name: name.trim() });
          else onAdd(name.trim());
          setName("");
        }}
      >
        {count > 0 ? language.text("splitOff", { count }) : language.text("addMode")}
      </button>
      {count > 0 && (
        <button type="button" class="quiet" onClick={onClear}>
          {language.text("clear")}
        </button>
      )}
    </form>
  );
}

interface ColumnProps {
  readonly column: ColumnView;
  readonly view: BoardView;
  readonly run: string;
  readonly badge: string;
  readonly most: number;
  readonly selected: ReadonlySet<string>;
  onToggle(id: string): void;
  onOpen(): void;
  onRename(to: string): void;
  onDrop(id: string): void;
}

function Column(props: ColumnProps) {
  const { column, view, badge, most } = props;
  const language = useLanguage();
  const [isOver, setOver] = useState(false);
  const [name, setName] = useState<string | null>(null);
  const cards = column.cards.slice(0, most);
  const count = column.total - cards.length;
  const isNone = column.key === NONE;
  const title = isNone ? language.text("notAFailure") : column.key ? column.name : language.text("withoutMode");
  return (
    <section
      class={`board-column ${isOver ? "over" : ""}`}
      aria-label={visibleLine(title)}
      onDragOver={(event) => {
        if (!column.key) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const id = event.dataTransfer?.getData("text/plain") ?? "";
        if (/^\d{1,9}\.\d{1,9}$/.test(id)) props.onDrop(id);
      }}
    >
      <h2>
        {badge && <kbd aria-hidden="true">{String(badge)}</kbd>} <Name text={title} />
      </h2>
      <p class="muted">
        {language.text("failuresRead", { read: column.read, count: column.total })} <Share column={column} view={view} />
      </p>
      {column.key && !isNone && name === null && (
        <button type="button" class="quiet" onClick={() => setName(column.name)}>
          {language.text("rename")}
        </button>
      )}
      {name !== null && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (name.trim()) props.onRename(name.trim());
            setName(null);
          }}
        >
          <label class="field">
            <span>{language.text("renameOrMerge")}</span>
            <input type="text" value={name} maxLength={200} onInput={(event) => setName(event.currentTarget.value)} />
          </label>
          <button type="submit">{language.text("rename")}</button>
        </form>
      )}
      <ul>
        {cards.map((card) => (
          <Card key={idOf(card)} card={card} run={props.run} isSelected={props.selected.has(idOf(card))} onToggle={props.onToggle} />
        ))}
      </ul>
      {count > 0 && (
        <p>
          {cards.length < MOST ? (
            <button type="button" class="quiet" onClick={props.onOpen}>
              {language.text("moreFacts", { count })}
            </button>
          ) : (
            <span class="muted">{language.text("moreFacts", { count })}</span>
          )}
        </p>
      )}
    </section>
  );
}

/** The estimated share of a mode among all failures. Without a sample with known probabilities, there is none. */
function Share({ column, view }: { column: ColumnView; view: BoardView }) {
  const language = useLanguage();
  const { share } = column;
  if (typeof share?.value !== "number" || !column.key) return null;
  const ends = language.ends(share, true)?.join(" … ");
  const value = `${language.estimated(share, null, true)}${ends ? ` (${ends})` : ""}`;
  return <>{language.text("estimatedShare", { own: column.drawn ?? 0, read: view.drawn, share: value, count: view.failures })}</>;
}

interface CardProps {
  readonly card: CardView;
  readonly run: string;
  readonly isSelected: boolean;
  onToggle(id: string): void;
}

function Card({ card, run, isSelected, onToggle }: CardProps) {
  const language = useLanguage();
  const id = idOf(card);
  const link = `#page=case&run=${encodeURIComponent(run)}&case=${card.position}${card.attempt === 1 ? "" : `&attempt=${card.attempt}`}`;
  return (
    <li
      class="card"
      data-card={id}
      draggable
      onDragStart={(event) => event.dataTransfer?.setData("text/plain", id)}
    >
      <input
        type="checkbox"
        checked={isSelected}
        aria-label={visibleLine(card.name)}
        onChange={() => onToggle(id)}
      />{" "}
      <a href={link}>
        <Name text={card.name} />
      </a>{" "}
      {card.split && <span class="tag">{language.text("namesDiffer")}</span>}
      <div class="muted">
        <Name text={card.note || card.reason} />
      </div>
    </li>
  );
}
