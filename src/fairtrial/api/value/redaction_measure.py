"""Measure the redaction: plant secrets in copies of files, and count those that stay."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, cast

import msgspec

from fairtrial.errors import UsageError
from fairtrial.loading.text_files import open_text
from fairtrial.stats.agreement import share_interval
from fairtrial.text.redaction.planted_secrets import LOOK_ALIKE, Canary, make_canaries
from fairtrial.text.redaction.redact import redact
from fairtrial.text.redaction.redact_json import redact_json

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_COUNT = 10
"""The canaries of each kind."""
_MOST_PARTS = 2000
_LONGEST = 4000
_LINES = 5
_LOW_SHARE = 0.97


class MeasuredGroup(NamedTuple):
    """A group of kinds: how many canaries of it were planted and removed, and the interval of this share."""

    name: str
    kinds: int
    planted: int
    removed: int
    interval: tuple[float, float]
    low_kinds: tuple[str, ...]


def measure_redaction(paths: Sequence[str], *, people: bool = False, emails: bool = True) -> list[MeasuredGroup]:
    """Plant canaries of all kinds in parts of files, one at a time, and return the counts of each group.

    The files are only read. Of look-alikes, those that were changed count as removed. Raises UsageError if the files
    hold no text.
    """
    parts = [part for path in paths for part in _read_parts(path)]
    if not parts:
        raise UsageError(f"{', '.join(paths)}: no text to plant secrets in", code="too-little-data")
    chance = random.Random(len(parts))  # noqa: S311 - the canaries protect nothing
    planted: Counter[tuple[str, str]] = Counter()
    hits_by_kind: Counter[tuple[str, str]] = Counter()
    for canary in make_canaries(_COUNT, chance, people=people):
        key = canary.group, canary.kind
        planted[key] += 1
        hits_by_kind[key] += _is_found(canary, chance.choice(parts), chance, people=people, emails=emails)
    return [_measure(name, planted, hits_by_kind) for name in dict.fromkeys(name for name, _ in planted)]


def _measure(name: str, planted: Counter[tuple[str, str]], hits_by_kind: Counter[tuple[str, str]]) -> MeasuredGroup:
    kinds = {kind: number for (group, kind), number in planted.items() if group == name}
    total, hits = sum(kinds.values()), sum(hits_by_kind[name, kind] for kind in kinds)
    # Canaries of one kind resemble each other: each kind is one case.
    items = [(place < hits_by_kind[name, kind], 1.0) for kind, number in kinds.items() for place in range(number)]
    cases = [kind for kind, number in kinds.items() for _ in range(number)]
    share = share_interval(items, cases=cases if len(kinds) > 1 else None)
    is_low = [kind for kind, number in kinds.items() if hits_by_kind[name, kind] < _LOW_SHARE * number]
    if name == LOOK_ALIKE:
        is_low = [kind for kind in kinds if hits_by_kind[name, kind]]
    return MeasuredGroup(name, len(kinds), total, hits, share[1:] if share is not None else (0, 1), tuple(is_low))


def _read_parts(path: str) -> list[str]:
    """Return parts of a file: lines of JSON, and a few lines of text."""
    parts: list[str] = []
    with open_text(path) as source:
        lines = list(islice(source.lines, _MOST_PARTS * _LINES))
    text: list[str] = []
    for line in lines:
        if line.startswith(("{", "[")) and len(line) <= _LONGEST and _decode(line) is not None:
            parts.append(line)
            continue
        text.append(line[:_LONGEST])
        if len(text) == _LINES:
            parts.append("".join(text))
            text = []
    if text:
        parts.append("".join(text))
    return parts[:_MOST_PARTS]


def _decode(line: str) -> Json:
    try:
        return cast("Json", msgspec.json.decode(line))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def _is_found(canary: Canary, part: str, chance: random.Random, *, people: bool, emails: bool) -> bool:
    """Return whether nothing is left of a canary, or, of a look-alike, whether it was changed."""
    value = _decode(part) if part.startswith(("{", "[")) else None
    if value is None:
        lines = part.splitlines(keepends=True)
        place = chance.randint(0, len(lines))
        lines.insert(place, f"{canary.text}\n")
        clean = redact("".join(lines), emails=emails, people=people)[0]
    else:
        leaves = _plant(value, canary.text, chance)
        clean = "\n".join(_texts(redact_json(leaves, emails=emails, people=people)[0]))
    return canary.text not in clean if canary.group in {LOOK_ALIKE, "person"} else canary.secret not in clean


def _plant(value: Json, text: str, chance: random.Random) -> Json:
    """Return a copy of an object or a list with a text in one of its members."""
    if isinstance(value, dict) and value:
        key = chance.choice(list(value))
        return value | {key: _plant(value[key], text, chance)}
    if isinstance(value, list) and value:
        place = chance.randrange(len(value))
        return [*value[:place], _plant(value[place], text, chance), *value[place + 1 :]]
    return f"{value}\n{text}" if isinstance(value, str) else text


def _texts(value: Json) -> list[str]:
    if isinstance(value, dict):
        return [text for inner in value.values() for text in _texts(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in _texts(inner)]
    return [str(value)]
