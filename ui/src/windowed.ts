// Which entries of a long list can be seen? Entries have heights of their own, which are measured once they are drawn.
import type { RefObject } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const MARGIN = 500;
const TRIES = 12;

export interface Windowed {
  readonly from: number;
  readonly to: number;
  /** The heights of what is not drawn before and after the entries. */
  readonly before: number;
  readonly after: number;
  /** Scrolls to an entry, and calls back when it is drawn. */
  reveal(index: number, shown?: (entry: HTMLElement) => void): void;
}

/** `list` holds the entries, each with its index in `data-invocation`. All of them are drawn for the printer. */
export function useWindowed(list: RefObject<HTMLElement | null>, count: number, estimate: number): Windowed {
  const heights = useRef(new Map<number, number>());
  const [range, setRange] = useState<readonly [number, number]>([0, Math.min(count, 4)]);
  const printing = useRef(false);
  const heightOf = (index: number) => heights.current.get(index) ?? estimate;
  const sum = (from: number, to: number) => {
    let height = 0;
    for (let index = from; index < to; index++) height += heightOf(index);
    return height;
  };
  const measure = useCallback(() => {
    const own = list.current;
    if (!own) return;
    for (const entry of own.querySelectorAll<HTMLElement>("[data-invocation]")) {
      heights.current.set(Number(entry.dataset.invocation), entry.getBoundingClientRect().height);
    }
    const pane = own.closest(".pane")?.getBoundingClientRect();
    const top = Math.max(0, pane?.top ?? 0) - MARGIN;
    const bottom = Math.min(window.innerHeight, pane?.bottom ?? window.innerHeight) + MARGIN;
    let [from, to] = [0, count];
    if (!printing.current) {
      let edge = own.getBoundingClientRect().top;
      for (from = 0; from < count - 1 && edge + heightOf(from) < top; from++) edge += heightOf(from);
      for (to = from; to < count && (edge < bottom || to === from); to++) edge += heightOf(to);
    }
    setRange((old) => (old[0] === from && old[1] === to ? old : [from, to]));
  }, [list, count]);

  useLayoutEffect(measure);
  useEffect(() => {
    const print = (isPrinting: boolean) => () => {
      printing.current = isPrinting;
      measure();
    };
    const [before, after] = [print(true), print(false)];
    const sizes = new ResizeObserver(measure);
    if (list.current) sizes.observe(list.current);
    document.addEventListener("scroll", measure, { passive: true, capture: true });
    window.addEventListener("resize", measure);
    window.addEventListener("beforeprint", before);
    window.addEventListener("afterprint", after);
    return () => {
      sizes.disconnect();
      document.removeEventListener("scroll", measure, { capture: true });
      window.removeEventListener("resize", measure);
      window.removeEventListener("beforeprint", before);
      window.removeEventListener("afterprint", after);
    };
  }, [list, measure]);

  const reveal = (index: number, shown?: (entry: HTMLElement) => void) => {
    const go = (tries: number) => {
      const own = list.current;
      if (!own || tries === 0) return;
      const entry = own.querySelector<HTMLElement>(`[data-invocation="${index}"]`);
      if (!entry) {
        const place = own.getBoundingClientRect().top + sum(0, index) - window.innerHeight / 3;
        window.scrollBy({ top: place });
        measure();
        requestAnimationFrame(() => go(tries - 1));
      } else if (shown) shown(entry);
      else entry.scrollIntoView({ block: "start" });
    };
    go(TRIES);
  };
  const [from, to] = [Math.min(range[0], count), Math.min(range[1], count)];
  return { from, to, before: sum(0, from), after: sum(to, count), reveal };
}
