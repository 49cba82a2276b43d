"""Inspect: CASES AT_ONCE: a model of a tenth of a second calls a tool and replies; replies and calls are compared."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from typing import Any

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageTool, ModelAPI, ModelOutput, modelapi
from inspect_ai.scorer import CORRECT, INCORRECT, Score, accuracy, match, scorer
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool

cases, at_once = map(int, sys.argv[1:3])
LATENCY = 0.1


@tool
def get_order() -> Any:
    """Look an order up."""

    async def execute(order_id: str) -> str:
        """Look an order up.

        Args:
            order_id: The number of the order.
        """
        return f"shipped {order_id}"

    return execute


@modelapi(name="slow")
class SlowModel(ModelAPI):
    """Calls the tool, and then replies."""

    async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:  # noqa: A002, ARG002
        """Reply with the answer of the tool if it is there, and otherwise call the tool."""
        await asyncio.sleep(LATENCY)
        latest = input[-1]
        if isinstance(latest, ChatMessageTool):
            return ModelOutput.from_content("slow", f"The order is {latest.text}.")
        return ModelOutput.for_tool_call("slow", "get_order", {"order_id": latest.text.split()[-1]})


@scorer(metrics=[accuracy()])
def called() -> Any:
    """Compare the calls of the tool."""

    async def score(state: Any, target: Any) -> Score:  # noqa: ARG001
        calls = [call for message in state.messages for call in getattr(message, "tool_calls", None) or ()]
        good = [call.arguments for call in calls] == [{"order_id": state.metadata["order"]}]
        return Score(value=CORRECT if good else INCORRECT)

    return score


samples = [
    Sample(
        input=f"Where is my order A-{number}",
        target=f"The order is shipped A-{number}.",
        metadata={"order": f"A-{number}"},
    )
    for number in range(cases)
]
task = Task(dataset=samples, solver=[use_tools(get_order()), generate()], scorer=[match("exact"), called()])
with tempfile.TemporaryDirectory() as folder:
    (log,) = evaluate(
        task,
        model="slow/slow",
        display="none",
        log_dir=folder,
        max_samples=at_once,
        max_connections=at_once,
    )
values = [one.metrics["accuracy"].value for one in log.results.scores]
print(json.dumps({"passed": round(min(values) * cases)}))
