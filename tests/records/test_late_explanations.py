"""A score that is explained later is the score that its explanation returns, wherever it is read."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import fairtrial
from builders import call, case, trace, turn
from fairtrial.metrics import trajectory
from fairtrial.metrics.trajectory import MatchType, ToolTrajectory
from fairtrial.records.record import without_defaults
from fairtrial.records.result import Outcome, Verdict
from fairtrial.records.score import AlignedCall, Quote, Score, average_parts, explain_later, invocation_key, settle

WHOLE = Score(
    0.25, "first difference", quotes=(Quote("A()", "both"),), key=invocation_key(1), calls=(AlignedCall("equal", 0, 0),)
)
A, B = call("A", x=1), call("B", x=[{"y": 2}])


def make_late() -> Score:
    """Return a score that `WHOLE` explains."""
    return explain_later(0.25, WHOLE.key, lambda: WHOLE)


def test_a_verdict_needs_no_explanation() -> None:
    """The explanation is made when it is read, and only once."""
    made: list[Score] = []

    def explain() -> Score:
        made.append(WHOLE)
        return WHOLE

    late = explain_later(0.25, WHOLE.key, explain)
    outcome = Outcome("m", average_parts([late]), 0.5, aggregation="parts")
    assert (outcome.verdict, late.title, made) == (Verdict.FAILED, WHOLE.title, [])
    assert (late.reason, late.quotes, late.calls) == (WHOLE.reason, WHOLE.quotes, WHOLE.calls)
    assert made == [WHOLE]


@pytest.mark.parametrize(
    "view",
    [msgspec.json.encode, msgspec.msgpack.encode, msgspec.to_builtins, hash, repr, without_defaults, lambda s: s.title],
)
def test_it_is_written_as_the_score(view: Callable[[Score], Any]) -> None:
    """Alone and as a part, it gives the same JSON, MessagePack, hash and text."""
    assert view(make_late()) == view(WHOLE)
    assert view(average_parts([make_late()])) == view(average_parts([WHOLE]))


def test_it_has_each_field_of_the_score() -> None:
    """A field that a later version adds is read from the explanation, too."""
    assert {name: getattr(make_late(), name) for name in Score.__struct_fields__} == msgspec.structs.asdict(WHOLE)


def test_it_equals_the_score_on_either_side() -> None:
    """Equality is that of the values, and another score differs."""
    other = replace(WHOLE, reason="another")
    assert make_late() == WHOLE
    assert average_parts([WHOLE]) == average_parts([make_late()])
    assert make_late() == make_late()
    assert average_parts([make_late()]) == average_parts([WHOLE])
    assert make_late() != other
    assert other != make_late()
    assert isinstance(make_late(), Score)


def _send(score: Score) -> Score:
    received: Score = pickle.loads(pickle.dumps(score))  # noqa: S301 - own data
    return received


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, _send, settle])
def test_a_copy_is_a_record(copied: Callable[[Score], Score]) -> None:
    """Another process gets the score itself, which can be replaced in part."""
    assert type(copied(make_late())) is Score
    assert replace(copied(make_late()), reason="another") == replace(WHOLE, reason="another")


def test_secrets_are_removed_from_it() -> None:
    """What `redact` returns of it is a record without the secret."""
    secret = replace(WHOLE, reason="the password is hunter2.Prod9X")
    clean, redactions = fairtrial.redact(explain_later(0.25, WHOLE.key, lambda: secret))
    assert (clean, redactions) == fairtrial.redact(secret)
    assert redactions


def test_it_is_frozen() -> None:
    """No field can be set or deleted, as in each record."""
    late: Any = make_late()
    with pytest.raises(AttributeError, match="immutable"):
        late.value = 1.0
    with pytest.raises(AttributeError, match="immutable"):
        del late.value


def test_a_broken_explanation_says_so_and_the_value_stays() -> None:
    """A report shows why there is no reason, and does not end."""

    def explain() -> Score:
        raise TypeError("keys of two types")

    late = explain_later(0.25, WHOLE.key, explain)
    reason = "the difference cannot be shown: TypeError: keys of two types"
    assert late == Score(0.25, reason, key=WHOLE.key)


def test_threads_that_read_it_at_once_get_one_explanation() -> None:
    """A thread that found no explanation asks for it after another one has made it."""
    late: Any = make_late()
    assert late.reason == WHOLE.reason
    assert late.__getattr__("explained") == WHOLE
    assert late == WHOLE


@pytest.mark.parametrize("match_type", ["EXACT", "IN_ORDER", "ANY_ORDER"])
@pytest.mark.parametrize("actual", [[B, A], [A, B, B], [A], [A, call("B", x=[{"y": True}])]])
def test_trajectories_are_aligned_when_they_are_read(
    match_type: MatchType, actual: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comparison gives its value at once. A criterion with rules of its own explains at once, and says the same."""
    aligned: list[str] = []

    def count_calls(real: Callable[..., Any]) -> Callable[..., Any]:
        def align(*arguments: Any, **options: Any) -> Any:
            aligned.append(real.__name__)
            return real(*arguments, **options)

        return align

    for name in ("align", "align_in_any_order"):
        monkeypatch.setattr(trajectory, name, count_calls(getattr(trajectory, name)))
    score = ToolTrajectory(match_type=match_type)(trace(turn(*actual)), case(turn(A, B)))
    assert (aligned, score.value) == ([], score.parts[0].value)
    at_once = ToolTrajectory(match_type=match_type, match={"other": "exact"})(trace(turn(*actual)), case(turn(A, B)))
    assert len(aligned) == 1
    assert score == at_once
    assert len(aligned) == 2
