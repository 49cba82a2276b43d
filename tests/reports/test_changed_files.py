"""The files that an agent changed stand below its conversation, as diffs."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace

from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.attempt_rule import AttemptRules
from fairtrial.records.result import CaseResult, Outcome
from fairtrial.records.run import RunInfo
from fairtrial.records.score import Score
from fairtrial.records.state_delta import FileChange, GitState, StateDelta
from fairtrial.records.trace import Invocation, Message, Trace
from fairtrial.reports import markdown
from fairtrial.reports.report_table import DEFAULTS
from fairtrial.reports.transcript import Transcript
from fairtrial.reports.transcript_lines import transcript_lines
from finished import FinishedRun

Attempt = tuple[CaseResult, Recording]
DIFF = "--- a/numbers.txt\n+++ b/numbers.txt\n@@ -1 +1 @@\n-two\n+zwei\n"


def file_lines(*files: FileChange, omitted: int = 0) -> list[str]:
    """The lines about files of an attempt."""
    state = StateDelta(files, omitted, sandbox="none").state
    trace = Trace((Invocation(Message("Go"), (), Message("done")),), final_state=state)
    transcript = Transcript(CaseResult("a", 0, ()), Recording("a", trace))
    return [line.text for line in transcript_lines(transcript) if line.label == "file"]


def test_a_changed_file_is_a_diff_without_its_header() -> None:
    """The name stands once."""
    assert file_lines(FileChange("numbers.txt", "changed", 5, DIFF)) == ["± numbers.txt\n@@ -1 +1 @@\n-two\n+zwei"]


def test_an_added_file_is_its_text_and_a_removed_file_its_name() -> None:
    """A text that is cut ends with an ellipsis."""
    files = (FileChange("new.txt", "added", 900, "first\n", is_cut=True), FileChange("old.txt", "removed"))
    assert file_lines(*files) == ["+ new.txt\nfirst\n…", "- old.txt"]


def test_changes_that_are_not_listed_are_counted() -> None:
    """An agent may change thousands of files."""
    assert file_lines(omitted=1200) == ["… +1,200"]


def test_a_name_with_a_line_break_is_one_line() -> None:
    """It cannot pretend to be another file."""
    (line,) = file_lines(FileChange("a\n- b", "removed"))
    assert "\n" not in line


def test_an_attempt_without_a_workspace_has_no_files() -> None:
    """Another state is left alone."""
    trace = Trace((Invocation(Message("Go"), (), Message("done")),), final_state={"workspace": 3})
    lines = transcript_lines(Transcript(CaseResult("a", 0, ()), Recording("a", trace)))
    assert [line.label for line in lines] == ["user", "agent"]


def test_a_repository_is_a_line_of_its_own() -> None:
    """Its branch, its new commits, and what is not committed."""
    state = StateDelta(sandbox="none", git=GitState("main", ("ab12 Add a report",), 2)).state
    trace = Trace((Invocation(Message("Go"), (), Message("done")),), final_state=state)
    own_lines = transcript_lines(Transcript(CaseResult("a", 0, ()), Recording("a", trace)))
    texts = [line.text for line in own_lines if line.label == "git"]
    assert texts == ["on main, 1 new commit: ab12 Add a report; 2 uncommitted changes"]


def attempt(number: int, delta: StateDelta | None, eval_set: str = "", failure: Failure | None = None) -> Attempt:
    """A failed attempt at a case of its own, and its recording."""
    result = CaseResult(f"c{number}", number, (Outcome("checks", Score(0.0), 1.0),), eval_set=eval_set, failure=failure)
    state = None if delta is None else delta.state
    trace = Trace((Invocation(Message("Go"), (), Message("done")),), final_state=state)
    return result, Recording(f"c{number}", trace, eval_set=eval_set, failure=failure)


def report(*attempts: Attempt, rules: AttemptRules | None = None) -> str:
    """The Markdown report of failed attempts."""
    info = RunInfo("20260101-000000-aaaaaa", "2026-01-01T00:00:00", "0", "run", finished="2026-01-01T00:00:01")
    own_info = info if rules is None else replace(info, config={"attempt_rules": rules.to_json()})
    recorded = [(result.position, recording) for result, recording in attempts]
    stream = io.BytesIO()
    markdown.write(stream, FinishedRun(own_info, [result for result, _ in attempts], recorded=recorded), DEFAULTS)
    return stream.getvalue().decode()


def diffs(text: str) -> list[str]:
    """The contents of the fenced diffs, as a renderer of Markdown reads them."""
    return [token.content for token in MarkdownIt().parse(text) if token.type == "fence" and token.info == "diff"]


def test_markdown_shows_the_changes_of_failed_attempts() -> None:
    """Each attempt has its own, below its reasons, and the lines have the signs of a diff."""
    files = (
        FileChange("new.txt", "added", 6, "first\n"),
        FileChange("numbers.txt", "changed", 5, DIFF),
        FileChange("old.txt", "removed", 3),
    )
    git = GitState("main", (), 3)
    text = report(
        attempt(0, StateDelta(files, 4, sandbox="none", git=git)),
        attempt(1, StateDelta((FileChange("b.txt", "added", 1, "b", is_cut=True),), sandbox="none")),
        attempt(2, StateDelta(sandbox="none")),
    )
    first, second = diffs(text)
    assert first.splitlines() == [
        *("new.txt: added, 6 bytes", "+first"),
        *("numbers.txt: changed, 5 bytes", "@@ -1 +1 @@", "-two", "+zwei"),
        "old.txt: removed",
        "… and 4 more files",
        "git on main, 0 new commits; 3 uncommitted changes",
    ]
    assert second.splitlines() == ["b.txt: added, 1 byte", "+b", "…"]


def test_an_outage_at_the_start_hides_no_changes() -> None:
    """An attempt that did not finish has no workspace to compare."""
    outage = attempt(0, None, failure=Failure("infrastructure", "503"))
    text = report(outage, attempt(1, StateDelta((FileChange("a", "removed"),), sandbox="none")))
    assert diffs(text) == ["a: removed\n"]


def test_markdown_does_not_list_the_attempts_without_the_skill() -> None:
    """They only serve the comparison: nobody has to repair them."""
    rules = AttemptRules(baselines=("s@without",))
    text = report(attempt(0, None, "s@without"), attempt(1, None, "s@with"), rules=rules)
    assert ("<code>c0</code>" in text, "<code>c1</code>" in text) == (False, True)


@pytest.mark.long
@given(
    st.text(st.sampled_from("`~\n<>|+-@ a\x1b\u202e"), max_size=200), st.text(st.sampled_from("`\n/+- a"), min_size=1)
)
def test_no_text_of_an_agent_closes_the_fence(content: str, path: str) -> None:
    """Whatever it writes, one diff and the folds around it are left."""
    delta = StateDelta((FileChange(path, "added", 9, content),), sandbox="none")
    tokens = MarkdownIt().parse(report(attempt(0, delta)))
    assert [token.info for token in tokens if token.type == "fence"] == ["text", "diff"]
    assert [token.content.strip() for token in tokens if token.type == "html_block"][-1] == "</details>"
    assert "\x1b" not in "".join(token.content for token in tokens)


@pytest.mark.long
def test_many_large_changes_are_bounded() -> None:
    """A report of 20 attempts with a hundred large files still fits a comment."""
    files = tuple(FileChange(f"f{n}.txt", "added", 10**6, "x" * 5000) for n in range(100))
    text = report(*(attempt(n, StateDelta(files, 10**4, sandbox="none")) for n in range(20)))
    assert len(text) < markdown.LARGEST
    assert all(len(diff) < 2600 for diff in diffs(text))
