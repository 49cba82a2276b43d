"""Compare the parts of a session with the events, results and totals beside them, which hold the same again.

A part that stands only there shows that the session was not read in full.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairtrial.formats.accounting import trace_texts

if TYPE_CHECKING:
    from fairtrial.records.trace import Trace


def find_lost_text(trace: Trace, texts: Iterable[tuple[str, str]]) -> str:
    """Return the reason if a text stands nowhere in a conversation. `texts` are places with their texts.

    Spaces make no difference. It is empty if all texts are there.
    """
    wanted = [(place, squeezed) for place, text in texts if (squeezed := _squeeze(text))]
    if not wanted:
        return ""
    own = list(map(_squeeze, trace_texts(trace)))
    whole = "\n".join(own)
    missing = next((place for place, text in wanted if text not in whole), None)
    return "" if missing is None else f"{missing} holds a text that no message of the session holds"


def find_lost_call(trace: Trace, calls: Iterable[tuple[str, str]]) -> str:
    """Return the reason if a call stands nowhere in a conversation. `calls` are places with the ids of calls."""
    own = {call.id for invocation in trace.invocations for call in invocation.tool_calls}
    missing = next((place for place, call_id in calls if call_id and call_id not in own), None)
    return "" if missing is None else f"{missing} names a call that no message of the session holds"


def _squeeze(text: str) -> str:
    return "".join(text.split())
