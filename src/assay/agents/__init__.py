"""Which agent does a target mean?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay.agents.function import FunctionAgent
from assay.data.seams import Agent
from assay.errors import UsageError
from assay.importing import import_path


def agent_of(target: str | Callable[..., Any]) -> Agent:
    """Return the agent at `module:function`, or around a function.

    Raises UsageError where the target means no agent.
    """
    if isinstance(target, str):
        if ":" not in target:
            raise UsageError(f"--agent: must be 'module:function', got {target!r}")
        return FunctionAgent(import_path(target, "--agent"))
    if not callable(target):
        raise UsageError(f"agent: must be a function or 'module:function', got {type(target).__name__}")
    return FunctionAgent(target)
