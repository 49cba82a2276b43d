"""Evaluates AI agents, and says how sure you can be of the result.

Five stages, each taking what the one before it gives:

1. load       files -> eval sets, criteria, recordings
2. record     eval set x agent -> recordings (skipped if traces are already recorded)
3. score      recordings x criteria -> case results
4. aggregate  case results -> summary
5. report     summary -> terminal, JSON, JUnit, HTML, Markdown, Parquet, ADK

`evaluate` runs all of them on an agent, `score` on what was recorded elsewhere.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from fairtrial.version import __version__ as __version__

_HOMES = {
    "About": "fairtrial.records.trace",
    "Agent": "fairtrial.protocols",
    "AgentCost": "fairtrial.metrics.efficiency",
    "AgentDetails": "fairtrial.records.trace",
    "AgentError": "fairtrial.errors",
    "Agreement": "fairtrial.records.calibration",
    "Ballot": "fairtrial.records.ballot",
    "BatchOptions": "fairtrial.llm.model_options",
    "Behavior": "fairtrial.records.case",
    "Budget": "fairtrial.llm.budget",
    "Calibration": "fairtrial.records.calibration",
    "CallError": "fairtrial.llm.model",
    "Case": "fairtrial.records.case",
    "CaseError": "fairtrial.errors",
    "CaseKey": "fairtrial.records.keys",
    "CaseResult": "fairtrial.records.result",
    "Checks": "fairtrial.metrics.skill_use",
    "Claim": "fairtrial.records.gate",
    "Comparison": "fairtrial.records.run_comparison",
    "ConfigError": "fairtrial.errors",
    "Contains": "fairtrial.metrics.text_match",
    "Criterion": "fairtrial.records.result",
    "CriterionSummary": "fairtrial.records.summary",
    "Duplicate": "fairtrial.records.value_row",
    "Durations": "fairtrial.records.trace",
    "Embedder": "fairtrial.protocols",
    "Endpoint": "fairtrial.llm.endpoint",
    "Environment": "fairtrial.protocols",
    "Estimate": "fairtrial.records.summary",
    "EvalCase": "fairtrial.records.case",
    "EvalSet": "fairtrial.records.case",
    "ExactMatch": "fairtrial.metrics.text_match",
    "Failure": "fairtrial.records.attempt",
    "FairtrialError": "fairtrial.errors",
    "Fault": "fairtrial.records.result",
    "FinalResponseMatch": "fairtrial.metrics.response_judged",
    "FinalResponseRubrics": "fairtrial.metrics.rubrics",
    "FinalStateMatch": "fairtrial.metrics.final_state",
    "Flakiness": "fairtrial.records.flaky_case",
    "FormatError": "fairtrial.errors",
    "GateDecision": "fairtrial.records.gate",
    "GeneralQuality": "fairtrial.metrics.adaptive_quality",
    "Grounding": "fairtrial.metrics.grounding",
    "Hallucinations": "fairtrial.metrics.grounding",
    "InferenceCallCount": "fairtrial.metrics.efficiency",
    "Injection": "fairtrial.records.trace",
    "InstructionFollowing": "fairtrial.metrics.adaptive_quality",
    "Invocation": "fairtrial.records.trace",
    "InvocationDuration": "fairtrial.metrics.efficiency",
    "Judge": "fairtrial.judge.judge",
    "JudgeError": "fairtrial.errors",
    "JudgeOptions": "fairtrial.judge.judge_options",
    "JudgeState": "fairtrial.records.judge_state",
    "Judges": "fairtrial.judge.judges",
    "Label": "fairtrial.records.label",
    "Message": "fairtrial.records.trace",
    "Metric": "fairtrial.records.result",
    "MetricError": "fairtrial.errors",
    "Model": "fairtrial.protocols",
    "ModelOptions": "fairtrial.llm.model_options",
    "ModelUsage": "fairtrial.records.model_usage",
    "NamedModel": "fairtrial.llm.model",
    "Operator": "fairtrial.mutations.operator",
    "Outcome": "fairtrial.records.result",
    "PanelMember": "fairtrial.judge.judge_options",
    "Part": "fairtrial.records.trace",
    "PartKey": "fairtrial.records.score",
    "Persona": "fairtrial.records.case",
    "Prompt": "fairtrial.records.reply",
    "Quote": "fairtrial.records.score",
    "Range": "fairtrial.records.score",
    "ReasoningTrace": "fairtrial.records.reasoning",
    "ReasoningValue": "fairtrial.metrics.reasoning_value",
    "RecordedJudge": "fairtrial.records.report_card",
    "Recording": "fairtrial.records.attempt",
    "Redaction": "fairtrial.text.redaction.redact",
    "Reply": "fairtrial.records.reply",
    "ReportCard": "fairtrial.records.report_card",
    "ResponseEvaluation": "fairtrial.metrics.response_evaluation",
    "ResponseMatch": "fairtrial.metrics.response",
    "Rubric": "fairtrial.records.rubric",
    "Run": "fairtrial.api.stored_runs",
    "RunInfo": "fairtrial.records.run",
    "RunNotPassedError": "fairtrial.errors",
    "Safety": "fairtrial.metrics.safety",
    "Scenario": "fairtrial.records.case",
    "Score": "fairtrial.records.score",
    "SelectedTrace": "fairtrial.records.trace_selection",
    "Session": "fairtrial.protocols",
    "SessionInput": "fairtrial.records.case",
    "SimulatedToolError": "fairtrial.errors",
    "Simulator": "fairtrial.protocols",
    "SimulatorError": "fairtrial.errors",
    "SizePlan": "fairtrial.records.size_plan",
    "SkillTrigger": "fairtrial.metrics.skill_use",
    "Step": "fairtrial.records.trace",
    "Stopwatch": "fairtrial.agents.stopwatch",
    "StoreError": "fairtrial.errors",
    "Summary": "fairtrial.records.summary",
    "TaskSuccess": "fairtrial.metrics.conversation",
    "TextQuality": "fairtrial.metrics.adaptive_quality",
    "Thought": "fairtrial.records.trace",
    "TokenUsage": "fairtrial.metrics.efficiency",
    "ToolCall": "fairtrial.records.trace",
    "ToolCallCount": "fairtrial.metrics.efficiency",
    "ToolResult": "fairtrial.records.trace",
    "ToolTrajectory": "fairtrial.metrics.trajectory",
    "ToolUseQuality": "fairtrial.metrics.conversation",
    "ToolUseRubrics": "fairtrial.metrics.rubrics",
    "Trace": "fairtrial.records.trace",
    "TraceOptions": "fairtrial.formats.conversation.options",
    "TraceSelection": "fairtrial.records.trace_selection",
    "TraceValue": "fairtrial.valuation.trace_value",
    "TrajectoryQuality": "fairtrial.metrics.conversation",
    "TrajectoryRubrics": "fairtrial.metrics.rubrics",
    "Usage": "fairtrial.records.trace",
    "UsageError": "fairtrial.errors",
    "UserSimulatorQuality": "fairtrial.metrics.simulator",
    "VectorCache": "fairtrial.valuation.novelty",
    "Verdict": "fairtrial.records.result",
    "aevaluate": "fairtrial.api.evaluation",
    "ascore": "fairtrial.api.evaluation",
    "avalue": "fairtrial.valuation.single",
    "calibrate": "fairtrial.api.judges.calibrating",
    "compare": "fairtrial.api.decisions.comparing",
    "evaluate": "fairtrial.api.evaluation",
    "find_duplicates": "fairtrial.valuation.repetitions",
    "flaky": "fairtrial.api.decisions.flaky_cases",
    "gate": "fairtrial.api.decisions.gating",
    "iter_recordings": "fairtrial.api.eval_files",
    "load_eval_set": "fairtrial.api.eval_files",
    "load_recordings": "fairtrial.api.eval_files",
    "mutate": "fairtrial.api.mutation.mutating",
    "open_run": "fairtrial.api.stored_runs",
    "plan": "fairtrial.api.decisions.size_planning",
    "redact": "fairtrial.api.value.redacting",
    "report_card": "fairtrial.api.judges.report_cards",
    "route_call": "fairtrial.agents.routing",
    "save_eval_set": "fairtrial.api.eval_files",
    "score": "fairtrial.api.evaluation",
    "select": "fairtrial.api.value.selecting",
    "value": "fairtrial.valuation.single",
}
# Names are imported when they are first used, so that `import fairtrial` stays light. The names are written out for
# tools that read the source, such as mkdocstrings.
__all__ = [
    "About",
    "Agent",
    "AgentCost",
    "AgentDetails",
    "AgentError",
    "Agreement",
    "Ballot",
    "BatchOptions",
    "Behavior",
    "Budget",
    "Calibration",
    "CallError",
    "Case",
    "CaseError",
    "CaseKey",
    "CaseResult",
    "Checks",
    "Claim",
    "Comparison",
    "ConfigError",
    "Contains",
    "Criterion",
    "CriterionSummary",
    "Duplicate",
    "Durations",
    "Embedder",
    "Endpoint",
    "Environment",
    "Estimate",
    "EvalCase",
    "EvalSet",
    "ExactMatch",
    "Failure",
    "FairtrialError",
    "Fault",
    "FinalResponseMatch",
    "FinalResponseRubrics",
    "FinalStateMatch",
    "Flakiness",
    "FormatError",
    "GateDecision",
    "GeneralQuality",
    "Grounding",
    "Hallucinations",
    "InferenceCallCount",
    "Injection",
    "InstructionFollowing",
    "Invocation",
    "InvocationDuration",
    "Judge",
    "JudgeError",
    "JudgeOptions",
    "JudgeState",
    "Judges",
    "Label",
    "Message",
    "Metric",
    "MetricError",
    "Model",
    "ModelOptions",
    "ModelUsage",
    "NamedModel",
    "Operator",
    "Outcome",
    "PanelMember",
    "Part",
    "PartKey",
    "Persona",
    "Prompt",
    "Quote",
    "Range",
    "ReasoningTrace",
    "ReasoningValue",
    "RecordedJudge",
    "Recording",
    "Redaction",
    "Reply",
    "ReportCard",
    "ResponseEvaluation",
    "ResponseMatch",
    "Rubric",
    "Run",
    "RunInfo",
    "RunNotPassedError",
    "Safety",
    "Scenario",
    "Score",
    "SelectedTrace",
    "Session",
    "SessionInput",
    "SimulatedToolError",
    "Simulator",
    "SimulatorError",
    "SizePlan",
    "SkillTrigger",
    "Step",
    "Stopwatch",
    "StoreError",
    "Summary",
    "TaskSuccess",
    "TextQuality",
    "Thought",
    "TokenUsage",
    "ToolCall",
    "ToolCallCount",
    "ToolResult",
    "ToolTrajectory",
    "ToolUseQuality",
    "ToolUseRubrics",
    "Trace",
    "TraceOptions",
    "TraceSelection",
    "TraceValue",
    "TrajectoryQuality",
    "TrajectoryRubrics",
    "Usage",
    "UsageError",
    "UserSimulatorQuality",
    "VectorCache",
    "Verdict",
    "aevaluate",
    "ascore",
    "avalue",
    "calibrate",
    "compare",
    "evaluate",
    "find_duplicates",
    "flaky",
    "gate",
    "iter_recordings",
    "load_eval_set",
    "load_recordings",
    "mutate",
    "open_run",
    "plan",
    "redact",
    "report_card",
    "route_call",
    "save_eval_set",
    "score",
    "select",
    "value",
]

if TYPE_CHECKING:
    from fairtrial.agents.routing import route_call as route_call
    from fairtrial.agents.stopwatch import Stopwatch as Stopwatch
    from fairtrial.api.decisions.comparing import compare as compare
    from fairtrial.api.decisions.flaky_cases import flaky as flaky
    from fairtrial.api.decisions.gating import gate as gate
    from fairtrial.api.decisions.size_planning import plan as plan
    from fairtrial.api.eval_files import iter_recordings as iter_recordings
    from fairtrial.api.eval_files import load_eval_set as load_eval_set
    from fairtrial.api.eval_files import load_recordings as load_recordings
    from fairtrial.api.eval_files import save_eval_set as save_eval_set
    from fairtrial.api.evaluation import aevaluate as aevaluate
    from fairtrial.api.evaluation import ascore as ascore
    from fairtrial.api.evaluation import evaluate as evaluate
    from fairtrial.api.evaluation import score as score
    from fairtrial.api.judges.calibrating import calibrate as calibrate
    from fairtrial.api.judges.report_cards import report_card as report_card
    from fairtrial.api.mutation.mutating import mutate as mutate
    from fairtrial.api.stored_runs import Run as Run
    from fairtrial.api.stored_runs import open_run as open_run
    from fairtrial.api.value.redacting import redact as redact
    from fairtrial.api.value.selecting import select as select
    from fairtrial.errors import AgentError as AgentError
    from fairtrial.errors import CaseError as CaseError
    from fairtrial.errors import ConfigError as ConfigError
    from fairtrial.errors import FairtrialError as FairtrialError
    from fairtrial.errors import FormatError as FormatError
    from fairtrial.errors import JudgeError as JudgeError
    from fairtrial.errors import MetricError as MetricError
    from fairtrial.errors import RunNotPassedError as RunNotPassedError
    from fairtrial.errors import SimulatedToolError as SimulatedToolError
    from fairtrial.errors import SimulatorError as SimulatorError
    from fairtrial.errors import StoreError as StoreError
    from fairtrial.errors import UsageError as UsageError
    from fairtrial.formats.conversation.options import TraceOptions as TraceOptions
    from fairtrial.judge.judge import Judge as Judge
    from fairtrial.judge.judge_options import JudgeOptions as JudgeOptions
    from fairtrial.judge.judge_options import PanelMember as PanelMember
    from fairtrial.judge.judges import Judges as Judges
    from fairtrial.llm.budget import Budget as Budget
    from fairtrial.llm.endpoint import Endpoint as Endpoint
    from fairtrial.llm.model import CallError as CallError
    from fairtrial.llm.model import NamedModel as NamedModel
    from fairtrial.llm.model_options import BatchOptions as BatchOptions
    from fairtrial.llm.model_options import ModelOptions as ModelOptions
    from fairtrial.metrics.adaptive_quality import GeneralQuality as GeneralQuality
    from fairtrial.metrics.adaptive_quality import InstructionFollowing as InstructionFollowing
    from fairtrial.metrics.adaptive_quality import TextQuality as TextQuality
    from fairtrial.metrics.conversation import TaskSuccess as TaskSuccess
    from fairtrial.metrics.conversation import ToolUseQuality as ToolUseQuality
    from fairtrial.metrics.conversation import TrajectoryQuality as TrajectoryQuality
    from fairtrial.metrics.efficiency import AgentCost as AgentCost
    from fairtrial.metrics.efficiency import InferenceCallCount as InferenceCallCount
    from fairtrial.metrics.efficiency import InvocationDuration as InvocationDuration
    from fairtrial.metrics.efficiency import TokenUsage as TokenUsage
    from fairtrial.metrics.efficiency import ToolCallCount as ToolCallCount
    from fairtrial.metrics.final_state import FinalStateMatch as FinalStateMatch
    from fairtrial.metrics.grounding import Grounding as Grounding
    from fairtrial.metrics.grounding import Hallucinations as Hallucinations
    from fairtrial.metrics.reasoning_value import ReasoningValue as ReasoningValue
    from fairtrial.metrics.response import ResponseMatch as ResponseMatch
    from fairtrial.metrics.response_evaluation import ResponseEvaluation as ResponseEvaluation
    from fairtrial.metrics.response_judged import FinalResponseMatch as FinalResponseMatch
    from fairtrial.metrics.rubrics import FinalResponseRubrics as FinalResponseRubrics
    from fairtrial.metrics.rubrics import ToolUseRubrics as ToolUseRubrics
    from fairtrial.metrics.rubrics import TrajectoryRubrics as TrajectoryRubrics
    from fairtrial.metrics.safety import Safety as Safety
    from fairtrial.metrics.simulator import UserSimulatorQuality as UserSimulatorQuality
    from fairtrial.metrics.skill_use import Checks as Checks
    from fairtrial.metrics.skill_use import SkillTrigger as SkillTrigger
    from fairtrial.metrics.text_match import Contains as Contains
    from fairtrial.metrics.text_match import ExactMatch as ExactMatch
    from fairtrial.metrics.trajectory import ToolTrajectory as ToolTrajectory
    from fairtrial.mutations.operator import Operator as Operator
    from fairtrial.protocols import Agent as Agent
    from fairtrial.protocols import Embedder as Embedder
    from fairtrial.protocols import Environment as Environment
    from fairtrial.protocols import Model as Model
    from fairtrial.protocols import Session as Session
    from fairtrial.protocols import Simulator as Simulator
    from fairtrial.records.attempt import Failure as Failure
    from fairtrial.records.attempt import Recording as Recording
    from fairtrial.records.ballot import Ballot as Ballot
    from fairtrial.records.calibration import Agreement as Agreement
    from fairtrial.records.calibration import Calibration as Calibration
    from fairtrial.records.case import Behavior as Behavior
    from fairtrial.records.case import Case as Case
    from fairtrial.records.case import EvalCase as EvalCase
    from fairtrial.records.case import EvalSet as EvalSet
    from fairtrial.records.case import Persona as Persona
    from fairtrial.records.case import Scenario as Scenario
    from fairtrial.records.case import SessionInput as SessionInput
    from fairtrial.records.flaky_case import Flakiness as Flakiness
    from fairtrial.records.gate import Claim as Claim
    from fairtrial.records.gate import GateDecision as GateDecision
    from fairtrial.records.judge_state import JudgeState as JudgeState
    from fairtrial.records.keys import CaseKey as CaseKey
    from fairtrial.records.label import Label as Label
    from fairtrial.records.model_usage import ModelUsage as ModelUsage
    from fairtrial.records.reasoning import ReasoningTrace as ReasoningTrace
    from fairtrial.records.reply import Prompt as Prompt
    from fairtrial.records.reply import Reply as Reply
    from fairtrial.records.report_card import RecordedJudge as RecordedJudge
    from fairtrial.records.report_card import ReportCard as ReportCard
    from fairtrial.records.result import CaseResult as CaseResult
    from fairtrial.records.result import Criterion as Criterion
    from fairtrial.records.result import Fault as Fault
    from fairtrial.records.result import Metric as Metric
    from fairtrial.records.result import Outcome as Outcome
    from fairtrial.records.result import Verdict as Verdict
    from fairtrial.records.rubric import Rubric as Rubric
    from fairtrial.records.run import RunInfo as RunInfo
    from fairtrial.records.run_comparison import Comparison as Comparison
    from fairtrial.records.score import PartKey as PartKey
    from fairtrial.records.score import Quote as Quote
    from fairtrial.records.score import Range as Range
    from fairtrial.records.score import Score as Score
    from fairtrial.records.size_plan import SizePlan as SizePlan
    from fairtrial.records.summary import CriterionSummary as CriterionSummary
    from fairtrial.records.summary import Estimate as Estimate
    from fairtrial.records.summary import Summary as Summary
    from fairtrial.records.trace import About as About
    from fairtrial.records.trace import AgentDetails as AgentDetails
    from fairtrial.records.trace import Durations as Durations
    from fairtrial.records.trace import Injection as Injection
    from fairtrial.records.trace import Invocation as Invocation
    from fairtrial.records.trace import Message as Message
    from fairtrial.records.trace import Part as Part
    from fairtrial.records.trace import Step as Step
    from fairtrial.records.trace import Thought as Thought
    from fairtrial.records.trace import ToolCall as ToolCall
    from fairtrial.records.trace import ToolResult as ToolResult
    from fairtrial.records.trace import Trace as Trace
    from fairtrial.records.trace import Usage as Usage
    from fairtrial.records.trace_selection import SelectedTrace as SelectedTrace
    from fairtrial.records.trace_selection import TraceSelection as TraceSelection
    from fairtrial.records.value_row import Duplicate as Duplicate
    from fairtrial.text.redaction.redact import Redaction as Redaction
    from fairtrial.valuation.novelty import VectorCache as VectorCache
    from fairtrial.valuation.repetitions import find_duplicates as find_duplicates
    from fairtrial.valuation.single import avalue as avalue
    from fairtrial.valuation.single import value as value
    from fairtrial.valuation.trace_value import TraceValue as TraceValue


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fairtrial' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
