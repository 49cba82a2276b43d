"""Decoders of records, which threads may ask for at the same time.

msgspec notes the fields of a Struct when it first meets the type. A second thread that then decodes the same type reads
fields that are not noted yet, and the interpreter ends. Here one thread at a time meets a type, and the others wait.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")

_MEETING = threading.RLock()

if hasattr(os, "register_at_fork"):  # a forked process has no thread that would release the lock
    os.register_at_fork(before=_MEETING.acquire, after_in_parent=_MEETING.release, after_in_child=_MEETING.release)


def json_decoder(kind: type[T], *, strict: bool = True) -> msgspec.json.Decoder[T]:
    """Return the decoder of JSON that holds a value of a type."""
    decoder: msgspec.json.Decoder[T] = _decoder(msgspec.json.Decoder, cast("Hashable", kind), strict)
    return decoder


def msgpack_decoder(kind: type[T]) -> msgspec.msgpack.Decoder[T]:
    """Return the decoder of MessagePack that holds a value of a type."""
    decoder: msgspec.msgpack.Decoder[T] = _decoder(msgspec.msgpack.Decoder, cast("Hashable", kind), True)
    return decoder


def convert(value: Any, kind: type[T]) -> T:
    """Return a decoded value as a value of a type, as `msgspec.convert` does."""
    try:
        _decoder(msgspec.json.Decoder, cast("Hashable", kind), True)
    except TypeError:  # the type has no hash, or msgspec does not support it and says so below
        with _MEETING:
            return msgspec.convert(value, kind)
    return msgspec.convert(value, kind)


@cache
def _decoder(make: Callable[..., Any], kind: Any, strict: bool) -> Any:
    with _MEETING:
        return make(kind, strict=strict)
