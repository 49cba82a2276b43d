"""Which agent does a target mean?"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from assay.agents.function import FunctionAgent
from assay.data.seams import Agent
from assay.errors import UsageError
from assay.importing import import_path

_OPEN_ENDED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def agent_of(target: str | Callable[..., Any]) -> Agent:
    """Return the agent at `module:function`, or around a function.

    Raises UsageError where the target means no agent.
    """
    if isinstance(target, str):
        if ":" not in target:
            raise UsageError(f"--agent: must be 'module:function', got {target!r}")
        return agent_of(import_path(target, "--agent"))
    if not callable(target):
        raise UsageError(f"agent: must be a function or 'module:function', got {type(target).__name__}")
    return target if opens_sessions(target) else FunctionAgent(target)


def opens_sessions(target: Callable[..., Any]) -> bool:
    """Whether something needs a case and an environment, as the seam `Agent` does, and not a conversation."""
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return False
    return sum(one.default is one.empty and one.kind not in _OPEN_ENDED for one in parameters) == 2
