"""The report of a run for people: the failed attempts with their reasons, and the numbers with their intervals."""

from __future__ import annotations

import difflib
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from fairtrial.records.calibration import Calibration
from fairtrial.records.result import CaseResult, InvocationInjection, Outcome, Verdict
from fairtrial.records.run import RunInfo
from fairtrial.records.score import Quote, Score
from fairtrial.records.summary import Summary
from fairtrial.reports.attempts import CaseAttempts, attempts
from fairtrial.reports.numbers import DASH, against, beside, number, quantity, with_unit
from fairtrial.reports.spending import spending_lines
from fairtrial.reports.summary_table import MARKS, closing, tables
from fairtrial.reports.transcript import Transcript
from fairtrial.reports.transcript_lines import Line, fold_middle, transcript_lines
from fairtrial.text.display import WORD, count, folded, shortened, visible, visible_line

LISTED = 200
"""Up to this number of attempts, a report lists each of them. Of a larger run it lists those that did not pass."""
DETAILED = 50
"""A report of a large run lists at most this number of attempts."""
_TOKENS = re.compile(rf"{WORD}|\s+|.", re.DOTALL)
_LONGEST_DIFF = 4000
"""So many characters of a reference and of a reply are compared."""
_GREEN = (Verdict.PASSED, Verdict.INFORMATIONAL)
_IN_JSON = "--json FILE holds them all"
_MOST_PAIRS = 20_000
"""With more pairs of equal tokens, a comparison would take too long."""


def print_report(
    console: Console,
    info: RunInfo,
    summary: Summary,
    cases: Iterable[CaseAttempts],
    *,
    calibrations: Sequence[Calibration] = (),
    everything: bool = False,
    verbose: bool = False,
    full: bool = False,
    show: str = "",
    find_transcript: Callable[[CaseResult], Transcript] = Transcript,
) -> None:
    """Print the cases in file order, then the summary, then the verdict.

    A case that passed is one line, and a case that did not pass shows the conversations of its attempts. `verbose`
    opens every case. Of a run with more than 200 attempts, only cases with attempts that did not pass are printed, and
    at most 50 attempts. `everything` prints all attempts of such a run. Otherwise `cases` may omit cases that passed.
    `show` is the command that shows the run again, or empty if there is none. `find_transcript` returns the
    conversation of an attempt.
    """
    large = sum(summary.cases.values()) > LISTED and not everything
    printed = 0
    for shown_case in cases:
        problems = sum(result.verdict not in _GREEN for result in shown_case.results)
        if large and (not problems or printed >= DETAILED):
            continue
        printed += problems
        hint = f"`{show} {shlex.quote(visible_line(shown_case.results[0].title))}` shows them" if show else _IN_JSON
        for line in _case_lines(shown_case, find_transcript, verbose=verbose, full=full, hint=hint):
            console.print(line)
    hidden = sum(number for verdict, number in summary.cases.items() if verdict not in _GREEN) - printed
    if large and hidden > 0:
        hint = f"`{show} --all` lists them all" if show else _IN_JSON
        console.print(Text(f"… and {hidden:,} more that did not pass; {hint}", "dim"))
    console.print(tables(summary, calibrations))
    for note in summary.notes:
        console.print(Text(visible(f"note: {note}"), "yellow"))
    console.print(closing(info, summary, show=show))


def _case_lines(
    attempts: CaseAttempts,
    find_transcript: Callable[[CaseResult], Transcript],
    *,
    verbose: bool,
    full: bool,
    hint: str,
) -> Iterator[RenderableType]:
    several = len(attempts.results) > 1
    is_green = attempts.verdict in _GREEN
    if several:
        yield _case_head(attempts)
    for result in attempts.results:
        if verbose or (not is_green and result.verdict not in _GREEN):
            yield case(find_transcript(result), several=several, full=full, hint=hint)
        elif not (several and is_green) or _has_remarks(result):
            yield green_case(result, several=several)


