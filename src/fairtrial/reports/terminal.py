"""A run for people: what failed and why, and how sure one can be of the numbers."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from msgspec.structs import replace
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from fairtrial.records.result import CaseResult, InvocationInjection, Outcome, Verdict
from fairtrial.records.run import RunInfo
from fairtrial.records.score import Quote, Score
from fairtrial.records.summary import Summary
from fairtrial.reports.attempts import attempts
from fairtrial.reports.numbers import NONE, against, beside, count, number
from fairtrial.reports.spending import spending_lines
from fairtrial.reports.summary_table import MARKS, closing, tables
from fairtrial.text.display import shortened, visible

LISTED = 200
"""Up to this number of attempts, a report lists each of them. Of a larger run it lists those that did not pass."""
DETAILED = 50
"""A report of a large run lists at most this number of attempts."""
_TOKENS = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]|\w+|\s+|.", re.DOTALL)
_DIFFED = 4000
_PAIRS = 20_000


def print_report(
    console: Console,
    info: RunInfo,
    summary: Summary,
    results: Iterable[CaseResult],
    *,
    repeated: Collection[int] = (),
    everything: bool = False,
    show: str = "",
) -> None:
    """Print the results in file order, then the summary, then the verdict.

    Of a large run only attempts that did not pass are printed, and at most 50 of them, unless `everything` is asked
    for. The caller need not read the others: `results` may be those attempts alone, if `repeated` holds the positions
    of the cases with several attempts. `show` is the command that shows the run again, or empty if there is none.
    """
    large = sum(summary.cases.values()) > LISTED and not everything
    passing = (Verdict.PASSED, Verdict.INFORMATIONAL)
    listed = ((result, several) for result, several in attempts(results) if result.verdict not in passing or not large)
    shown = 0
    for result, several in islice(listed, DETAILED if large else None):
        shown += 1
        console.print(case(result, several=several or result.position in repeated))
    hidden = sum(number for verdict, number in summary.cases.items() if verdict not in passing) - shown
    if large and hidden:
        elsewhere = f"`{show} --all` lists them all" if show else "--json FILE holds them all"
        console.print(Text(f"… and {hidden:,} more that did not pass; {elsewhere}", "dim"))
    console.print(tables(summary))
    console.print(closing(info, summary, show=show))


def case(result: CaseResult, *, several: bool = False, everything: bool = False) -> RenderableType:
    """Return one attempt: its verdict, its criteria, and for what did not pass the reason.

    `several` says that the case has others, from which the number of this one tells it.
    """
    cap = "  (ended by the cap on invocations)" if result.ended_by == "cap" else ""
    lines: list[RenderableType] = [
        _head(result, *_fault(result), (cap, "dim"), several=several),
        *_invalidations(result),
    ]
    if result.failure is not None:
        if result.failure.side not in {fault.side for fault in result.invalidations or ()}:
            lines.append(_In(4, Text(f"{result.failure.side}: {visible(result.failure.cause)}", "magenta")))
        if everything and result.failure.traceback:
            lines.append(_In(6, Text(visible(result.failure.traceback.rstrip()), "dim")))
    lines += [_In(4, Text(visible(f"warning: {one}"), "yellow")) for one in result.warnings]
    lines += [_In(4, Text(visible(one), "dim")) for one in _injections(result.injections, everything=everything)]
    quiet = [one for one in result.outcomes if not everything and _is_aside(one)]
    for outcome in result.outcomes:
        if outcome not in quiet:
            shown = outcome if result.failure is None else _without_cause(outcome, result.failure.cause)
            lines.append(_In(4, _outcome(shown, everything=everything)))
    aside = [f"{visible(one.criterion)} {number(one.score.value)}" for one in quiet if one.score.value is not None]
    if aside:
        lines.append(_In(4, Text(", ".join(aside), "dim")))
    if everything:
        lines += [_In(4, line) for line in spending_lines(result)]
    return Group(*lines)


def _head(result: CaseResult, *more: tuple[str, str], several: bool) -> RenderableType:
    attempt = f"  attempt {result.attempt}" if several or result.attempt > 1 else ""
    name = (visible(result.title), "bold")
    return _marked(result.verdict, name, attempt, "  ", (result.verdict, MARKS[result.verdict][1]), *more)


def _marked(verdict: Verdict, *parts: str | tuple[str, str]) -> Table:
    """A line that begins beside its mark, however long its first word is."""
    mark, style = MARKS[verdict]
    line = Table.grid(padding=(0, 1, 0, 0))
    line.add_column(no_wrap=True)
    line.add_column(overflow="fold")
    line.add_row(Text(mark, style), Text.assemble(*parts))
    return line


def _injections(injections: Sequence[InvocationInjection], *, everything: bool) -> list[str]:
    """What the environment did, one by one, or how often it did what."""
    if everything:
        return [
            f"injected in invocation {one.invocation}: {one.tool}: {one.injected.effect}, {one.injected.detail}"
            + (" (invalidates the attempt)" if one.injected.invalidates else "")
            for one in injections
        ]
    counts = Counter(f"{one.injected.effect} ({one.tool})" for one in injections)
    told = [name if times == 1 else f"{times} x {name}" for name, times in counts.items()]
    return [f"injected: {', '.join(told)}"] if told else []


class _In:
    """Something some cells further in. Rich's own Padding measures all that is in it once more at every level."""

    def __init__(self, indent: int, what: RenderableType) -> None:
        self._indent, self._what = indent, what

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render each line behind the margin."""
        inner = options.update(width=max(1, options.max_width - self._indent), height=None)
        for line in console.render_lines(self._what, inner, pad=False):
            yield Segment(" " * self._indent)
            yield from line
            yield Segment.line()


def _fault(result: CaseResult) -> Iterator[tuple[str, str]]:
    """On which side an attempt failed, or that one which passed says nothing about the agent."""
    if result.fault is not None:
        yield f"  fault: {result.fault.side}", "dim" if result.fault.side == "agent" else "yellow"
    elif result.invalidations:
        yield "  invalid", "yellow"


def _invalidations(result: CaseResult) -> Iterator[RenderableType]:
    for fault in result.invalidations or ():
        for text in fault.evidence:
            yield _In(4, Text(visible(f"{fault.side}: {text}"), "yellow"))


def invalid(
    results: Iterable[CaseResult], *, repeated: Collection[int] = (), hidden: int = 0
) -> Iterator[RenderableType]:
    """Yield the evidence of each invalid attempt, for people who can repair it; nothing if all attempts are valid.

    `results` may be the invalid attempts alone, if `repeated` holds the positions of the cases with several attempts.
    `hidden` is the number of further invalid attempts.
    """
    first = True
    for result, several in attempts(results):
        if result.invalidations:
            if first:
                yield Text("\ninvalid attempts, which say nothing about the agent until this is repaired", "bold")
            first = False
            several_attempts = several or result.position in repeated
            yield Group(_head(result, several=several_attempts), *_invalidations(result))
    if hidden:
        yield Text(f"… and {hidden:,} more invalid attempts; --all lists them all", "dim")


def _without_cause(outcome: Outcome, cause: str) -> Outcome:
    """The outcome without what broke the conversation, which is said once for all criteria."""

    def shorter(score: Score) -> Score:
        return replace(score, reason=score.reason.removesuffix(f": {cause}"), parts=tuple(map(shorter, score.parts)))

    return replace(outcome, score=shorter(outcome.score))


def _is_aside(outcome: Outcome) -> bool:
    return outcome.verdict is Verdict.INFORMATIONAL


def _outcome(outcome: Outcome, *, everything: bool) -> RenderableType:
    verdict = outcome.verdict
    line = [visible(outcome.criterion), "  ", *_value(outcome)]
    if verdict is Verdict.NOT_APPLICABLE:
        return _marked(verdict, *line, (f"  {visible(_why_not(outcome.score))}", "dim"))
    if verdict is Verdict.PASSED and not everything:
        return _marked(verdict, *line)
    details = [
        _part(part, outcome.threshold) for part in outcome.score.parts or (outcome.score,) if everything or _tells(part)
    ]
    if outcome.score.parts and outcome.score.reason:
        details.insert(0, Text(visible(outcome.score.reason)))
    return Group(_marked(verdict, *line), *(_In(4, one) for one in details))


def _why_not(score: Score) -> str:
    reasons = dict.fromkeys(part.reason for part in score.parts) if score.parts else [score.reason]
    return "; ".join(one for one in reasons if one)


def _value(outcome: Outcome) -> tuple[str | tuple[str, str], ...]:
    value, threshold = outcome.score.value, outcome.threshold
    if outcome.verdict is Verdict.NOT_APPLICABLE:
        return ("not applicable",)
    if threshold is None:
        return (number(value),)
    shown, limit = (NONE, number(threshold)) if value is None else against(value, threshold)
    sign = "≤" if outcome.lower_is_better else "≥"
    return (shown, (f"  (needs {sign} {limit})", "dim"))


def _tells(part: Score) -> bool:
    """Whether a part says something that a reader of a failure wants to know."""
    return part.applicable and (part.value is None or bool(part.reason or part.quotes))


def _part(part: Score, threshold: float | None) -> RenderableType:
    label = f"{part.title}  " if part.title else ""
    value = "not applicable" if not part.applicable else beside(part.value, threshold)
    first = part.reason.partition("\n")[0]
    head = Text.assemble((visible(label), "bold"), f"{value}  " if label else "", visible(first))
    inner: list[RenderableType] = []
    if part.quotes:
        inner.append(_quotes(part.quotes))
    inner += [_part(one, threshold) for one in part.parts]
    return Group(head, *(_In(2, one) for one in inner))


def _quotes(quotes: Sequence[Quote]) -> RenderableType:
    sources = [quote.source for quote in quotes]
    if set(sources) <= {"both", "expected", "actual", "surplus"}:
        if (sources == ["expected", "actual"] and "\n" in quotes[0].text + quotes[1].text) or _is_prose(quotes):
            return _text_diff(quotes[0].text, quotes[1].text)
        return _calls(quotes)
    return Group(*(Text(visible(f"{quote.source}: {quote.text}".removeprefix(": ")), "dim") for quote in quotes))


def _is_prose(quotes: Sequence[Quote]) -> bool:
    """Two quotes that are no calls: a reference and a reply."""
    if [quote.source for quote in quotes] != ["expected", "actual"]:
        return False
    return not all(re.fullmatch(r"[^\s(]+\(.*\)", quote.text, re.DOTALL) for quote in quotes)


def _calls(quotes: Sequence[Quote]) -> RenderableType:
    """Expected and actual calls beside each other; ► marks the first difference. What is allowed besides is counted."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for title, share in (("", None), ("expected", 1), ("actual", 1)):
        table.add_column(title, header_style="dim", overflow="fold", ratio=share)
    mark = "►"
    rows = list(_rows(quotes))
    for left, right, differs in rows:
        style = "red" if differs else "green"
        table.add_row(mark if differs else "", _cell(left, style), _cell(right, style))
        mark = "" if differs else mark
    surplus = [quote.text.partition("(")[0] for quote in quotes if quote.source == "surplus"]
    if not surplus:
        return table
    names = shortened(", ".join(dict.fromkeys(surplus)), 200)
    note = Text(visible(f"and {count(len(surplus), 'other call')}, as the match type allows: {names}"), "dim")
    return Group(table, note) if rows else note


