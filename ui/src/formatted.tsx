// Texts of agents with their Markdown as elements made of text nodes: no link, no image and no HTML comes alive.
import { useMemo, useState } from "preact/hooks";
import { useLanguage } from "./context";
import { blocksOf, type Block, type Inline } from "./markdown";
import { Marked, Plain } from "./text";
import { languageOf } from "./visible";

const LONGEST = 6000;
const MOST_BLOCKS = 300;

interface Props {
  readonly text: string;
  readonly marks: readonly string[];
}

export function Formatted({ text, marks }: Props) {
  const language = useLanguage();
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? text : text.slice(0, LONGEST);
  const blocks = useMemo(() => blocksOf(shown), [shown]);
  const drawn = isWhole ? blocks : blocks.slice(0, MOST_BLOCKS);
  return (
    <div class="foreign formatted" lang={languageOf(text)} dir="auto">
      {drawn.map((block, index) => (
        <Element key={index} block={block} marks={marks} />
      ))}
      {(shown.length < text.length || drawn.length < blocks.length) && (
        <button type="button" class="more" onClick={() => setWhole(true)}>
          {language.text("showAllCharacters", { count: text.length })}
        </button>
      )}
    </div>
  );
}

function Element({ block, marks }: { block: Block; marks: readonly string[] }) {
  const language = useLanguage();
  switch (block.kind) {
    case "heading":
      // A heading of an agent is no heading of the page.
      return (
        <p class={`md-heading level-${block.level}`}>
          <Inlines inlines={block.text} marks={marks} />
        </p>
      );
    case "code":
      return (
        <div class="code md-code">
          <Marked text={block.text} marks={marks} />
        </div>
      );
    case "rule":
      return <div class="md-rule" />;
    case "quote":
      return (
        <blockquote>
          <Inlines inlines={block.text} marks={marks} />
        </blockquote>
      );
    case "list":
      return (
        <ul class="md-list">
          {block.items.map((item, index) => (
            <li key={index} class={`depth-${item.depth}`}>
              <span class="md-marker" aria-hidden="true">
                <Plain text={item.marker} />
              </span>
              <span>
                <Inlines inlines={item.text} marks={marks} />
              </span>
            </li>
          ))}
        </ul>
      );
    case "table":
      return (
        <div class="scroll" tabIndex={0} role="group" aria-label={language.text("tableOfAgent")}>
          <table class="md-table">
            <thead>
              <tr>
                {block.head.map((cell, index) => (
                  <th key={index} scope="col">
                    <Inlines inlines={cell} marks={marks} />
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {block.rows.map((row, index) => (
                <tr key={index}>
                  {row.map((cell, place) => (
                    <td key={place}>
                      <Inlines inlines={cell} marks={marks} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    default:
      return (
        <p>
          <Inlines inlines={block.text} marks={marks} />
        </p>
      );
  }
}

function Inlines({ inlines, marks }: { inlines: readonly Inline[]; marks: readonly string[] }) {
  return (
    <>
      {inlines.map(({ kind, text }, index) => {
        const inner = <Marked text={text} marks={marks} />;
        if (kind === "code") return <code key={index}>{inner}</code>;
        if (kind === "strong") return <b key={index}>{inner}</b>;
        if (kind === "em") return <i key={index}>{inner}</i>;
        if (kind === "del") return <s key={index}>{inner}</s>;
        return <Marked key={index} text={text} marks={marks} />;
      })}
    </>
  );
}
