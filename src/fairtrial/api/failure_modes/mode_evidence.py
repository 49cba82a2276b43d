"""The conversations behind failure modes: those of a run in a store, or those that a folder of results keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec.structs import replace

from fairtrial.analysis.failures.guard_config import ToolUse
from fairtrial.analysis.failures.run_failures import FAILED
from fairtrial.api.datasets.shard_scoring import FailedAttempt as KeptAttempt
from fairtrial.api.failure_modes.folder_modes import FolderPass
from fairtrial.api.result_folders.dataset_sources import is_folder_of_results, local_results, read_manifest
from fairtrial.api.result_folders.dataset_tables import OWN_CASE
from fairtrial.api.run_parts.collected_failures import labelled_failures
from fairtrial.api.stored_runs import Run, reread
from fairtrial.records.decoding import json_decoder
from fairtrial.records.trace import Invocation
from fairtrial.reports.transcript import Transcript, transcripts

if TYPE_CHECKING:
    from fairtrial.analysis.failures.named_failures import ReadFailure
    from fairtrial.records.attempt import Recording
    from fairtrial.records.case import EvalCase
    from fairtrial.records.expectation import ExpectedCase
    from fairtrial.records.failure_mode import Failures

_CALLS = "calls "
"""The beginning of the property of an attempt that called a tool."""

Place = tuple[int, int]


class ModeAttempt(NamedTuple):
    """An attempt with its conversation, its place in the list of failures, and its mode. A pass has no mode."""

    place: Place
    transcript: Transcript
    mode: int | None


class ModeEvidence(Protocol):
    """The conversations behind failure modes."""

    @property
    def id(self) -> str:
        """The id of the run."""
        ...

    def attempts(self, failures: Failures) -> Iterator[ModeAttempt]:
        """Yield the attempts whose conversations are there."""
        ...

    def cases(self, failures: Failures, mode: int) -> list[ExpectedCase]:
        """Return the cases of a mode."""
        ...

    def readings(self, failures: Failures) -> Mapping[Place, ReadFailure]:
        """Return the failed attempts that people labelled."""
        ...

    def tools(self) -> ToolUse:
        """Return the tools that the conversations and their cases name."""
        ...


def mode_evidence(run: str | Path | Run, store: str) -> ModeEvidence:
    """Return the conversations of a run, or of a folder of results. Raises UsageError if there is none."""
    if isinstance(run, Run):
        return RunEvidence(run)
    return FolderEvidence(run) if is_folder_of_results(run) else RunEvidence(reread(store, str(run)))


class RunEvidence:
    """The conversations of a run."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @property
    def id(self) -> str:
        """The id of the run."""
        return self._run.info.id

    def attempts(self, failures: Failures) -> Iterator[ModeAttempt]:
        """Yield all attempts."""
        modes = {(own.position, own.attempt): own.mode for own in failures.failed}
        for own in transcripts(self._run):
            place = own.result.position, own.result.attempt
            yield ModeAttempt(place, own, modes.get(place))

    def cases(self, failures: Failures, mode: int) -> list[ExpectedCase]:
        """Return the cases of a mode. A case that expects nothing gets the messages of the user."""
        positions = {own.position for own in failures.failed if own.mode == mode}
        cases = {own.position: own for own in self._run.expected if own.position in positions}
        if all(_has_messages(own.case) for own in cases.values()):
            return list(cases.values())
        for position, recording in self._run.recordings:
            if position in cases:
                cases[position] = _with_messages(cases[position], recording)
        return list(cases.values())

    def readings(self, failures: Failures) -> Mapping[Place, ReadFailure]:
        """Return the failed attempts that people labelled."""
        return labelled_failures(self._run, failures)

    def tools(self) -> ToolUse:
        """Return all tools that the run called, declared or expected."""
        tools = _KnownTools()
        for expected in self._run.expected:
            tools.add_case(expected.case)
        for _, recording in self._run.recordings:
            tools.add_recording(recording)
        return tools.use()


