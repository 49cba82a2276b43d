"""A recorded line of reasoning in the form in which it is exchanged. `value` scores it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from fairtrial.records.record import Extra, Record

StepType = Literal["thought", "tool_call", "observation", "error_recovery"]

_DATE = (
    r"(\d\d[2468][048]-02-29|\d\d[13579][26]-02-29|\d\d0[48]-02-29|[02468][048]00-02-29|[13579][26]00-02-29"
    r"|\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30)|02-(0[1-9]|1\d|2[0-8])))"
)
Instant = Annotated[str, Meta(pattern=rf"(?a)^{_DATE}T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?Z\Z")]
"""An ISO 8601 date and time in UTC that ends in Z, for example `2026-02-28T12:00:00Z`. The day must exist."""

Unit = Annotated[float, Meta(ge=0.0, le=1.0)]
Filled = Annotated[str, Meta(min_length=1)]


class ReasoningTool(Record, frozen=True):
    """The tool of a step, by its exact name."""

    name: str
    mcp_server: str | None = None
    extra: Extra = None


class ReasoningStep(Record, frozen=True):
    """A step of the reasoning. A step of any type may have a tool."""

    step_id: Annotated[int, Meta(ge=0)]
    type: StepType
    content: str | None = None
    tool: ReasoningTool | None = None
    input: dict[str, Any] | None = None
    output_summary: str | None = None
    latency_ms: Annotated[float, Meta(ge=0.0)] | None = None
    extra: Extra = None


class ReasoningMetadata(Record, frozen=True):
    """The origin of a trace, whether it reached its goal, and who may see it."""

    created_at: Instant
    task_domain: Filled
    success: bool
    quality_score: Unit
    visibility: Literal["private", "org", "network"]
    privacy_level: Literal["aggregated", "federated", "private"]
    agent_id: str | None = None
    framework: str | None = None
    validated_by: tuple[str, ...] | None = None
    extra: Extra = None


class ReasoningTask(Record, frozen=True):
    """The task that the agent had to solve."""

    objective: Filled
    input_schema: dict[str, Any] | None = None
    extra: Extra = None


class ReasoningOutcome(Record, frozen=True):
    """The result, and how confident the agent itself was."""

    result_summary: str
    confidence: Unit
    extra: Extra = None


class Entity(Record, frozen=True):
    """An entity that the trace adds to a knowledge graph."""

    name: str
    type: str
    extra: Extra = None


class Relationship(Record, frozen=True):
    """A fact that the trace adds to a knowledge graph, and the time since which it is valid."""

    fact: str
    valid_from: str
    extra: Extra = None


class KnowledgeGraphDelta(Record, frozen=True):
    """The entities and facts that the trace adds to a knowledge graph."""

    entities: tuple[Entity, ...]
    relationships: tuple[Relationship, ...]
    extra: Extra = None


class ReasoningTrace(Record, frozen=True):
    """A line of reasoning with its task and its outcome. It has at least one step."""

    id: Annotated[str, Meta(pattern=r"^kp:trace:")]
    metadata: ReasoningMetadata
    task: ReasoningTask
    steps: Annotated[tuple[ReasoningStep, ...], Meta(min_length=1)]
    outcome: ReasoningOutcome
    source_skill: str | None = None
    knowledge_graph_delta: KnowledgeGraphDelta | None = None
    extra: Extra = None

    @property
    def is_private(self) -> bool:
        """Whether only its owner may see the trace, by its visibility or by its level of privacy."""
        return "private" in (self.metadata.visibility, self.metadata.privacy_level)

    @property
    def text(self) -> str:
        """The text for an embedder: the objective and the contents of the steps, joined by one space.

        The content of a step counts as empty if it is absent.
        """
        return " ".join([self.task.objective, *[step.content or "" for step in self.steps]])


class Problem(Record, frozen=True):
    """One mistake in a document: its JSON pointer, and a message with the value that was found and what is allowed."""

    pointer: str
    problem: str

    def __str__(self) -> str:
        return f"{self.pointer or '/'}: {self.problem}"


class RefusedTrace(Record, frozen=True):
    """A document that is not a valid ReasoningTrace, with every problem. `id` is None if the document has no id."""

    id: str | None
    problems: tuple[Problem, ...]
