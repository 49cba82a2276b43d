"""What would a tool answer that is not there? A language model plays it, from its declaration and what came before."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from fairtrial.errors import SimulatedToolError
from fairtrial.llm.prompts import render
from fairtrial.llm.structured import read_json
from fairtrial.protocols import Model
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.record import Json
from fairtrial.records.trace import ToolCall
from fairtrial.text.display import compact, shortened

TEMPLATE = "simulated_tool"
_ASKS = 2
_LONGEST = 10_000
"""Characters of an earlier answer that are shown."""


class PlayedCall(NamedTuple):
    """A call of this conversation, and what was answered."""

    call: ToolCall
    response: Json


class Player:
    """A language model in place of the tools of one conversation; `spent` is what that took so far.

    `data` is what their world holds, `tracing` how they answered before.
    """

    def __init__(self, model: Model, data: Json = None, tracing: Json = None) -> None:
        self.spent = ModelUsage()
        self._model = model
        self._data = data
        self._tracing = tracing

    async def answer(self, call: ToolCall, declared: dict[str, Json], earlier: list[PlayedCall], *, draw: str) -> Json:
        """Answer a call; what was answered `earlier` in the conversation stays true.

        `draw` tells the call from all others of the run. A reply that is no JSON is asked for once more; raises
        SimulatedToolError where the second is none either.
        """
        texts = {
            "declaration": compact(declared),
            "data": _text(self._data),
            "tracing": _text(self._tracing),
            "earlier": "\n".join(_line(one) for one in earlier),
            "call": compact({"tool": call.name, "args": call.args}),
        }
        shown: dict[str, Json] = {name: bool(texts[name]) for name in ("data", "tracing", "earlier")}
        prompt = replace(render(TEMPLATE, texts, schema=None, **shown), draw=draw)
        problem = ""
        for ask in range(1, _ASKS + 1):
            reply = await self._model(replace(prompt, ask=ask))
            self.spent += ModelUsage(1, reply.input_tokens, reply.output_tokens, reply.cost)
            try:
                return read_json(reply.text)
            except ValueError as error:
                problem = f"{error}: {shortened(reply.text, 200)}"
        raise SimulatedToolError(f"the model that plays {call.name!r} answered no JSON: {problem}")


def _text(material: Json) -> str:
    if material is None or isinstance(material, str):
        return material or ""
    return compact(material)


def _line(one: PlayedCall) -> str:
    call = compact({"tool": one.call.name, "args": one.call.args})
    return f"{call} answered {shortened(compact(one.response), _LONGEST)}"
