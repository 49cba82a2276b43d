"""List the labels of a run, with the agreement of the people who gave them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.formats.labels import UNSURE
from fairtrial.records.record import Record
from fairtrial.records.score import PartKind, part_text
from fairtrial.records.summary import Estimate
from fairtrial.reports.numbers import format_estimate, interval, make_estimate, number
from fairtrial.reports.rows import INTERVAL, Name, Rows
from fairtrial.reports.small_tables import TableNumber, table_sentence
from fairtrial.stats import agreement as stats
from fairtrial.stats.clustered import mean_of_rates
from fairtrial.stats.judge_agreement import estimate_agreement
from fairtrial.text.display import DASH, count, shorten, visible_line

if TYPE_CHECKING:
    from fairtrial.api.stored_runs import Run
    from fairtrial.records.label import Label

_NOTE_LENGTH = 60
_WILSON = "Wilson, cases as clusters"
Item = tuple[str, str, int, str]
"""The key, the case, the attempt and the part that a label is about."""


class LabelerAgreement(Record, frozen=True):
    """The agreement of the people who labelled a criterion, over the outcomes with two labels or more.

    `part` is the kind of the parts that they labelled, or None if they labelled whole outcomes.
    `raw` is the share of pairs of labels that are equal. `kappa` is Cohen's (1960), for two people and nominal labels.
    `alpha` is Krippendorff's (2011), for any number of people. A number that does not exist is None. The intervals take
    into account that the labels of a case resemble each other. For two people, `confusion` counts the outcomes by the
    label of the first person (rows) and of the second person (columns), in the order of `values`.
    """

    criterion: str
    labelers: tuple[str, ...]
    items: int
    raw: Estimate
    kappa: Estimate
    alpha: float | None
    alpha_interval: tuple[float, float] | None = None
    values: tuple[float, ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()
    part: PartKind | None = None


def last_labels(run: Run) -> list[Label]:
    """Return the labels of a run, the last of each person on each outcome. Earlier labels stay in the store."""
    return list({(label.criterion, label.author, _item(label)): label for label in run.labels}.values())


def _item(label: Label) -> Item:
    return label.key, str(label.case), label.attempt, part_text(label.part)


def labels_as_rows(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the labels of a run as rows of a file, which `judge calibrate --labels` reads again."""
    for label in last_labels(run):
        yield {
            "key": label.key,
            "eval_set": label.case.eval_set,
            "case": label.case.case,
            "digest": label.case.digest,
            "attempt": label.attempt,
            "criterion": label.criterion,
            "part": part_text(label.part),
            "label": UNSURE if label.value is None else label.value,
            "labeler": label.author,
            "at": label.at,
            "note": label.note,
            "weight": label.weight,
            "seconds": label.seconds,
            "blind": label.blind,
            "probability": label.probability,
            "source": label.source,
            "side": label.side,
            "better_reference": label.reference,
        }


