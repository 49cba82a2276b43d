"""The calls of a conversation in their order, each with its result and with the messages of the user before it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from fairtrial.records.trace import Invocation, Step, ToolCall, ToolResult, Trace
from fairtrial.text.globs import fits
from fairtrial.text.provenance import SourceTexts

if TYPE_CHECKING:
    from fairtrial.records.record import Json

USER, INSTRUCTIONS = "user", "instructions"
"""The names of the sources of values beside tools."""


@dataclass(eq=False)
class PastCall:
    """A call with its result. `place` counts the calls of the conversation from 0, `invocation` its turns from 0."""

    history: CallHistory
    call: ToolCall
    place: int
    invocation: int
    result: ToolResult | None = None
    result_count: int = 0
    """The number of results that were there before the call."""

    def earlier(self, glob: str, *, succeeded: bool = True) -> list[PastCall]:
        """Return the calls of a tool whose results were there before this call. Failed calls count if asked for."""
        return [
            past
            for past in self.history.calls[: self.place]
            if fits(past.call.name, glob) and not (succeeded and past.failed)
        ]

    @property
    def failed(self) -> bool:
        """Whether the tool reported an error, or a person rejected the call."""
        return self.result is not None and (self.result.is_error or self.result.is_rejected)

    @property
    def title(self) -> str:
        """The call in messages."""
        return f"call {self.place + 1} ({self.call.name}) in invocation {self.invocation + 1}"

    def sources(self) -> list[SourceTexts]:
        """Return the texts that were there before the call: of the user, of the instructions, and of each tool."""
        return self.history.sources_before(self.invocation, self.result_count)


@dataclass(eq=False)
class CallHistory:
    """The calls and the results of a conversation, also those of agents that count as tools."""

    trace: Trace
    calls: list[PastCall] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)

    @classmethod
    def read_trace(cls, trace: Trace) -> CallHistory:
        """Return the history of a trace."""
        history = cls(trace)
        for index, invocation in enumerate(trace.invocations):
            for step in _flat(invocation.steps or ()):
                history._add(step, index)
        return history

    def _add(self, step: Step, invocation: int) -> None:
        if isinstance(step, ToolCall):
            self.calls.append(PastCall(self, step, len(self.calls), invocation, result_count=len(self.results)))
        elif isinstance(step, ToolResult):
            self.results.append(step)
            open_calls = [past for past in self.calls if past.result is None and past.call.name == step.name]
            same_id = [past for past in open_calls if step.id and past.call.id == step.id]
            if same_id or open_calls:
                (same_id or open_calls)[0].result = step

    def find_calls(self, glob: str) -> list[PastCall]:
        """Return the calls of a tool."""
        return [past for past in self.calls if fits(past.call.name, glob)]

    def sources_before(self, invocation: int, result_count: int) -> list[SourceTexts]:
        """Return the sources at a moment: up to a turn, and after a number of results."""
        key = (invocation, result_count)
        if key not in self._sources:
            texts: dict[str, list[Json]] = {USER: list(self._user_texts[: invocation + 1])}
            texts[INSTRUCTIONS] = list(self._instructions)
            for result in self.results[:result_count]:
                texts.setdefault(result.name, []).append(result.response)
            self._sources[key] = [SourceTexts(name, tuple(contents)) for name, contents in texts.items() if contents]
        return self._sources[key]

    @cached_property
    def _sources(self) -> dict[tuple[int, int], list[SourceTexts]]:
        return {}

    @cached_property
    def _user_texts(self) -> Sequence[str]:
        """The texts of the user, one a turn. What was said before the recording belongs to the first."""
        before = "\n".join(invocation.query for invocation in self.trace.history)
        texts = [_with_files(invocation) for invocation in self.trace.invocations]
        return [f"{before}\n{texts[0]}", *texts[1:]] if before and texts else texts

    @cached_property
    def _instructions(self) -> Sequence[str]:
        return [agent.instructions for agent in self.trace.agents if agent.instructions]


def _with_files(invocation: Invocation) -> str:
    return "\n".join([invocation.query, *(part.name or part.uri for part in invocation.user.parts)])


def _flat(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield steps with those of agents that count as tools, which end before their answer."""
    for step in steps:
        if isinstance(step, ToolResult) and step.inner is not None:
            for invocation in step.inner.invocations:
                yield from _flat(invocation.steps or ())
        yield step


def decode_result(response: Json) -> Json:
    """Return the content of a result whose text is JSON."""
    if isinstance(response, dict) and len(response) == 1 and isinstance(response.get("result"), str | dict | list):
        response = response["result"]
    if isinstance(response, str) and response.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(response)
        except (ValueError, RecursionError):
            return response
    return response
