"""Assign tool results, repeated calls and tool spans to their calls."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.records.trace import Step, ToolCall, ToolResult

if TYPE_CHECKING:
    from fairtrial.formats.conversation.draft import Draft, Slot
    from fairtrial.formats.dialects.facts import Facts
    from fairtrial.records.record import Json

_NO_CALL = "the messages hold the result of the call, and not the call"


def read_history(draft: Draft, steps: Sequence[Step], *, is_whole: bool) -> list[ToolCall]:
    """Give the calls of a draft the results that a later input brings, and return the calls that no output had.

    Such a call is added in its place: a span was lost, or a stream was not captured. `is_whole` says that the steps
    begin at the user's turn, so that they repeat the calls and results that are known already.
    """
    lost_calls: list[ToolCall] = []
    repeated: set[Slot] = set()
    closed_here: set[Slot] = set()
    for step in steps:
        if isinstance(step, ToolCall):
            slot = _slot_of_call(draft.slots, step, repeated)
            if slot is None:
                draft.add([step])
                slot = draft.slots[-1]
                lost_calls.append(step)
            repeated.add(slot)
        elif isinstance(step, ToolResult):
            closed = (
                closed_here if is_whole else {*closed_here, *(slot for slot in draft.slots if slot.answer is not None)}
            )
            slot = _slot_of_result(draft.slots, step, closed)
            if slot is None and is_whole and _is_orphan(draft, step):
                if step.name:
                    slot = _add_lost_slot(draft, step)
                    lost_calls.append(slot.call)
                else:
                    draft.gap = f"the result {step.id} stands in a request without its call"
            if slot is not None:
                closed_here.add(slot)
                slot.answer = slot.answer or replace(step, name=step.name or slot.call.name)
    return lost_calls


def _is_orphan(draft: Draft, result: ToolResult) -> bool:
    """Whether no call of a draft has the id or the name of a result, which proves that a call is missing."""
    keys = {key for slot in draft.slots for key in (slot.call.id, slot.call.name)}
    return bool(result.id or result.name) and keys.isdisjoint(filter(None, (result.id, result.name)))


def _add_lost_slot(draft: Draft, result: ToolResult) -> Slot:
    """Add the call that a result proves. Its arguments are not known."""
    draft.add([ToolCall(result.name, id=result.id, withheld=_NO_CALL)])
    return draft.slots[-1]


def slot_of_span(slots: Sequence[Slot], facts: Facts) -> Slot | None:
    """Return the call that the span of a tool ran, or None."""
    free = [slot for slot in slots if slot.node is None]
    return _find_slot(free, facts.call_id, facts.name, facts.args)


def _slot_of_call(slots: Sequence[Slot], call: ToolCall, repeated: Collection[Slot]) -> Slot | None:
    """Return the known call that an input repeats, or None."""
    free = [slot for slot in slots if slot not in repeated]
    return _find_slot(free, call.id, call.name, call.args)


def _find_slot(slots: Sequence[Slot], call_id: str | None, name: str, args: dict[str, Json] | None) -> Slot | None:
    """Return the call with an id, else the first with a name and arguments, else the first with the name."""
    same_call = namesake = None
    for slot in slots:
        if call_id and slot.call.id == call_id:
            return slot
        if slot.call.name == name:
            namesake = namesake or slot
            if same_call is None and slot.call.args == args:
                same_call = slot
    return same_call or namesake


def _slot_of_result(slots: Sequence[Slot], result: ToolResult, closed: Collection[Slot]) -> Slot | None:
    """Return the open call with the id of a result, else the oldest open call with its name, else the oldest.

    A result without an id and a name is a text of which nobody knows the call. It never answers a call whose own span
    tells the result.
    """
    if result.id and (by_id := [slot for slot in slots if slot.call.id == result.id]):
        return next((slot for slot in by_id if slot not in closed), None)
    free = [slot for slot in slots if slot not in closed]
    if not result.id and not result.name:
        return next((slot for slot in free if slot.node is None), None)
    namesakes = [slot for slot in free if slot.call.name == result.name]
    return next(iter([*namesakes, *free]), None)
