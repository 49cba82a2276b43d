"""What does a `user_simulator_config` ask for? Who plays the users, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Literal

from fairtrial.config.wording import shown
from fairtrial.errors import collecting
from fairtrial.formats.reading import Place
from fairtrial.llm.model import DEFAULT_MODEL
from fairtrial.records.record import Json, Record
from fairtrial.simulate.instructions import validated
from fairtrial.simulate.option_reading import Inner, Options, settings

KEY = "user_simulator_config"
STOP_SIGNAL = "</finished>"
NO_SPEECH = "simulated users that speak (llm_audio) are not built yet; allowed: llm_backed"
_AT: Place = ((), KEY)


class UserOptions(Record, frozen=True):
    """`user_simulator_config`: who plays the users, and for how long.

    `max_allowed_invocations` counts the starting prompt; -1 is no limit. `custom_instructions` is a Jinja template that
    takes the place of ours. Of a simulator that speaks (`llm_audio`) the other options are not read: it is not built.
    """

    type: Literal["llm_backed", "llm_audio"] = "llm_backed"
    model: str = DEFAULT_MODEL
    model_configuration: dict[str, Json] = {}
    max_allowed_invocations: int = 20
    custom_instructions: str | None = None
    include_function_calls: bool = False
    stop_signal: str = STOP_SIGNAL

    @property
    def cap(self) -> int | None:
        """The most invocations of a conversation; None is no limit."""
        return None if self.max_allowed_invocations < 0 else self.max_allowed_invocations


def user_options(raw: Mapping[str, Json], *, lenient: bool = False) -> tuple[UserOptions, list[str]]:
    """Return the options in a `user_simulator_config`, in snake_case or camelCase, and warnings.

    Raises ConfigError that lists every problem: unknown keys (warnings where `lenient`), wrong values, instructions
    that lack a placeholder.
    """
    if raw.get("type") == "llm_audio":
        return UserOptions(type="llm_audio"), [f"/{KEY}/type: {NO_SPEECH}"]
    reading = Options(_INNER, lenient=lenient)
    return reading.read_whole(raw, UserOptions, _AT, _check), reading.warnings


def _check(options: UserOptions, reading: Options) -> None:
    """Note what the types cannot tell."""
    if options.max_allowed_invocations < -1:
        reading.wrong((_AT, "max_allowed_invocations"), f"must be -1 or more, got {options.max_allowed_invocations}")
    if not options.stop_signal.strip():
        reading.wrong((_AT, "stop_signal"), "must not be blank")
    # Without Jinja nobody is simulated, but what was recorded can be scored.
    if options.custom_instructions is not None and find_spec("jinja2"):
        with collecting(reading.problems):
            validated(options.custom_instructions, persona=False)


def _type(reading: Options, raw: Any, at: Place) -> Any:
    if raw != "llm_backed":
        reading.wrong(at, f"must be llm_backed, got {shown(raw)}")
    return raw


_INNER: Inner = {"type": _type, "model_configuration": settings}
