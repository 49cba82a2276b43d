"""A run as Markdown fits a comment, says what a reviewer needs, and keeps foreign text dead."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import pytest
from linkify_it import LinkifyIt
from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec.structs import replace

from fairtrial.records.attempt import Failure
from fairtrial.records.result import CaseResult, Outcome, Verdict
from fairtrial.records.run import RunInfo
from fairtrial.records.score import Range, Score
from fairtrial.records.summary import Summary
from fairtrial.reports import markdown
from fairtrial.reports.decisions.markdown_comparison import comparison_markdown
from fairtrial.reports.markdown_text import code_block, code_in_html, code_span
from fairtrial.reports.report_table import DEFAULTS, REPORTS, ReportOptions
from finished import FinishedRun
from hostile_corpus import HOSTILE, LONG, filled
from reported import BROKEN, COMPARISON, FAILED, MOVES, PASSED, RICH

pytestmark = pytest.mark.long

INFO = RunInfo("20260101-000000-aaaaaa", "2026-01-01T00:00:00", "0", "run", finished="2026-01-01T00:00:01")


@dataclass(frozen=True)
class _Summarized(FinishedRun):
    """A run whose numbers are given."""

    given: Summary = Summary(Verdict.FAILED)

    @property
    def summary(self) -> Summary:
        """The numbers."""
        return self.given


def report(*results: CaseResult, options: ReportOptions = DEFAULTS, info: RunInfo = INFO) -> str:
    """The Markdown of a run of these results."""
    stream = io.BytesIO()
    markdown.write(stream, FinishedRun(info, results), options)
    return stream.getvalue().decode()


def inner_tokens(text: str) -> Iterator[Token]:
    """Everything that a renderer of GitHub's Markdown reads in a text, addresses as links included."""
    renderer = MarkdownIt("gfm-like")
    renderer.linkify = LinkifyIt(options={"fuzzy_email": True, "fuzzy_link": True})
    for token in renderer.parse(text):
        yield from token.children or [token]


def alive(text: str) -> list[str]:
    """Everything outside code that a text of an agent could have made: links, images, emphasis, HTML and words."""
    own_html = ("<details><summary>", "</details>", "<!-- fairtrial ")
    found = [token.type for token in inner_tokens(text) if token.type in {"link_open", "image", "em_open", "s_open"}]
    blocks = [token.content for token in inner_tokens(text) if token.type in {"html_inline", "html_block"}]
    for block in (line for content in blocks for line in content.splitlines() if line.strip()):
        tags = block.removesuffix("</summary>").count("<")
        if not block.startswith(own_html) or tags != {"<d": 4, "</": 1, "<!": 1}[block[:2]]:
            found.append(block)
    words = "".join(token.content for token in inner_tokens(text) if token.type == "text")
    return [*found, *(mark for mark in "@#" if mark in words)]


def test_a_reviewer_sees_verdict_numbers_and_reasons() -> None:
    """The verdict with its counts, a row for each criterion with intervals, and each failure folded."""
    text = report(PASSED, FAILED, BROKEN)
    first, second, *_ = text.splitlines()
    assert first.startswith("<!-- fairtrial ")
    assert second == "### ✗ FAILED: 3 attempts, 1 passed, 1 failed, 1 error"
    assert "| `match` | 0.75 (" in text
    assert "<details><summary>✗ <code>bad</code>: failed</summary>" in text
    assert "two words differ" in text
    assert "agent: boom" in text
    assert text.endswith("Look closer: `fairtrial show 20260101-000000-aaaaaa`\n")


def test_the_details_of_a_long_name_begin_with_the_reason() -> None:
    """The head of an attempt is in the summary of the fold, also if it is several lines long."""
    text = report(replace(FAILED, case_id="word " * 60), options=DEFAULTS)
    block = text.partition("```text\n")[2]
    assert block.lstrip().startswith("✗ match"), block


def test_an_error_of_many_attempts_is_told_once() -> None:
    """With the number of the others. An error with another cause has details of its own."""
    broken = [replace(BROKEN, case_id=f"c{n}", position=n, failure=Failure("agent", "boom", str(n))) for n in range(50)]
    text = report(*broken, replace(BROKEN, case_id="other", position=50, failure=Failure("agent", "bang", "")))
    assert text.count("<details>") == 2
    assert "- 49 more attempts ended with the same error: `agent: boom`\n" in text
    assert "that did not pass" not in text


def test_every_attempt_that_did_not_pass_is_counted_once() -> None:
    """In a fold, among equal errors, or among the rest."""
    errors = [replace(BROKEN, case_id=f"e{n}", position=n) for n in range(7)]
    failed = [replace(FAILED, case_id=f"f{n}", position=7 + n) for n in range(60)]
    text = report(*errors, *failed)
    (same,) = re.findall(r"^- ([0-9]+) more attempts? ended", text, re.MULTILINE)
    (rest,) = re.findall(r"… and ([0-9]+) more attempts? that did not pass", text)
    assert (text.count("<details>") + int(same) + int(rest), same) == (67, "6")


def test_an_amount_has_its_unit() -> None:
    """Seconds stand beside a mean duration."""
    times = [
        CaseResult(str(n), n, (Outcome("invocation_duration_v1", Score(1.5 + n), range=Range(0.0, None)),))
        for n in range(2)
    ]
    assert "| `invocation_duration_v1` | 2.00 s (" in report(*times)


