"""The expectation: a fixed conversation, or a scenario to simulate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from fairtrial.records.attack import PlantedAttack
from fairtrial.records.check import Check
from fairtrial.records.record import Extra, Json, Record
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import Invocation, ToolCall
from fairtrial.records.workspace import Workspace


class Behavior(Record, frozen=True):
    """A habit of a simulated user.

    `behavior_instructions` say how to act it, `violation_rubrics` how to notice that the user broke it.
    """

    name: str
    description: str = ""
    behavior_instructions: tuple[str, ...] = ()
    violation_rubrics: tuple[str, ...] = ()
    extra: Extra = None


class Persona(Record, frozen=True):
    """The character that the simulator plays."""

    id: str
    description: str = ""
    behaviors: tuple[Behavior, ...] = ()
    extra: Extra = None


class Scenario(Record, frozen=True):
    """A conversation to simulate. `persona` is a full description, or the id of a built-in persona."""

    starting_prompt: str
    conversation_plan: str
    persona: Persona | str | None = None
    extra: Extra = None


class SessionInput(Record, frozen=True):
    """The start of a session: its app, its user, its state, and its id if the case demands a certain id."""

    app_name: str = ""
    user_id: str = ""
    state: dict[str, Json] = {}
    extra: Extra = None
    session_id: str = ""


class EvalCase(Record, frozen=True):
    """A conversation to have, and what is expected of it. A case has a `conversation` or a `scenario`, never both.

    `expected_calls` are the calls of the whole conversation, for criteria with `scope: conversation`. `created` is in
    seconds since 1970. `context` is evidence that the agent's sentences may rest on, for example a document.
    `approvals` decide, by the name of the tool, about calls that need a decision. About other calls, the next message
    of the user decides. `expected_failure` is a piece of the error that must end the conversation, for example the name
    of a guardrail. Cases with the same `cluster` resemble each other, for example copies of one template: intervals
    take them for one unit. `groups` are names or texts by which results can be divided, for example by customer.
    `checks` are about the last reply, and about the calls of the whole conversation. `workspace` are the files and the
    skill of a coding agent. `environment` are the options of an environment for this case alone. `attack` is an attack
    that is planted in the conversation.
    """

    id: str
    conversation: tuple[Invocation, ...] | None = None
    scenario: Scenario | None = None
    session_input: SessionInput | None = None
    rubrics: tuple[Rubric, ...] = ()
    expected_calls: tuple[ToolCall, ...] | None = None
    final_session_state: dict[str, Json] | None = None
    extra: Extra = None
    created: float | None = None
    context: str = ""
    approvals: dict[str, Literal["approve", "reject"]] = {}
    expected_failure: str = ""
    cluster: str = ""
    groups: dict[str, Json] = {}
    checks: tuple[Check, ...] = ()
    workspace: Workspace | None = None
    environment: dict[str, Json] | None = None
    attack: PlantedAttack | None = None


class Case(Record, frozen=True):
    """A case in one line: a user message, or a list of messages, and what is expected of the answer.

    `expected` is the reference reply. `calls` are the expected calls. Each is a `ToolCall`, a name, a pair of a name
    and arguments, or a dict. With an empty list, no call is expected. If `calls` is None, calls are not compared.
    A case without an `id` is named by its place in its list. `checks` are about the last reply and all calls. For
    example, `[{"contains": "A-17"}]`.
    """

    input: str | list[Json]
    expected: str | None = None
    calls: Sequence[ToolCall | str | tuple[str, dict[str, Json]] | dict[str, Json]] | None = None
    context: str = ""
    id: str = ""
    checks: Sequence[Check | dict[str, Json]] = ()


class EvalSet(Record, frozen=True):
    """Cases in the order of their file."""

    id: str
    cases: tuple[EvalCase, ...] = ()
    name: str = ""
    description: str = ""
    extra: Extra = None
