"""A walk through every state of a page: each kind of control is used once, and axe reads what changed.

A kind is the classes of a control and of what stands around it. What a control brings into view is walked too. At the
end everything is unfolded, and the whole page is read, also as it is printed. A page that is exactly as it was when axe
read it is not read again: most keys, for example, change nothing on most pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from browsing import AXE, unfold

SOURCES = Path(__file__).parents[2] / "ui" / "src"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
MOST = 80
"""The most controls of a page. More are a mistake of the walk."""
KEYS = "?metnfx"
"""The keys that change what is shown, as ui/src/keys.ts has them."""

_CLASS = re.compile(r"class(?:=|: )(?:\"([^\"]*)\"|\{`([^`]*)`\}|\{\"([^\"]*)\"\})")
_SCRIPT = """() => {
  const settle = async () => {
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
    await new Promise(done => setTimeout(done, 30));
  };
  const kindOf = own => {
    const kinds = [own.tagName, own.type || '', own.tagName === 'SUMMARY' && own.parentElement.open];
    for (let at = own; at && kinds.length < 7; at = at.parentElement) {
      if (at.className) kinds.push(String(at.className));
    }
    const place = own.matches('.controls > *, .toolbar > *') ? [...own.parentElement.children].indexOf(own) : '';
    return kinds.join('|').replace(/[0-9]+/g, '') + place;
  };
  const all = 'summary, button, select, input[type=checkbox], input[type=range]';
  const controls = () => [...document.querySelectorAll(all)]
    .filter(own => own.checkVisibility() && !own.disabled && !own.closest('.options') && own.type !== 'submit');
  const use = own => {
    if (own.tagName === 'SELECT') own.selectedIndex = own.options.length - 1;
    else if (own.type === 'range') own.value = own.min;
    else return own.click();
    own.dispatchEvent(new Event('input', { bubbles: true }));
    own.dispatchEvent(new Event('change', { bubbles: true }));
  };
  const before = new Set();
  const stateOf = part => {
    const values = [...document.querySelectorAll('input, select, textarea')].map(own => `${own.value} ${own.checked}`);
    const place = part ? [...document.querySelectorAll(part.tagName)].indexOf(part) : 'whole';
    const media = matchMedia('print').matches;
    return [place, media, location.hash, values.join('|'), document.documentElement.outerHTML].join('||');
  };
  const read = async (part, tags) => {
    await settle();
    const open = document.querySelector('dialog[open]');
    const [whole, own] = [stateOf(null), stateOf(part?.isConnected ? part : null)];
    if (before.has(whole) || before.has(own)) return { hash: location.hash };
    before.add(own);
    const rules = matchMedia('print').matches ? { 'target-size': { enabled: false } } : {};  // paper has no pointer
    const options = { runOnly: tags, rules, resultTypes: ['violations'] };
    const run = () => axe.run(open ?? (part?.isConnected ? part : document), options);
    let found = await run();
    if (found.violations.length) {  // the bar at the top covers what was scrolled below it
      scrollTo(0, 0);
      await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
      found = await run();
    }
    return {
      problems: found.violations.map(own => `${own.id}: ${own.nodes[0].html.slice(0, 160)}`),
      isWide: document.documentElement.scrollWidth > innerWidth,
      classes: [...new Set([...document.querySelectorAll('[class]')].flatMap(own => [...own.classList]))],
      hash: location.hash,
    };
  };
  window.walk = {
    kinds: () => [...new Set(controls().map(kindOf))],
    use: async (kind, tags) => {
      const own = controls().find(entry => kindOf(entry) === kind);
      if (!own) return null;
      const part = own.closest('li, tr, details, form, section, article, aside, nav, header');
      use(own);
      const found = await read(part, tags);
      const isClosed = own.tagName === 'SUMMARY' && !own.parentElement.open && own.checkVisibility();
      if (isClosed) own.click();  // it was open, and what it holds is walked, too
      return found;
    },
    read: tags => read(null, tags),
  };
}"""


@dataclass
class Walk:
    """The violations in the states of pages, each with its page and what was done, and the classes that were seen."""

    problems: list[tuple[str, ...]] = field(default_factory=list)
    classes: set[str] = field(default_factory=set)
    states: int = 0

    def through(self, name: str, page: Any, show: Callable[[], None]) -> None:
        """Walk through the states of a page. `show` opens it anew."""

        def begin() -> str:
            show()
            page.evaluate(AXE.read_text("utf-8"))
            page.evaluate(_SCRIPT)
            return str(page.evaluate("location.hash.split('&')[0]"))

        def keep(done: str, found: Any, *, on_paper: bool = False) -> None:
            if "problems" not in found:
                return
            self.states += 1
            self.problems += [(name, done, problem) for problem in found["problems"]]
            self.problems += [(name, done, "wider than the window")] * (found["isWide"] and not on_paper)
            self.classes.update(found["classes"])

        start = begin()
        keep("opened", page.evaluate("tags => walk.read(tags)", TAGS))
        used: set[str] = set()
        while kinds := [kind for kind in page.evaluate("walk.kinds()") if kind not in used]:
            used.add(kinds[0])
            assert len(used) <= MOST, (name, sorted(used))
            found = page.evaluate("([kind, tags]) => walk.use(kind, tags)", [kinds[0], TAGS])
            if found is None:
                continue
            keep(kinds[0], found)
            if page.locator("dialog[open]").count():
                page.keyboard.press("Escape")
            if found["hash"].split("&")[0] != start:  # the control led to another page, which has a walk of its own
                begin()
        for key in KEYS:
            page.keyboard.press(key)
            keep(f"key {key}", page.evaluate("tags => walk.read(tags)", TAGS))
            page.keyboard.press("Escape")
        begin()
        unfold(page)
        keep("unfolded", page.evaluate("tags => walk.read(tags)", TAGS))
        page.emulate_media(media="print")
        keep("printed", page.evaluate("tags => walk.read(tags)", TAGS), on_paper=True)
        page.emulate_media(media="screen")


def classes_of_sources() -> dict[str, str]:
    """Every class that the program gives to an element, with the source that does."""
    found: dict[str, str] = {}
    for source in sorted(SOURCES.glob("*.tsx")):
        for match in _CLASS.finditer(source.read_text("utf-8")):
            words = re.sub(r"\$\{[^}]*\}", " ", next(filter(None, match.groups()), "")).split()
            found |= {word: source.name for word in words if not word.endswith("-")}
    return found