def _rows(quotes: Sequence[Quote]) -> Iterator[tuple[str, str, bool]]:
    """What stands left and right in each row, and whether that is a difference."""
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
    return Text(visible(shortened(text, 300)), style)


def _text_diff(expected: str, actual: str) -> RenderableType:
    """Reference and reply; what only the one holds stands in [-…-], what only the other in {+…+}."""
    left, right = _TOKENS.findall(expected[:_DIFFED]), _TOKENS.findall(actual[:_DIFFED])
    above, below = Text("expected  ", "dim"), Text("actual    ", "dim")
    for what, a, b, c, d in _differences(left, right):
        ours, theirs = visible("".join(left[a:b])), visible("".join(right[c:d]))
        if what == "equal":
            above.append(ours, "default")
            below.append(theirs, "default")
            continue
        if ours:
            above.append(f"[-{ours}-]", "not dim red")
        if theirs:
            below.append(f"{{+{theirs}+}}", "not dim green")
    for line, text in ((above, expected), (below, actual)):
        if not text.strip():
            line.append("(blank)", "dim")
        if len(text) > _DIFFED:
            line.append(f"… ({len(text):,} characters)", "dim")
    return Group(above, below)


def _differences(left: list[str], right: list[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield the opcodes that turn left into right.

    An agent that says the same word a thousand times must not cost minutes: the more pairs of equal tokens there are,
    the coarser the comparison.
    """
    for autojunk in (False, True):
        matcher: Any = difflib.SequenceMatcher(str.isspace, left, right, autojunk=autojunk)
        if sum(len(matcher.b2j.get(token, ())) for token in left) <= _PAIRS:
            yield from matcher.get_opcodes()
            return
    same = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    yield "equal", 0, same, 0, same
    yield "replace", same, len(left), same, len(right)
