"""The HTML report works in a real browser: keys, links, languages, accessibility and hostile texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import AXE, BLANK_ROWS, CHROMIUM, HEIGHTS, Visit, opened, unfold, wait_until_drawn

from fairtrial.reports.html_summary import LANGUAGES, texts
from hostile_corpus import HOSTILE, LONG
from report_pages import write_comparison, write_comparisons, write_run

pytestmark = pytest.mark.browser

VIEWS = {
    "summary": ("run", "", ".row .name"),
    "case": ("run", "#page=case&case=4", ".case .invocation"),
    "broken": ("run", "#page=case&case=3", ".case .callout"),
    "setup": ("run", "#page=setup", ".setup-page"),
    "compare": ("both", "#page=compare&case=2", ".pane .invocation"),
    "compare-many": ("many", "#page=compare", ".compare-all tbody a"),
}


@pytest.fixture
def visit(browser: Any) -> Iterator[Visit]:
    """A page of its own."""
    with opened(browser) as own:
        yield own


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The pages of a run, of two runs and of four."""
    folder = tmp_path_factory.mktemp("pages")
    return {
        "run": write_run(folder / "run.html"),
        "both": write_comparison(folder / "both.html"),
        "many": write_comparisons(folder / "many.html"),
    }


def show(own: Visit, addresses: dict[str, str], view: str) -> None:
    """Open a view, with everything that can be unfolded."""
    file, fragment, ready = VIEWS[view]
    own.open(addresses[file] + fragment, ready)
    unfold(own.page)


def choose(own: Visit, language: str, theme: str) -> None:
    """Choose a language and a theme as a reader does."""
    own.page.locator(".options select").nth(0).select_option(language)
    own.page.locator(".options select").nth(1).select_option(theme)
    wait_until_drawn(own.page)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("width", [1280, 320])
def test_axe_finds_no_violation(browser: Any, addresses: dict[str, str], view: str, width: int) -> None:
    """WCAG 2.2 AA: each view, both themes, five languages."""
    problems = []
    with opened(browser, viewport={"width": width, "height": HEIGHTS[width]}, bypass_csp=True) as own:
        show(own, addresses, view)
        own.page.evaluate(AXE.read_text(encoding="utf-8"))
        for language in LANGUAGES:
            for theme in ("light", "dark"):
                choose(own, language, theme)
                rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
                found = own.page.evaluate("rules => axe.run({runOnly: rules})", rules)
                problems += [
                    (language, theme, entry["id"], [node["html"][:160] for node in entry["nodes"][:3]])
                    for entry in found["violations"]
                ]
    assert problems == []


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("width", [1280, 320])
def test_folded_texts_are_large_and_landmarks_differ(
    browser: Any, addresses: dict[str, str], view: str, width: int
) -> None:
    """As a reader finds the page. This includes the best practices, for example that no two regions have one name."""
    file, fragment, ready = VIEWS[view]
    with opened(browser, viewport={"width": width, "height": HEIGHTS[width]}, bypass_csp=True) as own:
        own.open(addresses[file] + fragment, ready)
        own.page.evaluate(AXE.read_text(encoding="utf-8"))
        rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
        found = own.page.evaluate("rules => axe.run({runOnly: rules})", rules)
    assert [(entry["id"], [node["html"][:160] for node in entry["nodes"][:3]]) for entry in found["violations"]] == []


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_wider_than_the_page(browser: Any, addresses: dict[str, str], view: str) -> None:
    """At 320 and 1280 pixels, in each language and in a language with longer texts, nothing overflows sideways."""
    problems = []
    for width in (320, 1280):
        with opened(browser, viewport={"width": width, "height": HEIGHTS[width]}) as own:
            show(own, addresses, view)
            for language in LANGUAGES:
                choose(own, language, "light")
                problems += [(width, language, entry) for entry in own.page.evaluate(_OVERFLOW)]
        with opened(browser, viewport={"width": width, "height": HEIGHTS[width]}, locale="en-XA") as own:
            show(own, addresses, view)
            problems += [(width, "en-XA", entry) for entry in own.page.evaluate(_OVERFLOW)]
    assert problems == []


