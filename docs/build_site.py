"""Builds the pages of this folder as a site, strictly, with Markdown beside each page. `make site` runs it."""

from __future__ import annotations

import contextlib
import inspect
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from build_playground import build_playground
from translations import LANGUAGES, find_source

import fairtrial

DOCS = Path(__file__).parent
ROOT = DOCS.parent
BUILD = ROOT / "build"
VERSION = ".".join(fairtrial.__version__.split(".")[:2])
STAGE, SITES = BUILD / "site-source", BUILD / "site"
SITE = SITES / VERSION
"""The pages of this version. Those of other versions stand beside them."""
_FIRST_PAGES = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
"""The pages of the root that the site holds, too."""
_API = "reference/api.md"
_ENGLISH = "English"
_SECTIONS = {
    "tutorial": "Tutorials",
    "how-to": "How-to guides",
    "reference": "Reference",
    "explanation": "Explanation",
}
"""The sections of the index by the folders of their pages."""
_LINK = re.compile(r"\[[^]\[]*\]\(([^)#\s]+\.md)(?:#[^)]*)?\)")
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_SENTENCE = re.compile(r"^(?!#|<!--|\||```|!\[|- )(\S.*?(?:[.:!?](?=\s|$)|。))", re.MULTILINE)
_PUBLIC = re.compile(r"^## (.+)$|^\| `(\w+)` \|", re.MULTILINE)
_ESCAPED = re.compile(r"[<>*\[\]](?![^`]*`(?:[^`]*`[^`]*`)*[^`]*$)")
"""Signs that Markdown would take for its own, outside of code."""

CONFIG = """\
[project]
site_name = "fairtrial"
site_description = "Evaluates AI agents, and says how sure you can be of the result."
docs_dir = "site-source"
site_dir = "site/{version}"
nav = {nav}

[project.extra.version]
provider = "mike"

[project.theme]
language = "en"
font = false
features = ["content.code.copy", "navigation.sections", "navigation.top", "search.highlight", "toc.follow"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle = {{ icon = "lucide/moon", name = "Dark" }}

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle = {{ icon = "lucide/sun", name = "Light" }}
"""

_LEADING_PAGE = """\
<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>fairtrial</title>
<meta http-equiv="refresh" content="0; url={newest}/"><a href="{newest}/">fairtrial {newest}</a></html>
"""


def stage_pages() -> None:
    """Copy the pages, those of the root among them, and write the page of the public names with their docstrings."""
    shutil.rmtree(BUILD / "site-source", ignore_errors=True)
    shutil.copytree(DOCS, STAGE, ignore=shutil.ignore_patterns("*.py", "__pycache__", "playground"))
    for name in _FIRST_PAGES:
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        (STAGE / name).write_text(text, encoding="utf-8")
    for page in STAGE.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        for name in _FIRST_PAGES:
            text = text.replace(f"](../../{name}", f"](../{name}").replace(f"](../{name}", f"]({_up(page)}{name}")
        page.write_text(_with_languages(page, text), encoding="utf-8")
    (STAGE / _API).write_text(api_page(), encoding="utf-8")


def _with_languages(page: Path, text: str) -> str:
    """Return a page without the mark of a translation, with links to other languages below its title."""
    names = {_ENGLISH: find_source(page) if _find_language(page) else page}
    names |= {title: names[_ENGLISH].with_suffix(f".{language}.md") for language, title in LANGUAGES.items()}
    links = [f"[{title}]({own.name})" for title, own in names.items() if own != page and own.exists()]
    text = re.sub(r"\A<!--.*?-->\n", "", text, flags=re.DOTALL)
    line = " · ".join(links)
    if not links or line in text:
        return text
    return _TITLE.sub(lambda title: f"{title[0]}\n\n{line}", text, count=1)


def _find_language(page: Path) -> str:
    """Return the language of a translated page, or an empty text."""
    language = page.stem.rpartition(".")[2]
    return language if language in LANGUAGES else ""


def _up(page: Path) -> str:
    return "../" * (len(page.relative_to(STAGE).parts) - 1)


def api_page() -> str:
    """Return the page of the public names with their docstrings, in the order of the page that lists them.

    The names are loaded when they are first used, so that a reader of the source would not find them.
    """
    listed = (DOCS / "reference" / "public-names.md").read_text(encoding="utf-8")
    lines = ["# Python API", "", "For everyone who calls fairtrial from Python: each public name with its docstring."]
    for title, name in _PUBLIC.findall(listed):
        lines += ["", f"## {title}"] if title else _describe(name, getattr(fairtrial, name), "###")
    return "\n".join(lines) + "\n"


def _describe(name: str, item: Any, level: str) -> Iterator[str]:
    """Yield the heading, the signature and the docstring of a name, and those of the public members of a class."""
    yield from ("", f"{level} {name}")
    if callable(item):
        with contextlib.suppress(TypeError, ValueError):  # a type alias has no signature
            yield from ("", "```python", f"{name}{_signature(item)}", "```")
    yield from ("", _ESCAPED.sub(r"\\\g<0>", inspect.getdoc(item) or ""))
    if inspect.isclass(item) and not issubclass(item, BaseException):
        for own, member in vars(item).items():
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if not own.startswith("_") and inspect.isfunction(function) and function.__doc__:
                yield from ("", f"**{own}**{'' if isinstance(member, property) else _signature(function)}")
                yield from ("", _ESCAPED.sub(r"\\\g<0>", inspect.getdoc(function) or ""))


def _signature(item: Any) -> str:
    """Return a signature whose types are written as in the source."""
    return re.sub(r"(?<=[:>] )'([^']*)'", r"\1", str(inspect.signature(item)))


