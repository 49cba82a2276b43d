"""Choose which attacks are made: their names, and goals in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from fairtrial.errors import UsageError, nearest
from fairtrial.records.attack import AttackGoal, AttackPlace, GoalKind, PlantedAttack
from fairtrial.records.decoding import convert, json_decoder
from fairtrial.records.record import Record
from fairtrial.simulate.attacks.attack_table import ATTACKS, LANGUAGES
from fairtrial.text.planted_values import make_canary

_REQUIRED_FIELDS: dict[GoalKind, tuple[str, ...]] = {
    "call": ("tool",),
    "redirect": ("tool", "field"),
    "exfiltrate": (),
    "suppress": ("text",),
    "misinform": ("text",),
    "exhaust": ("tool", "count"),
}


class AdaptedAttack(Record, frozen=True):
    """An attack whose text a model wrote, on a case of an eval set. `case` is that of the attack that failed."""

    eval_set: str
    case: str
    attack: PlantedAttack


@dataclass(frozen=True)
class AttackChoice:
    """Which attacks are made. Empty means all that are possible.

    `goals` are the caller's own, in place of those that are made from the tools of a case. `adapted` attacks are made
    in place of those of the table.
    """

    templates: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    goals: tuple[AttackGoal, ...] = ()
    sample: int = 100
    seed: int = 0
    adapted: tuple[AdaptedAttack, ...] = ()


def check_attacks(choice: AttackChoice) -> None:
    """Raise UsageError if a name is unknown."""
    allowed: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
        "attack": (choice.templates, tuple(ATTACKS)),
        "goal": (choice.kinds, GoalKind.__args__),  # type: ignore[attr-defined]
        "language": (choice.languages, LANGUAGES),
        "place": (choice.places, AttackPlace.__args__),  # type: ignore[attr-defined]
    }
    for name, (names_given, allowed_names) in allowed.items():
        for item in names_given:
            if item not in allowed_names:
                hint = nearest(item, allowed_names) or f"; allowed: {', '.join(allowed_names)}"
                raise UsageError(f"{item!r} is not the name of a {name}{hint}", code="unknown-name")


def read_goals(path: Path) -> tuple[AttackGoal, ...]:
    """Return the goals in a file: an array of objects with `kind`, `tool`, `args` and so on. Raises UsageError."""
    try:
        goals = json_decoder(tuple[AttackGoal, ...]).decode(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", code="unreadable-file") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{path}: must be an array of goals, each {{kind, tool, args, ...}}: {error}") from None
    for place, goal in enumerate(goals):
        missing = [name for name in _REQUIRED_FIELDS[goal.kind] if not getattr(goal, name)]
        if missing:
            raise UsageError(f"{path}: /{place}: a goal of the kind {goal.kind} needs {' and '.join(missing)}")
    return tuple(
        replace(goal, canary=goal.canary or make_canary(str(place)), id=goal.id or f"{goal.kind} {place + 1}")
        if goal.kind == "exfiltrate"
        else goal
        for place, goal in enumerate(goals)
    )


def attack_choice_in(config: Mapping[str, Any]) -> AttackChoice:
    """Return the choice in the manifest of an attack run."""
    own = config["attack"]
    goals = convert(own["goals"], tuple[AttackGoal, ...])
    names = ("templates", "kinds", "languages", "places")
    lists = {name: tuple(own[name]) for name in names}
    adapted = convert(own.get("adapted", []), tuple[AdaptedAttack, ...])
    return AttackChoice(goals=goals, sample=own["sample"], seed=own["seed"], adapted=adapted, **lists)


def attack_sources() -> dict[str, str]:
    """Return the source of each attack by its name."""
    return {template.name: template.source for template in ATTACKS.values()}
