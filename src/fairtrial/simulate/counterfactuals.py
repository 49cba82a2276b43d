"""Environments and users without a suspect: recorded answers, changed values, the user of another attempt."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fairtrial.records.trace import ToolCall, ToolResult, Trace
from fairtrial.text.display import compact

if TYPE_CHECKING:
    from fairtrial.llm.model_pool import ModelPool
    from fairtrial.protocols import Environment, Real
    from fairtrial.records.case import EvalCase
    from fairtrial.records.record import Json


@dataclass(frozen=True)
class AlteredEnvironments:
    """Environments that change the answers of other environments, or of the tools themselves.

    `answers` are recorded answers by the tool and its arguments, which replace the call. `values` are texts in the
    answers of the tools, with the texts that take their place.
    """

    answers: Mapping[str, Json] = field(default_factory=dict)
    values: Sequence[tuple[str, str]] = ()
    inner: Any = None

    def connect_models(self, pool: ModelPool) -> AlteredEnvironments:
        """Return the environments with the models of a run behind them."""
        connect = getattr(self.inner, "connect_models", None)
        return self if connect is None else replace(self, inner=connect(pool))

    def __call__(self, case: EvalCase, attempt: int) -> AlteredEnvironment:
        """Return the environment of one conversation."""
        return AlteredEnvironment(self, None if self.inner is None else self.inner(case, attempt))


class AlteredEnvironment:
    """The environment of one conversation."""

    def __init__(self, changes: AlteredEnvironments, inner: Environment | None) -> None:
        self._changes = changes
        self._inner = inner

    async def answer(self, call: ToolCall, declared: dict[str, Json], real: Real) -> ToolResult:
        """Answer a call with the recorded answer, or with the answer of the tool in which values are exchanged."""
        key = call_key(call.name, call.args)
        if key in self._changes.answers:
            return ToolResult(call.name, self._changes.answers[key], call.id)
        if self._inner is None:
            result = ToolResult(call.name, await real(), call.id)
        else:
            result = await self._inner.answer(call, declared, real)
        response = exchange(result.response, self._changes.values)
        return result if response == result.response else _with_response(result, response)


def _with_response(result: ToolResult, response: Json) -> ToolResult:
    return ToolResult(result.name, response, result.id, injected=result.injected, is_error=result.is_error)


def call_key(name: str, args: Json) -> str:
    """Return a text that is equal for calls of the same tool with the same arguments."""
    return compact([name, args])


def exchange(value: Json, values: Sequence[tuple[str, str]]) -> Json:
    """Return a value in which texts are exchanged at all depths. A number that becomes a number stays one."""
    if isinstance(value, dict):
        return {key: exchange(member, values) for key, member in value.items()}
    if isinstance(value, list):
        return [exchange(member, values) for member in value]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    text = value if isinstance(value, str) else compact(value)
    for before, after in values:
        text = re.sub(rf"(?<!\w){re.escape(before)}(?!\w)", after.replace("\\", r"\\"), text)
    return text if isinstance(value, str) else _number(text, value)


def _number(text: str, value: float) -> Json:
    try:
        number = float(text)
    except ValueError:
        return value
    return int(number) if number.is_integer() and isinstance(value, int) else number


@dataclass(frozen=True)
class RepeatedUsers:
    """Users that send the messages of another attempt again, whatever the agent replies."""

    messages: Mapping[str, Sequence[str]]

    def __call__(self, case: EvalCase, attempt: int) -> RepeatedUser:  # noqa: ARG002
        """Return the user of one conversation."""
        return RepeatedUser(self.messages[case.id])


class RepeatedUser:
    """The user of one conversation."""

    def __init__(self, messages: Sequence[str]) -> None:
        self._messages = messages

    async def next_message(self, so_far: Trace) -> str | None:
        """Return the message with the number of the turn. None ends the conversation."""
        number = len(so_far.invocations)
        return self._messages[number] if number < len(self._messages) else None
