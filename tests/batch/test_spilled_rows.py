"""Rows are grouped by their keys, however many keys there are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.batch import spilled_rows
from fairtrial.batch.spilled_rows import group_by_key

MOST = 3


@pytest.fixture(autouse=True, scope="module")
def few_keys() -> Iterator[None]:
    """So few keys are held at once that most rows wait on disk, some of them twice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spilled_rows, "_MOST_KEYS", MOST)
        yield


@given(st.lists(st.text(max_size=2) | st.integers(0, 400).map(str), max_size=300))
def test_equal_keys_are_in_one_group_in_their_order(keys: list[str]) -> None:
    """No group has more keys than are held, and each row comes once."""
    seen: dict[str, list[int]] = {}
    for group in group_by_key((key, [key, place]) for place, key in enumerate(keys)):
        own: dict[int, str] = {}
        places: dict[str, list[int]] = {}
        for number, (key, place) in group:
            assert own.setdefault(number, key) == key
            places.setdefault(key, []).append(place)
        assert len(own) == len(places) <= MOST
        assert not seen.keys() & places.keys()
        seen |= places
    assert seen == {key: [i for i, other in enumerate(keys) if other == key] for key in keys}


def test_rows_that_wait_leave_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the reader stops before the end."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    groups = group_by_key((f"{number}", number) for number in range(100))
    assert len(list(next(groups))) == MOST
    next(groups)
    groups.close()  # type: ignore[attr-defined]
    assert list(tmp_path.iterdir()) == []