def agreement_of_labelers(run: Run) -> list[LabelerAgreement]:
    """Return the agreement of people for each criterion, and each kind of parts, that two or more people labelled."""
    values: defaultdict[tuple[str, PartKind | None], defaultdict[Item, dict[str, float]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for label in last_labels(run):
        if label.value is not None:
            kind = None if label.part is None else label.part.kind
            values[label.criterion, kind][_item(label)][label.author] = label.value
    return [
        _agreement(criterion, kind, {item: answers for item, answers in items.items() if len(answers) > 1})
        for (criterion, kind), items in values.items()
        if len({author for answers in items.values() for author in answers}) > 1
    ]


def _agreement(criterion: str, kind: PartKind | None, by_item: dict[Item, dict[str, float]]) -> LabelerAgreement:
    items = list(by_item.values())
    labelers = sorted({author for answers in items for author in answers})
    by_case: defaultdict[str, list[list[float]]] = defaultdict(list)
    for item, answers in by_item.items():
        by_case[_name_case(item)].append(list(answers.values()))
    values = tuple(sorted({value for answers in items for value in answers.values()}))
    return LabelerAgreement(
        criterion,
        tuple(labelers),
        len(items),
        _raw(by_case.values()),
        _kappa(by_item, labelers) if len(labelers) == 2 else Estimate(),
        stats.krippendorff([list(answers.values()) for answers in items]),
        stats.krippendorff_interval(list(by_case.values())),
        values,
        _confusion(items, labelers, values) if len(labelers) == 2 else (),
        kind,
    )


def _title(own: LabelerAgreement) -> str:
    return visible_line(own.criterion if own.part is None else f"{own.criterion}, each {own.part}")


def _name_case(item: Item) -> str:
    return item[1]


def _raw(cases: Iterable[list[list[float]]]) -> Estimate:
    """Return the share of pairs of labels that are equal, with an interval whose unit is the case."""
    counts = []
    for items in cases:
        pairs = [pair for answers in items for pair in combinations(answers, 2)]
        counts.append({"equal": (sum(first == second for first, second in pairs), len(pairs))})
    share = mean_of_rates(counts)
    if share is None:
        return Estimate()
    value, ends = share
    return Estimate(value) if ends is None else Estimate(value, *ends, _WILSON)


def _confusion(
    items: list[dict[str, float]], labelers: list[str], values: tuple[float, ...]
) -> tuple[tuple[int, ...], ...]:
    first, second = labelers
    counts = Counter((answers[first], answers[second]) for answers in items)
    return tuple(tuple(counts[row, column] for column in values) for row in values)


def _kappa(by_item: dict[Item, dict[str, float]], labelers: list[str]) -> Estimate:
    """Return Cohen's kappa of two people with its interval."""
    items = by_item.values()
    grades = {value: n for n, value in enumerate(sorted({value for answers in items for value in answers.values()}))}
    pairs = [(grades[answers[labelers[0]]], grades[answers[labelers[1]]], 1.0) for answers in items]
    if len(grades) < 2:
        return Estimate()
    return estimate_agreement(stats.kappa, pairs, len(grades), list(map(_name_case, by_item)))


def label_report(run: Run) -> RenderableType:
    """Return the labels of a run as a table, and the agreement of the people who gave them."""
    rows = Rows(("case", "attempt", "criterion", "part", "label", "labeler", "at", "note"))
    for label in last_labels(run):
        rows.add(
            label.case.case,
            str(label.attempt),
            Name(visible_line(label.criterion)),
            DASH if label.part is None else Name(visible_line(str(label.part))),
            UNSURE if label.value is None else number(label.value),
            Name(visible_line(label.author)) or DASH,
            label.at[:16].replace("T", " "),
            Name(visible_line(shorten(label.note, _NOTE_LENGTH))),
        )
    columns = ("people", "outcomes", "equal", INTERVAL, "kappa", INTERVAL, "alpha", INTERVAL)
    agreements = Rows(("agreement of people", *columns))
    tables: list[RenderableType] = []
    numbers: list[TableNumber] = []
    for own in agreement_of_labelers(run):
        alpha = make_estimate(own.alpha, own.alpha_interval)
        agreements.add(
            _title(own),
            str(len(own.labelers)),
            str(own.items),
            format_estimate(own.raw, percent=True),
            interval(own.raw, percent=True) or DASH,
            format_estimate(own.kappa),
            interval(own.kappa) or DASH,
            format_estimate(alpha),
            interval(alpha) or DASH,
        )
        sample, name = count(own.items, "outcome"), _title(own)
        numbers += [
            TableNumber(f"the share of equal labels of {name}", sample, own.raw, is_single=own.items == 1),
            TableNumber(f"the kappa of {name}", sample, own.kappa, is_rate=False, width=2.0),
            TableNumber(f"the alpha of {name}", sample, alpha, is_rate=False, width=2.0),
        ]
        if own.confusion:
            tables += [Text(""), _confusion_table(own)]
    agreement = (Text(""), agreements, *table_sentence(numbers)) if numbers else ()
    return Group(rows, *agreement, *tables)


def _confusion_table(own: LabelerAgreement) -> RenderableType:
    """Return how often each label of a person met each label of the other person."""
    first, second = map(visible_line, own.labelers)
    rows = Rows((f"{_title(own)}: {first}", *(f"{second} {number(value)}" for value in own.values)))
    for value, counts in zip(own.values, own.confusion, strict=True):
        rows.add(number(value), *map(str, counts))
    return rows
