"""Replace strings and numbers in JSON text. Everything around them stays as it was written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_LEAF = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null')


def replace_leaves(text: str, before: Json, after: Json) -> str:
    """Return JSON text with the keys, strings and numbers of `after` in place of those of `before`.

    `before` is the text's value, and `after` has its structure. Spaces, the spelling of numbers and the escapes of
    all other strings stay. If the text repeats a key, it is written anew.
    """
    tokens = list(_LEAF.finditer(text))
    old, new = list(_leaves(before)), list(_leaves(after))
    if not len(tokens) == len(old) == len(new):
        return msgspec.json.encode(after).decode()
    parts: list[str] = []
    end = 0
    for token, old_leaf, new_leaf in zip(tokens, old, new, strict=True):
        if old_leaf != new_leaf:
            parts += [text[end : token.start()], json.dumps(new_leaf, ensure_ascii=token[0].isascii())]
            end = token.end()
    return "".join([*parts, text[end:]])


def _leaves(value: Json) -> Iterator[Json]:
    """Yield the keys and the a value's values without members, in the order in which its text has them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _leaves(inner)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value
