"""An outcome for people in a terminal: its value, the parts that tell something, and expected beside actual."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from fairtrial.records.result import Outcome, Verdict
from fairtrial.reports.numbers import against, beside, number, quantity, with_unit
from fairtrial.reports.terminal_layout import Indented, marked_line
from fairtrial.text.display import DASH, WORD, fold, shorten, visible, visible_line
from fairtrial.text.languages import say, say_count
from fairtrial.text.lazy_pattern import LazyPattern
from fairtrial.text.translated_lines import say_sentence

if TYPE_CHECKING:
    from fairtrial.records.score import Quote, Score

_TOKENS = LazyPattern(rf"{WORD}|\s+|.", flags=re.DOTALL)
_LONGEST_DIFF = 4000
"""So many characters of a reference and of a reply are compared."""
_MOST_PAIRS = 20_000
"""With more pairs of equal tokens, a comparison would take too long."""


_MOST_FACTS = 5
"""The wrong facts of an attempt that are listed unless everything is asked for."""


def outcome_lines(outcome: Outcome, *, everything: bool, has_reasons: bool = True) -> RenderableType:
    """Return a criterion of an attempt with its value, and with its reasons unless it passed.

    Without `has_reasons` the reasons are left out, because they stand elsewhere.
    """
    verdict = outcome.verdict
    line = [visible_line(outcome.criterion), "  ", *_value(outcome)]
    if verdict is Verdict.NOT_APPLICABLE:
        return marked_line(verdict, *line, (f"  {_reasons_not_applicable(outcome)}", "dim"))
    if (verdict is Verdict.PASSED and not everything) or not has_reasons:
        return marked_line(verdict, *line)
    details = [
        _part(part, outcome) for part in outcome.score.parts or (outcome.score,) if everything or _is_informative(part)
    ]
    if not everything:
        wrong = _wrong_facts(outcome.score)
        details += [_part(part, outcome, is_brief=True) for part in wrong[:_MOST_FACTS]]
        if len(wrong) > _MOST_FACTS:
            details.append(Text(say("… and {n} more", n=len(wrong) - _MOST_FACTS)))
    if outcome.score.parts and outcome.score.reason:
        details.insert(0, Text(visible(_say_reason(outcome, outcome.score.reason))))
    return Group(marked_line(verdict, *line), *(Indented(4, detail) for detail in details))


def _say_reason(outcome: Outcome, reason: str) -> str:
    """Return a reason in the language of the terminal. The words of a user's metric stay as they are."""
    return reason if outcome.has_own_words else say_sentence(reason)


def _reasons_not_applicable(outcome: Outcome) -> str:
    score = outcome.score
    reasons = dict.fromkeys(part.reason for part in score.parts) if score.parts else [score.reason]
    return visible("; ".join(_say_reason(outcome, reason) for reason in reasons if reason))


def _value(outcome: Outcome) -> tuple[str | tuple[str, str], ...]:
    value, threshold = outcome.score.value, outcome.threshold
    if outcome.verdict is Verdict.NOT_APPLICABLE:
        return (say("not applicable"),)
    if threshold is None:
        return (quantity(outcome.criterion, value),)
    score, limit = (DASH, number(threshold)) if value is None else against(value, threshold)
    sign = "≤" if outcome.lower_is_better else "≥"
    return (with_unit(outcome.criterion, score), (say("  (needs {sign} {limit})", sign=sign, limit=limit), "dim"))


def _is_informative(part: Score) -> bool:
    """Whether a part helps to understand a failure."""
    return part.applicable and (part.value is None or bool(part.reason or part.quotes))


def _wrong_facts(score: Score) -> list[Score]:
    """Return the parts of invocations that are about facts that the reply lacks or states otherwise."""
    parts = [part for invocation in score.parts for part in invocation.parts]
    return [part for part in parts if part.fact is not None and part.fact.state != "found"]


def _part(part: Score, outcome: Outcome, *, is_brief: bool = False) -> RenderableType:
    label = f"{say_sentence(part.title)}  " if part.title else ""
    value = with_unit(outcome.criterion, beside(part.value, outcome.threshold))
    value = value if part.applicable else say("not applicable")
    first_line = _say_reason(outcome, part.reason.partition("\n")[0])
    head = Text.assemble((visible_line(label), "bold"), f"{value}  " if label else "", visible(first_line))
    details: list[RenderableType] = []
    if is_brief:
        return head
    if part.quotes:
        details.append(_quotes(part.quotes))
    details += [_part(child, outcome) for child in part.parts]
    return Group(head, *(Indented(2, detail) for detail in details))


