"""Hold conversations, and write them as recordings: by end time while they run, then in file order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from msgspec.structs import replace

from fairtrial.api.connection import connected
from fairtrial.errors import UsageError, spell
from fairtrial.formats.recordings import line
from fairtrial.llm.call_cache import CallCache
from fairtrial.protocols import ChecksTarget, ChecksTools
from fairtrial.recording import QUIET, OwnProcesses, Watcher, record
from fairtrial.records.attempt import Recording
from fairtrial.system.event_loop import blocking

if TYPE_CHECKING:
    from fairtrial.api.planning import Plan
    from fairtrial.planned_case import Pair, PlannedCase

OnRecording = Callable[[Recording, Sequence[str]], None]
"""Receives each recording when its conversation ends, with its warnings."""


def conversations(
    plan: Plan,
    cases: Iterable[PlannedCase],
    attempts_to_skip: Collection[tuple[int, int]] = (),
    *,
    earlier: Mapping[tuple[int, int], Recording] | None = None,
    watcher: Watcher = QUIET,
) -> AsyncIterator[Pair]:
    """Hold the conversations of connected cases, except for `attempts_to_skip`, and yield them as they end.

    `earlier` are attempts that were interrupted.
    """
    if plan.agent is None:
        raise UsageError("nothing to run: the plan has recordings instead of an agent", code="too-little-data")
    agent = plan.agent
    if plan.record == "spans" and not isinstance(agent, OwnProcesses):
        from fairtrial.agents.tracing.span_sessions import with_spans

        agent = with_spans(agent)
    return record(
        cases,
        agent,
        attempts=plan.attempts,
        concurrency=plan.concurrency,
        reply_timeout=plan.reply_timeout,
        skip=attempts_to_skip,
        holding=plan.holding,
        earlier=earlier,
        watcher=watcher,
    )


async def check_target(agent: object) -> None:
    """Raise UsageError if the server of an agent does not answer: one error instead of one failure for each case."""
    if isinstance(agent, ChecksTarget):
        try:
            await agent.check_target()
        except UsageError as error:
            raise UsageError(f"{spell('agent')}: {error}", code=error.code) from error.__cause__


def _warnings(case: PlannedCase, recording: Recording) -> list[str]:
    """Return the possible mistakes in a configuration that a recording shows."""
    environments = case.environments
    return list(environments.undeclared(recording.trace)) if isinstance(environments, ChecksTools) else []


def write_recordings(
    plan: Plan,
    path: Path,
    *,
    on_recording: OnRecording | None = None,
    note: Callable[[str], None] = lambda _: None,
    on_wait: Callable[[str], None] = lambda _: None,
) -> int:
    """Run the agent of a plan, write its conversations as JSON lines, and return their number.

    During the run, the lines are in `PATH.part` in the order in which the conversations ended. At the end, and also
    after an interruption, they are in `path` in the order of cases and attempts. `note` receives remarks about
    the run, and `on_wait` remarks about long conversations while they are held. Raises UsageError if the file cannot be
    written, or if the server of the agent does not answer.
    """
    blocking(check_target(plan.agent))
    part = path.with_name(f"{path.name}.part")
    try:
        file = part.open("w+b")
    except OSError as error:
        raise UsageError(f"{part}: {error.strerror or error}", code="unreadable-file") from None
    with file:
        lines = _Lines(file)
        try:
            blocking(lines.fill(plan, on_recording or (lambda *_: None), note, on_wait))
        finally:
            file.flush()
            if lines.places:
                lines.copy(path)
    part.unlink()
    return len(lines.places)


@dataclass
class _Lines:
    """The lines of a file so far: the position, attempt, offset and length of each."""

    file: BinaryIO
    places: list[tuple[int, int, int, int]] = field(default_factory=list)

    async def fill(
        self, plan: Plan, on_recording: OnRecording, note: Callable[[str], None], on_wait: Callable[[str], None]
    ) -> None:
        """Write a line for every conversation when it ends. No conversation stays in memory."""
        offset = 0
        unjudged = [replace(case, criteria=()) for case in plan.cases]  # nothing is scored, so no judge has to answer
        async with connected(unjudged, plan.judges.models, CallCache(), {}) as connect:
            watcher = Watcher(note, on_wait)
            async for case, recording in conversations(plan, map(connect, unjudged), watcher=watcher):
                encoded = line(recording)
                self.file.write(encoded)
                self.file.flush()
                self.places.append((case.position, recording.attempt, offset, len(encoded)))
                offset += len(encoded)
                on_recording(recording, _warnings(case, recording))

    def copy(self, path: Path) -> None:
        """Copy the lines in the order of cases and attempts."""
        with path.open("wb") as target:
            for _, _, offset, length in sorted(self.places):
                self.file.seek(offset)
                target.write(self.file.read(length))
