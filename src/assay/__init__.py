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
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "AgentDetails": "assay.data.trace",
    "AssayError": "assay.errors",
    "CaseResult": "assay.data.outcome",
    "ConfigError": "assay.errors",
    "Criterion": "assay.data.outcome",
    "Embedder": "assay.data.seams",
    "EvalCase": "assay.data.case",
    "EvalSet": "assay.data.case",
    "Failure": "assay.data.recording",
    "FormatError": "assay.errors",
    "Invocation": "assay.data.trace",
    "Message": "assay.data.trace",
    "Outcome": "assay.data.outcome",
    "Quote": "assay.data.outcome",
    "Range": "assay.data.outcome",
    "Recording": "assay.data.recording",
    "ReasoningTrace": "assay.data.reasoning",
    "ResponseMatch": "assay.metrics.response",
    "Rubric": "assay.data.rubric",
    "Run": "assay.api",
    "Score": "assay.data.outcome",
    "ScriptedAgent": "assay.agents.scripted",
    "ScriptedEnvironment": "assay.simulate.scripted",
    "Summary": "assay.data.summary",
    "Thought": "assay.data.trace",
    "ToolCall": "assay.data.trace",
    "ToolResult": "assay.data.trace",
    "ToolTrajectory": "assay.metrics.trajectory",
    "Trace": "assay.data.trace",
    "TraceValue": "assay.value.score",
    "Usage": "assay.data.trace",
    "UsageError": "assay.errors",
    "VectorCache": "assay.value.novelty",
    "Verdict": "assay.data.outcome",
    "evaluate": "assay.api",
    "load_eval_set": "assay.api",
    "load_recordings": "assay.api",
    "save_eval_set": "assay.api",
    "score": "assay.api",
    "value": "assay.api",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605  (names are imported when first used: `import assay` stays light)

if TYPE_CHECKING:
    from assay.agents.scripted import ScriptedAgent as ScriptedAgent
    from assay.api import Run as Run
    from assay.api import evaluate as evaluate
    from assay.api import load_eval_set as load_eval_set
    from assay.api import load_recordings as load_recordings
    from assay.api import save_eval_set as save_eval_set
    from assay.api import score as score
    from assay.api import value as value
    from assay.data.case import EvalCase as EvalCase
    from assay.data.case import EvalSet as EvalSet
    from assay.data.outcome import CaseResult as CaseResult
    from assay.data.outcome import Criterion as Criterion
    from assay.data.outcome import Outcome as Outcome
    from assay.data.outcome import Quote as Quote
    from assay.data.outcome import Range as Range
    from assay.data.outcome import Score as Score
    from assay.data.outcome import Verdict as Verdict
    from assay.data.reasoning import ReasoningTrace as ReasoningTrace
    from assay.data.recording import Failure as Failure
    from assay.data.recording import Recording as Recording
    from assay.data.rubric import Rubric as Rubric
    from assay.data.seams import Embedder as Embedder
    from assay.data.summary import Summary as Summary
    from assay.data.trace import AgentDetails as AgentDetails
    from assay.data.trace import Invocation as Invocation
    from assay.data.trace import Message as Message
    from assay.data.trace import Thought as Thought
    from assay.data.trace import ToolCall as ToolCall
    from assay.data.trace import ToolResult as ToolResult
    from assay.data.trace import Trace as Trace
    from assay.data.trace import Usage as Usage
    from assay.errors import AssayError as AssayError
    from assay.errors import ConfigError as ConfigError
    from assay.errors import FormatError as FormatError
    from assay.errors import UsageError as UsageError
    from assay.metrics.response import ResponseMatch as ResponseMatch
    from assay.metrics.trajectory import ToolTrajectory as ToolTrajectory
    from assay.simulate.scripted import ScriptedEnvironment as ScriptedEnvironment
    from assay.value.novelty import VectorCache as VectorCache
    from assay.value.score import TraceValue as TraceValue


class _Package(ModuleType):
    """Keeps the functions `score` and `value` from being hidden by the submodules of the same names."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'assay' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
