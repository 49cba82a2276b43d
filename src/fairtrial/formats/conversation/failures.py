"""Failures of an agent or a model that break an invocation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from fairtrial.text.display import compact, shorten

if TYPE_CHECKING:
    from fairtrial.formats.conversation.nodes import Node
    from fairtrial.formats.spans.span import SpanEvent
    from fairtrial.records.record import Json

TOOL_FAILED = "the tool failed"
"""The status that exports of this package give to a tool that failed. The result tells more."""
_FROM = "The above exception was the direct cause of the following exception:"
_WHILE = "During handling of the above exception, another exception occurred:"
_MARGIN = re.compile(r"^ *(?:\+-.*\n?|[|+] ?)", re.MULTILINE)
"""What Python writes before each line of a group of exceptions, and between them."""
_SECOND = re.compile(r"^ *\+-+ 2 -+$", re.MULTILINE)
_GROUP = "Exception Group Traceback"
_FRAMES = re.compile(r"(?:Exception Group )?Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)*")
_LONGEST = 2_000
"""So much of a cause is kept."""
_MOST_CAUSES = 20


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
    message = _find_message(node)
    is_told = not kind or not message or str(message).startswith(str(kind))
    text = str(message or kind or "ERROR") if is_told else f"{kind}: {message}"
    return ", caused by ".join((text, *_read_causes(node)))


def _find_message(node: Node) -> Json:
    """Return the message of a failure, without the exceptions that caused it."""
    failure, exception = read_failure(node), _exception(node)
    if failure != "ERROR":
        return failure
    return (exception.attributes.get("exception.message") if exception else None) or ""


def _read_causes(node: Node) -> Iterator[str]:
    """Yield the causes of the exception of a span (`raise ... from`), the nearest first, each on a line.

    Python writes the first exception first. An exception that another one was handling is not its cause.
    """
    exception = _exception(node)
    stacktrace = exception.attributes.get("exception.stacktrace") if exception else None
    text = stacktrace if isinstance(stacktrace, str) else ""
    if _GROUP in text and not _SECOND.search(text):
        text = _MARGIN.sub("", text)  # a group of one exception
    *causes, last = f"\n{text}".rsplit(f"\n{_FROM}", _MOST_CAUSES)
    while causes and _WHILE not in last:
        last = causes.pop()
        if cause := _read_exception(last.rpartition(_WHILE)[2].strip("\n")):
            yield cause


def _read_exception(block: str) -> str:
    """Return the type, the message and the notes of an exception from its traceback, or the line of a group."""
    if block.lstrip().startswith(f"+ {_GROUP}"):
        block = _FRAMES.sub("", _MARGIN.sub("", block), count=1).partition("\n")[0]
    return shorten(" ".join(_FRAMES.sub("", block).split()), _LONGEST)


def with_failure(response: Json, node: Node) -> Json:
    """Return the result that a model got of a tool, with the failure of its span if the response does not tell it."""
    message = _find_message(node)
    if message in ("", TOOL_FAILED):
        return response
    response_text = compact(response)
    is_told = all(compact(text)[1:-1] in response_text for text in (str(message), *_read_causes(node)))
    return response if is_told else {"error": find_cause(node), "result": response}


def _exception(node: Node) -> SpanEvent | None:
    return next((event for event in node.span.events if event.name == "exception"), None)
