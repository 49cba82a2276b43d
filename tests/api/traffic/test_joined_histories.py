"""Received traces are joined like the traces of a file, in whatever order they come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fairtrial.api.traffic.joined_histories import JoinedHistories
from fairtrial.formats.conversation.joining import HistoryKeys, chains, successors


@st.composite
def traces(draw: st.DrawFn) -> list[HistoryKeys]:
    """Traces of which each goes on with an earlier one, or begins a conversation."""
    conversations: list[HistoryKeys] = []
    for number in range(draw(st.integers(1, 8))):
        earlier = draw(st.integers(-1, number - 1))
        before = (*conversations[earlier].before, *conversations[earlier].ends) if earlier >= 0 else ()
        conversations.append(HistoryKeys((b"%d" % number,), before))
    return conversations


@given(traces(), st.data())
def test_the_order_of_arrival_changes_nothing(conversations: list[HistoryKeys], data: st.DataObject) -> None:
    """The last trace may come first, and each may be looked at several times."""
    order = data.draw(st.permutations([*range(len(conversations)), *range(len(conversations) // 2)]))
    joined = JoinedHistories(())
    for number in order:
        joined.add(str(number), conversations[number])
    groups = chains(successors(conversations), len(conversations))
    assert {frozenset(joined.members(str(number))) for number in order} == {
        frozenset(map(str, group)) for group in groups
    }
    assert joined.count == len(conversations) - len(groups)


@given(traces(), st.data())
def test_a_name_stays_the_name_of_its_conversation(conversations: list[HistoryKeys], data: st.DataObject) -> None:
    """Results are kept by the name. Another name is only given to traces that are scored again."""
    joined = JoinedHistories(())
    names: dict[str, str] = {}
    for number in data.draw(st.permutations(range(len(conversations)))):
        split = joined.add(str(number), conversations[number])
        others = {trace_id: name for trace_id, name in names.items() if trace_id not in split}
        assert {trace_id: joined.read_name(trace_id) for trace_id in others} == others
        names = {trace_id: joined.read_name(trace_id) for trace_id in (*names, str(number))}


def test_two_equal_traces_are_no_circle() -> None:
    """Two calls of a model with the same input, both without an answer."""
    joined = JoinedHistories(())
    keys = HistoryKeys((b"calls",), (b"calls",))
    for trace_id in ("a", "b", "a", "b"):
        joined.add(trace_id, keys)
    assert joined.members("a") == joined.members("b")
    assert joined.count == 1
