"""Recognise and read the logs of benchmarks and coding agents."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.benchmarks import inspect_logs, tau2_bench
from fairtrial.formats.coding_agents import (
    claude_code,
    claude_stream,
    codex,
    gemini_stream,
    mini_swe_agent,
    opencode_stream,
    swe_agent,
)
from fairtrial.formats.foreign_secrets import without_secrets
from fairtrial.formats.kinds import aider
from fairtrial.formats.kinds.kind_table import find_kind, read_conversations, read_kind
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalSet
from fairtrial.records.record import Record

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics

_MOST_LINES_BEFORE = 50
"""The most lines of a session that may come before a line with a mark."""


class AgentLog(Record, frozen=True):
    """The recordings of a log, and the tasks of a benchmark if the log holds them.

    `branches` are recordings of abandoned branches, for example after a user went back to an earlier message.
    """

    kind: str
    recordings: tuple[Recording, ...]
    eval_set: EvalSet | None = None
    branches: tuple[Recording, ...] = ()


def log_in_document(whole: dict[str, Any], reading: Diagnostics, stem: str) -> AgentLog | None:
    """Return the log in a JSON object, or None if the object is something else."""
    if inspect_logs.is_log(whole):
        return AgentLog(inspect_logs.KIND, inspect_logs.read_log(whole, reading))
    if tau2_bench.is_results(whole):
        tasks, recordings = tau2_bench.read_results(whole, reading)
        return AgentLog("tau2-bench results", recordings, tasks)
    if swe_agent.is_trajectory(whole):
        return _session_log("SWE-agent trajectory", [swe_agent.read_trajectory(whole, reading, stem)], reading)
    if mini_swe_agent.is_trajectory(whole):
        return _session_log(mini_swe_agent.KIND, [mini_swe_agent.read_trajectory(whole, reading, stem)], reading)
    return log_in_lines([whole], reading, stem)


def log_in_lines(lines: list[Any], reading: Diagnostics, stem: str) -> AgentLog | None:
    """Return the log in JSON lines, or None. The first lines of a session may have no mark of their own."""
    first_lines = lines[:_MOST_LINES_BEFORE]
    if any(map(claude_code.is_line, first_lines)):
        recordings, branches = claude_code.read_session(lines, reading, stem)
        log = _session_log(claude_code.KIND, recordings, reading)
        return replace(log, branches=tuple(without_secrets(branch, reading) for branch in branches))
    if any(map(codex.is_session_line, first_lines)):
        return _session_log("Codex session", [codex.read_session(lines, reading, stem)], reading)
    if any(map(codex.is_exec_line, first_lines)):
        return _session_log("codex exec --json", [codex.read_exec(lines, reading, stem)], reading)
    for stream in (claude_stream, gemini_stream, opencode_stream):
        if any(map(stream.is_line, first_lines)):
            return _session_log(stream.KIND, [stream.read_output(lines, reading, stem)], reading)
    return _kind_in_lines(lines, reading, stem)


def _kind_in_lines(lines: list[Any], reading: Diagnostics, stem: str) -> AgentLog | None:
    """Return the log of a kind whose values are the lines, or the items of each line."""
    if (kind := find_kind(lines)) is not None:
        return _session_log(kind.name, read_kind(kind, lines, reading, stem), reading)
    first = lines[0] if lines else None
    kind = find_kind(first) if isinstance(first, list) else None
    if kind is None:
        return None
    logs = [read_kind(kind, _as_list(line), reading, f"{stem}-{number}") for number, line in enumerate(lines, 1)]
    return _session_log(kind.name, chain.from_iterable(logs), reading)


def _as_list(line: Any) -> list[Any]:
    return line if isinstance(line, list) else [line]


def log_in_text(data: bytes, reading: Diagnostics, stem: str) -> AgentLog | None:
    """Return the log in a text that is no JSON, or None."""
    if not aider.is_history(data):
        return None
    conversations = aider.read_history(data.decode(errors="replace"))
    return _session_log(aider.KIND, read_conversations(conversations, reading, stem), reading)


def _session_log(kind: str, recordings: Iterable[Recording], reading: Diagnostics) -> AgentLog:
    """Return the log of a coding agent. Its tools print whatever the machine holds, also keys."""
    return AgentLog(kind, tuple(without_secrets(recording, reading) for recording in recordings))


def log_in_archive(data: bytes, reading: Diagnostics) -> AgentLog:
    """Return the log in a zip archive. Raises FormatError if it holds something else."""
    return AgentLog(inspect_logs.KIND, tuple(inspect_logs.iter_archive(data, reading)))
