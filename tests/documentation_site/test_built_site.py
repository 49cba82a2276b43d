"""The site that `make site` built: its links, its Markdown, its versions, and its search in a browser."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from site_browsing import chromium, served

import fairtrial

pytestmark = pytest.mark.site

ROOT = Path(__file__).parents[2]
SITES = ROOT / "build" / "site"
SITE = SITES / ".".join(fairtrial.__version__.split(".")[:2])
RESULTS = """[...document.querySelectorAll("*")]
    .flatMap(own => own.shadowRoot ? [own.shadowRoot.textContent] : []).join(" ")"""
"""What the search shows, which is not a part of the page around it."""


class _Page(HTMLParser):
    """The links, the anchors and the files that a page loads."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors.update(filter(None, (values.get("id"), values.get("name"))))
        if tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))
        is_file = tag in ("script", "img") or (tag == "link" and values.get("rel") in ("stylesheet", "icon"))
        if is_file and (address := values.get("src") or values.get("href")):
            self.loaded.append(address)


def pages() -> dict[Path, _Page]:
    """Every page of the site but the one about missing pages, whose links begin at the root."""
    return {file: _Page(file) for file in sorted(SITE.rglob("*.html")) if file.name != "404.html"}


def target(page: Path, address: str) -> Path:
    """The file that a link of a page leads to."""
    path = (page.parent / unquote(urlsplit(address).path)).resolve()
    return path / "index.html" if path.is_dir() else path


def is_own(address: str) -> bool:
    """Whether an address leads to the site itself."""
    return not urlsplit(address).scheme and not urlsplit(address).netloc


def test_every_link_leads_to_a_file_and_to_an_anchor() -> None:
    """In the pages as a browser gets them."""
    own = pages()
    assert len(own) > 100
    dead = []
    for file, page in own.items():
        for address in filter(is_own, page.links):
            goal = target(file, address) if urlsplit(address).path else file
            anchor = unquote(urlsplit(address).fragment)
            if not goal.exists() or (anchor and goal in own and anchor not in own[goal].anchors):
                dead.append(f"{file.relative_to(SITE)}: {address}")
    assert dead == []


def test_every_page_is_reached_from_the_first() -> None:
    """By links alone, without the search."""
    own = pages()
    reached, queue = set[Path](), [SITE / "index.html"]
    while queue:
        file = queue.pop()
        if file in own and file not in reached:
            reached.add(file)
            queue += [target(file, address) for address in filter(is_own, own[file].links)]
    assert sorted(set(own) - reached) == []


def test_no_page_loads_a_file_of_another_server() -> None:
    """A reader is not reported to anybody, and the site works without a network."""
    foreign = {address for page in pages().values() for address in page.loaded if not is_own(address)}
    assert foreign == set()


def test_the_markdown_of_each_page_lies_beside_it() -> None:
    """It is the page of this folder, and llms.txt lists it with its title."""
    listed = (SITE / "llms.txt").read_text(encoding="utf-8")
    for page in sorted((ROOT / "docs").rglob("*.md")):
        place = page.relative_to(ROOT / "docs").with_suffix("")
        beside = SITE / ("index.md" if place == Path("index") else place / "index.md")
        title = page.read_text(encoding="utf-8").partition("# ")[2].partition("\n")[0]
        assert beside.with_suffix(".html").exists()
        assert f"# {title}" in beside.read_text(encoding="utf-8")
        assert place == Path("index") or f"[{title}]({place.as_posix()}/index.md)" in listed


def test_the_page_of_the_api_holds_every_public_name() -> None:
    """With its docstring, so that the first sentence is found on the page."""
    page = (SITE / "reference" / "api" / "index.md").read_text(encoding="utf-8")
    assert [name for name in fairtrial.__all__ if f"\n### {name}\n" not in page and name != "__version__"] == []
    assert "Run an agent on every case of an eval set, and score its conversations." in page


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The site on a free port."""
    with served(SITE) as own:
        yield own


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    with chromium() as own:
        yield own


def test_a_page_leads_to_another_version(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the switch of versions, which lists the newest first. The address without a version leads to the newest."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    for version in ("0.9", "0.10"):
        (tmp_path / version).symlink_to(SITE)
    importlib.import_module("build_site").list_versions(tmp_path)
    with served(tmp_path) as own:
        page = browser.new_page()
        page.goto(own)
        page.wait_for_url(f"{own}0.10/")
        page.goto(f"{own}0.9/how-to/gate-a-build/")
        page.get_by_role("button", name="Select version").focus()
        assert page.locator(".md-version__list a").all_inner_texts() == ["0.10", "0.9"]
        page.locator(".md-version__list a").first.click()
        page.wait_for_url(f"{own}0.10/")
        page.close()


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("gate", "Gate a build"),
        ("환불", "Run in CI"),
        ("退款", "response_match_score"),
        ("審査モデル", "最初の審査モデル"),
    ],
    ids=["en", "ko", "zh", "ja"],
)
def test_the_search_finds_words_of_four_languages(query: str, title: str, browser: Any, address: str) -> None:
    """Also a word inside a longer one, and inside a sentence without spaces."""
    page = browser.new_page()
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.keyboard.press("/")
    page.keyboard.type(query)
    page.get_by_text(re.compile(r"^[1-9]\d* results?$")).wait_for()
    assert title in page.evaluate(RESULTS)
    page.close()


def test_the_site_follows_the_colours_of_the_system(browser: Any, address: str) -> None:
    """It is light, or dark."""
    shades = []
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.goto(address)
        shades.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.close()
    assert shades[0] != shades[1], shades


@pytest.mark.parametrize("language", ["ko", "ja", "zh-CN", "zh-TW"])
def test_a_page_says_its_language_and_leads_to_the_others(language: str) -> None:
    """A program that reads a page aloud needs its language, and a reader may want another."""
    files = [file for file in pages() if file.parent.name.endswith(f".{language}")]
    assert len(files) >= 20
    for file in files:
        assert f'<html lang="{language}"' in file.read_text(encoding="utf-8")
        name = file.parent.name.removesuffix(f".{language}")
        others = {file.parent.with_name(f"{name}.{other}") for other in {"ko", "ja", "zh-CN", "zh-TW"} - {language}}
        others.add(SITE if name == "index" else file.parent.with_name(name))
        assert others <= {target(file, address).parent for address in _Page(file).links}
