"""Build invocations from session items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.formats.tool_failures import is_failure
from fairtrial.records.trace import Durations, Event, Invocation, Message, Step, ToolResult, Usage, split_reply

if TYPE_CHECKING:
    from fairtrial.protocols import Item
    from fairtrial.simulate.observed_environment import ObservedEnvironment


@dataclass(slots=True)
class InvocationBuilder:
    """Collects the items of a session since the last request, with the injections of the environment."""

    environment: ObservedEnvironment | None = None
    steps: list[Step] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    durations: Durations = Durations()

    def add(self, item: Item) -> None:
        """Add one item."""
        if isinstance(item, Usage):
            self.usages.append(item)
        elif isinstance(item, Event):
            self.events.append(item)
        elif isinstance(item, Durations):
            # An agent that waited for a decision within the invocation reports each of its runs.
            self.durations = _add_durations(self.durations, item)
        elif isinstance(item, ToolResult):
            failed = not item.is_rejected and (item.is_error or is_failure(item.response))
            item = item if item.is_error == failed else replace(item, is_error=failed)
            self.steps.append(item if self.environment is None else self.environment.with_injections(item))
        else:
            self.steps.append(item)
        self.check()

    @property
    def is_empty(self) -> bool:
        """Whether the agent has reported nothing, and has called no tool that the environment answers."""
        called_tools = self.environment is not None and self.environment.has_unreported_results
        return not (self.steps or self.usages or called_tools)

    @property
    def has_content(self) -> bool:
        """Whether the agent has called a tool, or said anything."""
        return any(not isinstance(step, Message) or step.text.strip() or step.parts for step in self.steps)

    def check(self) -> None:
        """Raise the failure of the environment, if it has failed.

        The agent may have caught the exception, since it cannot tell the environment from its tool.
        """
        if self.environment is not None and self.environment.failure is not None:
            raise self.environment.failure

    def without_reply(self, request: Invocation) -> Invocation:
        """Return the invocation that has broken. None of its messages is a reply."""
        usages, events = tuple(self.usages) or None, tuple(self.events) or None
        return replace(
            request,
            steps=tuple(self.steps),
            usages=usages,
            events=events,
            unreported_injections=self._unreported_injections(),
        )

    def with_reply(self, request: Invocation, seconds: float) -> Invocation:
        """Return the finished invocation. Its reply does not count as a step of an event."""
        steps, reply = split_reply(self.steps)
        index = next((i for i, step in enumerate(self.steps) if step is reply), None)
        return Invocation(
            request.user,
            steps,
            reply,
            request.id,
            tuple(self.usages) or None,
            replace(self.durations, total=seconds),
            events=_without_step(index, self.events) or None,
            unreported_injections=self._unreported_injections(),
        )

    def _unreported_injections(self) -> tuple[ToolResult, ...]:
        return self.environment.unreported_injections() if self.environment is not None else ()


def _without_step(index: int | None, events: Sequence[Event]) -> tuple[Event, ...]:
    """Return the events without the step at an index: the event that holds it is smaller by one."""
    remaining: list[Event] = []
    end = 0
    for event in events:
        start, end = end, end + event.size
        holds = index is not None and start <= index < end
        remaining.append(replace(event, size=event.size - 1) if holds else event)
    return tuple(remaining)


def _add_durations(first: Durations, second: Durations) -> Durations:
    """Return the sum of two durations in models and in tools.

    If nothing was streamed before the decision, nobody knows how long the user waited for it.
    """
    if first.model is None or second.model is None:
        return second
    return Durations(None, first.model + second.model, (first.tool or 0.0) + (second.tool or 0.0), first.first_token)
