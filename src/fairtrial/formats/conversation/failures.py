"""Did an agent or a model break an invocation?"""

from __future__ import annotations

from collections.abc import Iterable

from fairtrial.formats.conversation.nodes import Node


def cause_of_break(nodes: Iterable[Node]) -> str:
    """Return the cause of the failure that broke an invocation, or an empty text.

    A model or an agent that failed breaks the invocation, unless a later model call succeeded: a retry, for example.
    The failure of a tool is an answer that the agent can go on with.
    """
    calls = [node for node in nodes if node.facts.kind in ("model", "agent")]
    last_success = max(
        (node.span.start for node in calls if node.facts.kind == "model" and not node.span.failure), default=-1
    )
    for node in calls:
        if node.span.failure and node.span.start >= last_success and _is_last(node, last_success):
            return _cause(node)
    return ""


def _is_last(node: Node, last_success: int) -> bool:
    """Whether no successful call started after a failing model call, or after a failing agent had ended."""
    return node.facts.kind == "model" or node.span.last >= last_success


def _cause(node: Node) -> str:
    """Return the type and the message of a failure, from the status, an attribute or the event of an exception."""
    exception = next((event for event in node.span.events if event.name == "exception"), None)
    attributes = exception.attributes if exception else {}
    kind = node.facts.error_type or attributes.get("exception.type") or ""
    message = node.span.failure if node.span.failure != "ERROR" else attributes.get("exception.message") or ""
    if not kind or not message or str(message).startswith(str(kind)):
        return str(message or kind or "ERROR")
    return f"{kind}: {message}"
