"""Tells which translated page is older than its source. `python docs/translations.py FILE` marks a page as up to date.

A translation of README.md is README.LANGUAGE.md beside it. Its first comment holds a digest of each section of the
source that it was written from. The order of sections and the blocks of code are the same as in the source.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
LANGUAGES = {"ko": "한국어", "ja": "日本語", "zh-CN": "简体中文", "zh-TW": "繁體中文"}
_COMMENT = re.compile(r"\A<!-- translation of (\S+)\n(.*?)-->\n", re.DOTALL)
_HEADING = re.compile(r"^(#+ .*)$", re.MULTILINE)
_BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def find_translations() -> Iterator[Path]:
    """Yield every translated page."""
    for language in LANGUAGES:
        yield from sorted(ROOT.glob(f"*.{language}.md"))
        yield from sorted((ROOT / "docs").rglob(f"*.{language}.md"))


def find_source(page: Path) -> Path:
    """Return the English page of a translation."""
    return page.with_name(re.sub(r"\.[\w-]+\.md$", ".md", page.name))


def read_sections(text: str) -> dict[str, str]:
    """Return the sections of a page by their headings. A line of code that begins with # is no heading."""
    blocks = _BLOCK.findall(text)
    hidden = _BLOCK.sub("\0", text)
    parts = _HEADING.split(hidden)[1:]
    sections = {}
    for heading, part in zip(parts[::2], parts[1::2], strict=True):
        here = part.count("\0")
        for block in blocks[:here]:
            part = part.replace("\0", block, 1)  # noqa: PLW2901
        blocks = blocks[here:]
        sections[heading.lstrip("# ")] = part.strip()
    return sections


def read_blocks(text: str) -> list[str]:
    """Return the blocks of code of a page."""
    return _BLOCK.findall(text)


def digests(source: str) -> dict[str, str]:
    """Return a digest of each section of a source, by its heading."""
    return {
        heading: hashlib.sha256(f"{heading}\n{text}".encode()).hexdigest()[:12]
        for heading, text in read_sections(source).items()
    }


def find_older(page: str, source: str) -> list[str]:
    """Return the headings of the source whose text has changed since a translation was written, or that are new."""
    match = _COMMENT.match(page)
    written = dict(line.rsplit(": ", 1) for line in match[2].splitlines()) if match else {}
    now = digests(source)
    return [heading for heading in {**now, **written} if now.get(heading) != written.get(heading)]


def mark(page: str, source_name: str, source: str) -> str:
    """Return a page that is marked as written from a source as it stands."""
    lines = "".join(f"{heading}: {digest}\n" for heading, digest in digests(source).items())
    return f"<!-- translation of {source_name}\n{lines}-->\n{_COMMENT.sub('', page)}"


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        english = find_source(path)
        marked = mark(path.read_text(encoding="utf-8"), english.name, english.read_text(encoding="utf-8"))
        path.write_text(marked, encoding="utf-8")
    for path in find_translations():
        older = find_older(path.read_text(encoding="utf-8"), find_source(path).read_text(encoding="utf-8"))
        state = f"older than its source in: {', '.join(older)}" if older else "up to date"
        print(f"{path.relative_to(ROOT)}: {state}")  # noqa: T201
