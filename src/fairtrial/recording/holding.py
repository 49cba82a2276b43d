"""Options of conversations: processes, order, pace and time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fairtrial.errors import UsageError, nearest, spell

_WORDS = ("process", "case", "folder")
_NUMBERS = ("requests_per_second", "conversation_timeout")


@dataclass(frozen=True)
class Holding:
    """Options of the conversations of a run: their processes, order, pace and time.

    With `isolation` "process", each conversation has a fresh process. With "case", each case has one for all of its
    attempts. With "folder", for example "case,folder", the process also has an empty working directory and an empty
    `HOME`, and the recording holds the files that the agent wrote.

    `shuffle` is a seed. Each attempt at all cases then has a process and an order of its own, and the run names the
    cases whose result depends on the order.

    At most `requests_per_second` messages go to the agent in a second, over all conversations. A refusal of one
    conversation, for example the status 429, stops all of them for as long as the server asks.

    `conversation_timeout` is the longest time, in seconds, that an agent may take for all replies of a conversation.
    """

    isolation: str = ""
    shuffle: int | None = None
    requests_per_second: float | None = None
    conversation_timeout: float | None = None

    def __post_init__(self) -> None:
        """Raise UsageError if a value is out of range, or if two values exclude each other."""
        name = spell("isolation")
        if not isinstance(self.isolation, str):
            raise UsageError(f"{name} must be a text such as 'process' or 'case,folder', got {self.isolation!r}")
        for word in self._words:
            if word not in _WORDS:
                raise UsageError(
                    f"{name} must be made of {', '.join(_WORDS)}; got {word!r}{nearest(word, _WORDS)}",
                    code="unknown-name",
                )
        if self.shuffle is not None and type(self.shuffle) is not int:
            raise UsageError(f"{spell('shuffle')} must be a whole number, got {self.shuffle!r}")
        if self.shuffle is not None and self._words & {"process", "case"}:
            raise UsageError(
                f"{spell('shuffle')} needs cases that share a process; leave {name} {self.isolation} out",
                code="options-conflict",
            )
        for option in _NUMBERS:
            number = getattr(self, option)
            if number is not None and (isinstance(number, bool) or not isinstance(number, int | float) or number <= 0):
                raise UsageError(f"{spell(option)} must be a number above 0, or None, got {number!r}")

    @property
    def _words(self) -> set[str]:
        return {word.strip() for word in self.isolation.split(",") if word.strip()}

    @property
    def has_processes(self) -> bool:
        """Whether agents run in processes of their own."""
        return bool(self._words) or self.shuffle is not None

    @property
    def has_folders(self) -> bool:
        """Whether each process has a working directory and a home of its own."""
        return "folder" in self._words

    def key(self, position: int, attempt: int) -> tuple[int, int]:
        """Return the name of the process that holds an attempt at a case."""
        if self.shuffle is not None:
            return (0, attempt)
        return (position, 0) if "case" in self._words else (position, attempt)

    @property
    def arguments(self) -> dict[str, Any]:
        """The values that are not the default, for the manifest of a run."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}


DIRECT = Holding()
