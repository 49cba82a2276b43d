"""Restarts of conversations, after a transient status or in a resumed run, and replies of agents without a model."""

from __future__ import annotations

import asyncio

from fairtrial.agents.outages import find_outage
from fairtrial.text.display import count, describe_error, shorten

_TRIES = 4
_PAUSE = 1.0
"""Seconds before the second try. The pause doubles each time, unless the server asks for another pause."""
_LONGEST_PAUSE = 60.0
"""The longest pause, in seconds, that a server may ask for."""


class Restarts:
    """Counts the conversations of a run that began again, and the replies after a failed request to a model."""

    def __init__(self) -> None:
        self._conversations = 0
        self._resumed = 0
        self._replies = 0
        self._failed = ""
        self._example = ""

    def describe(self) -> list[str]:
        """Return a note about the conversations that began again, for each cause of a restart."""
        notes = []
        if self._conversations:
            notes.append(
                f"{count(self._conversations, 'conversation')} began again, because the first call failed with a "
                f"status that may pass, for example {self._example!r}; a first call is tried {_TRIES} times at most"
            )
        if self._resumed:
            notes.append(
                f"{count(self._resumed, 'conversation')} began again at the first message, because the agent, the user "
                "or the environment cannot go on behind the turns of the interrupted run"
            )
        if self._replies:
            notes.append(
                f"{count(self._replies, 'message')} had an answer although {self._failed}; if its attempt failed, "
                "the outage may be the cause, and not the agent"
            )
        return notes

    def add(self, error: BaseException) -> None:
        """Count a conversation that begins again for the first time."""
        self._conversations += 1
        self._example = self._example or shorten(describe_error(error), 200)

    def add_reply(self, failed: str) -> None:
        """Count a reply of an agent whose request to a model failed, as these words say."""
        self._replies += 1
        self._failed = self._failed or failed

    def add_resumed(self) -> None:
        """Count a conversation of a resumed run that does not go on behind its stored turns."""
        self._resumed += 1


class FirstCall:
    """The tries of the first call of one conversation."""

    def __init__(self, restarts: Restarts) -> None:
        self._restarts = restarts
        self._failures = 0

    @property
    def tries(self) -> str:
        """The number of tries as a remark about the failure. It is empty if there was only one try."""
        return f" (tried {self._failures} times)" if self._failures > 1 else ""

    async def wait_for_next_try(self, error: Exception) -> bool:
        """Return whether the call is tried again after this failure. If it is, wait until then."""
        outage = find_outage(error)
        if outage is None or not outage.is_retryable:
            return False
        self._failures += 1
        pause = _PAUSE * 2 ** (self._failures - 1) if outage.after is None else outage.after
        if self._failures >= _TRIES or pause > _LONGEST_PAUSE:
            return False
        if self._failures == 1:
            self._restarts.add(error)
        await asyncio.sleep(pause)
        return True
