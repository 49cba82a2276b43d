"""A language model that plays a tool, from the declaration of the tool and its earlier answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from fairtrial.errors import SimulatedToolError
from fairtrial.llm.prompts import Templates
from fairtrial.llm.structured import read_json
from fairtrial.records.model_usage import ModelUsage
from fairtrial.text.display import compact, shorten
from fairtrial.text.language import detect_language

if TYPE_CHECKING:
    from fairtrial.protocols import Model
    from fairtrial.records.record import Json
    from fairtrial.records.trace import ToolCall

TEMPLATES, TEMPLATE = Templates("fairtrial.simulate"), "simulated_tool"
_ATTEMPTS = 2
_LONGEST = 10_000
"""The number of characters of an earlier answer in the prompt."""


class PlayedCall(NamedTuple):
    """A call of this conversation with its answer."""

    call: ToolCall
    response: Json


class Player:
    """A language model in place of the tools of one conversation. `model_usage` is its usage so far.

    `data` describes the world of the tools. `tracing` holds earlier answers of the tools.
    """

    def __init__(self, model: Model, data: Json = None, tracing: Json = None) -> None:
        self.model_usage = ModelUsage()
        self._model = model
        self._data = data
        self._tracing = tracing

    async def answer(self, call: ToolCall, declared: dict[str, Json], earlier: list[PlayedCall], *, draw: str) -> Json:
        """Answer a call, in agreement with the `earlier` answers of the conversation.

        `draw` distinguishes the call from all other calls of the run. If the reply is not JSON, the model is called
        once more. Raises SimulatedToolError if the second reply is not JSON either.
        """
        texts = {
            "declaration": compact(declared),
            "data": _text(self._data),
            "tracing": _text(self._tracing),
            "earlier": "\n".join(_line(played_call) for played_call in earlier),
            "call": compact({"tool": call.name, "args": call.args}),
        }
        present: dict[str, Json] = {name: bool(texts[name]) for name in ("data", "tracing", "earlier")}
        prompt = replace(
            TEMPLATES.render(TEMPLATE, texts, language=detect_language("".join(texts.values())), **present), draw=draw
        )
        problem = ""
        for ask in range(1, _ATTEMPTS + 1):
            reply = await self._model(replace(prompt, ask=ask))
            self.model_usage += ModelUsage(1, reply.input_tokens, reply.output_tokens, reply.cost)
            try:
                return read_json(reply.text)
            except ValueError as error:
                problem = f"{error}: {shorten(reply.text, 200)}"
        raise SimulatedToolError(f"the model that plays {call.name!r} did not answer with JSON: {problem}")


def _text(material: Json) -> str:
    if material is None or isinstance(material, str):
        return material or ""
    return compact(material)


def _line(played_call: PlayedCall) -> str:
    call = compact({"tool": played_call.call.name, "args": played_call.call.args})
    return f"{call} answered {shorten(compact(played_call.response), _LONGEST)}"
