"""Signatures identify what produced a number, and stay the same if that is the same."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

from fairtrial.metrics.signature import add_signature, signature
from fairtrial.metrics.trajectory import ToolTrajectory
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import Trace


def longer(trace: Trace, case: EvalCase, *, limit: int = 5) -> bool:  # noqa: ARG001
    """Whether the first reply is longer than a limit."""
    return len(trace.invocations[0].reply) > limit


class Polite:
    def __call__(self, trace: Trace, case: EvalCase) -> bool:  # noqa: ARG002
        return True


class Opaque:
    pass


@dataclass(frozen=True)
class Asks:
    key: str = field(default="secret", repr=False)
    client: Any = field(default_factory=Opaque)
    weights: dict[Any, Any] = field(default_factory=lambda: {2: "b", "1": "a"})


def test_options_tell_metrics_apart() -> None:
    """Of a dataclass its name and its fields; the same options give the same signature."""
    plain, ordered = signature(ToolTrajectory()), signature(ToolTrajectory(match_type="IN_ORDER"))
    assert plain == signature(ToolTrajectory())
    assert plain != ordered
    assert (ordered["metric"], ordered["options"]["match_type"]) == (
        "fairtrial.metrics.trajectory:ToolTrajectory",
        "IN_ORDER",
    )


def test_sources_tell_functions_apart() -> None:
    """Of a function its name and the digest of its source."""

    def one(trace: object, case: object) -> float:  # noqa: ARG001
        return 1.0

    def two(trace: object, case: object) -> float:  # noqa: ARG001
        return 2.0

    assert len(signature(one)["source"]) == 64
    assert signature(one)["source"] != signature(two)["source"]
    assert signature(longer)["metric"] == f"{__name__}:longer"


def test_an_object_with_call_has_the_source_of_its_class() -> None:
    """It has a name, and a source."""
    assert signature(Polite()) == signature(Polite)
    assert len(signature(Polite())["source"]) == 64


def test_a_partial_is_its_function_and_its_arguments() -> None:
    """Two limits are two metrics."""
    three, four = (functools.partial(longer, limit=limit) for limit in (3, 4))
    assert signature(three) == {**signature(longer), "args": [], "keywords": {"limit": 3}}
    assert signature(three) != signature(four)


def test_neither_keys_nor_addresses_are_part_of_it() -> None:
    """What is not shown is not signed, and an object without a text of its own is its type."""
    found = signature(Asks())
    assert found == signature(Asks())
    assert found["options"] == {"client": f"{__name__}:Opaque", "weights": {"1": "a", "2": "b"}}


def test_a_builtin_has_no_source() -> None:
    """It has a name."""
    assert signature(max) == {"metric": "builtins:max", "source": None}


def test_different_signatures_of_one_name_all_stay() -> None:
    """Two files with the same criterion, and even the same eval set id, may say different things of it."""
    found: dict[str, Any] = {}
    for options in ("a", "b", "a", "c", "b"):
        add_signature(found, "users", options, eval_set_id="shop")
    assert found == {"users": "a", "shop/users": "b", "shop/users 2": "c"}