def read_nav() -> dict[str, list[str]]:
    """Return the pages of each section of the index, in its order, and then the pages that these link to."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    sections: dict[str, list[str]] = {}
    for part in index.split("\n## ")[1:]:
        title, _, text = part.partition("\n")
        sections[title.partition(":")[0]] = list(dict.fromkeys(_LINK.findall(text)))
    queue = [page for pages in sections.values() for page in pages]
    known = set(queue)
    for page in queue:  # it grows while it is read
        for path in _linked_pages(page):
            if str(path) not in known and path.parts[0] in _SECTIONS:
                known.add(str(path))
                queue.append(str(path))
                sections[_SECTIONS[path.parts[0]]].append(str(path))
    sections["Reference"].append(_API)
    return sections


def read_translations() -> dict[str, list[str]]:
    """Return the translated pages of each language, in the order of its index, which comes first."""
    sections: dict[str, list[str]] = {}
    for language, title in LANGUAGES.items():
        index = f"index.{language}.md"
        links = _LINK.findall((DOCS / index).read_text(encoding="utf-8"))
        own = (link for link in links if _find_language(Path(link)) == language)
        sections[title] = list(dict.fromkeys((index, *own)))
    return sections


def name_languages() -> None:
    """Say the language of each translated page, for programs that read it aloud or hyphenate it."""
    for page in STAGE.rglob("*.md"):
        if language := _find_language(page):
            built = SITE / page.relative_to(STAGE).with_suffix("") / "index.html"
            text = built.read_text(encoding="utf-8").replace('<html lang="en"', f'<html lang="{language}"', 1)
            built.write_text(text, encoding="utf-8")


def _linked_pages(page: str) -> Iterator[Path]:
    for target in _LINK.findall((DOCS / page).read_text(encoding="utf-8")):
        path = (DOCS / page).parent.joinpath(target).resolve()
        if path.is_relative_to(DOCS.resolve()):
            yield path.relative_to(DOCS.resolve())


def find_orphans(sections: dict[str, list[str]]) -> list[str]:
    """Return the pages that no section leads to."""
    listed = {"index.md", *_FIRST_PAGES, *(page for pages in sections.values() for page in pages)}
    return sorted(str(path) for page in STAGE.rglob("*.md") if str(path := page.relative_to(STAGE)) not in listed)


def write_config(sections: dict[str, list[str]]) -> Path:
    """Write the configuration of the builder, and return its file."""
    entries = [_entry("Home", "index.md")]
    entries += [_entry(title, f"[{', '.join(map(json.dumps, pages))}]", raw=True) for title, pages in sections.items()]
    entries.append(_entry("Project", f"[{', '.join(map(json.dumps, _FIRST_PAGES))}]", raw=True))
    file = BUILD / "zensical.toml"
    file.write_text(CONFIG.format(nav=f"[{', '.join(entries)}]", version=VERSION), encoding="utf-8")
    return file


def _entry(title: str, value: str, *, raw: bool = False) -> str:
    return f"{{ {json.dumps(title)} = {value if raw else json.dumps(value)} }}"


def write_markdown(sections: dict[str, list[str]]) -> None:
    """Put the Markdown of each page beside it as index.md, and write llms.txt, which lists all of them."""
    lines = ["# fairtrial", "", "> Evaluates AI agents, and says how sure you can be of the result.", ""]
    for title, pages in {**sections, "Project": [*_FIRST_PAGES]}.items():
        lines += [f"## {title}", ""]
        for page in pages:
            text = (STAGE / page).read_text(encoding="utf-8")
            target = SITE / Path(page).with_suffix("") / "index.md"
            target.write_text(text, encoding="utf-8")
            lines.append(f"- [{_first(_TITLE, text)}]({target.relative_to(SITE)}): {_first(_SENTENCE, text)}")
        lines.append("")
    shutil.copyfile(STAGE / "index.md", SITE / "index.md")
    (SITE / "llms.txt").write_text("\n".join(lines), encoding="utf-8")


def list_versions(sites: Path) -> None:
    """Write the list of versions that the switch of each page reads, the newest first, and a page that leads to it."""
    folders = [own.name for own in sites.iterdir() if re.fullmatch(r"\d+\.\d+", own.name)]
    newest, *older = sorted(folders, key=lambda name: [*map(int, name.split("."))], reverse=True)
    listed = [{"version": newest, "title": newest, "aliases": ["latest"]}]
    listed += [{"version": name, "title": name, "aliases": []} for name in older]
    (sites / "versions.json").write_text(json.dumps(listed), encoding="utf-8")
    (sites / "index.html").write_text(_LEADING_PAGE.format(newest=newest), encoding="utf-8")


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[1] if match else ""


def main() -> None:
    """Build the site, and exit with 1 if a link is dead or a page is an orphan."""
    stage_pages()
    build_playground(STAGE / "playground")
    sections = {**read_nav(), **read_translations()}
    if orphans := find_orphans(sections):
        sys.exit(f"no page of the index leads to {', '.join(orphans)}")
    shutil.rmtree(SITE, ignore_errors=True)
    program = Path(sys.executable).with_name("zensical")
    built = subprocess.run(
        [program, "build", "--strict", "--clean", "--config-file", write_config(sections)], check=False
    )
    if built.returncode:
        sys.exit(built.returncode)
    name_languages()
    write_markdown(sections)
    list_versions(SITES)
    print(f"{len(list(SITE.rglob('*.html')))} pages in {SITE.relative_to(ROOT)}")  # noqa: T201


if __name__ == "__main__":
    main()
