# ruff: isort: skip_file

from fairtrial.version import __version__ as __version__

# Evaluate an agent, or score recordings of it
from fairtrial.api.evaluation import evaluate as evaluate
from fairtrial.api.evaluation import aevaluate as aevaluate
from fairtrial.recording.holding import Holding as Holding
from fairtrial.api.evaluation import score as score
from fairtrial.api.evaluation import ascore as ascore
from fairtrial.api.datasets.batch_scoring import score_batches as score_batches
from fairtrial.api.datasets.batch_scoring import BatchScorer as BatchScorer
from fairtrial.api.run_parts.case_series import case_history as case_history
from fairtrial.api.stored_runs import open_run as open_run
from fairtrial.api.stored_runs import Run as Run

# Write what is expected, and read files
from fairtrial.records.case import Case as Case
from fairtrial.records.case import EvalCase as EvalCase
from fairtrial.records.case import EvalSet as EvalSet
from fairtrial.records.case import Scenario as Scenario
from fairtrial.records.case import Persona as Persona
from fairtrial.records.case import Behavior as Behavior
from fairtrial.records.case import SessionInput as SessionInput
from fairtrial.records.rubric import Rubric as Rubric
from fairtrial.records.check import Check as Check
from fairtrial.api.eval_files import load_eval_set as load_eval_set
from fairtrial.api.eval_files import save_eval_set as save_eval_set
from fairtrial.api.eval_files import load_recordings as load_recordings
from fairtrial.api.eval_files import iter_recordings as iter_recordings
from fairtrial.formats.conversation.options import TraceOptions as TraceOptions

# Read what an agent did
from fairtrial.records.attempt import Recording as Recording
from fairtrial.records.attempt import Failure as Failure
from fairtrial.records.trace import Trace as Trace
from fairtrial.records.trace import Invocation as Invocation
from fairtrial.records.trace import Step as Step
from fairtrial.records.trace import Message as Message
from fairtrial.records.trace import Thought as Thought
from fairtrial.records.trace import ToolCall as ToolCall
from fairtrial.records.trace import ToolResult as ToolResult
from fairtrial.records.trace import Part as Part
from fairtrial.records.trace import Usage as Usage
from fairtrial.records.trace import Durations as Durations
from fairtrial.records.trace import About as About
from fairtrial.records.trace import AgentDetails as AgentDetails
from fairtrial.records.trace import Injection as Injection

# Write a metric, and read results
from fairtrial.records.result import Metric as Metric
from fairtrial.records.score import Score as Score
from fairtrial.records.score import Quote as Quote
from fairtrial.records.score import Range as Range
from fairtrial.records.result import Criterion as Criterion
from fairtrial.records.result import CaseResult as CaseResult
from fairtrial.records.result import Outcome as Outcome
from fairtrial.records.result import Verdict as Verdict
from fairtrial.records.result import Fault as Fault
from fairtrial.records.score import PartKey as PartKey
from fairtrial.records.keys import CaseKey as CaseKey
from fairtrial.records.summary import Summary as Summary
from fairtrial.records.summary import CriterionSummary as CriterionSummary
from fairtrial.records.summary import Estimate as Estimate
from fairtrial.records.run import RunInfo as RunInfo
from fairtrial.records.model_usage import ModelUsage as ModelUsage

# Choose criteria
from fairtrial.metrics.text_match import ExactMatch as ExactMatch
from fairtrial.metrics.text_match import Contains as Contains
from fairtrial.metrics.checks import Checks as Checks
from fairtrial.metrics.facts_match import FactsMatch as FactsMatch
from fairtrial.metrics.facts_grounded import FactsGrounded as FactsGrounded
from fairtrial.metrics.skill_use import WorkspaceChecks as WorkspaceChecks
from fairtrial.metrics.skill_use import SkillTrigger as SkillTrigger
from fairtrial.metrics.tool_rules.criterion import ToolRules as ToolRules
from fairtrial.metrics.attacks.attack_goals import AttackSuccess as AttackSuccess
from fairtrial.metrics.attacks.attack_goals import AttackReported as AttackReported
from fairtrial.metrics.trajectory import ToolTrajectory as ToolTrajectory
from fairtrial.metrics.response import ResponseMatch as ResponseMatch
from fairtrial.metrics.final_state import FinalStateMatch as FinalStateMatch
from fairtrial.metrics.response_judged import FinalResponseMatch as FinalResponseMatch
from fairtrial.metrics.response_evaluation import ResponseEvaluation as ResponseEvaluation
from fairtrial.metrics.rubrics import FinalResponseRubrics as FinalResponseRubrics
from fairtrial.metrics.rubrics import ToolUseRubrics as ToolUseRubrics
from fairtrial.metrics.rubrics import TrajectoryRubrics as TrajectoryRubrics
from fairtrial.metrics.conversation import TaskSuccess as TaskSuccess
from fairtrial.metrics.conversation import ToolUseQuality as ToolUseQuality
from fairtrial.metrics.tool_rules.user_consent import UserConsent as UserConsent
from fairtrial.metrics.conversation import TrajectoryQuality as TrajectoryQuality
from fairtrial.metrics.adaptive_quality import GeneralQuality as GeneralQuality
from fairtrial.metrics.adaptive_quality import InstructionFollowing as InstructionFollowing
from fairtrial.metrics.adaptive_quality import TextQuality as TextQuality
from fairtrial.metrics.grounding import Grounding as Grounding
from fairtrial.metrics.grounding import Hallucinations as Hallucinations
from fairtrial.metrics.safety import Safety as Safety
from fairtrial.metrics.simulator import UserSimulatorQuality as UserSimulatorQuality
from fairtrial.metrics.efficiency import AgentCost as AgentCost
from fairtrial.metrics.efficiency import InferenceCallCount as InferenceCallCount
from fairtrial.metrics.efficiency import InvocationDuration as InvocationDuration
from fairtrial.metrics.efficiency import TimeToFirstToken as TimeToFirstToken
from fairtrial.metrics.efficiency import TokenUsage as TokenUsage
from fairtrial.metrics.efficiency import ToolCallCount as ToolCallCount
from fairtrial.metrics.reasoning_value import ReasoningValue as ReasoningValue

