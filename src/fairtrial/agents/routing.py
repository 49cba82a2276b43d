"""What does an agent get that calls a tool: the tool's own answer, or what the environment makes of it?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from fairtrial.agents.plain import plain
from fairtrial.protocols import Environment
from fairtrial.records.record import Json
from fairtrial.records.trace import ToolCall


class Answer(NamedTuple):
    """An answer; `own` says that it is what the tool itself returned, and else it is JSON."""

    value: Any
    own: bool


async def routed(
    environment: Environment,
    call: ToolCall,
    declared: dict[str, Json],
    real: Callable[[], Awaitable[Any]],
    *,
    as_json: Callable[[Any], Json] = plain,
) -> Answer:
    """Ask an environment; what it leaves as it is keeps the type that the tool gave it."""
    last: tuple[Any, Json] | None = None

    async def asked() -> Json:
        nonlocal last
        value = await real()
        last = (value, as_json(value))
        return last[1]

    response = (await environment.answer(call, declared, asked)).response
    if last is not None and response is last[1]:
        return Answer(last[0], own=True)
    return Answer(response, own=False)
