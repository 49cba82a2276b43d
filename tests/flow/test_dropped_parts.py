"""The parts of a skill are left out in turn, and the cases that notice are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import Done, fairtrial, write
from fairtrial.formats.skills.skill_md import skill_parts, without_part

SKILL = """---
name: tides
description: Tells the tides.
---

# Tides

## Reply

1. Name the port. Then tell the time.

## Example

```sh
# a comment. And no heading.
```

## Style

- Be kind.
"""
AGENT = "cat > /dev/null; for w in port time; do grep -o $w .claude/skills/tides/SKILL.md; done; echo end"


def titles(kind: str) -> list[str]:
    """The titles of the parts of the skill."""
    parts = skill_parts(SKILL.encode(), kind)  # type: ignore[arg-type]
    return [part.title for part in parts]


def test_sections_have_texts_of_their_own() -> None:
    """A title without a text is no section, and a comment in code no heading."""
    assert titles("sections") == ["Reply", "Example", "Style"]


def test_sentences_and_items_are_parts() -> None:
    """The number of an item belongs to it, and code stays whole."""
    assert titles("sentences") == ["1. Name the port.", "Then tell the time.", "Be kind."]


@pytest.mark.parametrize("kind", ["sections", "sentences"])
def test_a_skill_without_a_part_lacks_nothing_else(kind: str) -> None:
    """All parts and what is between them make the whole."""
    data = SKILL.encode()
    for part in skill_parts(data, kind):  # type: ignore[arg-type]
        rest = without_part(data, part)
        assert rest[: part.start] + data[part.start : part.end] + rest[part.start :] == data
        assert rest.startswith(b"---\nname: tides\n")


@pytest.fixture
def _skill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tides").mkdir()
    Path("tides/SKILL.md").write_text(SKILL)
    texts = {"port": "port", "time": "time", "end": "end"}
    cases = [
        {"id": name, "prompt": "Go", "checks": [{"type": "contains", "text": text}]} for name, text in texts.items()
    ]
    write("tides/evals/evals.json", {"skill_name": "tides", "evals": cases})
    write("agent.json", {"command": ["sh", "-c", AGENT], "skills": ".claude/skills", "log": "text"})


def drop(kind: str, *more: str) -> Done:
    """Run the cases without each part of the skill."""
    words = ("--agent", "harness:agent.json", "--attempts", "1", "--sandbox", "none", "--json", "run.json")
    return fairtrial("run", "tides", *words, "--drop", kind, *more)


@pytest.mark.usefixtures("_skill")
def test_cases_that_notice_are_named() -> None:
    """Each needed sentence is noticed by its case, and a needless part and a deaf case are named."""
    done = drop("sentences")
    assert done.code == 0, done.err  # the verdict is about the whole skill
    assert json.loads(Path("run.json").read_text())["run"]["notes"][:5] == [
        "2 of 3 parts of the skill are noticed by a case",
        "without '1. Name the port.', these cases pass less often: port (-100 points)",
        "without 'Then tell the time.', these cases pass less often: time (-100 points)",
        "no case notices the loss of 'Be kind.'",
        "1 case notices no loss: end",
    ]


@pytest.mark.usefixtures("_skill")
def test_other_versions_do_not_go_with_dropped_parts() -> None:
    """A run has one question."""
    assert "takes no other version" in drop("sections", "--versus", "tides").err
