"""The frames between a run and the process of an agent: JSON behind its length in four bytes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import msgspec

from fairtrial.records.attempt import Failure
from fairtrial.records.case import EvalCase
from fairtrial.records.decoding import json_decoder
from fairtrial.records.record import Json, Record
from fairtrial.records.trace import About, Durations, Event, Invocation, Part, Step, ToolCall, Usage

if TYPE_CHECKING:
    from fairtrial.protocols import Item

LENGTH = struct.Struct(">I")
"""The length of a frame, in front of it."""


class OpenSession(Record, frozen=True, tag_field="frame", tag="open"):
    """Open a session with a case. `has_environment` says whether an environment answers the calls of its tools."""

    session: int
    case: EvalCase
    has_environment: bool


class SendMessage(Record, frozen=True, tag_field="frame", tag="send"):
    """Send a message of the user."""

    session: int
    text: str
    parts: tuple[Part, ...] = ()


class TakeTurns(Record, frozen=True, tag_field="frame", tag="turns"):
    """Go on behind the turns of an earlier session."""

    session: int
    invocations: tuple[Invocation, ...]
    final_state: dict[str, Json] | None = None


class CloseSession(Record, frozen=True, tag_field="frame", tag="close"):
    """Close a session."""

    session: int


class CallTool(Record, frozen=True, tag_field="frame", tag="call"):
    """Call the tool itself, for the environment."""

    session: int
    ask: int


class ToolAnswered(Record, frozen=True, tag_field="frame", tag="answered"):
    """The answer of the environment.

    If `is_own`, it is the value or the error of the tool. `problem` is the failure of the environment.
    """

    session: int
    ask: int
    response: Json = None
    is_error: bool = False
    is_own: bool = False
    problem: str = ""


class FailedModel(Record, frozen=True):
    """The first request to a model that failed, whether the agent hides it or not. See `FailedRequests`."""

    url: str
    cause: str
    status: int | None
    is_latest: bool


class RequestEnd(Record, frozen=True, tag_field="frame", tag="done"):
    """A request of a session is done. `resumes` says whether the session can go on behind earlier turns.

    `incomplete` and `hides_calls` are what the session knows of calls that its items do not hold.
    """

    session: int
    about: About | None = None
    incomplete: str = ""
    resumes: bool = False
    hides_calls: bool = False
    failed_model: FailedModel | None = None


class RequestFailure(Record, frozen=True, tag_field="frame", tag="broken"):
    """A request of a session failed.

    `kind` is `usage`, `environment`, `agent` or `other`. If `is_outage`, a server with the `status`, or none, answered,
    and asks to wait for `after` seconds.
    """

    session: int
    kind: str
    failure: Failure
    is_outage: bool = False
    status: int | None = None
    after: float | None = None
    failed_model: FailedModel | None = None


class SentItem(Record, frozen=True, tag_field="frame", tag="item"):
    """An item of a session: exactly one of the fields."""

    session: int
    step: Step | None = None
    usage: Usage | None = None
    event: Event | None = None
    durations: Durations | None = None

    @property
    def item(self) -> Item:
        """The item."""
        item = self.step or self.usage or self.event or self.durations
        assert item is not None  # noqa: S101  (`make_frame` fills one of them)
        return item


class ToolAsked(Record, frozen=True, tag_field="frame", tag="question"):
    """The agent calls a tool, and the environment has to answer."""

    session: int
    ask: int
    call: ToolCall
    declared: dict[str, Json]


class ToolReturned(Record, frozen=True, tag_field="frame", tag="reports"):
    """The tool itself reports a value, or raised an error, whose description is in `problem`."""

    session: int
    ask: int
    value: Json = None
    problem: str | None = None


class EndedByTool(Record, frozen=True, tag_field="frame", tag="ended"):
    """The environment does not reach a tool of the agent, so that the conversation ends."""

    session: int
    problem: str


Request = OpenSession | SendMessage | TakeTurns | CloseSession | CallTool | ToolAnswered
Report = RequestEnd | RequestFailure | SentItem | ToolAsked | ToolReturned | EndedByTool


def make_frame(session: int, item: Item) -> SentItem:
    """Return the frame of an item."""
    if isinstance(item, Usage):
        return SentItem(session, usage=item)
    if isinstance(item, Event):
        return SentItem(session, event=item)
    if isinstance(item, Durations):
        return SentItem(session, durations=item)
    return SentItem(session, step=item)


def pack(frame: Request | Report) -> bytes:
    """Return a frame as bytes."""
    data = msgspec.json.encode(frame)
    return LENGTH.pack(len(data)) + data


def read_request(data: bytes) -> Request:
    """Return the request in the bytes behind a length."""
    request: Request = json_decoder(Request).decode(data)  # type: ignore[arg-type]
    return request


def read_report(data: bytes) -> Report:
    """Return the report in the bytes behind a length."""
    report: Report = json_decoder(Report).decode(data)  # type: ignore[arg-type]
    return report