class FolderEvidence:
    """The failed conversations that a folder of results keeps: the first of each shard, as `--keep-failures` says."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = folder

    @property
    def id(self) -> str:
        """The id of the run that wrote the folder."""
        with local_results(self._folder, ()) as own:
            return read_manifest(own, str(self._folder)).run.id

    def attempts(self, failures: Failures) -> Iterator[ModeAttempt]:
        """Yield the failed attempts that are kept."""
        return ((ModeAttempt(place, own, mode)) for place, own, mode, _ in self._conversations(failures))

    def cases(self, failures: Failures, mode: int) -> list[ExpectedCase]:
        """Return the cases of the kept attempts of a mode. A case that expects nothing gets the user's messages."""
        cases: dict[int, ExpectedCase] = {}
        for place, own, mode_of_attempt, expected in self._conversations(failures):
            if mode_of_attempt == mode and own.recording is not None:
                cases.setdefault(place[0], _with_messages(expected, own.recording))
        return list(cases.values())

    def readings(self, failures: Failures) -> Mapping[Place, ReadFailure]:  # noqa: ARG002
        """Return nothing: people label the attempts of the run in the store."""
        return {}

    def tools(self) -> ToolUse:
        """Return the tools of the kept conversations and their cases, and those that kept passes called."""
        tools = _KnownTools()
        with local_results(self._folder, ("failures", "not_passed")) as own:
            for path in sorted((own / "not_passed").glob("*.jsonl")):
                for conversation in _read_conversations(path):
                    tools.add_case(conversation.expected.case)
                    tools.add_recording(conversation.recording)
            folder_pass = FolderPass(read_manifest(own, str(self._folder)))
            for path in sorted((own / "failures").glob("*.parquet")):
                for attempt in folder_pass.attempts(path):
                    tools.add(name.removeprefix(_CALLS) for name in attempt.features if name.startswith(_CALLS))
        return tools.use()

    def _conversations(self, failures: Failures) -> Iterator[tuple[Place, Transcript, int | None, ExpectedCase]]:
        """Yield the kept conversations beside their rows. The rows of a part have the order of its conversations."""
        modes = {signature: mode.number for mode in failures.modes for signature in mode.signatures}
        with local_results(self._folder, ("failures", "not_passed")) as own:
            folder_pass = FolderPass(read_manifest(own, str(self._folder)))
            for path in sorted((own / "failures").glob("*.parquet")):
                conversations = iter(_read_conversations(own / "not_passed" / f"{path.stem}.jsonl"))
                for attempt in folder_pass.attempts(path):
                    failure = attempt.failed
                    conversation = None if failure is None else next(conversations, None)
                    if failure is None or conversation is None:
                        continue
                    place = failure.position, failure.attempt
                    result = replace(conversation.result, position=place[0], attempt=place[1])
                    case = conversation.expected
                    transcript = Transcript(result, conversation.recording, case.case)
                    yield place, transcript, modes.get(failure.signature), case


def _read_conversations(path: Path) -> Iterator[KeptAttempt]:
    """Yield the failed conversations of a part. Conversations without a verdict have no row of a failure."""
    if not path.exists():
        return
    decoder = json_decoder(KeptAttempt)
    with path.open("rb") as lines:
        for line in lines:
            own = decoder.decode(line)
            if own.result.verdict in FAILED:
                yield own


def _has_messages(case: EvalCase) -> bool:
    return bool(case.conversation) or case.scenario is not None


def _with_messages(expected: ExpectedCase, recording: Recording) -> ExpectedCase:
    """Return a case that can be run: one that expects nothing gets the messages of the user."""
    if _has_messages(expected.case):
        return expected
    turns = tuple(Invocation(invocation.user) for invocation in recording.trace.invocations)
    name = expected.name if expected.position != OWN_CASE else recording.case_id
    return replace(expected, name=name, case=replace(expected.case, conversation=turns))


class _KnownTools:
    """Collects the tools that conversations and cases name."""

    def __init__(self) -> None:
        self._tools: dict[str, None] = {}
        self._expected: dict[str, None] = {}
        self._scope = "invocation"

    def add(self, names: Iterator[str] | Sequence[str]) -> None:
        """Add tools that were called."""
        self._tools.update(dict.fromkeys(names))

    def add_case(self, case: EvalCase) -> None:
        """Add the tools that a case expects."""
        if case.expected_calls is not None:
            self._scope = "conversation"
        self._expected.update(dict.fromkeys(call.name for call in case.expected_calls or ()))
        for turn in case.conversation or ():
            self._expected.update(dict.fromkeys(call.name for call in turn.tool_calls))

    def add_recording(self, recording: Recording) -> None:
        """Add the tools that a conversation calls or declares."""
        for invocation in recording.trace.invocations:
            self.add([call.name for call in invocation.tool_calls])
        for agent in recording.trace.agents:
            self.add(agent.tool_names)

    def use(self) -> ToolUse:
        """Return the tools."""
        return ToolUse({*self._tools, *self._expected}, {*self._expected}, self._scope)
