"""A table of confusion: the skill that queries should trigger, and the skills that the attempts at them used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fairtrial.reports.markdown_text import code_span
from fairtrial.reports.rows import Name, Rows
from fairtrial.text.display import DASH, count, visible_line
from fairtrial.text.languages import say

if TYPE_CHECKING:
    from fairtrial.records.summary import SkillUse

_MOST_LISTED = 5
_MOST_COLUMNS = 7
_MOST_ROWS = 20
_WITH, _OLD = "with", "old"


def name_variant(variant: str) -> str:
    """Return how sentences call a variant."""
    return {_WITH: "the skill", _OLD: "the old version"}.get(variant, f"the description {variant!r}")


def skill_sentences(uses: Sequence[SkillUse]) -> list[str]:
    """Return a sentence for each row, for reports without tables."""
    sentences = []
    for own in uses:
        listed = [f"{name or 'no skill'} ({number})" for name, number in own.counts.items()]
        more = f" and {len(listed) - _MOST_LISTED} more" if len(listed) > _MOST_LISTED else ""
        lead = "" if own.variant == _WITH else f"{name_variant(own.variant)}: "
        attempts = count(sum(own.counts.values()), "attempt")
        subject = f"{lead}{attempts} that should use {own.target or 'no skill'} used"
        sentences.append(f"{subject}: {', '.join(listed[:_MOST_LISTED])}{more}")
    return sentences


def skill_tables(uses: Sequence[SkillUse]) -> list[Rows]:
    """Return a table for each variant, with a row for each skill that queries should trigger."""
    tables = []
    for variant, own in _by_variant(uses).items():
        names = _columns(own)
        lead = say("should use ↓ used →")
        if variant != _WITH:
            lead = say("should use ↓ used → ({variant})", variant=visible_line(variant))
        titles = [lead, *(Name(visible_line(name)) if name else say("no skill") for name in names)]
        if rest := _has_rest(own, names):
            titles.append(say("other skills"))
        rows = Rows(tuple(titles))
        for use in own[:_MOST_ROWS]:
            rows.add(use.target or say("no skill"), *_cells(use, names, rest=rest))
        tables.append(rows)
    return tables


def skill_markdown(uses: Sequence[SkillUse]) -> Iterator[str]:
    """Yield the lines of the same tables in Markdown."""
    for variant, own in _by_variant(uses).items():
        names = _columns(own)
        rest = _has_rest(own, names)
        lead = "attempts that should use" + ("" if variant == _WITH else f", with {code_span(variant)}")
        titles = [lead, *(f"used {_span(name)}" for name in names), *(["used other skills"] if rest else [])]
        yield f"| {' | '.join(titles)} |"
        yield "|---" * len(titles) + "|"
        for use in own[:_MOST_ROWS]:
            yield f"| {' | '.join([_span(use.target), *_cells(use, names, rest=rest)])} |"
        yield ""


def _span(name: str) -> str:
    return code_span(name) if name else "no skill"


def _by_variant(uses: Sequence[SkillUse]) -> dict[str, list[SkillUse]]:
    return {own.variant: [use for use in uses if use.variant == own.variant] for own in uses}


def _columns(uses: Sequence[SkillUse]) -> list[str]:
    """Return the names of the columns: the skills of the rows in their order, then others, and last no skill."""
    names = dict.fromkeys([*(use.target for use in uses), *(name for use in uses for name in use.counts)])
    return [*[name for name in names if name][:_MOST_COLUMNS], ""]


def _has_rest(uses: Sequence[SkillUse], names: Sequence[str]) -> bool:
    return any(name not in names for use in uses for name in use.counts)


def _cells(use: SkillUse, names: Sequence[str], *, rest: bool) -> list[str]:
    numbers = [use.counts.get(name, 0) for name in names]
    if rest:
        numbers.append(sum(use.counts.values()) - sum(numbers))
    return [f"{number:,}" if number else DASH for number in numbers]