_OVERFLOW = """() => {
  const found = [];
  if (document.documentElement.scrollWidth > innerWidth) found.push(`page ${document.documentElement.scrollWidth}`);
  for (const element of document.querySelectorAll('button, a, .tag, .verdict, h1, h2, th, td, dt, dd, .caption')) {
    const box = element.getBoundingClientRect();
    if (box.width && !element.closest('.scroll, .row, .step-brief, pre') && box.right > innerWidth + 1) {
      found.push(element.outerHTML.slice(0, 120));
    }
  }
  return found;
}"""


def test_a_criterion_without_a_value_is_unscored_with_its_reason(visit: Visit, addresses: dict[str, str]) -> None:
    """In the numbers and in the case. A default that found no data in the whole run is only named."""
    visit.open(addresses["run"], ".row .name")
    heads = visit.page.locator("#criteria-title ~ * th[scope=row]").all_inner_texts()
    assert [any(name in head for head in heads) for name in ("politeness", "invocation_duration_v1")] == [True, False]
    assert "Without data: invocation_duration_v1" in visit.page.locator("p.note").all_inner_texts()
    visit.open(addresses["run"] + "#page=case&case=4", ".case .invocation")
    shown = visit.page.locator("details.informational > .outcome", has_text="politeness")
    assert "unscored" in shown.locator(".verdict").inner_text()
    assert shown.locator(".reason").is_visible()
    assert visit.page.locator("details.informational > .outcome", has_text="invocation_duration_v1").count() == 0


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_speaks_the_language_of_the_browser(browser: Any, addresses: dict[str, str], language: str) -> None:
    """Its texts, its `lang`, and glyphs that a font has."""
    with opened(browser, locale=language) as own:
        own.open(addresses["run"])
        assert own.page.evaluate("document.documentElement.lang") == language
        assert own.page.locator("#cases-title").inner_text() == texts(language)["cases"]
        assert own.page.evaluate("document.body.innerText.includes('\\ufffd')") is False


def test_a_page_without_script_shows_the_summary(browser: Any, addresses: dict[str, str]) -> None:
    """For example in a mail preview."""
    with opened(browser, java_script_enabled=False) as own:
        own.page.goto(addresses["run"])
        text = own.page.inner_text("body")
    assert "tool_trajectory_avg_score" in text
    assert "case_3" in text


def test_everything_can_be_done_by_keys(visit: Visit, addresses: dict[str, str]) -> None:
    """Move, open, change the attempt, hide the expectation, show thoughts, go back, filter, search, help, compare."""
    page, press = visit.page, visit.page.keyboard.press
    visit.open(addresses["both"])
    press("j")
    press("j")
    page.locator(".row[data-index='1']:focus").wait_for()
    press("k")
    page.locator(".row[data-index='0']:focus").wait_for()
    press("Enter")
    page.locator(".case .invocation").first.wait_for()
    first = page.locator("#case-title").inner_text()
    press("]")
    page.locator(".attempt[aria-current]", has_text="2").wait_for()
    press("[")
    page.locator(".attempt[aria-current]", has_text="1").wait_for()
    assert page.locator(".side.expected").count() > 0
    press("e")
    page.locator(".side.expected").first.wait_for(state="detached")
    assert page.locator(".step.thought").count() == 0
    press("t")
    page.locator(".step.thought").first.wait_for()
    press("j")
    page.locator("#case-title", has_not_text=first).wait_for()
    press("Escape")
    page.locator(".row").first.wait_for()
    press("f")
    page.locator("button.toggle[aria-pressed=true]").wait_for()
    press("/")
    page.locator("#search:focus").wait_for()
    page.keyboard.type("case_5")
    page.locator(".row").nth(1).wait_for(state="detached")
    press("Escape")
    press("?")
    page.locator("dialog[open]").wait_for()
    assert page.locator("dialog kbd").count() == 15
    press("Escape")
    page.locator("dialog").wait_for(state="detached")
    press("c")
    page.locator("#compare-title").wait_for()
    assert visit.errors == []


