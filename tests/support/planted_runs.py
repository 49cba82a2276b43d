"""Whole runs of a skill with a planted effect: a program of the shell throws dice, and the files it leaves decide."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from commands import fairtrial, write
from skill_effects import SkillEffect, Throws

_PROGRAM = """
read -r name
side=without
[ -f .claude/skills/dice/SKILL.md ] && side=with
number=1
until mkdir "$1/throws/$side/$name/$number.taken" 2>/dev/null; do number=$((number + 1)); done
read -r success < "$1/throws/$side/$name/$number"
[ "$success" = True ] && echo done > report.md
echo ready
"""
"""Takes the next throw of the case that is not taken yet. It sees the skill only in its workspace."""


class Found(NamedTuple):
    """What `fairtrial compare` says about the skill: the difference with its interval, and the verdict."""

    difference: float
    low: float
    high: float
    level: float
    verdict: str


def run_planted(effect: SkillEffect, source: random.Random, folder: Path) -> tuple[list[Throws], Found]:
    """Run a skill with an effect in the current folder, which is `folder`. Return the throws, and what was found."""
    throws = effect.throw(source)
    _write_skill(folder, throws)
    options = ("--agent", "harness:agent.json", "--attempts", str(effect.attempts), "--sandbox", "none")
    done = fairtrial("run", "dice", *options, "--json", "run.json", "--quiet")
    assert done.code in (0, 1), done.err
    run_id = json.loads((folder / "run.json").read_text())["run"]["id"]
    compared = fairtrial("compare", f"{run_id}@without", f"{run_id}@with", "--json", "-")
    row = compared.json["rows"][0]
    assert row["measure"] == "cases"
    return throws, Found(row["difference"], row["low"], row["high"], row["level"], row["verdict"])


def _write_skill(folder: Path, throws: Sequence[Throws]) -> None:
    for name in ("dice", "throws", ".fairtrial"):
        shutil.rmtree(folder / name, ignore_errors=True)
    (folder / "dice" / "evals").mkdir(parents=True)
    (folder / "dice" / "SKILL.md").write_text("---\nname: dice\ndescription: Throws dice.\n---\nThrow.\n")
    checks = [{"type": "exists", "path": "report.md"}]
    evals = [{"id": f"case-{n}", "prompt": f"case-{n}\n", "checks": checks} for n in range(len(throws))]
    write(folder / "dice" / "evals" / "evals.json", {"skill_name": "dice", "evals": evals})
    command = ["sh", "-c", _PROGRAM, "dice", str(folder)]
    write(folder / "agent.json", {"command": command, "skills": ".claude/skills", "log": "text"})
    for number, own in enumerate(throws):
        for side, successes in (("with", own.with_skill), ("without", own.without)):
            place = folder / "throws" / side / f"case-{number}"
            place.mkdir(parents=True)
            for attempt, success in enumerate(successes, 1):
                (place / str(attempt)).write_text(f"{success}\n")