def test_the_change_since_a_baseline_stands_beside_each_number() -> None:
    """With its interval and what it means; cases that broke and cases that were fixed are named."""
    text = report(PASSED, FAILED, options=ReportOptions(baseline=COMPARISON))
    assert "| change since `base-run` |" in text
    assert "| cases | | 50 % | -25 points (-50 … +13 points), no difference shown |" in text
    assert "-0.25 (-0.50 … +0.13), no difference shown |" in text
    assert "**Broken**: `broke`" in text
    assert "**Fixed**: `mended`" in text


def test_a_baseline_that_cannot_be_compared_is_named() -> None:
    """The run is over and was paid for: its report says why there is no comparison."""
    assert "Not compared with the baseline: `share no case`" in report(
        PASSED, options=ReportOptions(baseline="share no case")
    )


def test_the_marker_is_the_same_for_runs_of_the_same_inputs() -> None:
    """A program replaces the comment of the earlier run, and leaves the comment of another evaluation."""
    one, again, other = (
        report(PASSED, info=replace(INFO, id=str(number), config={"paths": [path]})).splitlines()[0]
        for number, path in enumerate(("a.json", "a.json", "b.json"))
    )
    assert one == again != other


def test_an_unfinished_run_has_no_verdict() -> None:
    """An interrupted run did not pass, even if every attempt so far did."""
    assert "### ? NOT FINISHED, so far passed" in report(PASSED, info=replace(INFO, finished=None))


@pytest.mark.parametrize("offset", [0, 1, 5, 11])
def test_text_of_agents_stays_dead(offset: int) -> None:
    """No link, image, emphasis, HTML, mention or reference comes from a field of any noun.

    The texts go round the fields, so that each offset puts each text into other fields.
    """
    texts = cycle((*HOSTILE[offset:], *HOSTILE[:offset]))
    results = [filled(result, lambda: next(texts)) for result in (PASSED, FAILED, BROKEN, *[RICH] * 17)]
    compared = filled(COMPARISON, lambda: next(texts))
    moves = tuple(filled(move, lambda: next(texts)) for move in MOVES * len(HOSTILE))
    options = ReportOptions(baseline=replace(compared, moved=moves))
    info = replace(INFO, config={"paths": [next(texts)]})
    assert alive(report(*results, options=options, info=info)) == []
    assert alive(comparison_markdown(replace(compared, moved=moves, signature="s:1|holm:1"))) == []


@pytest.mark.parametrize("span", [code_span, code_block, code_in_html])
def test_every_text_stays_dead_in_code(span: Callable[[str], str]) -> None:
    """In a cell, a paragraph, a list and a fold: each text is one piece of code, and each row keeps its cells."""
    spans = list(map(span, HOSTILE))
    if span is code_block:
        page = "\n\n".join(spans)
    elif span is code_in_html:
        page = "\n\n".join(f"<details><summary>{text}</summary>\n\n</details>" for text in spans)
    else:
        rows = "\n".join(f"| {text} | end |" for text in spans)
        page = f"| a | b |\n|---|---|\n{rows}\n\n" + "\n".join(f"- {text}, {text}" for text in spans)
        assert [token.content for token in inner_tokens(page)].count("end") == len(HOSTILE)
    assert alive(page) == []


@pytest.mark.parametrize("number", range(len(LONG)))
def test_long_lines_are_cut(number: int) -> None:
    """A reason of a megabyte neither fills the comment nor ends its fence."""
    written = report(filled(RICH, LONG[number]))
    assert len(written) <= markdown.LARGEST
    assert alive(written) == []


def test_ten_thousand_failures_fit_a_comment() -> None:
    """The first failures are shown whole, and the others are counted."""
    words = " ".join(f"word{number}" for number in range(400))
    failed = filled(RICH, words)
    results = tuple(replace(failed, case_id=f"case {number}", name="", position=number) for number in range(40))
    run = FinishedRun(INFO, results)
    # The numbers of so many attempts take seconds.
    summary = replace(run.summary, cases={"failed": 10_000}, case_verdicts={"failed": 10_000})
    stream = io.BytesIO()
    markdown.write(stream, _Summarized(INFO, results, given=summary), DEFAULTS)
    text = stream.getvalue().decode()
    assert 30_000 < len(text) <= markdown.LARGEST
    folds = text.count("<details>")
    assert text.count("</details>") == folds
    assert f"… and {10_000 - folds:,} more attempts that did not pass" in text


def test_a_summary_of_steps_is_appended_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GitHub's file for summaries holds what earlier commands of the step wrote."""
    file = tmp_path / "summary.md"
    file.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
    (report_kind,) = (report for report in REPORTS if report.name == "markdown")
    for _ in range(2):
        report_kind.write(file, FinishedRun(INFO, (PASSED,)))
    assert file.read_text(encoding="utf-8").startswith("before\n<!-- fairtrial")
    assert file.read_text(encoding="utf-8").count("<!-- fairtrial") == 2


@pytest.mark.parametrize("text", ["<b>x</b>", "[a](b)", "![a](b)", "@octocat", "see #1", "www.evil-site.com", "*a*"])
def test_these_tests_notice_what_is_alive(text: str) -> None:
    """The same texts outside code are found."""
    assert alive(text) != []


def test_secrets_are_replaced_before_a_text_is_cut() -> None:
    """Also a secret at the place where a long reason is cut, of which a half would be left."""
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    for start in (0, 960, 980):
        reason = "." * start + f" {key} " + "." * 2_000
        result = CaseResult("told", 0, (Outcome("match", Score(0.1, reason), 0.8),))
        stream = io.BytesIO()
        markdown.write(stream, FinishedRun(INFO, (result,)), DEFAULTS)
        assert b"sk-proj" not in stream.getvalue()
        assert "sk-proj" not in code_span(reason) + code_block(reason) + code_in_html(reason)
