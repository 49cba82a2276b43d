"""Check whether a callable can be an agent, and whether it takes the conversation, a user text or a case."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from fairtrial.agents.calling import wants_calls
from fairtrial.errors import UsageError

_POSITIONAL = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
)
_OPEN_ENDED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_TEXT_NAMES = frozenset(
    ("input", "message", "msg", "prompt", "query", "question", "text", "user_input", "user_message")
)
"""Names that a parameter without an annotation has if its function expects a text."""
_ALLOWED = (
    "an agent function takes the conversation, or the user's text if its parameter is annotated as `str` or is named, "
    "for example, `message`, and `call`"
)


def opens_sessions(target: Callable[..., Any]) -> bool:
    """Whether a callable has the protocol `Agent`: it takes a case and an environment, and opens a session.

    For example, it is decorated with `contextlib.asynccontextmanager`, or its parameters are `case` and `environment`.
    """
    required = [parameter.name for parameter in _parameters(target) if _is_required(parameter)]
    if len(required) != 2 or wants_calls(target):
        return False
    opens = (target, getattr(target, "__call__", None))  # noqa: B004
    is_manager = any(inspect.isasyncgenfunction(inspect.unwrap(each)) for each in opens if each is not None)
    is_class = inspect.isclass(target) and hasattr(target, "__aenter__")
    return is_manager or is_class or required == ["case", "environment"]


def wants_text(function: Callable[..., Any]) -> bool:
    """Whether a function takes the user's message as a text.

    Its first parameter is annotated as `str`, or has no annotation and the name of a text, for example `message`.
    """
    first = next(iter(_parameters(function)), None)
    if first is None or first.annotation is first.empty:
        return first is not None and first.name in _TEXT_NAMES
    return first.annotation in (str, "str")


def check_parameters(function: Callable[..., Any]) -> None:
    """Raise UsageError if a callable cannot be an agent: a class, or a function with other parameters."""
    if inspect.isclass(function):
        name = function.__name__
        raise UsageError(
            f"agent: {name} is a class; give an instance that can be called, for example {name}()",
            code="unusable-agent",
        )
    if not _has_signature(function):
        return
    parameters = _parameters(function)
    others = [parameter for parameter in parameters[1:] if _is_required(parameter) and parameter.name != "call"]
    if not parameters or parameters[0].kind not in _POSITIONAL or others:
        name = getattr(function, "__name__", type(function).__name__)
        raise UsageError(f"agent: {_ALLOWED}; got {name}{inspect.signature(function)}", code="unusable-agent")


def _is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind not in _OPEN_ENDED


def _has_signature(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function)
    except (TypeError, ValueError):  # some functions of extension modules do not have a signature
        return False
    return True


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values()) if _has_signature(function) else []
