"""Switch on the spans of frameworks that write none, or none with contents, unless they are asked to."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

_SWITCHED: set[str] = set()


def switch_on(provider: Any, *, is_private: bool) -> None:
    """Switch on the spans of the frameworks that this process has imported.

    A choice of the user stays. If spans are not private, because an exporter of the user sends them elsewhere,
    frameworks do not begin to write contents.
    """
    for name, switch in _SWITCHES.items():
        if name in sys.modules and name not in _SWITCHED:
            _SWITCHED.add(name)
            switch(provider, is_private)


def _pydantic_ai(provider: Any, _is_private: bool) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.instrumented import InstrumentationSettings

    if getattr(Agent, "_instrument_default", True) is False:
        Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))


def _agent_framework(_provider: Any, is_private: bool) -> None:
    from agent_framework.observability import enable_instrumentation

    if is_private:
        enable_instrumentation(enable_sensitive_data=True)


_SWITCHES: dict[str, Callable[[Any, bool], None]] = {
    "pydantic_ai": _pydantic_ai,
    "agent_framework": _agent_framework,
}
