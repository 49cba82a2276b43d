"""Scores: the value that a metric gives to a trace, or the reason for a missing value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import make_dataclass
from functools import cache, lru_cache
from math import inf
from typing import Any, ClassVar, Literal, NoReturn, cast

from fairtrial.records.average import mean
from fairtrial.records.decoding import convert
from fairtrial.records.record import Record

FaultSide = Literal["infrastructure", "judge", "simulator", "environment", "expectation", "agent"]
"""The component that caused a problem. If there is evidence against several, the first in this list wins."""

PartKind = Literal["invocation", "rubric", "sentence", "question", "call", "message", "check", "fact"]


class Quote(Record, frozen=True):
    """A verbatim quotation, and its origin."""

    text: str
    source: str = ""


class PartKey(Record, frozen=True):
    """The identity of a part of a score: it stays the same when the criterion is scored again.

    `index` counts from 0 and is a position in the data. For example, `PartKey("invocation", 1)` is the key of
    `trace.invocations[1]`, which reports call "invocation 2". A sentence is counted in its text, a call in its
    invocation, and a message among the steps of its invocation. Parts that have a name have an `id` instead of an
    index: rubrics, checks, questions, and the reply of an invocation, which is `PartKey("message", id="reply")`.
    """

    kind: PartKind
    index: int | None = None
    id: str = ""

    def __str__(self) -> str:
        if self.index is None:
            return self.id or self.kind
        return f"{self.kind} {self.index + 1}"


def part_text(part: PartKey | None) -> str:
    """Return the key of a part as text, such as `invocation/1/` or `rubric//polite`. A whole outcome has ""."""
    return "" if part is None else f"{part.kind}/{'' if part.index is None else part.index}/{part.id}"


def find_part(text: str) -> PartKey | None:
    """Return the key of a part from its text. Raises ValueError if the text is not that of a key."""
    if not text:
        return None
    kind, index, name = text.split("/", 2)
    return convert({"kind": kind, "index": int(index) if index else None, "id": name}, PartKey)


@cache
def invocation_key(index: int) -> PartKey:
    """Return the key of the invocation at a position, counted from 0."""
    return PartKey("invocation", index)


@lru_cache(maxsize=64)
def invocation_keys(count: int) -> tuple[PartKey, ...]:
    """Return the keys of the first invocations."""
    return tuple(map(invocation_key, range(count)))


Relation = Literal["equal", "changed", "missing", "surplus", "moved"]
"""How an actual call relates to an expected call. A moved call is equal to an expected call at another place."""


class AlignedCall(Record, frozen=True):
    """An expected call beside an actual call, as the criterion aligned them. A side without a call is None.

    `expected` and `actual` count from 0: in the invocation of the part, or in the conversation. `pointers` are JSON
    pointers to the arguments that differ. The row is `allowed` if it does not break the match, for example a surplus
    call in ANY_ORDER. `optional` and `forbidden` say how the criterion treats the tool.
    """

    relation: Relation
    expected: int | None = None
    actual: int | None = None
    pointers: tuple[str, ...] = ()
    allowed: bool = False
    optional: bool = False
    forbidden: bool = False


class FirstDecision(Record, frozen=True):
    """How a criterion without a model, which is asked before the judge, treated an invocation.

    If it was `decisive`, `saved` votes were not requested. If the decision was `audited`, the judge was asked
    anyway, and `judged` is the value that it gave, or None if it gave none. The decision stays as it is.
    """

    criterion: str
    decisive: bool = True
    saved: int = 0
    audited: bool = False
    judged: float | None = None


FactState = Literal["found", "missing", "contradicted", "undecided", "forbidden", "ungrounded"]
"""How a reply treats a fact. A `forbidden` fact may not stand in the reply. An `ungrounded` fact has no evidence."""

TextPlace = tuple[int, int]
"""The start and the end of a part of a text, in code points."""


class StatedFact(Record, frozen=True):
    """A fact that a part of a score is about, such as an amount of money.

    `kind` is for example `amount` or `date`. It is `name` for a proper name and `predicate` for a clause such as "is
    shipped". `value` is its normalised value, for example `29.9 USD`, or empty. `expected` and `actual` are its places
    in the expected reply and in the reply, or None if the fact does not stand there.
    """

    kind: str
    state: FactState
    value: str = ""
    expected: TextPlace | None = None
    actual: TextPlace | None = None


class Score(Record, frozen=True):
    """The answer of a metric about a trace, or about a part of it.

    `value` None with a `reason`: there should be a value, and it could not be computed. `side` then names the
    component that prevented it, if it is known. `applicable` False: there is nothing to score here. Only the data
    decides this, never a failure. `value` is the mean of the values of `parts`, if there are parts. `key` says what a
    part is about. The score of a whole trace does not have a key, and parts of users' metrics may lack it. `label` is
    a name for people. If it is empty, the key serves as the name. `calls` is the alignment of a criterion that compares
    tool calls. It is empty if each call equals the expected call at the same position. `first` is the treatment of the
    part by a criterion that is asked before the judge, or None if there is no such criterion. `fact` is the fact that
    the part is about, or None if it is about something else.
    """

    value: float | None = None
    reason: str = ""
    label: str = ""
    applicable: bool = True
    parts: tuple[Score, ...] = ()
    quotes: tuple[Quote, ...] = ()
    ballots: tuple[str, ...] = ()
    side: FaultSide | None = None
    key: PartKey | None = None
    calls: tuple[AlignedCall, ...] = ()
    first: FirstDecision | None = None
    fact: StatedFact | None = None

    @property
    def title(self) -> str:
        """The name of a part for people: its label, or otherwise its key."""
        return self.label or ("" if self.key is None else str(self.key))


class _LateScore:
    """A score without parts, whose reason, quotes and calls are made when they are first read.

    It takes the place of a `Score`: `isinstance`, equality, hash, repr, copies and pickles are those of the score.
    msgspec writes it as a dataclass with the fields of `Score`, which gives the same JSON. Only the functions of
    `msgspec.structs` refuse it, and need `settle`.
    """

    __slots__ = ("_explain", "explained", "key", "value")
    __dataclass_fields__: ClassVar[dict[str, Any]] = vars(make_dataclass("_", Score.__struct_fields__))[
        "__dataclass_fields__"
    ]
    label, applicable, parts, ballots, side, first, fact = "", True, (), (), None, None, None
    title = Score.title

    def __init__(self, value: float, key: PartKey | None, explain: Callable[[], Score]) -> None:
        _set_value(self, value)
        _set_key(self, key)
        _set_explain(self, explain)

    @property  # type: ignore[misc]
    def __class__(self) -> type[Score]:  # type: ignore[override]
        return Score

    def __getattr__(self, name: str) -> Any:
        """Return a field or a method of the explained score. Python asks for those that are not set yet."""
        if name == "explained":
            explain = self._explain
            if explain is None:  # another thread has explained it since Python looked for the field
                return self.explained
            try:
                explained = explain()
            except Exception as error:  # noqa: BLE001  (the value is known, and a report must not fail for its reason)
                reason = f"the difference cannot be shown: {type(error).__name__}: {error}"
                explained = Score(self.value, reason, key=self.key)
            _set_explained(self, explained)
            _set_explain(self, None)  # what was compared is not needed any more
            return explained
        return getattr(self.explained, name)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"immutable type: '{Score.__name__}'")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"immutable type: '{Score.__name__}'")

    def __eq__(self, score: object) -> bool:
        return bool(self.explained == (score.explained if type(score) is _LateScore else score))

    def __hash__(self) -> int:
        return hash(self.explained)

    def __repr__(self) -> str:
        return repr(self.explained)

    def __reduce__(self) -> Any:
        return self.explained.__reduce__()


_set_value, _set_key, _set_explain, _set_explained = (
    getattr(_LateScore, name).__set__ for name in ("value", "key", "_explain", "explained")
)


def explain_later(value: float, key: PartKey | None, explain: Callable[[], Score]) -> Score:
    """Return the score that `explain` returns, which is called when its reason, quotes or calls are first read.

    `value` and `key` are those of that score. It has no other fields than these five.
    For example, a run compares a million invocations, and a report explains the twenty that it shows.
    """
    return cast("Score", _LateScore(value, key, explain))


def settle(score: Score) -> Score:
    """Return a score as a record of its own class, which the functions of `msgspec.structs` take."""
    kind: type = type(score)
    return cast("_LateScore", score).explained if kind is _LateScore else score


Bounds = tuple[float, float]


class Range(Record, frozen=True):
    """The values that a score can have. An end that is None is unbounded. An open end does not belong to the range.

    `logarithmic`: the values are amounts whose ratios matter, such as seconds and tokens.
    """

    low: float | None = 0.0
    high: float | None = 1.0
    open_low: bool = False
    open_high: bool = False
    logarithmic: bool = False

    @property
    def bounds(self) -> Bounds:
        """Both ends as numbers. An unbounded end is infinite."""
        return (-inf if self.low is None else self.low, inf if self.high is None else self.high)

    def __contains__(self, value: float) -> bool:
        low, high = self.bounds
        return low <= value <= high and not (self.open_low and value == low) and not (self.open_high and value == high)

    def __str__(self) -> str:
        if None not in (self.low, self.high) and not (self.open_low or self.open_high):
            return f"from {self.low:g} to {self.high:g}"
        low = None if self.low is None else f"{'above' if self.open_low else 'of at least'} {self.low:g}"
        high = None if self.high is None else f"{'below' if self.open_high else 'of at most'} {self.high:g}"
        return " and ".join(end for end in (low, high) if end) or "of any size"


def bounds(score: Score, scale: Range) -> Bounds | None:
    """Return the lowest and the highest value that a score could have if all its unscored leaves had values.

    A scored leaf counts as (v, v), an unscored leaf as the ends of the range, and a node as the mean of its children.
    Parts that are not applicable do not count. The result is None if nothing applies. For example, parts with the
    values 1.0 and None on the range 0..1 give (0.5, 1.0).
    """
    if not score.applicable:
        return None
    if not score.parts:
        return scale.bounds if score.value is None else (score.value, score.value)
    lows: list[float] = []
    highs: list[float] = []
    for part in score.parts:
        if part.value is not None and part.applicable and not part.parts:  # nearly every part
            lows.append(part.value)
            highs.append(part.value)
        elif (ends := bounds(part, scale)) is not None:
            lows.append(ends[0])
            highs.append(ends[1])
    if not lows:
        return None
    low = mean(lows)
    return low, low if lows == highs else mean(highs)


def applies(score: Score) -> bool:
    """Return whether there is anything to score: the score applies, and at least one of its parts if it has parts."""
    return score.applicable and (not score.parts or any(map(applies, score.parts)))


def has_value(score: Score) -> bool:
    """Return whether at least one applicable leaf has a value."""
    if not score.applicable:
        return False
    return any(map(has_value, score.parts)) if score.parts else score.value is not None


def is_fully_scored(score: Score) -> bool:
    """Return whether a score and all its parts have values, and no part has parts of its own. Most scores do."""
    return score.value is not None and not [part for part in score.parts if part.value is None or part.parts]


def average_parts(parts: Iterable[Score], *, reason: str = "", label: str = "", key: PartKey | None = None) -> Score:
    """Return the score whose value is the mean of its scored, applicable parts.

    Without an applicable part the score is not applicable. If no applicable part has a value, its value is None.
    """
    inner = tuple(parts)
    values = [part.value for part in inner if part.value is not None and part.applicable]
    applicable = bool(values) or any(part.applicable for part in inner)
    return Score(mean(values) if values else None, reason, label, applicable, inner, key=key)


def scores_of_invocations(score: Score) -> dict[int, Score]:
    """Return the parts that are about one invocation each, by the position of the invocation, at any depth.

    If several parts are about the same invocation, for example one below each rubric, their mean is its score.
    """
    parts_by_index: dict[int, list[Score]] = {}
    for part in _invocation_parts(score):
        if part.key is not None and part.key.index is not None:
            parts_by_index.setdefault(part.key.index, []).append(part)
    return {
        index: parts[0] if len(parts) == 1 else average_parts(parts, key=invocation_key(index))
        for index, parts in parts_by_index.items()
    }


def _invocation_parts(score: Score) -> Iterator[Score]:
    for part in score.parts:
        if part.key is not None and part.key.kind == "invocation":
            yield part
        else:
            yield from _invocation_parts(part)
