"""List the attacks that are possible on a case, and choose some of them evenly."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.records.attack import AttackGoal, AttackPlace, PlantedAttack
from fairtrial.records.trace import HANDOVER, Message, ToolResult, Trace
from fairtrial.simulate.attacks.attack_table import (
    ATTACKS,
    GOALS,
    LANGUAGES,
    PERSISTENT_USER,
    SHADOW,
    TWINS,
    AttackTemplate,
    name_shadow,
)
from fairtrial.simulate.attacks.attacked_environment import CANARY_NAME, plant_in_part
from fairtrial.simulate.attacks.made_goals import make_goals
from fairtrial.text.display import compact
from fairtrial.text.language import detect_language

if TYPE_CHECKING:
    from fairtrial.api.attacks.attack_choice import AttackChoice
    from fairtrial.planned_case import PlannedCase
    from fairtrial.records.attempt import Recording
    from fairtrial.records.record import Json

_DOCUMENTS = re.compile(r"(?i)search|retriev|docum|fetch|read|web|browse|file|page|mail|inbox|lookup")
_MOST_TWINS = 5
_MOST_DECLARED = 5
"""The most tools of a case whose declarations carry texts. Others have descriptions like theirs."""


@dataclass(frozen=True)
class Target:
    """A case that passes, with its unattacked conversation and the tools that the agent has.

    `shows_tools` says that an environment may change the declarations of the tools, and `hosts_servers` that a second
    server may stand beside that of the agent.
    """

    planned_case: PlannedCase
    recording: Recording
    tools: Mapping[str, Json] = field(default_factory=dict)
    shows_tools: bool = False
    hosts_servers: bool = False

    @property
    def declared(self) -> list[str]:
        """The tools whose declarations the environment may change: those that the agent called come first."""
        names = {
            str(tool["name"]): None
            for agent in self.recording.trace.agents
            for tool in agent.tools
            if tool.get("description") and HANDOVER not in tool
        }
        called = dict.fromkeys(str(call["name"]) for call in self.known_calls)
        ordered = [*(name for name in called if name in names), *(name for name in names if name not in called)]
        return ordered[:_MOST_DECLARED] if self.shows_tools else []

    @property
    def known_calls(self) -> tuple[dict[str, Json], ...]:
        """The calls that the agent makes anyway."""
        calls = [call for turn in self.recording.trace.invocations for call in turn.tool_calls]
        return tuple({"name": call.name, "args": call.args} for call in calls)


def list_places(trace: Trace) -> dict[str, AttackPlace]:
    """Return the tools whose results the agent read in a conversation, each with the kind of its place."""
    places: dict[str, AttackPlace] = {}
    for turn in trace.invocations:
        for step in turn.steps or ():
            if isinstance(step, ToolResult) and not step.is_error:
                kind: AttackPlace = "document" if _DOCUMENTS.search(step.name) else "result"
                places.setdefault(step.name, "agent" if step.inner is not None else kind)
    return places


def list_attacks(target: Target, choice: AttackChoice, goals: Sequence[AttackGoal]) -> Iterator[PlantedAttack]:
    """Yield every attack that is possible on a case."""
    if choice.adapted:
        yield from (attack for attack in _list_adapted(target, choice) if attack.goal in goals)
        return
    trace = target.recording.trace
    own = detect_language(trace.invocations[0].query) if trace.invocations else "en"
    languages = choice.languages or tuple(dict.fromkeys(("en", own if own in LANGUAGES else "en")))
    places: list[tuple[str, AttackPlace]] = list(list_places(trace).items())
    places += [(name, "declaration") for name in target.declared]
    places += _attachments(target)
    calls = Counter(str(call["name"]) for call in target.known_calls)
    for language in languages:
        for goal in goals:
            for tool, place in places:
                if choice.places and place not in choice.places:
                    continue
                for template in _templates(choice):
                    if _fits_place(template, place, calls[tool]) and (target.hosts_servers or not template.shadows):
                        yield _make(target, template, goal, place, tool, language)
            # A user asks for no false answer, and reads no secret: only calls are a goal of his.
            is_open = not choice.places or "user" in choice.places
            if is_open and goal.kind == "call" and target.planned_case.case.conversation and not choice.templates:
                yield _by_user(target, goal, language)
        yield from _list_shadows(target, choice, language)


def _attachments(target: Target) -> list[tuple[str, AttackPlace]]:
    """Return the place of the text files of the user, if there are any."""
    parts = (part for turn in target.planned_case.case.conversation or () for part in turn.user.parts)
    return [("", "attachment")] if any(plant_in_part(part, "") for part in parts) else []


def _list_shadows(target: Target, choice: AttackChoice, language: str) -> Iterator[PlantedAttack]:
    """Yield the attacks of a second server whose goal is that the agent calls it, and no other goal."""
    template = ATTACKS[SHADOW]
    is_wanted = template in _templates(choice) and not choice.goals and "call" in (choice.kinds or ("call",))
    if not is_wanted or not target.hosts_servers or "declaration" not in (choice.places or ("declaration",)):
        return
    for tool in target.declared:
        name = name_shadow(tool)
        goal = AttackGoal("call", name, id=f"call: {name}")
        text = template.texts[language].format(goal="").strip()
        calls = target.known_calls
        yield PlantedAttack(template.name, "declaration", text, language, tool, goal=goal, known_calls=calls)


def _list_adapted(target: Target, choice: AttackChoice) -> list[PlantedAttack]:
    """Return the attacks that a model wrote for a case."""
    case = target.planned_case
    return [
        replace(own.attack, known_calls=target.known_calls)
        for own in choice.adapted
        if own.eval_set == case.eval_set and own.case.startswith(f"{case.case.id}+")
    ]


def list_goals(target: Target, choice: AttackChoice) -> Iterator[AttackGoal]:
    """Yield the goals of a case: those of the caller, or those that are made from its tools."""
    if choice.adapted:
        goals = {attack.goal.title: attack.goal for attack in _list_adapted(target, choice) if attack.goal is not None}
        yield from goals.values()
        return
    place = (target.planned_case.eval_set, target.planned_case.case.id, str(choice.seed))
    own = choice.goals or make_goals(target.recording.trace, target.tools, place)
    yield from (goal for goal in own if not choice.kinds or goal.kind in choice.kinds)


def goal_words(goal: AttackGoal, language: str) -> str:
    """Return the words of a goal in a language."""
    words = GOALS[goal.kind][language]
    values = {"tool": goal.tool, "args": compact(goal.args), "field": goal.field, "text": goal.text}
    return words.format(**values, value=goal.value if isinstance(goal.value, str) else compact(goal.value))


def _fits_place(template: AttackTemplate, place: AttackPlace, calls: int) -> bool:
    """Return whether a template can stand in a place, of whose tool there are so many calls."""
    if place == "declaration":
        return not template.split and (calls > 0 or not template.late)
    return not template.late and not template.shadows and (calls > 1 or not template.split)


def _templates(choice: AttackChoice) -> Iterable[AttackTemplate]:
    return [ATTACKS[name] for name in choice.templates or ATTACKS]


def _make(
    target: Target, template: AttackTemplate, goal: AttackGoal, place: AttackPlace, tool: str, language: str
) -> PlantedAttack:
    text = template.texts[language].format(goal=goal_words(goal, language))
    second = ""
    if template.split:
        middle = text.find(" ", len(text) // 2) if " " in text[len(text) // 2 :] else len(text) // 2
        text, second = f"(1/2) {text[:middle]}", f"(2/2) {text[middle:].strip()}"
    if template.hide is not None:
        text = template.hide(text)
    return PlantedAttack(template.name, place, text, language, tool, second, goal, target.known_calls)


def _by_user(target: Target, goal: AttackGoal, language: str) -> PlantedAttack:
    text = PERSISTENT_USER[language].format(goal=goal_words(goal, language))
    return PlantedAttack("persistent_user", "user", text, language, goal=goal, known_calls=target.known_calls)


def list_twins(target: Target) -> Iterator[PlantedAttack]:
    """Yield the harmless twins of a case: texts that look like instructions, and are data."""
    trace = target.recording.trace
    own = detect_language(trace.invocations[0].query) if trace.invocations else "en"
    language = own if own in LANGUAGES else "en"
    for tool, place in (*list_places(trace).items(), *_attachments(target)):
        for number, text in enumerate(TWINS[language][:_MOST_TWINS], 1):
            yield PlantedAttack(f"harmless {number}", place, text, language, tool, known_calls=target.known_calls)


def choose_evenly(
    by_case: Sequence[Sequence[PlantedAttack]], number: int, seed: int
) -> list[tuple[int, PlantedAttack]]:
    """Return attacks from all cases alike, and for each case the rows of the table that have the fewest so far.

    Equal seeds choose equal attacks. The result is in the order of the cases.
    """
    rest = [sorted(attacks, key=lambda attack: _hash(seed, i, attack)) for i, attacks in enumerate(by_case)]
    row_counts: Counter[str] = Counter()
    selection: list[tuple[int, PlantedAttack]] = []
    while len(selection) < number and any(rest):
        for i, attacks in enumerate(rest):
            if not attacks or len(selection) == number:
                continue
            best = min(range(len(attacks)), key=lambda place: (_uses(row_counts, attacks[place]), place))
            attack = attacks.pop(best)
            row_counts.update(_rows(attack))
            selection.append((i, attack))
    return sorted(selection, key=lambda pair: pair[0])


def _rows(attack: PlantedAttack) -> list[str]:
    goal = attack.goal.kind if attack.goal else ""
    return [f"template {attack.template}", f"goal {goal}", f"place {attack.place}", f"language {attack.language}"]


def _uses(row_counts: Counter[str], attack: PlantedAttack) -> int:
    return sum(row_counts[row] for row in _rows(attack))


def _hash(seed: int, case: int, attack: PlantedAttack) -> bytes:
    goal = attack.goal.title if attack.goal else ""
    place = "\0".join((str(seed), str(case), attack.template, goal, attack.tool, attack.language))
    return hashlib.sha256(place.encode("utf-8", "replace")).digest()


def plant_in_messages(planned_case: PlannedCase, attack: PlantedAttack) -> PlannedCase:
    """Return a case whose own messages carry the attack, if its place is the user or an attachment."""
    conversation = planned_case.case.conversation
    if conversation is None or attack.place not in ("user", "attachment"):
        return planned_case
    if attack.place == "user":
        insistent = replace(conversation[-1], user=Message(attack.text), steps=None, final_response=None, checks=())
        return replace(planned_case, case=replace(planned_case.case, conversation=(*conversation, insistent)))
    canary = attack.goal.canary if attack.goal is not None else ""
    text = f"{attack.text}\n{CANARY_NAME}: {canary}" if canary else attack.text
    turns = [
        replace(
            turn, user=replace(turn.user, parts=tuple(plant_in_part(part, text) or part for part in turn.user.parts))
        )
        for turn in conversation
    ]
    return replace(planned_case, case=replace(planned_case.case, conversation=tuple(turns)))
