"""Names of skills come from agents, so that a table of them is bounded and escaped."""

from __future__ import annotations

from io import StringIO

from rich.console import Console, Group

from fairtrial.records.summary import SkillUse
from fairtrial.reports.skill_uses import skill_markdown, skill_sentences, skill_tables
from fairtrial.text.languages import speaking

MANY = SkillUse("with", "own", {f"skill-{number}": 2 for number in range(30)})
HOSTILE = SkillUse("with", "own", {"a|b\x1b[31m\n<b>": 3})


def drawn(*uses: SkillUse) -> str:
    """The tables as a wide terminal shows them."""
    stream = StringIO()
    Console(file=stream, width=200, no_color=True).print(Group(*skill_tables(uses)))
    return stream.getvalue()


def test_skills_beyond_the_widest_table_are_one_column() -> None:
    """No attempt is lost: 60 attempts used 30 skills, of which six are listed beside the wanted one."""
    (line,) = (own.split() for own in drawn(MANY).splitlines() if own.strip().startswith("own"))
    assert line == ["own", "–", *["2"] * 6, "–", "48"]
    header, _, row, _ = skill_markdown([MANY])
    assert header.endswith("| used no skill | used other skills |")
    assert row.endswith("| – | 48 |")


def test_a_hostile_name_breaks_no_table() -> None:
    """It stays on its line, and holds no escape and no pipe of its own."""
    assert "\x1b" not in drawn(HOSTILE)
    header, rule, row, _ = skill_markdown([HOSTILE])
    assert header.count("|") == rule.count("|") == row.count("|") == 5


def test_a_table_speaks_the_language_of_the_terminal() -> None:
    """The names of the skills stay."""
    with speaking("ko"):
        text = drawn(SkillUse("with", "", {"": 1}), SkillUse("quiet", "own", {"own": 2}))
    assert "사용해야 함 ↓ 사용함 →" in text
    assert "사용해야 함 ↓ 사용함 → (quiet)" in text
    assert "스킬 없음" in text


def test_sentences_name_the_variant_and_bound_the_list() -> None:
    """For reports without tables."""
    assert skill_sentences([SkillUse("old", "own", {"": 2})]) == [
        "the old version: 2 attempts that should use own used: no skill (2)"
    ]
    assert skill_sentences([MANY])[0].endswith("skill-4 (2) and 25 more")
