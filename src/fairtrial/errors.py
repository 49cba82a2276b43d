"""What can go wrong, and who can do something about it.

FairtrialError
    UsageError          before anything runs: the user's input, found out at once
        FormatError     a file that cannot be read: path, place, problem
        ConfigError     a configuration that cannot be used: place, problem
    CaseError           of one case: becomes a Failure or an unscored Score; the run goes on
        AgentError          the agent raised, hung or returned something that is no reply
        SimulatorError      the simulated user could not say its next message
        SimulatedToolError  the simulated environment could not answer a tool call
        MetricError         a metric raised or returned something that is no score
        JudgeError          a judge could not be asked, or could not be read
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager


class FairtrialError(Exception):
    """Anything that this package raises on purpose."""


class UsageError(FairtrialError):
    """Something that the user gave cannot be used; nothing has run."""


class FormatError(UsageError):
    """A file cannot be read.

    `problems` holds every problem found, one line each, with its place (a JSON pointer, or line and column).
    """

    def __init__(self, path: str, problems: Sequence[str]) -> None:
        self.path = path
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{path}: {problem}" for problem in problems))


class ConfigError(UsageError):
    """A configuration cannot be used. `problems` holds each problem, behind its JSON pointer where there is one."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Every problem that was found."""
        return tuple(map(str, self.args))

    def __str__(self) -> str:
        return "\n".join(self.problems)


@contextmanager
def collecting(problems: list[str]) -> Iterator[None]:
    """Append what a ConfigError says to a list, so that what comes next is checked too."""
    try:
        yield
    except ConfigError as error:
        problems += error.problems


class CaseError(FairtrialError):
    """One case went wrong; the run goes on."""


class AgentError(CaseError):
    """The agent raised, hung or returned something that is no reply."""


class SimulatorError(CaseError):
    """The simulated user could not say its next message."""


class SimulatedToolError(CaseError):
    """The simulated environment could not answer a tool call."""


class MetricError(CaseError):
    """A metric raised or returned something that is no score."""


class JudgeError(CaseError):
    """A judge could not be asked, or its answer could not be read."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'X'?` for the known name closest to a misspelt one, or an empty string."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.7)
    return f"; did you mean {close[0]!r}?" if close else ""


def lacks_extra(what: str, extra: str) -> str:
    """Return that something cannot be had without an extra, and how to install it."""
    return f"{what} needs the extra {extra!r}: pip install 'fairtrial[{extra}]'"
