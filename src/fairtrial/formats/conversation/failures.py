"""Failures of an agent or a model that break an invocation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairtrial.text.display import compact

if TYPE_CHECKING:
    from fairtrial.formats.conversation.nodes import Node
    from fairtrial.formats.spans.span import SpanEvent
    from fairtrial.records.record import Json

_FROM = "The above exception was the direct cause of the following exception:"


def read_failure(node: Node) -> str:
    """Return the failure of a call: of its status, its type of error, or an exception that left no answer."""
    facts, span = node.facts, node.span
    if span.failure or facts.failure or span.attributes.get("error.type"):
        return span.failure or facts.failure or "ERROR"
    # An agent may have caught the exception, and gone on.
    has_answer = facts.kind == "agent" or facts.output is not None or facts.result is not None
    return "ERROR" if not has_answer and _exception(node) is not None else ""


def cause_of_break(nodes: Iterable[Node]) -> str:
    """Return the cause of the failure that broke an invocation, or an empty text.

    A model or an agent that failed breaks the invocation, unless a later call succeeded: a retry, for example. The
    failure of a tool is an answer that the agent can go on with.
    """
    calls = [node for node in nodes if node.facts.kind in ("model", "agent")]
    failing = [node for node in calls if read_failure(node)]
    if not failing:
        return ""
    successes = [node for node in calls if not read_failure(node)]
    broken = (node for node in failing if not any(_is_retry(other, node) for other in successes))
    return next(map(find_cause, broken), "")


def _is_retry(success: Node, failing: Node) -> bool:
    """Whether a call that succeeded came after one that failed."""
    if success.facts.kind == failing.facts.kind == "model":
        return success.span.start >= failing.span.start
    return success.span.start >= failing.span.last


def find_cause(node: Node) -> str:
    """Return the type and the message of a failure from the status, an attribute or the event of an exception."""
    exception = _exception(node)
    attributes = exception.attributes if exception else {}
    kind = node.facts.error_type or node.span.attributes.get("error.type") or attributes.get("exception.type") or ""
    failure = read_failure(node)
    message = failure if failure != "ERROR" else attributes.get("exception.message") or ""
    is_told = not kind or not message or str(message).startswith(str(kind))
    text = str(message or kind or "ERROR") if is_told else f"{kind}: {message}"
    return f"{text}, caused by {cause}" if (cause := _read_cause(attributes.get("exception.stacktrace"))) else text


def _read_cause(stacktrace: Json) -> str:
    """Return the last line about the exception from which Python raised another one, or an empty text."""
    cause = stacktrace.rpartition(_FROM)[0].strip() if isinstance(stacktrace, str) else ""
    return cause.rpartition("\n")[2].strip()


def with_failure(response: Json, node: Node) -> Json:
    """Return what a model got of a tool, with the failure of the tool's span if the response does not tell it."""
    if read_failure(node) in ("", "ERROR") or compact(read_failure(node))[1:-1] in compact(response):
        return response
    return {"error": find_cause(node), "result": response}


def _exception(node: Node) -> SpanEvent | None:
    return next((event for event in node.span.events if event.name == "exception"), None)
