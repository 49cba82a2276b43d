"""How does a session talk to a workflow of LangGraph's functional API? Its tasks return messages, not a state."""

from __future__ import annotations

import inspect
import typing
import uuid
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any

from fairtrial.agents.plain import as_text
from fairtrial.importing import import_extra

INTERRUPT = "__interrupt__"


def is_workflow(runnable: Any) -> bool:
    """Whether a runnable is a function with `@entrypoint`. A graph has the builder that compiled it."""
    return hasattr(runnable, "stream_channels") and not hasattr(runnable, "builder")


async def workflow_states(
    workflow: Any, graph_input: Any, earlier: Sequence[Any], config: dict[str, Any], options: dict[str, Any]
) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the messages of a conversation after each task, as the state of a graph would hold them.

    `earlier` are the messages before a run that goes on with an answer of the user.
    """
    is_new = isinstance(graph_input, dict)
    messages = list(graph_input["messages"] if is_new else earlier)
    known = {message.id for message in messages}
    given = _input(workflow, graph_input) if is_new else graph_input
    async for mode, value in workflow.astream(given, config, stream_mode=["updates", "values"], **options):
        if isinstance(value, dict) and INTERRUPT in value:
            yield {"messages": list(messages), INTERRUPT: value[INTERRUPT]}
            continue
        returned = value.values() if mode == "updates" else (value,)
        for message in (message for each in returned for message in _messages(each, is_end=mode == "values")):
            message.id = message.id or str(uuid.uuid4())
            if message.id not in known:
                known.add(message.id)
                messages.append(message)
        yield {"messages": list(messages)}


def _input(workflow: Any, graph_input: dict[str, Any]) -> Any:
    """Return what the function takes: a state with the messages, the latest text, or the messages themselves.

    The annotation of its parameter tells. LangGraph keeps an annotation that is a text as it is.
    """
    wanted = getattr(workflow.channels["__start__"], "UpdateType", None)
    if wanted in (str, "str"):
        return str(graph_input["messages"][-1].text)
    kind = typing.get_origin(wanted) or wanted
    is_state = str(wanted).startswith("dict")
    is_state |= inspect.isclass(kind) and (issubclass(kind, dict) or hasattr(kind, "__annotations__"))
    return graph_input if is_state else graph_input["messages"]


def _messages(value: Any, *, is_end: bool) -> Iterator[Any]:
    """Yield the messages in what a task or the workflow returned. A result of another kind is the reply."""
    if isinstance(value, dict) and "messages" in value:
        value = value["messages"]
    if hasattr(value, "content_blocks"):
        yield value
    elif isinstance(value, list | tuple) and all(hasattr(each, "content_blocks") for each in value):
        yield from value
    elif is_end and value is not None:
        yield import_extra("langchain_core.messages", "agents-langgraph").AIMessage(as_text(value))
