"""The terminal table of two compared runs, and that of pass^k and pass@k."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.records.summary import Estimate
from fairtrial.reports.numbers import digits_of_change, format_estimate, interval, number, rate, with_unit
from fairtrial.reports.rows import INTERVAL, Name, Rows, name_measure
from fairtrial.reports.small_tables import TableNumber, describe_reach, table_sentence
from fairtrial.reports.terminal_text import signature_line
from fairtrial.stats.difference import SIGN_FLIPS
from fairtrial.stats.interval import LEVEL
from fairtrial.stats.several import fewest_changes
from fairtrial.text.display import DASH, count, visible_line
from fairtrial.text.languages import say, say_count
from fairtrial.text.translated_lines import say_sentence

if TYPE_CHECKING:
    from fairtrial.records.run_comparison import ComparedMeasure, Comparison, IntervalEstimate, Move, Pairs, PassK

_MOST = 20
_NAMES = 10
_STYLES = {"better": "green", "worse": "red"}


def comparison_report(comparison: Comparison) -> RenderableType:
    """Return the table of a comparison, and below it everything that limits what the table says."""
    base, candidate = comparison.runs
    pairs = comparison.pairs
    cases = cases_in_clusters(pairs.cases, pairs.clusters)
    title = say("base {base}  candidate {candidate}", base=base.id, candidate=candidate.id)
    lines: list[RenderableType] = [
        Text(visible_line(title), "bold"),
        Text(visible_line(_reach(comparison, cases))),
        *(Text(visible_line(say("warning: {warning}", warning=warning)), "yellow") for warning in comparison.warnings),
        Text(""),
        _rows(comparison),
        Text(""),
        *(Text(visible_line(sentence)) for sentence in sentences(comparison)),
        *limits(comparison),
        *_slices(comparison),
        *_moves(comparison.moved),
        *_pass_k(comparison),
        *(_setup(comparison)),
        signature_line(comparison.signature),
    ]
    return Group(*lines)


def _reach(comparison: Comparison, cases: str) -> str:
    """Return how many cases and attempts were compared, and what the comparison is about."""
    base, candidate = comparison.pairs.attempts
    attempts = base if base == candidate else f"{base} and {candidate}"
    is_sample = comparison.about == "cases-like-these"
    about = say("about cases like these") if is_sample else say("about these cases")
    if attempts == "1":
        return say("{cases}, 1 attempt each, {about}", cases=cases, about=about)
    return say("{cases}, {attempts} attempts each, {about}", cases=cases, attempts=attempts, about=about)


def _change_cells(row: ComparedMeasure, comparison: Comparison) -> tuple[str, ...]:
    """Return the numbers of both runs, their difference, its interval and its p value."""
    return (
        measure_value(row, row.base),
        measure_value(row, row.candidate),
        format_signed(row, row.difference),
        change_ends(row) or DASH,
        p_text(row, comparison),
    )


def _rows(comparison: Comparison) -> Rows:
    rows = Rows(("", "base", "candidate", "change", INTERVAL, "p", "better", "worse", "equal", "verdict"))
    for row in informative(comparison):
        rows.add(
            name_measure(row.measure),
            *_change_cells(row, comparison),
            *(f"{cases:,}" if cases else DASH for cases in (row.better, row.worse, row.equal)),
            verdict_text(row, comparison.margin),
            style="dim" if row.informational else _STYLES.get(row.verdict or "", ""),
        )
    return rows


def informative(comparison: Comparison) -> list[ComparedMeasure]:
    """Return the rows with a value or a threshold. Other criteria were computed by default and found no data."""
    return [
        row for row in comparison.rows if row.base is not None or row.candidate is not None or not row.informational
    ]


def measure_value(row: ComparedMeasure, value: float | None) -> str:
    """Return a value of a measure as a terminal shows it."""
    if row.is_rate:
        return rate(value, _digits(row))
    return with_unit(row.measure, number(value, _digits(row)))


def format_signed(row: ComparedMeasure, value: float | None) -> str:
    """Return a difference with its sign. Rates differ by percentage points."""
    if value is None:
        return DASH
    sign = "+" if value > 0 else ""
    if not row.is_rate:
        return with_unit(row.measure, f"{sign}{number(value, _digits(row))}")
    return f"{sign}{points(value, _digits(row))}"


def points(value: float, least: int = 0) -> str:
    """Return a difference of rates in percentage points."""
    return say("{value} points", value=rate(value, least).removesuffix(" %"))


def change_ends(row: ComparedMeasure) -> str:
    """Return the interval of a difference, or an empty text."""
    if row.low is None or row.high is None:
        return ""
    ends = interval(Estimate(row.difference, row.low, row.high), percent=row.is_rate).replace(" %", "").split(" … ")
    low, high = (f"{'+' if end > 0 else ''}{text}" for end, text in zip((row.low, row.high), ends, strict=True))
    ending = say("{value} points", value=high) if row.is_rate else with_unit(row.measure, high)
    return f"{low} … {ending}"


def _digits(row: ComparedMeasure) -> int:
    difference = Estimate(row.difference, row.low, row.high)
    return digits_of_change(row.base, row.candidate, difference, percent=row.is_rate)


def p_text(row: ComparedMeasure, comparison: Comparison) -> str:
    """Return the p value of a measure, with a star if it was corrected together with others."""
    p = row.p if row.p_holm is None else row.p_holm
    if p is None:
        return DASH
    star = "" if row.p_holm is None or (row in comparison.rows and _family(comparison) < 2) else " *"
    return f"{p_value(p)}{star}"


def p_value(p: float) -> str:
    """Return a p value with two digits: 0.11, 0.012, or < 1e-12 for everything below."""
    if p < 1e-12:
        return "< 1e-12"
    return f"{p:.2f}" if p >= 0.1 else f"{p:.2g}"


def verdict_text(row: ComparedMeasure, margin: float | None) -> str:
    """Return the verdict on a measure, empty if there is none."""
    if row.verdict == "equal within the margin":
        text = points(margin) if row.is_rate and margin is not None else number(margin)
        return say("equal within {margin}", margin=text)
    if row.verdict is None and not row.comparable:
        return say("not comparable")
    return say(row.verdict or "")


def _judges(comparison: Comparison) -> Iterator[Text]:
    """Yield the states of the judges, unless people have checked them and found them good."""
    names: dict[str, list[str]] = {}
    for row in informative(comparison):
        if row.judge is not None and row.judge != "judge good":
            names.setdefault(row.judge, []).append(row.measure)
    for state, measures in names.items():
        yield Text(visible_line(f"{', '.join(measures)}: {state}"), "yellow")


def limits(comparison: Comparison) -> Iterator[Text]:
    """Yield the reach of the comparison, and everything that it leaves out."""
    first = comparison.rows[0]
    if first.detectable is not None:
        yield Text(
            say(
                "This comparison would have shown a difference of {value} in cases (power 80 %).",
                value=points(first.detectable),
            )
            if first.detectable <= 1
            else say("These are too few cases to show any difference in cases (power 80 %).")
        )
    elif first.method == SIGN_FLIPS and comparison.pairs.clusters is None and first.verdict not in _STYLES:
        # The mid-p value is the least one, which a difference of whole cases has if all change in the same way.
        yield Text(say_sentence(describe_reach(first.cases, fewest_changes(1 - LEVEL, mid_p=True))))
    for row in informative(comparison):
        if row.why:
            yield Text(visible_line(f"{row.measure}: {row.why}"), "yellow")
    yield from _judges(comparison)
    missing = [
        f"{row.measure} {row.missing[0]:,} / {row.missing[1]:,}" for row in informative(comparison) if any(row.missing)
    ]
    if missing:
        text = say("attempts without a value (base / candidate): {measures}", measures=", ".join(missing))
        yield Text(visible_line(text), "yellow")
    yield from other_cases(comparison.pairs)
    methods = [row.method for row in comparison.rows if row.method]
    several = _family(comparison)
    star = say("; * Holm over {n} p values, which widens their intervals", n=several) if several > 1 else ""
    yield Text(visible_line(f"{'; '.join(dict.fromkeys(methods))}{star}"), "dim")


def cases_in_clusters(cases: int, clusters: int | None) -> str:
    """Return a number of cases, and in how many clusters they are: `30 cases in 10 clusters`."""
    own = say_count(cases, "case")
    return own if clusters is None else say("{cases} in {clusters}", cases=own, clusters=say_count(clusters, "cluster"))


def other_cases(pairs: Pairs, only_base: str = "only in the base") -> Iterator[Text]:
    """Yield the cases that are not the same ones in both runs. `only_base` is the title of those of the base."""
    for problem, names in (
        (only_base, pairs.only_base),
        ("only in the candidate", pairs.only_candidate),
        ("left out, because the expectation changed", pairs.changed),
        ("left out, because the id occurs several times", pairs.ambiguous),
    ):
        if names:
            yield Text(visible_line(f"{say(problem)}: {_first_names(names)}"), "yellow")


def sentences(comparison: Comparison) -> Iterator[str]:
    """Yield the comparison in plain words, and the question that would fit better."""
    row = comparison.rows[0]
    if row.verdict in ("better", "worse"):
        change, ends = format_signed(row, row.difference), change_ends(row)
        if row.verdict == "better":
            yield say("The candidate passes more often: by {change} ({ends}).", change=change, ends=ends)
        else:
            yield say("The candidate passes less often: by {change} ({ends}).", change=change, ends=ends)
    elif row.verdict is not None and row.low is not None and row.high is not None:
        worse, better = points(abs(min(0.0, row.low))), points(max(0.0, row.high))
        yield say(
            "Neither run is shown to be better: the candidate may be worse by {worse} and better by {better}.",
            worse=worse,
            better=better,
        )
    # There is pass^2 only if every case has two attempts.
    if comparison.about == "cases-like-these" and all(table and table[-1].k > 1 for table in comparison.pass_k):
        yield say(
            "Every case was repeated: --about these-cases asks about exactly these cases, and needs fewer attempts."
        )


def _slices(comparison: Comparison) -> Iterator[RenderableType]:
    """Yield a table of the slices, and the promise of its verdicts."""
    if comparison.by is None:
        return
    rows = Rows((Name(comparison.by), "", "cases", "base", "candidate", "change", "interval", "p", "verdict"))
    for part in comparison.slices:
        for row in part.rows:
            rows.add(
                part.value,
                name_measure(row.measure),
                str(row.cases),
                *_change_cells(row, comparison),
                verdict_text(row, comparison.margin),
                style=_STYLES.get(row.verdict or "", ""),
            )
    family = sum(row.p is not None for part in comparison.slices for row in part.rows)
    yield Text("")
    yield rows
    yield Text(
        say(
            "* Holm over {values}: chance calls any slice better or worse 5 times in 100 at most.",
            values=say_count(family, "p value"),
        )
    )


def _family(comparison: Comparison) -> int:
    fields = dict(part.partition(":")[::2] for part in comparison.signature.split("|"))
    return int(fields["holm"])


def _first_names(names: Sequence[str]) -> str:
    first_names = ", ".join(names[:_NAMES])
    if len(names) <= _NAMES:
        return first_names
    return say("{names} … and {n} more", names=first_names, n=f"{len(names) - _NAMES:,}")


def _moves(moves: Sequence[Move]) -> Iterator[Text]:
    """Yield the cases that broke, the cases that were fixed, and the largest other changes."""
    for flip, style in (("broken", "red"), ("fixed", "green")):
        names = [move.case for move in moves if move.flipped == flip]
        if names:
            yield Text(visible_line(f"{say(flip)}: {_first_names(names)}"), style)
    partly = [move for move in moves if move.flipped is None]
    if partly:
        texts = [f"{move.case} {_share(move.base)} -> {_share(move.candidate)}" for move in partly[:_MOST]]
        cases_text = ", ".join(texts)
        if len(partly) > _MOST:
            cases_text = say("{names} … and {n} more", names=cases_text, n=f"{len(partly) - _MOST:,}")
        yield Text(visible_line(say("moved: {cases}", cases=cases_text)))


def _share(counts: tuple[int, int]) -> str:
    return f"{counts[0]}/{counts[1]}"


def _pass_k(comparison: Comparison) -> Iterator[RenderableType]:
    for run, table in zip(("base", "candidate"), comparison.pass_k, strict=True):
        if table:
            yield Text("")
            yield pass_k_table(table, run)


def _setup(comparison: Comparison) -> Iterator[Text]:
    for difference in comparison.setup:
        line = f"{difference.what}: {difference.base} -> {difference.candidate}"
        yield Text(visible_line(line), "dim")


def pass_k_table(table: Sequence[PassK], title: str = "") -> Group:
    """Return pass^k and pass@k with their intervals, and the sentence about a small table."""
    rows = Rows(
        (
            say("{name} attempts", name=say(title)) if title else "attempts",
            "all pass (pass^k)",
            INTERVAL,
            "any passes (pass@k)",
            INTERVAL,
        )
    )
    for entry in table:
        cells = [text for estimate in (entry.pass_hat, entry.pass_at) for text in _format_ends(estimate)]
        rows.add(str(entry.k), *cells)
    return Group(rows, *table_sentence(_rates(table)))


def _rates(table: Sequence[PassK]) -> Iterator[TableNumber]:
    for entry in table:
        for name, own in ((f"pass^{entry.k}", entry.pass_hat), (f"pass@{entry.k}", entry.pass_at)):
            yield TableNumber(name, count(entry.cases, "case"), Estimate(own.value, own.low, own.high))


def _format_ends(estimate: IntervalEstimate) -> tuple[str, str]:
    ends = Estimate(estimate.value, estimate.low, estimate.high)
    return format_estimate(ends, percent=True), interval(ends, percent=True) or DASH
