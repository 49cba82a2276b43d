"""The tools of a simulated user. The user's model calls them in its text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from fairtrial.errors import SimulatorError
from fairtrial.protocols import OffersUserTools
from fairtrial.records.trace import ToolCall
from fairtrial.text.display import compact, shorten

_MARK = "CALL"
_LONGEST = 10_000
"""The number of characters of an answer in the prompt."""
MOST_CALLS = 20
"""The most calls of a user before a message."""


class UserTools:
    """The tools of one simulated user. `environment` answers the calls."""

    def __init__(self, environment: OffersUserTools) -> None:
        self._environment = environment
        self._lines: defaultdict[int, list[str]] = defaultdict(list)

    @property
    def declarations(self) -> str:
        """The declarations of the tools, one a line."""
        return "\n".join(compact(declared) for declared in self._environment.user_tools)

    @property
    def lines(self) -> Mapping[int, Sequence[str]]:
        """The calls and their answers, by the number of the user's message (from 0) that they came before."""
        return self._lines

    def use(self, text: str, turn: int) -> bool:
        """Make the call in a text of the user's model, and return whether the text is one.

        Raises SimulatorError if the text begins like a call and cannot be read, or after too many calls in a turn.
        """
        if not text.startswith(_MARK):
            return False
        if len(self._lines[turn]) >= MOST_CALLS:
            raise SimulatorError(f"the simulated user called {MOST_CALLS} tools without a message")
        call = _call_in(text.removeprefix(_MARK).strip())
        answer = shorten(compact(self._environment.answer_user(call)), _LONGEST)
        self._lines[turn].append(f"your tool {call.name} with {compact(call.args)} answered {answer}")
        return True


def _call_in(text: str) -> ToolCall:
    try:
        raw = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        raw = None
    args = raw.get("args", {}) if isinstance(raw, dict) else None
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str) or not isinstance(args, dict):
        raise SimulatorError(f"the simulated user made a call that cannot be read: {shorten(text, 200)}")
    return ToolCall(raw["name"], args)