def test_single_keys_can_be_switched_off(visit: Visit, addresses: dict[str, str]) -> None:
    """WCAG 2.1.4: then only keys with names do something."""
    visit.open(addresses["run"])
    visit.page.keyboard.press("?")
    visit.page.locator("dialog input[type=checkbox]").uncheck()
    visit.page.keyboard.press("Escape")
    visit.page.locator("dialog").wait_for(state="detached")
    visit.page.keyboard.press("f")
    assert visit.page.locator("button.toggle[aria-pressed=true]").count() == 0


def test_a_link_shows_what_its_sender_saw(visit: Visit, addresses: dict[str, str]) -> None:
    """The filters, the search, the case and the attempt stand in the address."""
    visit.open(addresses["run"] + "#q=case_1")
    assert visit.page.input_value("#search") == "case_1"
    visit.page.locator(".row").first.click()
    visit.page.locator(".attempts a").nth(1).click()
    visit.page.locator(".attempt[aria-current]", has_text="2").wait_for()
    address, name = visit.page.url, visit.page.locator("#case-title").inner_text()
    visit.open(address, ".attempt[aria-current]")
    assert visit.page.locator("#case-title").inner_text() == name
    assert "2" in visit.page.locator(".attempt[aria-current]").inner_text()
    visit.page.keyboard.press("Escape")
    visit.page.locator(".row").first.wait_for()
    assert visit.page.input_value("#search") == "case_1"


def test_a_link_finds_its_case_at_another_position(visit: Visit, addresses: dict[str, str]) -> None:
    """After cases were inserted in the eval set, the name tells. If the run lacks the name, no other case is shown."""
    visit.open(addresses["run"] + "#page=case&case=4", ".case .invocation")
    name = visit.page.locator("#case-title bdi").inner_text()
    visit.page.wait_for_function("location.hash.includes('name=')")
    fragment = visit.page.evaluate("location.hash")
    for position in ("2", "999999"):
        visit.open(addresses["run"] + fragment.replace("case=4", f"case={position}"), ".case[data-position='4']")
        assert visit.page.locator("#case-title bdi").inner_text() == name
        assert visit.page.title().startswith(name)
    visit.open(addresses["run"] + "#page=case&case=4&name=nobody", "main .warning")
    assert visit.page.locator(".case").count() == 0


def test_one_long_word_is_laid_out(visit: Visit, tmp_path: Path) -> None:
    """An agent that loops on a token makes it. Each text of the case is such a word, and is shown as a whole."""
    visit.open(write_run(tmp_path / "run.html", hostile=["A" * 70_000]) + "#page=case&case=4", ".case .invocation")
    unfold(visit.page)
    visit.page.evaluate("document.querySelectorAll('button.more').forEach(button => button.click())")
    visit.page.wait_for_function("document.querySelectorAll('.case wbr').length > 699")
    assert visit.page.evaluate("document.querySelector('.case').getBoundingClientRect().width <= innerWidth")


def test_a_search_reads_replies_reasons_and_tools(visit: Visit, addresses: dict[str, str]) -> None:
    """Each in its language."""
    visit.open(addresses["run"])
    for text, count in (
        ("월요일", 3),
        ("月曜日", 3),
        ("星期一", 3),
        ("ARRIVES ON MONDAY", 3),
        ("get_order", 12),
        ("zzz", 0),
    ):
        visit.page.fill("#search", text)
        visit.page.locator("[role=status]", has_text=str(count)).wait_for()
        assert visit.page.locator("[role=grid]").get_attribute("aria-rowcount") == str(count)


def test_a_picture_is_shown_on_a_click_only(visit: Visit, addresses: dict[str, str]) -> None:
    """A picture of a known type. A drawing, which may hold a script, never is."""
    visit.open(addresses["run"] + "#page=case&case=0", ".attachment")
    assert visit.page.locator("img").count() == 0
    visit.page.locator(".attachment button").first.click()
    visit.page.locator("img").wait_for()
    assert visit.page.evaluate("document.querySelector('img').naturalWidth") == 1
    assert "svg" not in (visit.page.locator("img").get_attribute("src") or "")


