"""How do conversations become a file of recordings? Line by line as they end; in the order of the cases at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

from fairtrial.api.blocking import blocking
from fairtrial.api.connection import connected
from fairtrial.api.planning import Plan
from fairtrial.errors import UsageError
from fairtrial.formats.recordings import line
from fairtrial.llm.call_cache import CallCache
from fairtrial.planned_case import Pair, PlannedCase
from fairtrial.protocols import ChecksTools
from fairtrial.recording import record
from fairtrial.records.attempt import Recording

OnRecording = Callable[[Recording, Sequence[str]], None]
"""Is told of each recording as it comes, with what there is to warn of."""


def conversations(
    plan: Plan, cases: Iterable[PlannedCase], held: Collection[tuple[int, int]] = ()
) -> AsyncIterator[Pair]:
    """Hold the conversations of a plan's connected cases, but for those in `held`, in the order in which they end."""
    if plan.agent is None:
        raise UsageError("nothing to run: the plan has recordings in place of an agent")
    return record(
        cases,
        plan.agent,
        attempts=plan.attempts,
        concurrency=plan.concurrency,
        reply_timeout=plan.reply_timeout,
        skip=held,
    )


def _warnings(work: PlannedCase, recording: Recording) -> list[str]:
    """Return what of a recording may not be as its user meant it."""
    environments = work.environments
    return list(environments.undeclared(recording.trace)) if isinstance(environments, ChecksTools) else []


def write_recordings(plan: Plan, path: Path, *, on_recording: OnRecording | None = None) -> int:
    """Run the agent of a plan, write what is recorded as JSON lines, and return how many conversations that are.

    While it runs they stand in `path` with `.part` behind its name, in the order in which they ended; at the end, also
    at an interruption, in `path`, cases in file order and their attempts in turn. Raises UsageError where nothing can
    be written.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        file = part.open("w+b")
    except OSError as error:
        raise UsageError(f"{part}: {error.strerror or error}") from None
    with file:
        lines = _Lines(file)
        try:
            blocking(lines.fill(plan, on_recording or (lambda *_: None)))
        finally:
            file.flush()
            if lines.places:
                lines.copy(path)
    part.unlink()
    return len(lines.places)


@dataclass
class _Lines:
    """The lines written so far: position, attempt, offset and length of each."""

    file: BinaryIO
    places: list[tuple[int, int, int, int]] = field(default_factory=list)

    async def fill(self, plan: Plan, on_recording: OnRecording) -> None:
        """Write a line for every conversation as it ends; nothing waits in memory."""
        offset = 0
        unjudged = [replace(case, criteria=()) for case in plan.works]  # nothing is scored, so no judge has to answer
        async with connected(unjudged, plan.judges.models, CallCache(), {}) as connect:
            async for work, recording in conversations(plan, map(connect, unjudged)):
                written = line(recording)
                self.file.write(written)
                self.file.flush()
                self.places.append((work.position, recording.attempt, offset, len(written)))
                offset += len(written)
                on_recording(recording, _warnings(work, recording))

    def copy(self, path: Path) -> None:
        """Copy the lines in the order of cases and attempts."""
        with path.open("wb") as target:
            for _, _, offset, length in sorted(self.places):
                self.file.seek(offset)
                target.write(self.file.read(length))
