"""The options of a run that tests a skill, and whether a run is about one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from fairtrial.agents import COMMAND_LINE_AGENTS

Drop = Literal["sections", "sentences"]


@dataclass(frozen=True)
class SkillOptions:
    """How a skill is tested.

    `versus` is another version: a folder, or a revision of git. `trigger` asks whether the skill fires when it should,
    instead of what it is worth. `descriptions` are files with other descriptions to try. `credentials` are variables of
    the environment, and files in the home of the user, that the agent may see. `sandbox` is bwrap, docker:IMAGE or
    none. With `drop`, the skill is compared with itself without each of its sections, or of its sentences.
    """

    versus: str | None = None
    trigger: bool = False
    descriptions: tuple[str, ...] = ()
    credentials: tuple[str, ...] = ()
    sandbox: str | None = None
    drop: Drop | None = None


def is_skill_run(paths: Sequence[str], agent: str | None) -> bool:
    """Whether a run is about skills: each path is a skill, or eval files of one, and the agent is a command line."""
    if agent is None or not (agent.partition("#")[0] in COMMAND_LINE_AGENTS or agent.startswith("harness:")):
        return False
    return bool(paths) and all(find_skill_folder(path) is not None for path in paths)


def find_skill_folder(path: str) -> Path | None:
    """Return the folder of a skill that a path means: the skill, its repository, or one of its eval files.

    Cases may be named behind it.
    """
    from fairtrial.formats.skills.skill_md import FILE
    from fairtrial.loading.found_files import split_cases  # most runs are not about a skill
    from fairtrial.loading.skill_folders import find_root

    place, _ = split_cases(path)
    if place.name == FILE and place.is_file():
        return place.parent
    if place.is_file() and place.suffix in (".json", ".yaml", ".yml"):
        place = find_root(place)
    is_there = place.is_dir() and ((place / FILE).is_file() or any(place.glob(f"skills/*/{FILE}")))
    return place if is_there else None


def skill_options_in(config: Mapping[str, Any]) -> SkillOptions | None:
    """Return the options in the manifest of a run, or None if the run is not about a skill."""
    own = config.get("skill")
    if not isinstance(own, dict):
        return None
    lists = {name: tuple(own[name]) for name in ("descriptions", "credentials")}
    return SkillOptions(own["versus"], own["trigger"], sandbox=own["sandbox"], drop=own.get("drop"), **lists)
