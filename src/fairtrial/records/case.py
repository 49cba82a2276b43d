"""What was expected: a fixed conversation, or a scenario to simulate."""

from __future__ import annotations

from fairtrial.records.record import Extra, Json, Record
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import Invocation, ToolCall


class Behavior(Record, frozen=True):
    """One habit of a simulated user: how to act it, and how to tell that it was broken."""

    name: str
    description: str = ""
    behavior_instructions: tuple[str, ...] = ()
    violation_rubrics: tuple[str, ...] = ()
    extra: Extra = None


class Persona(Record, frozen=True):
    """Whom the simulator plays."""

    id: str
    description: str = ""
    behaviors: tuple[Behavior, ...] = ()
    extra: Extra = None


class Scenario(Record, frozen=True):
    """A conversation to simulate. `persona` is given in full, or by the id of a built-in one."""

    starting_prompt: str
    conversation_plan: str
    persona: Persona | str | None = None
    extra: Extra = None


class SessionInput(Record, frozen=True):
    """What a session starts from."""

    app_name: str = ""
    user_id: str = ""
    state: dict[str, Json] = {}
    extra: Extra = None


class EvalCase(Record, frozen=True):
    """One conversation to have, and what is expected of it: `conversation` or `scenario`, never both.

    `expected_calls` are those of the whole conversation, for criteria with `scope: conversation`. `created` is in
    seconds since 1970.
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


class EvalSet(Record, frozen=True):
    """Cases in file order."""

    id: str
    cases: tuple[EvalCase, ...] = ()
    name: str = ""
    description: str = ""
    extra: Extra = None
