"""Every field of a record is written, so that no later version reads another value."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from builders import turn
from fairtrial import api
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.record import Record
from fairtrial.records.trace import Message, ToolCall, Trace
from fairtrial.store.bodies import BodyDecoder, encode


class Inner(Record, frozen=True):
    """A record in a record, as it is today."""

    side: str = "agent"


class Today(Record, frozen=True):
    """A record as it is today."""

    lower: bool = False
    inner: Inner = Inner()
    several: tuple[Inner, ...] = ()
    named: dict[str, Inner] = {}
    json: object = None


class InnerLater(Record, frozen=True):
    """The same record in a later version, with another default."""

    side: str = "judge"


class Later(Record, frozen=True):
    """The same record in a later version: other defaults, another order, and a new field."""

    named: dict[str, InnerLater] = {}
    several: tuple[InnerLater, ...] = ()
    inner: InnerLater = InnerLater()
    lower: bool = True
    added: int = 5


def test_a_default_that_changes_does_not_change_what_was_stored() -> None:
    """A verdict must not flip because a later version thinks otherwise of a field that was not written."""
    body = encode(Today(several=(Inner(),), named={"a": Inner()}))
    inner = InnerLater("agent")
    assert BodyDecoder(Later).decode(body) == Later({"a": inner}, (inner,), inner, lower=False, added=5)


def test_kinds_of_steps_are_told_apart() -> None:
    """The tag of a record is written beside its fields."""
    steps = turn(Message("a"), ToolCall("f", {"x": [{"y": ()}]}))
    assert [each["kind"] for each in msgspec.to_builtins(steps)["steps"]] == ["message", "tool_call"]


@pytest.mark.parametrize("value", [{"a": [1, None]}, [{"b": {}}], "", 0, {"": {"c": True}}])
def test_json_stays_as_it_is(value: object) -> None:
    """A dict from a file is not taken for a record."""
    assert BodyDecoder(Today).decode(encode(Today(json=value))) == Today(json=value)


def test_text_that_bodies_share_costs_next_to_nothing() -> None:
    """The JSON of a small case has over 400 bytes, and its body fewer than 128.

    The fields for checks, workspaces, environments and attacks take 11 of them.
    """
    record = EvalCase("a", (turn(reply="b"),))
    assert len(msgspec.json.encode(record)) > 400
    assert len(encode(record)) < 128


@pytest.mark.long
def test_a_trivial_attempt_takes_at_most_1260_bytes(tmp_path: Path) -> None:
    """The whole file, with cases, recordings, results, scores and all that a store has besides.

    One attempt in ten fails. Where it went wrong takes 160 bytes beside its result. The series that a run follows at
    its end takes two pages of the file, 8 bytes an attempt here.
    """
    cases = tuple(EvalCase(f"case_{i:05d}", (turn(query="hi there", reply="hello"),)) for i in range(1000))

    def agent(conversation: Trace) -> str:
        return "no" if conversation.session_id.endswith("7") else "hello"

    file = tmp_path / "run.db"
    run = api.evaluate(EvalSet("trips", cases), agent, store=f"sqlite:///{file}")
    assert len(run.cases[0].outcomes) == 6
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert file.stat().st_size / len(cases) <= 1260
