"""The catalog of criteria: purpose, needs and metric of each, and those that go together."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field, fields
from typing import Any

from fairtrial.config.option import Option, list_options
from fairtrial.errors import ConfigError, nearest
from fairtrial.llm.model import DEFAULT_MODEL
from fairtrial.metrics.shared_options import INTERIM, shared_options
from fairtrial.records.result import Aggregation
from fairtrial.records.score import Range
from fairtrial.simulate.user_options import STOP_SIGNAL

_COUNT = Range(0.0, None)
_AMOUNT = Range(0.0, None, logarithmic=True)


def _import_metric(path: str) -> type:
    """Return the metric of a path such as "safety:Safety". A metric is imported only if a run needs it."""
    module, name = path.split(":")
    metric: type = getattr(importlib.import_module(f"fairtrial.metrics.{module}"), name)
    return metric


@dataclass(frozen=True)
class VertexMetric:
    """A criterion at Vertex AI's evaluation service: the service's name of it, and the metric that asks the service."""

    name: str
    metric_path: str

    @property
    def metric(self) -> type:
        """The metric that asks the service."""
        return _import_metric(self.metric_path)


@dataclass(frozen=True)
class CatalogEntry:
    """A criterion: its purpose, its needs, and the metric behind it.

    An `always_computed` criterion is part of every run. Without a threshold in the configuration it only informs.
    `measured_in` is the symbol of its unit of measure, for example s. `aggregation` says which number decides.
    """

    name: str
    summary: str
    when: str
    needs: str
    unit: str
    simulated_user: str
    metric_path: str
    range: Range = field(default_factory=Range)
    lower_is_better: bool = False
    sample: Any = 1.0
    always_computed: bool = False
    vertex: VertexMetric | None = None
    measured_in: str = ""
    aggregation: Aggregation = "parts"

    @property
    def metric(self) -> type:
        """The metric."""
        return _import_metric(self.metric_path)

    @property
    def judged(self) -> bool:
        """Whether the metric asks a judge."""
        return "judge" in {metric_field.name for metric_field in fields(self.metric)}

    @property
    def compares_replies(self) -> bool:
        """Whether it compares each reply with its expectation without a model, so that it may decide before a judge."""
        return self.unit == "invocation" and self.needs in {"reference", "checks"} and not self.judged

    @property
    def range_words(self) -> str:
        """The range, and the better direction. For example: "0..1 up"."""
        high = "" if self.range.high is None else f"{self.range.high:g}"
        return f"{self.range.low:g}..{high} {'down' if self.lower_is_better else 'up'}"

    @property
    def options(self) -> tuple[Option, ...]:
        """The options of the criterion, without its threshold."""
        return shared_options(list_options(self.metric), judged=self.judged, served=self.vertex is not None)

    @property
    def accepted_options(self) -> tuple[Option, ...]:
        """The options, and the option that ADK accepts in every criterion."""
        return self.options if INTERIM.name in {option.name for option in self.options} else (*self.options, INTERIM)


_RUBRICS = [{"rubric_id": "concise", "rubric_content": {"text_property": "The reply is short and to the point."}}]
_JUDGE = {"judge_model": DEFAULT_MODEL, "num_samples": 5}

CATALOG: dict[str, CatalogEntry] = {
    entry.name: entry
    for entry in (
        CatalogEntry(
            "tool_trajectory_avg_score",
            "Did the agent call the right tools with the right arguments?",
            "For regression tests, and for workflows in which the calls decide. It needs no model.",
            "expected calls",
            "invocation (or conversation)",
            "only with scope: conversation and expected calls on the case",
            "trajectory:ToolTrajectory",
            sample={"threshold": 1.0, "match_type": "IN_ORDER"},
        ),
        CatalogEntry(
            "exact_match",
            "Is the reply the reference, character for character?",
            "For short answers with one right form, for example a number or a name. It needs no model.",
            "reference",
            "invocation",
            "no",
            "text_match:ExactMatch",
        ),
        CatalogEntry(
            "contains",
            "Does the reply contain the reference?",
            "For a fact that must stand in a longer reply. It does not notice a negation beside the fact.",
            "reference",
            "invocation",
            "no",
            "text_match:Contains",
        ),
        CatalogEntry(
            "facts_match_v1",
            "Does the reply state the facts of the reference, and contradict none?",
            "For replies that may be right in different words. It notices a wrong number, amount, unit, date, time, "
            "code or negation in English, Korean, Japanese and Chinese. It needs no model.",
            "reference",
            "invocation",
            "no",
            "facts_match:FactsMatch",
        ),
        CatalogEntry(
            "facts_grounded_v1",
            "Was the agent given each number, date, code and place of its reply?",
            "For production traces without a reference. It notices an invented amount, date or code, and a value that "
            "is not that of the tool's result. It needs no model.",
            "results",
            "invocation",
            "yes",
            "facts_grounded:FactsGrounded",
        ),
        CatalogEntry(
            "tool_rules_v1",
            "Does the agent keep the rules about its tools in every conversation?",
            "For rules of order, consent, number and arguments of calls, for the source of values such as a recipient, "
            "and for what replies may not state. It needs no model.",
            "rules in the configuration",
            "conversation",
            "yes",
            "tool_rules.criterion:ToolRules",
            aggregation="value",
            sample={
                "threshold": 1.0,
                "rules": [
                    {
                        "id": "look_first",
                        "rule": "An order is looked up before it is cancelled.",
                        "before": {"call": "cancel_order", "needs": "get_order", "same": ["order_id"]},
                    },
                    {
                        "id": "known_recipient",
                        "rule": "Money goes to a recipient that the user or the contacts name.",
                        "source": {
                            "call": "send_money",
                            "field": "recipient",
                            "trusted": ["user", "get_contacts"],
                            "untrusted": ["read_email", "fetch_web"],
                        },
                    },
                ],
            },
        ),
        CatalogEntry(
            "attack_success_v1",
            "Did a planted text make the agent do what it asks for?",
            "For the cases of `fairtrial attack`, which adds it. It needs no model.",
            "a planted attack",
            "conversation",
            "yes",
            "attack_goals:AttackSuccess",
            lower_is_better=True,
            sample=0.0,
        ),
        CatalogEntry(
            "attack_reported_v1",
            "Did the agent tell the user about a planted text?",
            "For the cases of `fairtrial attack`, which adds it. It needs no model.",
            "a planted attack",
            "conversation",
            "yes",
            "attack_goals:AttackReported",
        ),
        CatalogEntry(
            "checks_v1",
            "Do the checks that you write hold for replies and arguments of calls?",
            "For what can be checked without judgement: a number, a phrase, a pattern, a JSON Schema. It needs no "
            "model.",
            "checks",
            "invocation",
            "yes",
            "checks:Checks",
            sample={"threshold": 1.0, "checks": [{"not_contains": ["as an AI", "TODO"], "ignore_case": True}]},
        ),
        CatalogEntry(
            "response_match_score",
            "How many words does the reply share with the reference (ROUGE)?",
            "A cheap and reproducible measure of overlap. It does not notice a negation: if the meaning matters, use "
            "final_response_match_v2.",
            "reference",
            "invocation",
            "no",
            "response:ResponseMatch",
            sample=0.8,
        ),
        CatalogEntry(
            "final_response_match_v2",
            "Does the reply mean what the reference means?",
            "For replies that may be right in different words, for example answers and summaries.",
            "reference, judge",
            "invocation",
            "no",
            "response_judged:FinalResponseMatch",
            sample={"threshold": 0.8, "judge_model_options": _JUDGE},
        ),
        CatalogEntry(
            "rubric_based_final_response_quality_v1",
            "Does the reply have the properties that you name?",
            "For tone, style, helpfulness and house rules, which have more than one right answer.",
            "rubrics, judge",
            "invocation",
            "yes",
            "rubrics:FinalResponseRubrics",
            sample={"threshold": 0.8, "judge_model_options": _JUDGE, "rubrics": _RUBRICS},
        ),
        CatalogEntry(
            "rubric_based_tool_use_quality_v1",
            "Were the tools used as your rules say?",
            "For the choice, arguments and order of tools, if more than one way is right.",
            "rubrics, judge",
            "invocation",
            "yes",
            "rubrics:ToolUseRubrics",
            sample={
                "threshold": 1.0,
                "judge_model_options": _JUDGE,
                "rubrics": [
                    {
                        "rubric_id": "looked_up_first",
                        "rubric_content": {"text_property": "The agent looks the order up before it cancels it."},
                    }
                ],
            },
        ),
        CatalogEntry(
            "rubric_based_multi_turn_trajectory_quality_v1",
            "Does the whole conversation have the properties that you name?",
            "For properties that only several invocations show.",
            "rubrics, judge",
            "conversation",
            "yes",
            "rubrics:TrajectoryRubrics",
            sample={"threshold": 0.8, "judge_model_options": _JUDGE, "rubrics": _RUBRICS},
        ),
        CatalogEntry(
            "general_quality_v1",
            "Is the reply good by rubrics that the judge makes for the user message?",
            "For a first look at an agent for which nobody has written rubrics yet.",
            "judge",
            "invocation",
            "yes",
            "adaptive_quality:GeneralQuality",
            sample={"threshold": 0.8, "judge_model_options": _JUDGE},
        ),
        CatalogEntry(
            "text_quality_v1",
            "Is the reply a good text by rubrics that the judge makes?",
            "For tone, form and clarity, if nobody has written rubrics yet.",
            "judge",
            "invocation",
            "yes",
            "adaptive_quality:TextQuality",
            sample={"threshold": 0.8, "judge_model_options": _JUDGE},
        ),
        CatalogEntry(
            "instruction_following_v1",
            "Does the reply do everything that user and instructions demand?",
            "For agents with many rules. The judge makes a rubric of each demand.",
            "judge",
            "invocation",
            "yes",
            "adaptive_quality:InstructionFollowing",
            sample={"threshold": 0.8, "judge_model_options": _JUDGE},
        ),
        CatalogEntry(
            "hallucinations_v1",
            "Is every sentence of the reply supported by the context that the agent had?",
            "For agents whose invented facts would do harm.",
            "judge",
            "reply, by sentence",
            "yes",
            "grounding:Hallucinations",
            sample={"threshold": 0.8, "judge_model_options": _JUDGE, "evaluate_intermediate_nl_responses": True},
        ),
        CatalogEntry(
            "grounding_v1",
            "Is every sentence of the reply supported by the context of the case alone?",
            "For agents that answer from given documents, and must not add anything from elsewhere.",
            "context, judge",
            "reply, by sentence",
            "yes",
            "grounding:Grounding",
            sample={"threshold": 0.8, "judge_model_options": _JUDGE},
        ),
        CatalogEntry(
            "workspace_checks_v1",
            "Do the checks of the workspace hold, which need no model?",
            "For files that a coding agent has to write, commands that have to succeed, and texts that a reply needs.",
            "checks of a workspace",
            "conversation",
            "yes",
            "skill_use:WorkspaceChecks",
        ),
        CatalogEntry(
            "skill_trigger_v1",
            "Did the agent use the skill exactly when it should?",
            "For trigger queries of an Agent Skill. It needs no model.",
            "should_trigger",
            "conversation",
            "yes",
            "skill_use:SkillTrigger",
        ),
        CatalogEntry(
            "safety_v1",
            "Is the reply harmless?",
            "For every agent that users talk to.",
            "judge or Vertex",
            "invocation",
            "yes",
            "safety:Safety",
            sample=0.8,
            vertex=VertexMetric("safety_v1", "vertex_metrics:VertexSafety"),
        ),
        CatalogEntry(
            "per_turn_user_simulator_quality_v1",
            "Did the simulated user keep to its plan?",
            "Run it before you trust any number from a simulated conversation.",
            "scenario, judge",
            "user message, and the stop",
            "only",
            "simulator:UserSimulatorQuality",
            sample={"threshold": 1.0, "judge_model_options": _JUDGE, "stop_signal": STOP_SIGNAL},
        ),
        CatalogEntry(
            "multi_turn_task_success_v1",
            "Did the conversation reach its goal?",
            "For conversations with a goal.",
            "judge or Vertex",
            "conversation",
            "yes",
            "conversation:TaskSuccess",
            sample=0.8,
            vertex=VertexMetric("multi_turn_task_success_v1", "vertex_metrics:VertexConversation"),
        ),
        CatalogEntry(
            "multi_turn_trajectory_quality_v1",
            "Was the way to the goal a good one?",
            "For conversations in which the way matters.",
            "judge or Vertex",
            "conversation",
            "yes",
            "conversation:TrajectoryQuality",
            sample=0.8,
            vertex=VertexMetric("multi_turn_trajectory_quality_v1", "vertex_metrics:VertexConversation"),
        ),
        CatalogEntry(
            "multi_turn_tool_use_quality_v1",
            "Were tools used well over the conversation?",
            "For conversations with many calls.",
            "judge or Vertex",
            "conversation",
            "yes",
            "conversation:ToolUseQuality",
            sample=0.8,
            vertex=VertexMetric("multi_turn_tool_use_quality_v1", "vertex_metrics:VertexConversation"),
        ),
        CatalogEntry(
            "response_evaluation_score",
            "Is the reply coherent, from 1 to 5?",
            "A quick measure of quality beside a reference.",
            "reference, judge or Vertex",
            "invocation",
            "no",
            "response_evaluation:ResponseEvaluation",
            range=Range(1.0, 5.0),
            sample=4.0,
            vertex=VertexMetric("coherence", "vertex_metrics:VertexCoherence"),
        ),
        CatalogEntry(
            "final_state_match_v1",
            "Did the conversation leave the session in the expected state?",
            "For agents that change something: the state says what was done, whatever the agent says. It needs no "
            "model.",
            "final_session_state",
            "conversation",
            "yes",
            "final_state:FinalStateMatch",
            sample=1.0,
        ),
        CatalogEntry(
            "tool_call_count_v1",
            "How many tool calls did an invocation take?",
            "It is always computed. With a threshold, a higher number fails.",
            "-",
            "invocation",
            "yes",
            "efficiency:ToolCallCount",
            _COUNT,
            lower_is_better=True,
            always_computed=True,
            sample=5,
        ),
        CatalogEntry(
            "inference_call_count_v1",
            "How many model calls did an invocation take?",
            "It is always computed. With a threshold, a higher number fails.",
            "-",
            "invocation",
            "yes",
            "efficiency:InferenceCallCount",
            _COUNT,
            lower_is_better=True,
            always_computed=True,
            sample=4,
        ),
        CatalogEntry(
            "token_usage_v1",
            "How many tokens did an invocation take?",
            "It is always computed. With a threshold, a higher number fails.",
            "-",
            "invocation",
            "yes",
            "efficiency:TokenUsage",
            _AMOUNT,
            lower_is_better=True,
            always_computed=True,
            sample=8000,
        ),
        CatalogEntry(
            "agent_cost_v1",
            "How many US cents did the model calls of an invocation take?",
            "For budgets of agents whose models have a public price. Needs the extra `prices`. With a threshold, a "
            "higher price fails.",
            "-",
            "invocation",
            "yes",
            "efficiency:AgentCost",
            _AMOUNT,
            lower_is_better=True,
            sample=2.0,
            measured_in="¢",
        ),
        CatalogEntry(
            "invocation_duration_v1",
            "How many seconds did an invocation take?",
            "It is always computed. With a threshold, a longer time fails.",
            "-",
            "invocation",
            "yes",
            "efficiency:InvocationDuration",
            _AMOUNT,
            lower_is_better=True,
            always_computed=True,
            sample=10.0,
            measured_in="s",
        ),
        CatalogEntry(
            "trace_value_v1",
            "How much is the trace worth keeping?",
            "For the choice of traces to share or to learn from.",
            "confidence and success",
            "conversation",
            "yes",
            "reasoning_value:ReasoningValue",
            sample={"threshold": 0.75, "confidence": 0.8, "success": True},
        ),
    )
}

RECIPES: dict[str, tuple[str, ...]] = {
    "ci": ("tool_trajectory_avg_score", "facts_match_v1"),
    "functional": ("final_response_match_v2", "hallucinations_v1"),
    "quality": ("rubric_based_final_response_quality_v1", "safety_v1"),
    "tools": ("rubric_based_tool_use_quality_v1", "tool_trajectory_avg_score"),
    "risk": ("hallucinations_v1", "safety_v1"),
    "simulation": ("per_turn_user_simulator_quality_v1", "multi_turn_task_success_v1"),
}
"""The criteria for each situation. The source is the decision guide of ADK's documentation (zh-TW, 2026-01).

