"""Evaluates AI agents, and says how sure you can be of the result.

Five stages, each taking what the one before it gives:

1. load       files -> eval sets, criteria, recordings
2. record     eval set x agent -> recordings (skipped where traces are already recorded)
3. score      recordings x criteria -> case results
4. aggregate  case results -> summary
5. report     summary -> terminal, JSON, JUnit, ADK

`evaluate` runs all of them on an agent, `score` on what was recorded elsewhere.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fairtrial.version import __version__ as __version__

_HOMES = {
    "AgentDetails": "fairtrial.records.trace",
    "Budget": "fairtrial.llm.budget",
    "CaseResult": "fairtrial.records.result",
    "ConfigError": "fairtrial.errors",
    "Criterion": "fairtrial.records.result",
    "Embedder": "fairtrial.protocols",
    "EvalCase": "fairtrial.records.case",
    "EvalSet": "fairtrial.records.case",
    "Failure": "fairtrial.records.attempt",
    "FairtrialError": "fairtrial.errors",
    "FormatError": "fairtrial.errors",
    "Invocation": "fairtrial.records.trace",
    "Judges": "fairtrial.judge.judges",
    "Message": "fairtrial.records.trace",
    "ModelOptions": "fairtrial.llm.model_options",
    "Outcome": "fairtrial.records.result",
    "Prompt": "fairtrial.records.reply",
    "Quote": "fairtrial.records.score",
    "Range": "fairtrial.records.score",
    "ReasoningTrace": "fairtrial.records.reasoning",
    "Recording": "fairtrial.records.attempt",
    "Reply": "fairtrial.records.reply",
    "ResponseMatch": "fairtrial.metrics.response",
    "Rubric": "fairtrial.records.rubric",
    "Run": "fairtrial.api",
    "Score": "fairtrial.records.score",
    "ScriptedAgent": "fairtrial.testing",
    "ScriptedEnvironment": "fairtrial.testing",
    "Summary": "fairtrial.records.summary",
    "Thought": "fairtrial.records.trace",
    "ToolCall": "fairtrial.records.trace",
    "ToolResult": "fairtrial.records.trace",
    "ToolTrajectory": "fairtrial.metrics.trajectory",
    "Trace": "fairtrial.records.trace",
    "TraceValue": "fairtrial.valuation.trace_value",
    "Usage": "fairtrial.records.trace",
    "UsageError": "fairtrial.errors",
    "VectorCache": "fairtrial.valuation.novelty",
    "Verdict": "fairtrial.records.result",
    "evaluate": "fairtrial.api",
    "load_eval_set": "fairtrial.api",
    "load_recordings": "fairtrial.api",
    "save_eval_set": "fairtrial.api",
    "score": "fairtrial.api",
    "value": "fairtrial.api",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605  (names are imported when first used: `import fairtrial` stays light)

if TYPE_CHECKING:
    from fairtrial.api import Run as Run
    from fairtrial.api import evaluate as evaluate
    from fairtrial.api import load_eval_set as load_eval_set
    from fairtrial.api import load_recordings as load_recordings
    from fairtrial.api import save_eval_set as save_eval_set
    from fairtrial.api import score as score
    from fairtrial.api import value as value
    from fairtrial.errors import ConfigError as ConfigError
    from fairtrial.errors import FairtrialError as FairtrialError
    from fairtrial.errors import FormatError as FormatError
    from fairtrial.errors import UsageError as UsageError
    from fairtrial.judge.judges import Judges as Judges
    from fairtrial.llm.budget import Budget as Budget
    from fairtrial.llm.model_options import ModelOptions as ModelOptions
    from fairtrial.metrics.response import ResponseMatch as ResponseMatch
    from fairtrial.metrics.trajectory import ToolTrajectory as ToolTrajectory
    from fairtrial.protocols import Embedder as Embedder
    from fairtrial.records.attempt import Failure as Failure
    from fairtrial.records.attempt import Recording as Recording
    from fairtrial.records.case import EvalCase as EvalCase
    from fairtrial.records.case import EvalSet as EvalSet
    from fairtrial.records.reasoning import ReasoningTrace as ReasoningTrace
    from fairtrial.records.reply import Prompt as Prompt
    from fairtrial.records.reply import Reply as Reply
    from fairtrial.records.result import CaseResult as CaseResult
    from fairtrial.records.result import Criterion as Criterion
    from fairtrial.records.result import Outcome as Outcome
    from fairtrial.records.result import Verdict as Verdict
    from fairtrial.records.rubric import Rubric as Rubric
    from fairtrial.records.score import Quote as Quote
    from fairtrial.records.score import Range as Range
    from fairtrial.records.score import Score as Score
    from fairtrial.records.summary import Summary as Summary
    from fairtrial.records.trace import AgentDetails as AgentDetails
    from fairtrial.records.trace import Invocation as Invocation
    from fairtrial.records.trace import Message as Message
    from fairtrial.records.trace import Thought as Thought
    from fairtrial.records.trace import ToolCall as ToolCall
    from fairtrial.records.trace import ToolResult as ToolResult
    from fairtrial.records.trace import Trace as Trace
    from fairtrial.records.trace import Usage as Usage
    from fairtrial.testing import ScriptedAgent as ScriptedAgent
    from fairtrial.testing import ScriptedEnvironment as ScriptedEnvironment
    from fairtrial.valuation.novelty import VectorCache as VectorCache
    from fairtrial.valuation.trace_value import TraceValue as TraceValue


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fairtrial' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
