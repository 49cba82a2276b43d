"""JSON in the reply of a model."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from fairtrial.records.record import Json

_WRAPPED = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n[ \t]*```\Z", re.DOTALL | re.IGNORECASE)


def read_json(text: str) -> Json:
    """Return the one JSON value that a reply consists of.

    The whole reply must be that value, or one code block around it. Other text is not searched for JSON, because it may
    quote the text under judgement. Raises `ValueError`, also for repeated keys, NaN and infinities.
    """
    stripped = text.strip().removeprefix("\ufeff")
    wrapped = _WRAPPED.match(stripped)
    try:
        return json.loads(wrapped[1] if wrapped else stripped, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a key is given twice")
    return members


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
