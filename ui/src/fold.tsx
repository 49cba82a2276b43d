// A part of the page that can be unfolded. Its content is made when it is opened, so that a long page stays light.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

interface FoldProps {
  readonly summary: ComponentChildren;
  readonly class?: string;
  readonly open?: boolean;
  readonly children: () => ComponentChildren;
}

export function Fold({ summary, class: name, open = false, children }: FoldProps) {
  const [isOpen, setOpen] = useState(open);
  return (
    <details class={name} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {isOpen && children()}
    </details>
  );
}
