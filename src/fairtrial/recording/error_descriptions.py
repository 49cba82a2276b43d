"""Describe exceptions, and attribute them to a side: agent, simulator, environment, infrastructure or expectation."""

from __future__ import annotations

import asyncio
import itertools
import os
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fairtrial.agents.outages import find_outage
from fairtrial.errors import (
    AgentError,
    CaseError,
    FairtrialError,
    SimulatedToolError,
    SimulatorError,
    UnfitCaseError,
    UsageError,
)
from fairtrial.system.importing import user_line
from fairtrial.text.display import describe_error, shorten

if TYPE_CHECKING:
    from fairtrial.records.attempt import Failure, Side

_OWN_FOLDERS = (f"{Path(__file__).parents[1]}{os.sep}", f"{Path(asyncio.__file__).parents[1]}{os.sep}")
"""This package, and the standard library."""
_CALLERS = ("function.py", "calling.py", "factories.py")
"""Modules that call functions of the user directly."""
_LONGEST_TRACEBACK = 20_000
_MOST_ERRORS = 1_000
"""The most errors of a group that are searched, or shown in a traceback."""
SIDES: dict[type[BaseException], Side] = {
    SimulatorError: "simulator",
    SimulatedToolError: "environment",
    UnfitCaseError: "expectation",
}
"""The sides that are responsible for some exceptions."""


class ReportedError(Exception):
    """An error that an agent raised in another process, as that process describes it."""

    status_code: int | None = None
    response: object = None

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.cause)
        self.failure = failure


_OWN_ERRORS = (FairtrialError, ReportedError, KeyboardInterrupt)
"""Errors whose class says what to do. An interruption ends the run."""


def unwrap_group(error: BaseException) -> BaseException:
    """Return the first error of this package in a group of errors, or the group if it holds none.

    A task group puts each error into a group, also those of a block that it surrounds. For example, the session of an
    MCP server is such a block, so that a reply which is too late arrives in a group. A group of other errors stays
    whole, because its message and its class are of the agent: a case can expect them.
    """
    links = itertools.islice(_walk_group(error), _MOST_ERRORS)
    return next((link for link in links if isinstance(link, _OWN_ERRORS)), error)


def _walk_group(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, and the errors in its group at any depth, each once."""
    waiting, seen = [error], set[int]()
    while waiting:
        link = waiting.pop()
        yield link
        if isinstance(link, BaseExceptionGroup):
            waiting += (inner for inner in reversed(link.exceptions) if id(inner) not in seen)
            seen.update(map(id, link.exceptions))


def _has_many_links(error: BaseException) -> bool:
    """Whether a traceback shows more than 1,000 errors: causes, and those of groups as often as held."""
    waiting, links = [error], 0
    while waiting and links <= _MOST_ERRORS:
        link = waiting.pop()
        links += 1
        cause = link.__context__ if link.__cause__ is None and not link.__suppress_context__ else link.__cause__
        waiting += [] if cause is None else [cause]
        waiting += link.exceptions if isinstance(link, BaseExceptionGroup) else ()
    return links > _MOST_ERRORS


def find_side(error: BaseException) -> Side:
    """Return the side that is responsible for an exception.

    That is the infrastructure if a server did not answer, if code of this package failed by mistake, or if an adapter
    does not give what the agent needs, for example a result from elsewhere.
    """
    if type(error) in SIDES:
        return SIDES[type(error)]
    if isinstance(error, ReportedError):
        return error.failure.side
    is_agent = find_outage(error) is None and not _own_frame(error) and not _is_unknown_need(error)
    return "agent" if is_agent else "infrastructure"


def _is_unknown_need(error: BaseException) -> bool:
    """Whether an adapter says that an agent needs something that the adapter does not give."""
    return isinstance(error, UsageError) and error.code == "unusable-agent"


def find_cause(error: BaseException) -> str:
    """Return the message of an exception of ours, or the description of any other."""
    if isinstance(error, AgentError | ReportedError) or type(error) in SIDES or _is_unknown_need(error):
        return str(error)
    return shorten(describe_error(error), 2000)


def find_place(error: BaseException) -> str:
    """Return the line of the user's code that raised an exception, in brackets, or the line of ours."""
    if isinstance(error, CaseError | ReportedError) or _is_unknown_need(error) or find_outage(error) is not None:
        return ""
    if own := _own_frame(error):
        return f" (a defect of fairtrial, or a version of a framework that it does not know: {own})"
    places = [line] if (line := user_line(error)) else []
    hidden = None if error.__suppress_context__ else error.__context__
    if hidden is not None and find_outage(hidden) is not None:
        places.append(f"raised while handling {shorten(describe_error(hidden), 400)}")
    return f" ({'; '.join(places)})" if places else ""


def _own_frame(error: BaseException) -> str:
    """Return the file and the line of this package that raised an exception by mistake, or an empty text.

    A function in C has no frame. If the user's agent is one, the frame that calls it is not a mistake.
    """
    frames = traceback.extract_tb(error.__traceback__)
    if (
        isinstance(error, FairtrialError | MemoryError | RecursionError)
        or not isinstance(error, Exception)
        or not frames
    ):
        return ""
    package = _OWN_FOLDERS[0]
    file = frames[-1].filename
    if not file.startswith(package) or Path(file).name in _CALLERS:
        return ""
    return f"{file.removeprefix(package)}, line {frames[-1].lineno}"


def shorten_traceback(error: BaseException) -> str:
    """Return the traceback of an error from the first frame of the user's code, or of the user's framework."""
    if isinstance(error, ReportedError):
        return error.failure.traceback
    first = error.__traceback__
    while first is not None and _is_own(first.tb_frame.f_code.co_filename):
        first = first.tb_next
    place = first or error.__traceback__
    if _has_many_links(error):
        lines = [*traceback.format_tb(place), describe_error(error)]  # Python would take seconds for all of them
    else:
        lines = traceback.format_exception(type(error), error, place)
    text = "".join(lines).encode("utf-8", "replace").decode()
    return text if len(text) <= _LONGEST_TRACEBACK else f"…{text[-_LONGEST_TRACEBACK:]}"


def _is_own(filename: str) -> bool:
    """Whether a file belongs to this package or to Python, rather than to the user or to an installed package."""
    package, library = _OWN_FOLDERS
    return filename.startswith(package) or (filename.startswith(library) and "site-packages" not in filename)
