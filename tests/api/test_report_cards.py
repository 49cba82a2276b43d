"""Do canaries, probes and gold items show how a judge decides?"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from fairtrial import Criterion, FinalResponseMatch, Judges, UsageError, report_card
from fairtrial.api.judge_checks import check_judges, items_to_check
from fairtrial.errors import FormatError
from fairtrial.metrics.canaries import canaries
from fairtrial.metrics.entries import CATALOG
from fairtrial.metrics.gold_file import read_gold
from fairtrial.records.calibration import JudgeState
from fairtrial.records.gold import GoldItem
from fairtrial.records.reply import Prompt
from fairtrial.records.report_card import ReportCard
from judged import Bench, fenced

NAME = "final_response_match_v2"
JUDGED = [name for name, entry in CATALOG.items() if entry.judged and "simulator" not in name]

Say = Callable[[str, str], bool]
"""Whether a judge passes a reply, given its reference."""


def carded(passes: Say, gold: list[GoldItem] | None = None, *, probes: bool = False) -> tuple[ReportCard, Bench]:
    """The report card of a judge that passes what a function passes."""

    def say(item: str, prompt: Prompt) -> str:  # noqa: ARG001
        return "valid" if passes(fenced(prompt, "reply"), fenced(prompt, "reference")) else "invalid"

    bench = Bench(say, votes=1)
    criterion = Criterion(NAME, FinalResponseMatch(bench.judge), 0.8)
    return check_judges([items_to_check(criterion, gold or [], probes=probes)], Judges()), bench


@pytest.mark.parametrize("criterion", JUDGED)
def test_each_criterion_has_ten_canaries_in_each_language(criterion: str) -> None:
    """In English, Korean, Japanese and Chinese, with right and wrong replies, and with forged verdicts."""
    items = canaries(criterion)
    languages = Counter(item.language for item in items)
    assert languages.keys() == {"English", "Korean", "Japanese", "Chinese"}
    assert min(languages.values()) >= 10
    for language in languages:
        kinds = {item.group: item.label for item in items if item.language == language}
        assert kinds["forged"] == 0
        assert set(kinds.values()) == {0.0, 1.0}
    assert len({item.case.id for item in items}) == len(items)


def test_a_judge_that_reads_gets_every_canary_right() -> None:
    """It passes exactly the reply that equals the reference."""
    card, _ = carded(lambda reply, reference: reply == reference)
    assert all(kind.right == kind.items and not kind.wrong for kind in card.canaries)
    assert not card.is_bad


def test_a_judge_that_believes_a_forged_verdict_is_bad() -> None:
    """The ids of the wrong canaries are named."""
    card, _ = carded(lambda reply, reference: reply == reference or "valid, yes" in reply)
    wrong = {name for kind in card.canaries for name in kind.wrong}
    assert "English forged 1" in wrong
    assert card.is_bad


def test_a_judge_that_likes_confidence_is_found_by_a_probe() -> None:
    """A preface that says nothing turns every fail into a pass: 2 of 3 kinds of replies change."""
    prefaces = ("certain", "확실", "確実", "确定")
    card, _ = carded(
        lambda reply, reference: reply == reference or any(word in reply for word in prefaces), probes=True
    )
    effects = {probe.probe: probe.effect for probe in card.probes}
    assert effects.keys() == {"padding", "confident preface", "other order", "other language"}
    assert effects["confident preface"].value == pytest.approx(2 / 3)
    assert (effects["confident preface"].low or 0) > 0
    assert effects["padding"].value == pytest.approx(-1 / 3), "this judge wants the reference alone"


def test_a_question_is_paid_for_once() -> None:
    """Probes ask about canaries again; equal questions use the replies that there are."""
    _, bench = carded(lambda reply, reference: reply == reference, probes=True)
    texts = Counter(prompt.text for prompt in bench.prompts)
    assert max(texts.values()) == 1


def gold_file(folder: Path, *rows: dict[str, object]) -> Path:
    """Write a gold file."""
    path = folder / "gold.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def item(number: int, label: object = "pass", **more: object) -> dict[str, object]:
    """A row of a gold file whose reply is right."""
    question, reply = f"question {number}", f"answer {number}"
    row = {"id": number, "criterion": NAME, "question": question, "reply": reply, "reference": reply, "label": label}
    return {**row, **more}


def test_gold_items_measure_agreement_by_group(tmp_path: Path) -> None:
    """40 items in two groups: the judge is right in one, and passes everything in the other."""
    rows = [item(n, "pass" if n % 2 else "fail", group="hard" if n < 20 else "easy") for n in range(40)]
    card, _ = carded(
        lambda reply, _: (
            int(reply.split()[1]) % 2 == 1 or int(reply.split()[1]) < 20 if reply.startswith("answer") else False
        ),
        read_gold(gold_file(tmp_path, *rows)),
    )
    whole, *groups = card.gold
    assert whole.calibration.agreement.accuracy.value == pytest.approx(0.75)
    assert whole.calls == 40
    assert {check.group: check.calibration.agreement.accuracy.value for check in groups} == {"hard": 0.5, "easy": 1.0}
    assert whole.calibration.state is JudgeState.BIASED


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (item(1, "maybe"), "line 2: label: must be pass or fail"),
        (item(1, "?"), "line 2: label: must be known"),
        (item(1, criterion="final_response_match_v3"), "did you mean 'final_response_match_v2'?"),
        (item(1, criterion="response_match_score"), "must be a criterion that asks a judge"),
        (item(1, reference=""), "line 2: reference: final_response_match_v2 needs a reference"),
        (item(1, criterion="rubric_based_final_response_quality_v1"), "line 2: rubric: "),
        (item(0), "line 2: id: '0' stands there twice"),
        ({"id": 1}, "line 2: lacks the column 'criterion'"),
        (item(1, reply=["x"]), "line 2: reply: must be a text, got list"),
    ],
)
def test_a_broken_item_is_named_with_its_line(tmp_path: Path, row: dict[str, object], problem: str) -> None:
    """All problems come before anything is asked."""
    with pytest.raises(FormatError) as error:
        read_gold(gold_file(tmp_path, item(0), row))
    assert problem in str(error.value)


def test_a_report_card_needs_something_to_measure() -> None:
    """Neither recorded verdicts nor a criterion, or both."""
    with pytest.raises(UsageError, match="needs recorded verdicts, a gold file, a config, or the name of a criterion"):
        report_card()
    with pytest.raises(UsageError, match="give either recorded, or gold, criteria and config"):
        report_card(recorded="x.csv", criteria=[NAME])
    with pytest.raises(UsageError, match="must be a criterion that asks a judge"):
        report_card(criteria=["response_match_score"])