def _case_head(attempts: CaseAttempts) -> RenderableType:
    """Return the line of a case with several attempts: its verdict, and the rule that made it."""
    verdict = attempts.verdict
    counts = f"  {attempts.passed} of {count(len(attempts.results), 'attempt')} passed, needed: {attempts.rule}"
    name = (visible_line(attempts.results[0].title), "bold")
    return _marked(verdict, name, "  ", (verdict, MARKS[verdict][1]), (counts, "dim"))


def _has_remarks(result: CaseResult) -> bool:
    """Whether an attempt that passed has something to say that a folded line would hide."""
    return bool(result.warnings or result.injections or result.invalidations)


def green_case(result: CaseResult, *, several: bool = False) -> RenderableType:
    """Return an attempt that passed on one line: its verdict, and the values of the criteria that decide.

    If there is a warning, an injection or evidence that it is invalid, these lines stay visible.
    """
    if _has_remarks(result):
        return case(Transcript(result), several=several)
    decide = [outcome for outcome in result.outcomes if outcome.threshold is not None]
    values = ", ".join(
        f"{visible_line(outcome.criterion)} {_quantity(outcome)}"
        for outcome in decide or result.outcomes
        if outcome.score.value is not None
    )
    return _head(result, *_remarks(result), (f"  {values}", "dim"), several=several)


def _quantity(outcome: Outcome) -> str:
    """Return the value of an outcome with its unit, with the digits that it needs beside its threshold."""
    return with_unit(outcome.criterion, beside(outcome.score.value, outcome.threshold))


def case(
    transcript: Transcript,
    *,
    several: bool = False,
    everything: bool = False,
    full: bool = False,
    criterion: str = "",
    hint: str = "",
) -> RenderableType:
    """Return one attempt: its verdict, its criteria, its conversation, and the reason if a criterion did not pass.

    `several` says that the case has several attempts. Then the line contains the number of this attempt. `full` folds
    no text. Without `everything`, a long conversation is folded, and `hint` says how the rest is shown. With
    `criterion`, only that criterion is shown.
    """
    result = transcript.result
    lines: list[RenderableType] = [
        _head(result, *_remarks(result), several=several),
        *_invalidations(result),
    ]
    if result.failure is not None:
        # If the failure made the attempt invalid, its cause already stands among the invalidations.
        if result.failure.side not in {fault.side for fault in result.invalidations or ()}:
            lines.append(_Indented(4, Text(f"{result.failure.side}: {visible(result.failure.cause)}", "magenta")))
        if everything and result.failure.traceback:
            lines.append(_Indented(6, Text(visible(result.failure.traceback.rstrip()), "dim")))
    lines += [_Indented(4, Text(visible_line(f"warning: {warning}"), "yellow")) for warning in result.warnings]
    lines += [
        _Indented(4, Text(visible(line), "dim")) for line in _injections(result.injections, everything=everything)
    ]
    lines += _outcomes(transcript, everything=everything, criterion=criterion)
    conversation = transcript_lines(transcript, full=full)
    shown_lines = list(conversation) if everything or full else fold_middle(conversation, hint)
    if shown_lines:
        lines.append(_Indented(4, _conversation(shown_lines)))
    if everything:
        lines += [_Indented(4, line) for line in spending_lines(result)]
    return Group(*lines)


def _outcomes(transcript: Transcript, *, everything: bool, criterion: str) -> Iterator[RenderableType]:
    """Yield the outcomes. Criteria without a threshold share one line, so that they do not hide those that decide."""
    result = transcript.result
    outcomes = [outcome for outcome in result.outcomes if criterion in ("", outcome.criterion)]
    informational = [outcome for outcome in outcomes if outcome.verdict is Verdict.INFORMATIONAL]
    for outcome in outcomes:
        if everything or criterion or outcome not in informational:
            brief = outcome if result.failure is None else _without_cause(outcome, result.failure.cause)
            # The reasons of a judge stand in the conversation, beside the replies that they are about.
            is_in_conversation = transcript.recording is not None and outcome.judge_stats is not None
            yield _Indented(4, outcome_lines(brief, everything=everything, has_reasons=not is_in_conversation))
    values = [
        f"{visible_line(outcome.criterion)} {quantity(outcome.criterion, outcome.score.value)}"
        for outcome in informational
        if outcome.score.value is not None and not everything and not criterion
    ]
    if values:
        yield _Indented(4, Text(", ".join(values), "dim"))


