"""Talk to workflows of Microsoft Agent Framework: their input, their outputs, and their questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from fairtrial.agents.plain import as_text
from fairtrial.errors import UnfitCaseError
from fairtrial.records.decoding import convert


def is_workflow(thing: Any) -> bool:
    """Whether an object is a graph of executors, or a function with `@workflow`."""
    return hasattr(thing, "as_agent") and hasattr(thing, "run")


def find_workflow(thing: Any) -> Any:
    """Return the workflow in an object, also if the object shows it as an agent, or None."""
    inner = getattr(thing, "workflow", None) or getattr(thing, "_workflow", None)
    if is_workflow(inner):
        return inner
    return thing if is_workflow(thing) and not hasattr(thing, "create_session") else None


def workflow_input(workflow: Any, message: str, make_message: Callable[[], Any]) -> Any:
    """Return the user's message as the first executor takes it: a text, a message, or a list of messages."""
    kinds = [str(kind) for kind in getattr(workflow, "input_types", ())]
    if not kinds or any(kind in ("<class 'str'>", "str") for kind in kinds):
        return message
    return make_message() if any(kind.endswith("Message'>") for kind in kinds) else [make_message()]


def answer_question(question: Any, message: str) -> Any:
    """Return the user's message as the answer to a question: a text, or the JSON of a value of the wanted type.

    Raises UnfitCaseError if the question wants something else.
    """
    make = getattr(question.data, "create_response", None)
    if make is not None:
        return make(message)
    kind = question.response_type
    if kind in (str, Any, object):
        return message
    try:
        value = msgspec.json.decode(message)
        build = getattr(kind, "model_validate", None)
        return convert(value, kind) if build is None else build(value)
    except (TypeError, ValueError, RecursionError) as error:
        wanted = getattr(kind, "__name__", kind)
        raise UnfitCaseError(f"the workflow asks for {wanted} as JSON, and the message is {message!r}") from error


def output_text(result: Any, questions: list[Any]) -> str:
    """Return the questions of a workflow that waits, or else its last output."""
    if questions:
        return question_text(questions)
    outputs = result.get_outputs()
    return _text(outputs[-1]) if outputs else ""


def question_text(questions: list[Any]) -> str:
    """Return questions in words."""
    return "\n".join(_text(question.data) for question in questions)


def _text(value: Any) -> str:
    """Return the text of an output: of a response of an agent, of the last of several messages, or of any value."""
    value = getattr(value, "agent_response", value)
    if isinstance(value, list) and value and hasattr(value[-1], "text"):
        value = value[-1]
    text = getattr(value, "text", None)
    return text if isinstance(text, str) else as_text(value)
