"""Which labels does a run have, and how far do the people agree who gave them?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.api.stored_runs import Run
from fairtrial.formats.labels import UNSURE
from fairtrial.records.label import Label
from fairtrial.records.record import Record
from fairtrial.records.summary import Estimate
from fairtrial.reports.numbers import DASH, interval, number, rate
from fairtrial.reports.rows import INTERVAL, Rows
from fairtrial.stats import agreement as stats
from fairtrial.stats.judge_agreement import estimate_agreement
from fairtrial.text.display import shortened, visible_line

_NOTE_LENGTH = 60
Item = tuple[str, str, int, str]
"""The key, the case, the attempt and the part that a label is about."""


class LabelerAgreement(Record, frozen=True):
    """The agreement of the people who labelled a criterion, over the outcomes with two labels or more.

    `raw` is the share of pairs of labels that are equal. `kappa` is Cohen's (1960), for two people and nominal labels.
    `alpha` is Krippendorff's (2011), for any number of people. A number that does not exist is None. `alpha_interval`
    takes into account that the labels of a case resemble each other. For two people, `confusion` counts the outcomes
    by the label of the first person (rows) and of the second person (columns), in the order of `values`.
    """

    criterion: str
    labelers: tuple[str, ...]
    items: int
    raw: float | None
    kappa: Estimate
    alpha: float | None
    alpha_interval: tuple[float, float] | None = None
    values: tuple[float, ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()


def last_labels(run: Run) -> list[Label]:
    """Return the labels of a run, the last of each person on each outcome. Earlier labels stay in the store."""
    return list({(label.criterion, label.author, _item(label)): label for label in run.labels}.values())


def _item(label: Label) -> Item:
    return label.key, str(label.case), label.attempt, "" if label.part is None else str(label.part)


def labels_as_rows(run: Run) -> Iterator[dict[str, Any]]:
    """Yield the labels of a run as rows of a file, which `judge calibrate --labels` reads again."""
    for label in last_labels(run):
        yield {
            "key": label.key,
            "case": label.case.case,
            "attempt": label.attempt,
            "criterion": label.criterion,
            "label": UNSURE if label.value is None else label.value,
            "labeler": label.author,
            "note": label.note,
            "weight": label.weight,
        }


def agreement_of_labelers(run: Run) -> list[LabelerAgreement]:
    """Return the agreement of people for each criterion that two or more people labelled."""
    values: defaultdict[str, defaultdict[Item, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for label in last_labels(run):
        if label.value is not None:
            values[label.criterion][_item(label)][label.author] = label.value
    return [
        _agreement(criterion, {item: answers for item, answers in items.items() if len(answers) > 1})
        for criterion, items in values.items()
        if len({author for answers in items.values() for author in answers}) > 1
    ]


def _agreement(criterion: str, by_item: dict[Item, dict[str, float]]) -> LabelerAgreement:
    items = list(by_item.values())
    labelers = sorted({author for answers in items for author in answers})
    equal = pairs = 0
    for answers in items:
        answer_values = list(answers.values())
        for index, value in enumerate(answer_values):
            pairs += len(answer_values) - index - 1
            equal += answer_values[index + 1 :].count(value)
    alpha = stats.krippendorff([list(answers.values()) for answers in items])
    kappa = _kappa(items, labelers) if len(labelers) == 2 else Estimate()
    cases: defaultdict[str, list[list[float]]] = defaultdict(list)
    for item, answers in by_item.items():
        cases[item[1]].append(list(answers.values()))
    values = tuple(sorted({value for answers in items for value in answers.values()}))
    return LabelerAgreement(
        criterion,
        tuple(labelers),
        len(items),
        equal / pairs if pairs else None,
        kappa,
        alpha,
        stats.krippendorff_interval(list(cases.values())),
        values,
        _confusion(items, labelers, values) if len(labelers) == 2 else (),
    )


def _confusion(
    items: list[dict[str, float]], labelers: list[str], values: tuple[float, ...]
) -> tuple[tuple[int, ...], ...]:
    first, second = labelers
    counts = Counter((answers[first], answers[second]) for answers in items)
    return tuple(tuple(counts[row, column] for column in values) for row in values)


def _kappa(items: list[dict[str, float]], labelers: list[str]) -> Estimate:
    """Return Cohen's kappa of two people with its interval."""
    grades = {value: n for n, value in enumerate(sorted({value for answers in items for value in answers.values()}))}
    pairs = [(grades[answers[labelers[0]]], grades[answers[labelers[1]]], 1.0) for answers in items]
    if len(grades) < 2 or len(pairs) < 2:
        return Estimate()
    return estimate_agreement(stats.kappa, pairs, len(grades))


def label_report(run: Run) -> RenderableType:
    """Return the labels of a run as a table, and the agreement of the people who gave them."""
    rows = Rows(("case", "attempt", "criterion", "part", "label", "labeler", "at", "note"))
    for label in last_labels(run):
        rows.add(
            label.case.case,
            str(label.attempt),
            visible_line(label.criterion),
            DASH if label.part is None else visible_line(str(label.part)),
            UNSURE if label.value is None else number(label.value),
            visible_line(label.author) or DASH,
            label.at[:16].replace("T", " "),
            visible_line(shortened(label.note, _NOTE_LENGTH)),
        )
    agreements = Rows(("agreement of people", "people", "outcomes", "equal", "kappa", INTERVAL, "alpha", INTERVAL))
    tables: list[RenderableType] = []
    for own in agreement_of_labelers(run):
        kappa = number(own.kappa.value)
        numbers = (str(len(own.labelers)), str(own.items), rate(own.raw), kappa, interval(own.kappa) or DASH)
        ends = Estimate(own.alpha, *own.alpha_interval) if own.alpha_interval else Estimate()
        agreements.add(own.criterion, *numbers, number(own.alpha), interval(ends) or DASH)
        if own.confusion:
            tables += [Text(""), _confusion_table(own)]
    return Group(rows, *((Text(""), agreements) if agreements.rows else ()), *tables)


def _confusion_table(own: LabelerAgreement) -> RenderableType:
    """Return how often each label of a person met each label of the other person."""
    first, second = map(visible_line, own.labelers)
    rows = Rows((f"{visible_line(own.criterion)}: {first}", *(f"{second} {number(value)}" for value in own.values)))
    for value, counts in zip(own.values, own.confusion, strict=True):
        rows.add(number(value), *map(str, counts))
    return rows
