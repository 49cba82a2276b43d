"""Operators on replies that are JSON: another value, another type, a missing key, a broken end."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import regex

from fairtrial.mutations.operator import Invocations, Plant, Scene, shuffle

_FENCED = regex.compile(r"\A(\s*```(?:json)?\s*\n)(.*)(\n\s*```\s*)\Z", regex.S)
_LONGEST = 100_000
"""The number of characters of the longest reply that is parsed."""
Path = tuple[str | int, ...]


def _on_json(change: Callable[[Any, Any, Random], Any]) -> Plant:
    """Return an operator that changes the value that a reply writes as JSON, where it agrees with the reference.

    What the reference does not hold may as well be missing. The change gets the value, what of it the reference holds,
    and a die. It returns None to decline.
    """

    def plant(scene: Scene, random: Random) -> Invocations | None:
        parts = _parts(scene.reply)
        if parts is None:
            return None
        before, text, after = parts
        value, expected = json.loads(text), _parts(scene.reference)
        if expected is None:
            return None
        changed = change(value, _common(value, json.loads(expected[1])), random)
        if changed is None:
            return None
        indent = 2 if "\n" in text.strip() else None
        return scene.with_reply(f"{before}{json.dumps(changed, ensure_ascii=False, indent=indent)}{after}")

    return plant


def _parts(reply: str) -> tuple[str, str, str] | None:
    """Return the text before an object or an array, its JSON, and the text after it. None if the reply is not JSON."""
    match = _FENCED.match(reply)
    before, text, after = (match[1], match[2], match[3]) if match else ("", reply, "")
    if len(reply) > _LONGEST or not text.strip().startswith(("{", "[")):
        return None
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return None
    return before, text, after


def is_structured(reply: str) -> bool:
    """Return whether a reply is JSON, or begins and ends with a tag, so that a program reads it."""
    return _parts(reply) is not None or _TAGGED.match(reply) is not None


_TAGGED = regex.compile(r"\s*<[A-Za-z?!][^<>]*>.*</?[A-Za-z][^<>]*>\s*\Z", regex.S)


def _leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        yield path, value
        return
    for key, item in items:
        yield from _leaves(item, (*path, key))


def _with(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    if isinstance(value, dict):
        return {key: _with(item, path[1:], new) if key == path[0] else item for key, item in value.items()}
    return [_with(item, path[1:], new) if n == path[0] else item for n, item in enumerate(value)]


def _common(value: Any, expected: Any) -> Any:
    """Return the part of a value that stands at the same place in another one."""
    if isinstance(value, dict) and isinstance(expected, dict):
        return {key: _common(item, expected[key]) for key, item in value.items() if key in expected}
    if isinstance(value, list) and isinstance(expected, list):
        return [_common(item, other) for item, other in zip(value, expected, strict=False)]
    return value if value == expected else {}


def _other_value(value: Any, expected: Any, random: Random) -> Any:
    """Change one number by one, one truth value, or the last digit of one text, such as an id."""
    for path, leaf in shuffle(list(_leaves(expected)), random):
        if isinstance(leaf, bool):
            return _with(value, path, not leaf)
        if isinstance(leaf, int | float):
            return _with(value, path, leaf + 1)
        if isinstance(leaf, str) and (digits := list(_LAST_DIGIT.finditer(leaf))):
            place = digits[-1].start()
            return _with(value, path, f"{leaf[:place]}{(int(leaf[place]) + 1) % 10}{leaf[place + 1 :]}")
    return None


_LAST_DIGIT = regex.compile(r"\d(?=\D*\Z)", regex.A)


def _null(value: Any, expected: Any, random: Random) -> Any:
    """Write null in the place of one value."""
    places = [path for path, leaf in _leaves(expected) if leaf is not None and path]
    return _with(value, random.choice(places), None) if places else None


def _renamed_key(value: Any, expected: Any, random: Random) -> Any:
    """Write one key of the outermost object in another style: "orderId" for "order_id", "total_value" for "total"."""
    if not isinstance(value, dict) or not expected:
        return None
    key = random.choice(sorted(expected))
    first, *rest = str(key).split("_")
    new = "".join([first, *(word.capitalize() for word in rest)]) if rest else f"{key}_value"
    return None if new in value else {new if name == key else name: item for name, item in value.items()}


def _other_type(value: Any, expected: Any, random: Random) -> Any:
    """Write one number as a text."""
    for path, leaf in shuffle(list(_leaves(expected)), random):
        if isinstance(leaf, int | float) and not isinstance(leaf, bool):
            return _with(value, path, str(leaf))
    return None


def _without_key(value: Any, expected: Any, random: Random) -> Any:
    """Leave out one key of the outermost object, if it has more than one."""
    if not isinstance(value, dict) or len(value) < 2 or not expected:
        return None
    key_to_drop = random.choice(sorted(expected))
    return {key: item for key, item in value.items() if key != key_to_drop}


json_value_changed = _on_json(_other_value)
json_type_changed = _on_json(_other_type)
json_key_dropped = _on_json(_without_key)
json_key_renamed = _on_json(_renamed_key)
json_nulled = _on_json(_null)


def json_broken(scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    """Leave out the last bracket of a reply that is JSON, so that nothing can parse it."""
    parts = _parts(scene.reply)
    if parts is None:
        return None
    before, text, after = parts
    return scene.with_reply(f"{before}{text.rstrip()[:-1].rstrip()}{after}")


def json_layout(scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    """Write the JSON of a reply on one line, or indented."""
    parts = _parts(scene.reply)
    if parts is None:
        return None
    before, text, after = parts
    indent = None if "\n" in text.strip() else 2
    return scene.with_reply(f"{before}{json.dumps(json.loads(text), ensure_ascii=False, indent=indent)}{after}")