# Decide: compare, claim, plan, find what is flaky, mutate
from fairtrial.api.decisions.comparing import compare as compare
from fairtrial.records.run_comparison import Comparison as Comparison
from fairtrial.api.decisions.gating import gate as gate
from fairtrial.records.gate import Claim as Claim
from fairtrial.records.gate import GateDecision as GateDecision
from fairtrial.api.decisions.size_planning import plan as plan
from fairtrial.records.size_plan import SizePlan as SizePlan
from fairtrial.api.decisions.flaky_cases import flaky as flaky
from fairtrial.records.flaky_case import Flakiness as Flakiness
from fairtrial.api.decisions.history import history as history
from fairtrial.records.run_history import RunHistory as RunHistory
from fairtrial.records.run_history import CaseHistory as CaseHistory
from fairtrial.api.failure_modes.followed_modes import mode_history as mode_history
from fairtrial.records.mode_history import ModeHistory as ModeHistory
from fairtrial.api.failure_modes.run_modes import failures as failures
from fairtrial.api.failure_modes.run_modes import failure_changes as failure_changes
from fairtrial.records.failure_mode import Failures as Failures
from fairtrial.api.mutation.mutating import mutate as mutate
from fairtrial.mutations.operator import Operator as Operator

# Ask a judge, and check it
from fairtrial.judge.judge import Judge as Judge
from fairtrial.judge.judges import Judges as Judges
from fairtrial.judge.judge_options import JudgeOptions as JudgeOptions
from fairtrial.records.judging.judge_state import JudgeState as JudgeState
from fairtrial.judge.judge_options import PanelMember as PanelMember
from fairtrial.records.ballot import Ballot as Ballot
from fairtrial.records.label import Label as Label
from fairtrial.api.judges.calibrating import calibrate as calibrate
from fairtrial.records.judging.calibration import Calibration as Calibration
from fairtrial.records.judging.calibration import Agreement as Agreement
from fairtrial.api.alignment.choosing import align_judge as align_judge
from fairtrial.api.alignment.choosing import choose_recorded as choose_recorded
from fairtrial.api.alignment.choosing import AlignOptions as AlignOptions
from fairtrial.analysis.alignment.judge_selection import ChoiceTerms as ChoiceTerms
from fairtrial.records.judging.judge_choice import JudgeChoice as JudgeChoice
from fairtrial.api.judges.report_cards import report_card as report_card
from fairtrial.records.judging.report_card import ReportCard as ReportCard
from fairtrial.records.judging.report_card import RecordedJudge as RecordedJudge

# Reach a language model
from fairtrial.protocols import Model as Model
from fairtrial.llm.model import NamedModel as NamedModel
from fairtrial.llm.model_options import ModelOptions as ModelOptions
from fairtrial.llm.endpoint import Endpoint as Endpoint
from fairtrial.llm.model_options import BatchOptions as BatchOptions
from fairtrial.llm.budget import Budget as Budget
from fairtrial.records.reply import Prompt as Prompt
from fairtrial.records.reply import Reply as Reply

# Bring an agent, a user or an environment
from fairtrial.protocols import Agent as Agent
from fairtrial.protocols import Session as Session
from fairtrial.protocols import Simulator as Simulator
from fairtrial.protocols import Environment as Environment
from fairtrial.agents.routing import route_call as route_call
from fairtrial.agents.stopwatch import Stopwatch as Stopwatch

