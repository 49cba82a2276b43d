"""What a reply says that should be JSON."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from fairtrial.records.record import Json

_WRAPPED = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n[ \t]*```\Z", re.DOTALL | re.IGNORECASE)


def read_json(text: str) -> Json:
    """Return the one JSON value that a reply consists of.

    The whole reply must be that value, or one code block around it; nothing is searched for inside other text, since
    text under judgement may be quoted there. Repeated keys, NaN and infinities are no JSON. Raises `ValueError`.
    """
    stripped = text.strip().removeprefix("\ufeff")
    wrapped = _WRAPPED.match(stripped)
    try:
        return json.loads(wrapped[1] if wrapped else stripped, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