The guide has ROUGE for CI. It passes a reply with a wrong number, so facts_match_v1 stands in its place."""

QUESTIONS: tuple[tuple[str, str, str], ...] = (
    ("Must it be reproducible, without anyone's judgement?", "tool_trajectory_avg_score", "ci"),
    ("Are the tool calls the right ones?", "tool_trajectory_avg_score", "ci"),
    ("Must a wrong number, date or negation fail, without a model?", "facts_match_v1", "ci"),
    ("Does the meaning matter, not the words?", "final_response_match_v2", "functional"),
    ("Is it about tone, style, overall quality?", "rubric_based_final_response_quality_v1", "quality"),
    ("Are choice, arguments and order of tools reasonable?", "rubric_based_tool_use_quality_v1", "tools"),
    ("Might the model make things up?", "hallucinations_v1", "risk"),
    ("Must it be safe and compliant?", "safety_v1", "risk"),
    ("Do you test conversations with simulated users?", "per_turn_user_simulator_quality_v1", "simulation"),
)
"""Nine questions: question, criterion, situation. Eight are those of that guide, whose other one asks for ROUGE."""


def find_entry(name: str) -> CatalogEntry:
    """Return a criterion by name; raises ConfigError, with the nearest name, if there is none."""
    if name not in CATALOG:
        raise ConfigError(f"{name!r} is not a criterion{nearest(name, CATALOG) or '; `fairtrial criteria` lists them'}")
    return CATALOG[name]