# Compute the value of reasoning traces, select and redact
from fairtrial.valuation.single import value as value
from fairtrial.valuation.single import avalue as avalue
from fairtrial.api.value.selecting import select as select
from fairtrial.api.value.redacting import redact as redact
from fairtrial.valuation.repetitions import find_duplicates as find_duplicates
from fairtrial.records.reasoning import ReasoningTrace as ReasoningTrace
from fairtrial.valuation.trace_value import TraceValue as TraceValue
from fairtrial.records.trace_selection import TraceSelection as TraceSelection
from fairtrial.records.trace_selection import SelectedTrace as SelectedTrace
from fairtrial.records.value_row import Duplicate as Duplicate
from fairtrial.valuation.novelty import VectorCache as VectorCache
from fairtrial.protocols import Embedder as Embedder
from fairtrial.text.redaction.redact import Redaction as Redaction

# Catch an error
from fairtrial.errors import FairtrialError as FairtrialError
from fairtrial.errors import UsageError as UsageError
from fairtrial.errors import ConfigError as ConfigError
from fairtrial.errors import FormatError as FormatError
from fairtrial.errors import StoreError as StoreError
from fairtrial.errors import RunNotPassedError as RunNotPassedError
from fairtrial.errors import CaseError as CaseError
from fairtrial.errors import AgentError as AgentError
from fairtrial.errors import SimulatorError as SimulatorError
from fairtrial.errors import SimulatedToolError as SimulatedToolError
from fairtrial.errors import MetricError as MetricError
from fairtrial.errors import JudgeError as JudgeError
from fairtrial.llm.model import CallError as CallError

# Tools that read the source, such as mkdocstrings, show the names of this list only.
# fmt: off
__all__ = [
    "About", "Agent", "AgentCost", "AgentDetails", "AgentError", "Agreement", "AlignOptions", "AttackReported",
    "AttackSuccess", "Ballot", "BatchOptions", "BatchScorer", "Behavior", "Budget", "Calibration", "CallError",
    "Case", "CaseError", "CaseHistory", "CaseKey", "CaseResult", "Check", "Checks", "ChoiceTerms", "Claim",
    "Comparison", "ConfigError", "Contains", "Criterion", "CriterionSummary", "Duplicate", "Durations", "Embedder",
    "Endpoint", "Environment", "Estimate", "EvalCase", "EvalSet", "ExactMatch", "FactsGrounded", "FactsMatch",
    "Failure", "Failures", "FairtrialError", "Fault", "FinalResponseMatch", "FinalResponseRubrics",
    "FinalStateMatch", "Flakiness", "FormatError", "GateDecision", "GeneralQuality", "Grounding", "Hallucinations",
    "Holding", "InferenceCallCount", "Injection", "InstructionFollowing", "Invocation", "InvocationDuration",
    "Judge", "JudgeChoice", "JudgeError", "JudgeOptions", "JudgeState", "Judges", "Label", "Message", "Metric",
    "MetricError", "ModeHistory", "Model", "ModelOptions", "ModelUsage", "NamedModel", "Operator", "Outcome",
    "PanelMember", "Part", "PartKey", "Persona", "Prompt", "Quote", "Range", "ReasoningTrace", "ReasoningValue",
    "RecordedJudge", "Recording", "Redaction", "Reply", "ReportCard", "ResponseEvaluation", "ResponseMatch",
    "Rubric", "Run", "RunHistory", "RunInfo", "RunNotPassedError", "Safety", "Scenario", "Score", "SelectedTrace",
    "Session", "SessionInput", "SimulatedToolError", "Simulator", "SimulatorError", "SizePlan", "SkillTrigger",
    "Step", "Stopwatch", "StoreError", "Summary", "TaskSuccess", "TextQuality", "Thought", "TimeToFirstToken",
    "TokenUsage", "ToolCall",
    "ToolCallCount", "ToolResult", "ToolRules", "ToolTrajectory", "ToolUseQuality", "ToolUseRubrics", "Trace",
    "TraceOptions", "TraceSelection", "TraceValue", "TrajectoryQuality", "TrajectoryRubrics", "Usage", "UsageError",
    "UserConsent", "UserSimulatorQuality", "VectorCache", "Verdict", "WorkspaceChecks", "aevaluate", "align_judge",
    "ascore", "avalue", "calibrate", "case_history", "choose_recorded", "compare", "evaluate", "failure_changes",
    "failures", "find_duplicates", "flaky", "gate", "history", "iter_recordings", "load_eval_set",
    "load_recordings", "mode_history", "mutate", "open_run", "plan", "redact", "report_card", "route_call",
    "save_eval_set", "score", "score_batches", "select", "value",
]
# fmt: on
