"""The options in `user_simulator_config`: the user's model, and the limit of invocations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Annotated, Any, Literal

from msgspec import Meta

from fairtrial.config.option import NOT_BLANK, Keys, Prepared
from fairtrial.config.reader import OptionReader, Problem
from fairtrial.errors import ConfigError
from fairtrial.llm.endpoint_options import EndpointOptions
from fairtrial.llm.model import DEFAULT_MODEL
from fairtrial.llm.model_settings import ModelSettings
from fairtrial.records.record import Json

KEY = "user_simulator_config"
STOP_SIGNAL = "</finished>"
NO_SPEECH = "simulated users that speak (llm_audio) are not built yet; allowed: llm_backed"


def _type(raw: Any) -> Any:
    """ADK writes null for the type of older files."""
    return "llm_backed" if raw is None else raw


class UserOptions(EndpointOptions, frozen=True):
    """`user_simulator_config`: who plays the users, and for how long."""

    type: Annotated[
        Literal["llm_backed", "llm_audio"],
        Prepared(_type),
        Meta(description="`llm_audio` (users that speak) is not built yet. Its other options are not read"),
    ] = "llm_backed"
    model: Annotated[str, Meta(description="the model that plays the users")] = DEFAULT_MODEL
    model_configuration: Annotated[
        dict[str, Json], Keys(ModelSettings), Meta(description="the settings of the model")
    ] = {}
    max_allowed_invocations: Annotated[
        int, Meta(ge=-1, description="the most messages of a user, the starting prompt included. -1 is no limit")
    ] = 20
    custom_instructions: Annotated[
        str | None, Meta(description="a Jinja template in place of the built-in instructions")
    ] = None
    include_function_calls: Annotated[bool, Meta(description="whether the user sees tool calls and results")] = False
    stop_signal: Annotated[
        str,
        Meta(
            pattern=NOT_BLANK,
            description="the text that ends the conversation, in upper or lower case, anywhere in the message",
        ),
    ] = STOP_SIGNAL

    @property
    def cap(self) -> int | None:
        """The most invocations of a conversation. None means that there is not a limit."""
        return None if self.max_allowed_invocations < 0 else self.max_allowed_invocations

    def conflicts(self) -> Iterator[Problem]:
        """Yield the problems of the endpoint, and the problem of the template, if it has one."""
        yield from super().conflicts()
        # Without Jinja no user can be simulated, but recordings can be scored.
        if self.custom_instructions is not None and find_spec("jinja2"):
            from fairtrial.simulate.instructions import validate  # needs Jinja

            try:
                validate(self.custom_instructions, persona=False)
            except ConfigError as error:
                yield "custom_instructions", str(error)


def user_options(raw: Json, *, pointer: str = f"/{KEY}", lenient: bool = False) -> tuple[UserOptions, list[str]]:
    """Return the options in a `user_simulator_config`, and warnings. Raises ConfigError that lists every problem."""
    if isinstance(raw, Mapping) and raw.get("type") == "llm_audio":
        return UserOptions(type="llm_audio"), [f"{pointer}/type: {NO_SPEECH}"]
    reader = OptionReader(lenient=lenient)
    return reader.read_whole(raw, UserOptions, pointer), reader.warnings