def test_a_long_list_draws_few_elements_and_no_blank_row(visit: Visit, tmp_path: Path) -> None:
    """Of 2,000 cases only those are drawn that can be seen, wherever the page is scrolled to."""
    visit.open(write_run(tmp_path / "long.html", cases=2000))
    for share in (0, 0.3, 0.7, 1):
        visit.page.evaluate("share => window.scrollTo(0, document.body.scrollHeight * share)", share)
        wait_until_drawn(visit.page)
        assert visit.page.evaluate("document.querySelectorAll('*').length") < 2000
        assert visit.page.evaluate(BLANK_ROWS) == 0


def test_hostile_texts_are_only_text(browser: Any, tmp_path: Path) -> None:
    """In every field of a case: no script runs, no request leaves, no element appears that the page does not have."""
    hostile = [text or " " for text in HOSTILE]
    address = write_run(tmp_path / "hostile.html", hostile=hostile, cases=len(hostile), attempts=1)
    problems: list[tuple[str, object]] = []
    with opened(browser) as own:
        own.open(address)
        problems += [("the list", problem) for problem in seen(own)]
        for position, text in enumerate(hostile):
            own.page.evaluate(f"location.hash = '#page=case&case={position}'")
            own.page.locator(f".case[data-position='{position}']").wait_for()
            unfold(own.page)
            problems += [(text, problem) for problem in seen(own)]
    assert problems == []


@pytest.mark.parametrize(
    "text", [*LONG, "</script><script>window.hit=1</script>", "\u202e<img src=x onerror=hit=1>"], ids=len
)
def test_a_hostile_run_is_only_text(browser: Any, tmp_path: Path, text: str) -> None:
    """In its configuration, its criteria and its judges, also if a line has a megabyte."""
    address = write_run(tmp_path / "hostile.html", hostile=[text], cases=1, attempts=1)
    with opened(browser) as own:
        for fragment, ready in (("", ".row"), ("#page=case&case=0", ".case"), ("#page=setup", ".setup-page")):
            own.open(address + fragment, ready)
            assert seen(own) == []


def seen(own: Visit) -> list[object]:
    """The elements, links, requests, errors and effects that a page should not have."""
    names, hit = own.page.evaluate(_SEEN)
    return [
        *sorted(set(names) - _ELEMENTS),
        *(["a script ran, or a link left the page"] if hit else []),
        *own.errors,
        *own.requests,
    ]


_ELEMENTS = {
    "wbr",
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "div",
    "script",
    "header",
    "span",
    "nav",
    "a",
    "code",
    "label",
    "select",
    "option",
    "button",
    "kbd",
    "main",
    "section",
    "h1",
    "h2",
    "ul",
    "ol",
    "li",
    "b",
    "p",
    "dl",
    "dt",
    "dd",
    "svg",
    "line",
    "circle",
    "rect",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "input",
    "bdi",
    "article",
    "details",
    "summary",
    "mark",
    "ins",
    "del",
    "blockquote",
    "aside",
    "i",
    "s",
}

_SEEN = """() => [
  [...new Set([...document.querySelectorAll('*')].map(element => element.localName))],
  window.hit !== undefined || document.querySelectorAll('a:not([href^="#"])').length > 0,
]"""


def test_the_browser_is_there() -> None:
    """The tests of this folder need Chromium and `npm ci` in ui/."""
    assert CHROMIUM.exists()
    assert AXE.exists()


def test_steps_of_two_transcripts_stand_beside_each_other(visit: Visit, tmp_path: Path) -> None:
    """A call that only the candidate made has nothing beside it. The steps after it are level again."""
    address = write_comparison(tmp_path / "both.html", surplus="find_customer")
    visit.open(f"{address}#page=compare&case=2", ".invocation .half")
    tops = """side => [...document.querySelectorAll(`.half.${side} .step-name`)]
      .map(name => [name.textContent, Math.round(name.getBoundingClientRect().top)])"""
    base, candidate = (visit.page.evaluate(tops, side) for side in ("base", "candidate"))
    assert candidate[0][0] == "find_customer"
    assert len(base) == 2
    assert candidate[1:] == base
