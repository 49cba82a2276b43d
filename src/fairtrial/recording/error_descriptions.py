"""Whose fault is an exception, and how is it described?"""

from __future__ import annotations

import asyncio
import os
import traceback
from pathlib import Path

from fairtrial.agents.outages import outage_of
from fairtrial.errors import AgentError, SimulatedToolError, SimulatorError
from fairtrial.records.attempt import Side
from fairtrial.text.display import described, shortened

_OWN_FOLDERS = (f"{Path(__file__).parents[1]}{os.sep}", f"{Path(asyncio.__file__).parents[1]}{os.sep}")
"""This package, and the standard library."""
_LONGEST_TRACEBACK = 20_000
SIDES: dict[type[BaseException], Side] = {SimulatorError: "simulator", SimulatedToolError: "environment"}
"""The sides that are responsible for some exceptions."""


def side_of(error: BaseException) -> Side:
    """Return the side that is responsible for an exception: the infrastructure, if a server did not answer."""
    return SIDES.get(type(error)) or ("agent" if outage_of(error) is None else "infrastructure")


def cause_of(error: BaseException) -> str:
    """Return the message of an exception of ours, or the description of any other."""
    if isinstance(error, AgentError | SimulatorError | SimulatedToolError):
        return str(error)
    return shortened(described(error), 2000)


def traceback_of(error: BaseException) -> str:
    """Return the traceback of an error from the first frame of the user's code, or of the user's framework."""
    first = error.__traceback__
    while first is not None and _is_own(first.tb_frame.f_code.co_filename):
        first = first.tb_next
    lines = traceback.format_exception(type(error), error, first or error.__traceback__)
    text = "".join(lines).encode("utf-8", "replace").decode()
    return text if len(text) <= _LONGEST_TRACEBACK else f"…{text[-_LONGEST_TRACEBACK:]}"


def _is_own(filename: str) -> bool:
    """Whether a file belongs to this package or to Python, rather than to the user or to an installed package."""
    package, library = _OWN_FOLDERS
    return filename.startswith(package) or (filename.startswith(library) and "site-packages" not in filename)
