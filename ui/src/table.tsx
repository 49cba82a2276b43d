// A table of numbers. Where the page is narrow, each row becomes a list in which each number names its column.
import type { ComponentChildren } from "preact";

export interface TableRow {
  readonly key: string | number;
  readonly head: ComponentChildren;
  readonly cells: readonly ComponentChildren[];
}

interface TableProps {
  /** The name of the table, or the id of the title above it. */
  readonly name: { readonly label: string } | { readonly titleId: string };
  readonly caption?: string;
  /** The first column holds the heads of the rows. */
  readonly columns: readonly string[];
  readonly rows: readonly TableRow[];
}

export function Table({ name, caption, columns, rows }: TableProps) {
  const names = "label" in name ? { "aria-label": name.label } : { "aria-labelledby": name.titleId };
  return (
    <div class="scroll" tabIndex={0} role="group" {...names}>
      <table class="numbers">
        {caption && <caption>{caption}</caption>}
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.key}>
              <th scope="row">{row.head}</th>
              {row.cells.map((cell, index) => (
                <td key={index} data-column={columns[index + 1]}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
