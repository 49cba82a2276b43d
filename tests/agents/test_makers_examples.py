"""The examples in the makers' own files are recorded and scored right. Nothing but the model is replaced."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from maker_examples import EXAMPLES
from makers import Example, Installed, Turn, opened

import fairtrial
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Invocation, Message, ToolCall, ToolResult
from wires import TOKENS

pytestmark = [
    pytest.mark.agents,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
TRAJECTORY = {"tool_trajectory_avg_score": 1.0}


def expected(turn: Turn) -> Invocation:
    """What the user says, and the calls and the reply that are right."""
    calls = []
    for line in turn.steps:
        if not line.startswith(">"):
            name, _, arguments = line.partition(": ")[2].partition("(")
            call = ast.parse(f"call({arguments}", mode="eval").body
            assert isinstance(call, ast.Call)
            calls.append(ToolCall(name, {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}))
    return Invocation(Message(turn.query), tuple(calls), Message(turn.reply) if turn.reply else None)


def steps(turn: Invocation, depth: str = "") -> Iterator[str]:
    """The calls of a turn in their order, those of agents in tools below their call."""
    for step in turn.steps or ():
        if isinstance(step, ToolCall):
            arguments = ", ".join(f"{name}={value!r}" for name, value in step.args.items())
            yield f"{depth}{step.author}: {step.name}({arguments})"
        elif isinstance(step, ToolResult) and step.inner is not None:
            for inner in step.inner.invocations:
                yield from steps(inner, f"{depth}> ")
                if inner.final_response is not None:
                    yield f"{depth}> {inner.final_response.author} said {inner.reply!r}"


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.id)
def test_an_example_of_a_maker_is_recorded_and_scored_right(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its calls, its replies and the tokens of all of its requests are recorded, and nothing is missing."""
    needed = {
        example.module,
        *((example.source.module.partition(".")[0],) if isinstance(example.source, Installed) else ()),
    }
    for name in sorted(needed):
        if not _is_installed(name):
            pytest.skip(f"needs {name}")
    case = EvalCase("case", tuple(map(expected, example.turns)))
    criteria = {**TRAJECTORY, **({"response_match_score": 1.0} if example.turns[-1].reply else {})}
    options: dict[str, Any] = {} if example.prefix else {"record": "spans"}
    with opened(example, tmp_path, monkeypatch) as (target, script):
        run = fairtrial.evaluate(EvalSet("makers", (case,)), target, criteria, **options)
    one = next(run.recordings)[1]
    assert one.failure is None, one.failure.traceback
    assert one.trace.incomplete == ""
    turns = one.trace.invocations
    assert [list(steps(turn)) for turn in turns] == [list(turn.steps) for turn in example.turns]
    assert [turn.reply for turn in turns] == [turn.reply for turn in example.turns]
    tokens = [usage.total_tokens for turn in turns for usage in turn.all_usages or ()]
    assert tokens.count(None) == example.unseen
    assert tokens.count(TOKENS) == script.played - example.unseen
    assert script.played == len(script.moves)
    final = one.trace.final_state or {}
    assert {name: final.get(name) for name in example.state} == example.state
    assert run.verdict == "passed", run.report()
