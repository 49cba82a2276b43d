"""`fairtrial history --html` writes the page of a series, which stays a page whatever the names say."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from commands import enter, fairtrial
from fairtrial.api import history_html
from fairtrial.records.run_comparison import IntervalEstimate
from fairtrial.records.run_history import CaseLine, HistoryRow, RunHistory
from fairtrial.store import DEFAULT_URL
from graded_runs import graded_run

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder."""
    enter(tmp_path, monkeypatch)
    return tmp_path


class Tags(HTMLParser):
    """The tags of a page with their attributes, and its texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a tag."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        self.texts.append(data)


def written_page(folder: Path) -> str:
    """The page of the runs in the store."""
    assert fairtrial("history", "--series", "eval_set", "--html", "history.html").code == 0
    return (folder / "history.html").read_text("utf-8")


def case_rows(page: str) -> list[list[str]]:
    """The texts of the rows of the map of cases."""
    table = page[page.index('<table class="heat">') :].partition("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", table.partition("<tbody>")[2])
    return [[re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]


def write_report(folder: Path, *options: str) -> str:
    """The report of the newest run, with its series."""
    assert fairtrial("show", "2", "--html", "report.html", "--history", *options).code == 0
    return (folder / "report.html").read_text("utf-8")


def test_a_report_ends_with_the_series_of_its_run(folder: Path) -> None:
    """The same runs and the same map of cases as on the page of the series, below the headings of the report."""
    graded_run({"a": [1.0], "b": [1.0]}, store=DEFAULT_URL)
    last = graded_run({"a": [1.0], "b": [0.0]}, store=DEFAULT_URL).info.id
    assert fairtrial("show", last, "--html", "report.html", "--history").code == 0
    report = (folder / "report.html").read_text("utf-8")
    section = report[report.index('<section id="history"') : report.index("</section>")]
    assert case_rows(section) == [["b", "broken since 2", "✓", "✗"], ["a", "passing since 1", "✓", "✓"]]
    assert "<h1" not in section
    assert '<h2 id="history-title">History of cases</h2>' in section


def test_the_policy_of_a_report_allows_the_style_of_its_series(folder: Path) -> None:
    """Both style sheets have their hash there. Without the series there is one."""
    graded_run({"a": [1.0]}, store=DEFAULT_URL)
    report = write_report(folder)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', report)
    styles = re.findall(r"<style>(.*?)</style>", report, re.DOTALL)
    assert len(styles) == 2
    assert all(base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in policy for style in styles)


def test_names_of_cases_stay_text_in_a_report(folder: Path) -> None:
    """A name that looks like HTML is none."""
    graded_run({HOSTILE: [1.0]}, store=DEFAULT_URL)
    tags = Tags(write_report(folder))
    assert [tag for tag, _ in tags.tags].count("img") == 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--history"], "--history needs --html FILE"),
        (["--history", "--html", "r.html", "--redact", "people"], "leave out --history"),
    ],
)
def test_a_series_without_a_page_is_refused(options: list[str], problem: str) -> None:
    """The message says what is missing."""
    graded_run({"a": [1.0]}, store=DEFAULT_URL)
    done = fairtrial("show", "2", *options)
    assert done.code == 2
    assert problem in done.err


def test_cases_are_ordered_by_when_they_broke(folder: Path) -> None:
    """Broken cases come first, then flaky ones, the latest first, and then the others."""
    for early, late, flaky in ((1, 1, 1), (0, 1, 1), (0, 1, 1), (0, 0, 1)):
        values = {"fine": [1.0], "flaky": [1.0, float(flaky and late)], "early": [float(early)], "late": [float(late)]}
        graded_run(values, store=DEFAULT_URL)
    rows = case_rows(written_page(folder))
    assert rows == [
        ["late", "broken since 4", "✓", "✓", "✓", "✗"],
        ["early", "broken since 2", "✓", "✗", "✗", "✗"],
        ["flaky", "flaky since 4", "✓", "✓", "✓", "50"],
        ["fine", "passing since 1", "✓", "✓", "✓", "✓"],
    ]
    record = fairtrial("history", "--series", "eval_set", "--json", "-").json
    assert [case["case"] for case in record["cases"]] == ["late", "early", "flaky", "fine"]
    assert record["cases"][2]["passed"] == [2, 2, 2, 1]


def test_an_edited_case_begins_anew(folder: Path) -> None:
    """It is broken since the edit, and its cell is marked."""
    graded_run({"a": [0.0]}, store=DEFAULT_URL)
    graded_run({"a": [0.0]}, store=DEFAULT_URL, queries={"a": "Another question?"})
    page = written_page(folder)
    assert case_rows(page) == [["a", "broken since 2", "✗", "✗"]]
    assert page.count('class="h0 edited"') == 1


def test_names_are_texts_and_never_tags(folder: Path) -> None:
    """A case is named like an attack on the page."""
    graded_run({HOSTILE: [1.0]}, store=DEFAULT_URL)
    page = Tags(written_page(folder))
    assert not {tag for tag, _ in page.tags} & {"script", "img", "iframe", "object"}
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    assert HOSTILE in page.texts


def hostile_history() -> RunHistory:
    """A series in which every text attacks the page."""
    row = HistoryRow(HOSTILE, HOSTILE, IntervalEstimate(0.5, 0.2, 0.8), 1, 0, HOSTILE, ci=HOSTILE, tags=(HOSTILE,))
    line = CaseLine(HOSTILE, HOSTILE, "broken", HOSTILE, (0,), (1,))
    return RunHistory({HOSTILE: HOSTILE}, HOSTILE, True, 1000, (row,), notes=(HOSTILE,), cases=(line,))


def test_hostile_run_names_cannot_leave_their_places() -> None:
    """Not even in attributes, titles and links."""
    page = Tags(history_html(hostile_history(), "/"))
    assert not {tag for tag, _ in page.tags} & {"script", "img", "iframe", "object"}
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    links = {attributes["href"] for tag, attributes in page.tags if tag == "a"}
    assert all(str(link).startswith(("#run-", "/#run=%3Cscript", "/#page=runs")) for link in links)


def test_the_picture_and_the_cells_have_names_for_screen_readers(folder: Path) -> None:
    """The line has a name, each table has headers, and each cell says its numbers."""
    for value in (1.0, 0.0):
        graded_run({"a": [value, 1.0]}, store=DEFAULT_URL)
    page = Tags(written_page(folder))
    (label,) = [
        attributes["aria-label"] for tag, attributes in page.tags if tag == "svg" and "aria-label" in attributes
    ]
    assert label == "cases in 2 runs, from 50 % to 100 %"
    titles = [attributes["title"] for tag, attributes in page.tags if tag == "td" and "title" in attributes]
    assert titles == ["2/2", "1/2"]
    assert all(attributes.get("scope") in ("col", "row") for tag, attributes in page.tags if tag == "th")


@pytest.mark.parametrize("option", [("--case", "a"), ("--failures",)])
def test_the_page_is_that_of_the_whole_series(option: tuple[str, ...]) -> None:
    """Options that show something else are refused."""
    graded_run({"a": [1.0]}, store=DEFAULT_URL)
    done = fairtrial("history", *option, "--html", "history.html")
    assert done.code == 2
    assert "leave out --case and --failures" in " ".join(done.err.split())
