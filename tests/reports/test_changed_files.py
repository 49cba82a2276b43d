"""The files that an agent changed stand below its conversation, as diffs."""

from __future__ import annotations

from fairtrial.records.attempt import Recording
from fairtrial.records.result import CaseResult
from fairtrial.records.state_delta import FileChange, StateDelta
from fairtrial.records.trace import Invocation, Message, Trace
from fairtrial.reports.transcript import Transcript
from fairtrial.reports.transcript_lines import transcript_lines

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
