"""An invocation while its spans are read: its calls find their results before it becomes a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.formats.conversation.failures import with_failure
from fairtrial.records.trace import Message, Step, ToolCall, ToolResult, Usage

if TYPE_CHECKING:
    from fairtrial.formats.conversation.nodes import Node


class Slot:
    """A call, its result as messages and as its span tell it, and the span of the tool."""

    __slots__ = ("answer", "call", "measured", "node")

    def __init__(self, call: ToolCall) -> None:
        self.call = call
        self.answer: ToolResult | None = None
        self.measured: ToolResult | None = None
        self.node: Node | None = None

    @property
    def result(self) -> ToolResult | None:
        """The result: what the model got, with the times and the failure of the span."""
        if self.answer is None or self.measured is None:
            return self.answer or self.measured
        response = self.measured if self.answer.withheld and not self.measured.withheld else self.answer
        return replace(
            response,
            response=response.response if self.node is None else with_failure(response.response, self.node),
            name=self.call.name,
            id=self.answer.id or self.measured.id,
            is_error=self.answer.is_error or self.measured.is_error,
            author=self.measured.author or self.answer.author,
            started=self.measured.started,
            seconds=self.measured.seconds,
            span_id=self.measured.span_id,
            parent_id=self.measured.parent_id,
            inner=self.measured.inner,
        )


class Block:
    """The steps of one answer of a model. Results follow the last step, or each call if the answer is of an agent."""

    def __init__(self, steps: Sequence[Step], *, is_whole_run: bool = False) -> None:
        self.steps: list[Message | Step | Slot] = [Slot(step) if isinstance(step, ToolCall) else step for step in steps]
        self.is_whole_run = is_whole_run

    @property
    def slots(self) -> list[Slot]:
        """The calls."""
        return [step for step in self.steps if isinstance(step, Slot)]

    def __iter__(self) -> Iterator[Step]:
        """Yield the steps and the results."""
        waiting: list[ToolResult] = []
        for step in self.steps:
            if not isinstance(step, Slot):
                if self.is_whole_run:
                    yield from waiting
                    waiting = []
                yield step
                continue
            yield step.call
            if (result := step.result) is not None:
                waiting.append(result)
        yield from waiting


class Draft:
    """An invocation in the making.

    `name` is the source's own name of it, `nodes` are the spans of its models and tools, and `slots` all calls in their
    order. `gap` is the reason for which a call or a text is missing. `repeated` are the texts of later inputs that were
    compared already.
    """

    def __init__(self, user: Message, name: str = "") -> None:
        self.user = user
        self.name = name
        self.blocks: list[Block] = []
        self.slots: list[Slot] = []
        self.usages: list[Usage] = []
        self.nodes: list[Node] = []
        self.has_reply = False
        self.gap = ""
        self.repeated: set[str] = set()

    @property
    def steps(self) -> list[Step]:
        """All steps with the results."""
        return [step for block in self.blocks for step in block]

    @property
    def unanswered_call(self) -> str:
        """The name of the call at the end if neither a message nor a span tells its result. Otherwise it is empty."""
        last = self.blocks[-1].steps[-1] if self.blocks else None
        is_open = isinstance(last, Slot) and last.node is None and last.answer is None
        return last.call.name if isinstance(last, Slot) and is_open else ""

    def add(self, steps: Sequence[Step], *, is_whole_run: bool = False) -> None:
        """Add the steps of an answer. The reply of a whole run is a block of its own."""
        if not steps:
            return
        work = steps[:-1] if is_whole_run and isinstance(steps[-1], Message) else steps
        blocks = [Block(part, is_whole_run=is_whole_run) for part in (work, steps[len(work) :]) if part]
        slots = [slot for block in blocks for slot in block.slots]
        self.blocks += blocks
        self.slots += slots
        self.has_reply = not slots and any(isinstance(step, Message) for step in steps)

    def add_unasked_call(self, call: ToolCall) -> Slot:
        """Add a call that no answer holds. The reply of a whole run stays behind it."""
        block = Block([call])
        last = self.blocks[-1] if self.blocks else None
        if last is not None and last.is_whole_run and isinstance(last.steps[-1], Message):
            self.blocks.insert(-1, block)
        else:
            self.blocks.append(block)
            self.has_reply = False
        self.slots += block.slots
        return self.slots[-1]
