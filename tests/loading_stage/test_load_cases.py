"""Loading finds the cases of a run, and names them."""

from __future__ import annotations

import pytest

from fairtrial.errors import UsageError
from fairtrial.loading import LoadedSet, plan_cases, select_cases
from loading import cases, todo


def test_cases_keep_their_order_over_all_files() -> None:
    """Positions count through."""
    assert [(one.position, one.name) for one in todo(cases("s", "b", "a"), cases("t", "c"))] == [
        (0, "b"),
        (1, "a"),
        (2, "c"),
    ]


def test_ids_that_two_sets_share_are_told_apart() -> None:
    """By the set's id, and by a number where even that is shared."""
    assert [one.name for one in todo(cases("s", "a", "b"), cases("t", "a"))] == ["s:a", "b", "t:a"]
    assert [one.name for one in todo(cases("s", "a"), cases("s", "a"))] == ["s:a#1", "s:a#2"]


@pytest.mark.parametrize(
    ("only", "found"), [(("a1",), ["a1"]), (("a*",), ["a1", "a2"]), (("b", "a2"), ["a2", "b"]), ((), ["a1", "a2", "b"])]
)
def test_only_chooses_by_glob(only: tuple[str, ...], found: list[str]) -> None:
    """In file order, whatever the order of the globs."""
    assert [one.name for one in todo(cases("s", "a1", "a2", "b"), only=only)] == found


def test_a_glob_that_matches_nothing_is_a_usage_error_with_the_nearest_id() -> None:
    """A typo must not make a run empty."""
    with pytest.raises(UsageError, match="no case matches 'refnud'; did you mean 'refund'"):
        todo(cases("s", "refund"), only=("refnud",))


def test_cases_of_a_file_that_are_not_there_are_a_usage_error() -> None:
    """As for `--only`."""
    wanted = [LoadedSet(cases("s", "one"), (), ("two",))]
    with pytest.raises(UsageError, match="no case matches 'two'"):
        select_cases(plan_cases(wanted), wanted)
