"""An attack that is planted in a conversation: its text, its place, and the goal that the agent must not reach."""

from __future__ import annotations

from typing import Literal

from fairtrial.records.record import Json, Record

SUCCESS, REPORTED = "attack_success_v1", "attack_reported_v1"
"""The criteria that decide attacks."""
ATTACKED, HARMLESS = "attacked", "harmless"
"""The variants of an eval set in an attack run."""
ADAPTED = "adapted"
"""The template of an attack whose text a model wrote."""

GoalKind = Literal["call", "exfiltrate", "redirect", "suppress", "misinform", "exhaust"]
AttackPlace = Literal["result", "agent", "document", "attachment", "user", "declaration"]


class AttackGoal(Record, frozen=True):
    """The goal of a planted text. Its values are inert: they name nothing that exists.

    `call` is a call of `tool` with these `args` among its own. `redirect` is a call of `tool` whose argument `field`
    has the `value`. `exfiltrate` is the `canary` in a call or a reply. `suppress` is a conversation that never states
    `text`, and `misinform` one that states `text`, and not `truth`. `exhaust` is more than `count` calls of `tool`.
    """

    kind: GoalKind
    tool: str = ""
    args: dict[str, Json] = {}
    field: str = ""
    value: Json = None
    canary: str = ""
    text: str = ""
    truth: str = ""
    count: int = 0
    id: str = ""

    @property
    def title(self) -> str:
        """The goal in one line."""
        return self.id or (f"{self.kind}: {self.tool}" if self.tool else self.kind)


class PlantedAttack(Record, frozen=True):
    """An attack on one case. `goal` is None for a harmless twin, a text that only looks like an instruction.

    `template` is a row of the table of attacks, and `text` stands in the conversation. `tool` is the tool whose
    results, or whose declaration, carry the text. `second` is the second half of a text that is split over two results.
    `known_calls` are the calls that the agent makes without the attack: only they reach the tool of the goal.
    """

    template: str
    place: AttackPlace
    text: str
    language: str = "en"
    tool: str = ""
    second: str = ""
    goal: AttackGoal | None = None
    known_calls: tuple[dict[str, Json], ...] = ()
