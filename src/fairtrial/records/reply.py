"""One question to a language model, and its answer."""

from __future__ import annotations

from fairtrial.records.record import Json, Record
from fairtrial.records.trace import Part


class Prompt(Record, frozen=True):
    """One question to a model.

    `id` and `version` name its template. `schema` is the JSON schema of the answer, or None for plain text. `draw`
    distinguishes repetitions of a question, for example by the number of the vote. `ask` is 2 if the first reply could
    not be parsed and the question is repeated. `pictures` are images and sounds that the text numbers from 1.
    A model that refuses them gets the text alone, with a sentence that says so.
    """

    id: str
    version: str
    text: str
    system: str = ""
    schema: dict[str, Json] | None = None
    draw: str = "1"
    ask: int = 1
    pictures: tuple[Part, ...] = ()


class Reply(Record, frozen=True):
    """The reply of a model: its unchanged text, and its usage.

    `model` is the name of the model according to the provider. `cost` is in US dollars, or None if the price is
    unknown. `attempts` counts the requests until this reply. `stop` is the reason why a reply ended early, for example
    the limit of tokens. An explanation may follow it, after a colon.
    """

    text: str
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    seconds: float = 0.0
    attempts: int = 1
    stop: str = ""

    @property
    def interruption(self) -> str:
        """Why the reply ended early, in words, or an empty text."""
        kind, colon, explanation = self.stop.partition(": ")
        if kind in _INTERRUPTIONS:
            return f"{_INTERRUPTIONS[kind]}{colon}{explanation}"
        return f"the reply was stopped by: {self.stop}" if self.stop else ""


_INTERRUPTIONS = {
    "length": "the reply was cut off at the limit of tokens",
    "content_filter": "the reply was stopped by the provider's content filter",
    "refusal": "the model refused to answer",
    "thoughts": "the reply holds thoughts and no answer",
    "tool_call": "the reply is a function call instead of an answer",
}
