"""One question to a language model, and its answer."""

from __future__ import annotations

from fairtrial.records.record import Json, Record


class Prompt(Record, frozen=True):
    """One question to a model.

    `id` and `version` name the template it was made from. `schema` is the JSON schema of the answer; None asks for
    plain text. `draw` tells repeated questions apart (the vote's number, or where in a conversation the call stands);
    `ask` is 2 where the first reply could not be read.
    """

    id: str
    version: str
    text: str
    system: str = ""
    schema: dict[str, Json] | None = None
    draw: str = "1"
    ask: int = 1


class Reply(Record, frozen=True):
    """What a model answered: its text as it came, and what that took.

    `model` is the name that the provider says served the call; `cost` is in US dollars, None where the price is
    unknown; `attempts` counts the requests until this reply; `stop` says why it ended where it is not by itself.
    """

    text: str
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    seconds: float = 0.0
    attempts: int = 1
    stop: str = ""
