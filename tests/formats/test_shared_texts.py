"""Equal texts are one object, and memory is bounded."""

from __future__ import annotations

import tracemalloc

from fairtrial.formats.shared_texts import shared


def test_equal_texts_are_one_object() -> None:
    """The names of tools repeat in every call."""
    first, second = (b"get_order".decode() for _ in range(2))
    assert first is not second
    assert shared(first) is shared(second)


def test_ever_new_texts_take_a_bounded_memory() -> None:
    """A hostile sender must not fill the memory with names, however short or long."""
    tracemalloc.start()
    for i in range(20_000):
        shared(f"{i}-short")
        shared(f"{i}-{'long' * 100}")
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 1_000_000
