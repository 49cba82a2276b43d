"""Options for the conversion of spans into conversations."""

from __future__ import annotations

from typing import Literal

from fairtrial.records.record import Record

Join = Literal["id", "history", "none"]
Branches = Literal["last", "all"]


class TraceOptions(Record, frozen=True):
    """The choices of the user for recordings of other tools.

    `join`: "history" joins traces by their conversation id, or else by their history, "id" only by their id, and "none"
    makes each trace a conversation. `conversation` is the attribute that names the conversation. `nested` puts the
    steps of an agent as a tool into the invocation. `branches`: "last" reads the branch of a session that its last line
    belongs to, and "all" makes each branch a recording. `tool_names` names the argument that holds the name of the real
    tool behind a tool that only passes calls on, for example `{"exec": "command.0"}`.
    """

    join: Join = "history"
    conversation: str = ""
    nested: bool = False
    branches: Branches = "last"
    tool_names: dict[str, str] = {}


DEFAULTS = TraceOptions()