def _quotes(quotes: Sequence[Quote]) -> RenderableType:
    sources = [quote.source for quote in quotes]
    if set(sources) <= {"both", "expected", "actual", "surplus"}:
        if (sources == ["expected", "actual"] and "\n" in quotes[0].text + quotes[1].text) or _is_prose(quotes):
            return _text_diff(quotes[0].text, quotes[1].text)
        return _calls(quotes)
    return Group(*(Text(visible(f"{quote.source}: {quote.text}".removeprefix(": ")), "dim") for quote in quotes))


def _is_prose(quotes: Sequence[Quote]) -> bool:
    """Whether two quotes are a reference and a reply. Calls look like `search(query="x")`."""
    if [quote.source for quote in quotes] != ["expected", "actual"]:
        return False
    return not all(re.fullmatch(r"[^\s(]+\(.*\)", quote.text, re.DOTALL) for quote in quotes)


def _calls(quotes: Sequence[Quote]) -> RenderableType:
    """Return expected and actual calls side by side, with ► at the first difference.

    Further calls that the match type allows are counted below the table.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for title, share in (("", None), (say("expected"), 1), (say("actual"), 1)):
        table.add_column(title, header_style="dim", overflow="fold", ratio=share)
    mark = "►"
    rows = list(_rows(quotes))
    for left, right, differs in rows:
        style = "red" if differs else "green"
        table.add_row(mark if differs else "", _cell(left, style), _cell(right, style))
        mark = "" if differs else mark  # only the first difference has a mark
    surplus = [quote.text.partition("(")[0] for quote in quotes if quote.source == "surplus"]
    if not surplus:
        return table
    names = shorten(", ".join(dict.fromkeys(surplus)), 200)
    calls = say_count(len(surplus), "other call")
    note = Text(visible_line(say("and {calls}, as the match type allows: {names}", calls=calls, names=names)), "dim")
    return Group(table, note) if rows else note


def _rows(quotes: Sequence[Quote]) -> Iterator[tuple[str, str, bool]]:
    """Yield each row: the expected call, the actual call, and whether they differ."""
    # An expected call waits for the next quote: if that is an actual call, both share a row.
    waiting: str | None = None
    for quote in quotes:
        if waiting is not None and quote.source != "actual":
            yield waiting, "", True
            waiting = None
        if quote.source == "both":
            yield quote.text, quote.text, False
        elif quote.source == "expected":
            waiting = quote.text
        elif quote.source == "actual":
            yield waiting or "", quote.text, True
            waiting = None
    if waiting is not None:
        yield waiting, "", True


def _cell(text: str, style: str) -> Text:
    return Text(visible(fold(text, 300)), style)


def _text_diff(expected: str, actual: str) -> RenderableType:
    """Return a reference and a reply. Text of the reference alone is in [-…-], text of the reply alone in {+…+}."""
    expected_tokens, actual_tokens = _tokens(expected), _tokens(actual)
    labels = [say("expected"), say("actual")]
    width = max(map(cell_len, labels)) + 2
    above, below = (Text(label + " " * (width - cell_len(label)), "dim") for label in labels)
    for opcode, a, b, c, d in _differences(expected_tokens, actual_tokens):
        old, new = visible("".join(expected_tokens[a:b])), visible("".join(actual_tokens[c:d]))
        if opcode == "equal":
            above.append(old, "default")
            below.append(new, "default")
            continue
        if old:
            above.append(f"[-{old}-]", "not dim red")
        if new:
            below.append(f"{{+{new}+}}", "not dim green")
    for line, text in ((above, expected), (below, actual)):
        if not text.strip():
            line.append(say("(blank)"), "dim")
        if len(text) > _LONGEST_DIFF:
            line.append(f"… ({len(text):,} characters)", "dim")
    return Group(above, below)


def _tokens(text: str) -> list[str]:
    """Return the words, numbers and signs at the beginning of a text. None of them is cut."""
    tokens: list[str] = []
    length = 0
    for match in _TOKENS.finditer(text):
        length += len(match.group())
        if length > _LONGEST_DIFF and tokens:
            break
        tokens.append(match.group())
    return tokens


def _differences(left: list[str], right: list[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield the opcodes that turn left into right.

    The more pairs of equal tokens there are, the coarser is the comparison, because its time grows with the pairs.
    For example, if both texts repeat a word a thousand times, that word is ignored.
    """
    # With autojunk difflib ignores frequent tokens, which is faster and less exact.
    for autojunk in (False, True):
        matcher: Any = difflib.SequenceMatcher(str.isspace, left, right, autojunk=autojunk)
        if sum(len(matcher.b2j.get(token, ())) for token in left) <= _MOST_PAIRS:
            yield from matcher.get_opcodes()
            return
    pairs = enumerate(zip(left, right, strict=False))
    equal = next((i for i, (a, b) in pairs if a != b), min(len(left), len(right)))
    yield "equal", 0, equal, 0, equal
    yield "replace", equal, len(left), equal, len(right)
