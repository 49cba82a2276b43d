"""The agent under test. Replace the body of `reply` by a call of your own agent."""

from collections.abc import Iterator

from fairtrial import ToolCall, ToolResult, Trace

OPENING_HOURS = {"monday": "9 to 17", "saturday": "10 to 14"}


def reply(conversation: Trace) -> Iterator[str | ToolCall | ToolResult]:
    """Answer the user's latest message: yield tool calls with their results, and the reply."""
    message = conversation.invocations[-1].query.lower()
    day = next((day for day in OPENING_HOURS if day in message), None)
    if day is None:
        yield "On which day do you want to come?"
        return
    yield ToolCall("opening_hours", {"day": day})
    yield ToolResult("opening_hours", {"hours": OPENING_HOURS[day]})
    yield f"On {day.capitalize()} we are open from {OPENING_HOURS[day]}."