def _conversation(lines: Iterable[Line]) -> Table:
    """Return the lines of a conversation with their labels in a column of their own."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for line in lines:
        table.add_row(line.label, Text(visible(line.text), line.style))
    return table


def _head(result: CaseResult, *notes: tuple[str, str], several: bool) -> RenderableType:
    attempt = f"  attempt {result.attempt}" if several or result.attempt > 1 else ""
    name = (visible_line(result.title), "bold")
    return _marked(result.verdict, name, attempt, "  ", (result.verdict, MARKS[result.verdict][1]), *notes)


def _marked(verdict: Verdict, *parts: str | tuple[str, str]) -> Table:
    """Return a line with its mark in a column of its own, so that further lines of a long text are indented."""
    mark, style = MARKS[verdict]
    line = Table.grid(padding=(0, 1, 0, 0))
    line.add_column(no_wrap=True)
    line.add_column(overflow="fold")
    line.add_row(Text(mark, style), Text.assemble(*parts))
    return line


def _injections(injections: Sequence[InvocationInjection], *, everything: bool) -> list[str]:
    """Return lines about the injections of the environment: each injection, or how often each kind occurred."""
    if everything:
        return [
            f"injected in invocation {entry.invocation}: {entry.tool}: {entry.injected.effect}, {entry.injected.detail}"
            + (" (invalidates the attempt)" if entry.injected.invalidates else "")
            for entry in injections
        ]
    counts = Counter(f"{entry.injected.effect} ({entry.tool})" for entry in injections)
    kinds = [name if times == 1 else f"{times} x {name}" for name, times in counts.items()]
    return [f"injected: {', '.join(kinds)}"] if kinds else []


class _Indented:
    """Content behind a margin. Rich's own Padding measures nested content again at every level, which is slow."""

    def __init__(self, indent: int, content: RenderableType) -> None:
        self._indent, self._content = indent, content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render each line behind the margin."""
        inner = options.update(width=max(1, options.max_width - self._indent), height=None)
        for line in console.render_lines(self._content, inner, pad=False):
            yield Segment(" " * self._indent)
            yield from line
            yield Segment.line()


def _remarks(result: CaseResult) -> Iterator[tuple[str, str]]:
    """Yield the side at fault, "invalid" if an attempt says nothing about the agent, and the cap if it was reached."""
    if result.fault is not None:
        yield f"  fault: {result.fault.side}", "dim" if result.fault.side == "agent" else "yellow"
    elif result.invalidations:
        yield "  invalid", "yellow"
    if result.ended_by == "cap":
        yield "  (ended by the cap on invocations)", "dim"


def _invalidations(result: CaseResult) -> Iterator[RenderableType]:
    for fault in result.invalidations or ():
        for text in fault.evidence:
            yield _Indented(4, Text(visible_line(f"{fault.side}: {text}"), "yellow"))


def invalid(
    results: Iterable[CaseResult], *, repeated: Collection[int] = (), hidden: int = 0
) -> Iterator[RenderableType]:
    """Yield the evidence against each invalid attempt, for people who can repair the cause.

    `results` may omit valid attempts, if `repeated` contains the positions of the cases with several attempts.
    `hidden` is the number of further invalid attempts.
    """
    is_first = True
    for result, several in attempts(results):
        if result.invalidations:
            if is_first:
                yield Text("\ninvalid attempts, which say nothing about the agent until this is repaired", "bold")
            is_first = False
            several_attempts = several or result.position in repeated
            yield Group(_head(result, several=several_attempts), *_invalidations(result))
    if hidden:
        yield Text(f"… and {hidden:,} more invalid attempts; --all lists them all", "dim")


def _without_cause(outcome: Outcome, cause: str) -> Outcome:
    """Return the outcome without the cause of the failure, which is printed once for all criteria."""

    def shorten(score: Score) -> Score:
        return replace(score, reason=score.reason.removesuffix(f": {cause}"), parts=tuple(map(shorten, score.parts)))

    return replace(outcome, score=shorten(outcome.score))


def outcome_lines(outcome: Outcome, *, everything: bool, has_reasons: bool = True) -> RenderableType:
    """Return a criterion of an attempt with its value, and with its reasons unless it passed.

    Without `has_reasons` the reasons are left out, because they stand elsewhere.
    """
    verdict = outcome.verdict
    line = [visible_line(outcome.criterion), "  ", *_value(outcome)]
    if verdict is Verdict.NOT_APPLICABLE:
        return _marked(verdict, *line, (f"  {visible(_reasons_not_applicable(outcome.score))}", "dim"))
    if (verdict is Verdict.PASSED and not everything) or not has_reasons:
        return _marked(verdict, *line)
    details = [
        _part(part, outcome) for part in outcome.score.parts or (outcome.score,) if everything or _is_informative(part)
    ]
    if outcome.score.parts and outcome.score.reason:
        details.insert(0, Text(visible(outcome.score.reason)))
    return Group(_marked(verdict, *line), *(_Indented(4, detail) for detail in details))


def _reasons_not_applicable(score: Score) -> str:
    reasons = dict.fromkeys(part.reason for part in score.parts) if score.parts else [score.reason]
    return "; ".join(reason for reason in reasons if reason)


def _value(outcome: Outcome) -> tuple[str | tuple[str, str], ...]:
    value, threshold = outcome.score.value, outcome.threshold
    if outcome.verdict is Verdict.NOT_APPLICABLE:
        return ("not applicable",)
    if threshold is None:
        return (quantity(outcome.criterion, value),)
    score, limit = (DASH, number(threshold)) if value is None else against(value, threshold)
    sign = "≤" if outcome.lower_is_better else "≥"
    return (with_unit(outcome.criterion, score), (f"  (needs {sign} {limit})", "dim"))


def _is_informative(part: Score) -> bool:
    """Whether a part helps to understand a failure."""
    return part.applicable and (part.value is None or bool(part.reason or part.quotes))


def _part(part: Score, outcome: Outcome) -> RenderableType:
    label = f"{part.title}  " if part.title else ""
    value = with_unit(outcome.criterion, beside(part.value, outcome.threshold))
    value = value if part.applicable else "not applicable"
    first_line = part.reason.partition("\n")[0]
    head = Text.assemble((visible_line(label), "bold"), f"{value}  " if label else "", visible(first_line))
    details: list[RenderableType] = []
    if part.quotes:
        details.append(_quotes(part.quotes))
    details += [_part(child, outcome) for child in part.parts]
    return Group(head, *(_Indented(2, detail) for detail in details))


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
    for title, share in (("", None), ("expected", 1), ("actual", 1)):
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
    names = shortened(", ".join(dict.fromkeys(surplus)), 200)
    note = Text(visible_line(f"and {count(len(surplus), 'other call')}, as the match type allows: {names}"), "dim")
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
    return Text(visible(folded(text, 300)), style)


def _text_diff(expected: str, actual: str) -> RenderableType:
    """Return a reference and a reply. Text of the reference alone is in [-…-], text of the reply alone in {+…+}."""
    expected_tokens, actual_tokens = _tokens(expected), _tokens(actual)
    above, below = Text("expected  ", "dim"), Text("actual    ", "dim")
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
            line.append("(blank)", "dim")
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
