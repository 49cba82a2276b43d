"""The files that an agent changed, and the state of its repository, for reports of text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from fairtrial.records.state_delta import FileChange, GitState, StateDelta, read_delta
from fairtrial.reports.markdown_text import code_block
from fairtrial.reports.short_texts import with_short_texts
from fairtrial.reports.transcript import RecordingReader
from fairtrial.text.display import count, shorten, visible_line

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording
    from fairtrial.records.result import CaseResult

_SIGNS = {"added": "+", "changed": "±", "removed": "-"}
_HEADER_OF_DIFF = re.compile(r"\A--- [^\n]*\n\+\+\+ [^\n]*\n")
_MOST_FILES = 20
_LONGEST_FILE = 600
_LONGEST_BLOCK = 2_500


def change_texts(delta: StateDelta) -> Iterator[str]:
    """Yield a text for each changed file, with its sign and its diff, and the number of changes that are not listed."""
    for own in delta.files:
        name, diff = f"{_SIGNS[own.change]} {visible_line(own.path)}", _diff(own)
        yield f"{name}\n{diff}{_rest(own)}" if diff else name
    if delta.omitted:
        yield f"… +{delta.omitted:,}"


def git_text(git: GitState) -> str:
    """Return the state of a repository on one line, with the titles of its new commits."""
    branch = f"on {visible_line(git.branch)}" if git.branch else "on no branch"
    titles = f": {', '.join(map(visible_line, git.commits))}" if git.commits else ""
    commits = f"{count(len(git.commits), 'new commit')}{titles}"
    return f"{branch}, {commits}; {count(git.uncommitted, 'uncommitted change')}"


def change_block(delta: StateDelta) -> str:
    """Return the changes as a fenced diff of at most 2,500 characters, or an empty text if there is none."""
    own = with_short_texts(delta)
    texts = [_as_diff(file) for file in own.files[:_MOST_FILES]]
    if more := len(own.files) - len(texts) + own.omitted:
        texts.append(f"… and {count(more, 'more file')}")
    if own.git is not None:
        texts.append(f"git {git_text(own.git)}")
    return code_block(shorten("\n".join(texts), _LONGEST_BLOCK), "diff") if texts else ""


class ChangeReader:
    """Reads what the attempts of a run changed, for results in file order.

    A run whose first finished attempt has no workspace has none at all, so that its recordings are not read.
    """

    def __init__(self, recordings: Iterable[tuple[int, Recording]]) -> None:
        self._reader = RecordingReader(self._until_known(recordings))

    def at(self, result: CaseResult) -> str:
        """Return the changes of an attempt as a fenced diff, or an empty text."""
        recording = self._reader.at(result)
        delta = None if recording is None else read_delta(recording.trace)
        return "" if delta is None else change_block(delta)

    def _until_known(self, recordings: Iterable[tuple[int, Recording]]) -> Iterator[tuple[int, Recording]]:
        is_known = False
        for position, recording in recordings:
            if not is_known and recording.failure is None:
                if read_delta(recording.trace) is None:
                    return
                is_known = True
            yield position, recording


def _diff(change: FileChange) -> str:
    text = change.diff if change.change == "added" else _HEADER_OF_DIFF.sub("", change.diff, count=1)
    return text.rstrip()


def _rest(change: FileChange) -> str:
    return "\n…" if change.is_cut else ""


def _as_diff(change: FileChange) -> str:
    """Return a change with a line that names it. Every line of a new file is an added line."""
    size = "" if change.change == "removed" else f", {count(change.size, 'byte')}"
    name = f"{visible_line(change.path)}: {change.change}{size}"
    lines = shorten(_diff(change), _LONGEST_FILE).splitlines()
    if change.change == "added":
        lines = [f"+{line}" for line in lines]
    return "\n".join([name, *lines]) + (_rest(change) if lines else "")
