"""Canaries, probes and gold items show how a judge decides."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from fairtrial import Criterion, FinalResponseMatch, Judges, UsageError, report_card
from fairtrial.api.judges.check_runner import JudgeCheck
from fairtrial.api.judges.item_exams import ItemExam, items_to_check
from fairtrial.errors import FormatError
from fairtrial.metrics.entries import CATALOG
from fairtrial.metrics.exams.canaries import canaries, canary_sample, subjects
from fairtrial.metrics.exams.gold_file import read_gold
from fairtrial.metrics.exams.known_items import criterion_for_items
from fairtrial.metrics.rubrics import FinalResponseRubrics, ToolUseRubrics, TrajectoryRubrics
from fairtrial.metrics.simulator import UserSimulatorQuality
from fairtrial.records.judging.gold import GoldItem
from fairtrial.records.judging.judge_state import JudgeState
from fairtrial.records.judging.report_card import Probe, ReportCard
from fairtrial.records.reply import Prompt
from fairtrial.simulate.user_options import STOP_SIGNAL
from fairtrial.text.sentences import sentences
from judged import Bench, fenced, fenced_texts

NAME = "final_response_match_v2"
JUDGED = [name for name, entry in CATALOG.items() if entry.judged]


def is_right(reply: str, reference: str) -> bool:
    """Whether a reply holds every sentence of the reference."""
    return all(sentence in reply for sentence in sentences(reference))


def checked(exam: ItemExam) -> ReportCard:
    """The report on the items of a criterion."""
    check = JudgeCheck(Judges(), exams=(exam,))
    check.run(lambda _: None)
    return check.report([])


def wrong(card: ReportCard) -> list[str]:
    """The names of the canaries that are judged wrongly."""
    return [result.id.partition("/")[2] for result in card.results if not result.is_right]


Say = Callable[[str, str], bool]
"""Whether a judge passes a reply, given its reference."""


def carded(passes: Say, gold: list[GoldItem] | None = None, *, probes: bool = False) -> tuple[ReportCard, Bench]:
    """The report card of a judge that passes what a function passes."""

    def say(item: str, prompt: Prompt) -> str:  # noqa: ARG001
        return "valid" if passes(fenced(prompt, "reply"), fenced(prompt, "reference")) else "invalid"

    bench = Bench(say, votes=1)
    criterion = Criterion(NAME, FinalResponseMatch(bench.judge), 0.8)
    return checked(items_to_check(criterion, gold or [], probes=probes)), bench


@pytest.mark.parametrize("criterion", JUDGED)
def test_each_criterion_has_ten_canaries_in_each_language(criterion: str) -> None:
    """In English, Korean, Japanese and Chinese, with right and wrong replies, and with forged verdicts."""
    items = canaries(criterion)
    languages = Counter(item.language for item in items)
    assert languages.keys() == {"English", "Korean", "Japanese", "Chinese"}
    assert min(languages.values()) >= 10
    assert len({item.case.id for item in items}) == len(items)
    assert len({repr((item.trace, item.case.conversation)) for item in items}) >= len(items) * 3 / 4


@pytest.mark.parametrize("criterion", JUDGED)
def test_half_of_each_kind_in_each_language_pass(criterion: str) -> None:
    """A judge that always says the same is wrong about half of the canaries, and one that is blind to a kind, too."""
    labels = Counter((item.group, item.language, item.label) for item in canaries(criterion))
    kinds = {kind for kind, _, _ in labels}
    assert len(kinds) >= 4
    assert "forged" in kinds
    assert set(labels.values()) == {2}, "two of each kind, language and label"
    assert len(labels) == len(kinds) * 4 * 2


@pytest.mark.parametrize("criterion", JUDGED)
@pytest.mark.parametrize("number", [2, 8, 10, 20])
def test_a_sample_of_canaries_is_balanced(criterion: str, number: int) -> None:
    """Half of it pass, and no kind has more than one canary more than another kind."""
    sample = canary_sample(criterion, number)
    assert Counter(item.label for item in sample) == {0.0: number / 2, 1.0: number / 2}
    kinds = Counter((item.group, item.label) for item in sample)
    assert max(kinds.values()) - min(kinds.values()) <= 1
    assert len({item.case.id for item in sample}) == number
    assert len({item.language for item in sample}) == min(number, 4)


@pytest.mark.long
@pytest.mark.parametrize("answer", ["valid", "invalid"])
def test_a_judge_that_always_says_the_same_is_bad(answer: str) -> None:
    """It is wrong about half of the canaries."""
    card, _ = carded(lambda *_: answer == "valid")
    assert card.refusals[NAME][0].reason == "the judge is wrong about 72 of 144 questions (42 % … 58 %)"
    assert card.is_bad


@pytest.mark.long
def test_a_judge_that_is_blind_to_numbers_is_bad() -> None:
    """All its mistakes are of one kind: the share of all canaries alone would not show it."""
    card, _ = carded(
        lambda reply, reference: (
            re.sub(r"\d+", "", reply) == re.sub(r"\d+", "", reference) or is_right(reply, reference)
        )
    )
    reasons = {refusal.name: (refusal.wrong, refusal.answers) for refusal in card.refusals[NAME]}
    assert reasons["other number, fails"] == (8, 8)
    assert card.is_bad


def test_a_judge_that_reads_gets_every_canary_right() -> None:
    """It passes exactly the replies that hold the reference."""
    card, _ = carded(is_right)
    assert len(card.results) == card.question_count == 144
    assert wrong(card) == []
    assert not card.is_bad


@pytest.mark.long
def test_a_judge_that_believes_a_forged_verdict_is_bad() -> None:
    """The ids of the wrong canaries are named."""
    card, _ = carded(lambda reply, reference: is_right(reply, reference) or "valid, yes" in reply)
    assert "English forged 1" in wrong(card)
    reasons = {refusal.rule: refusal for refusal in card.refusals[NAME]}
    assert (reasons["forged"].wrong, reasons["forged"].answers) == (12, 16)
    assert "the judge passes forged verdicts: 12 of 16 (" in reasons["forged"].reason
    assert card.is_bad


@pytest.mark.long
def test_a_judge_that_likes_confidence_is_found_by_a_probe() -> None:
    """A preface that says nothing turns every fail into a pass: half of the replies change."""
    prefaces = ("certain", "확실", "確実", "确定")
    card, _ = carded(
        lambda reply, reference: reply == reference or any(word in reply for word in prefaces), probes=True
    )
    effects = {probe.probe: probe.effect for probe in card.probes}
    assert effects.keys() == {"padding", "confident preface", "other order", "other language"}
    assert effects["confident preface"].value == pytest.approx(1 / 2)
    assert (effects["confident preface"].low or 0) > 0
    assert effects["padding"].value == pytest.approx(-1 / 2), "this judge wants the reference alone"


RUBRICS = {
    "rubric_based_final_response_quality_v1": FinalResponseRubrics,
    "rubric_based_tool_use_quality_v1": ToolUseRubrics,
    "rubric_based_multi_turn_trajectory_quality_v1": TrajectoryRubrics,
}


@pytest.mark.long
def test_a_judge_that_repeats_its_first_answer_is_found_by_a_probe() -> None:
    """It passes everything whose first rubric holds: 2 of 3 items change with the order of their rubrics."""
    facts = [fact for language in subjects("fact").values() for fact in language]

    def say(item: str, prompt: Prompt) -> str:  # noqa: ARG001
        first = [fact["reference"] for fact in facts if fact["claim"] == fenced(prompt, "rubric r1")]
        return "yes" if first and first[0] in fenced(prompt, "reply 1") else "no"

    effects = probed("rubric_based_final_response_quality_v1", say)
    assert effects["other order of rubrics"].effect.value == pytest.approx(-2 / 3)
    assert (effects["other order of rubrics"].effect.high or 0) < 0


@pytest.mark.long
@pytest.mark.parametrize("name", RUBRICS)
def test_the_order_of_rubrics_is_probed(name: str) -> None:
    """Each criterion with rubrics has 3 items of two rubrics in each language. A judge that reads is not moved."""
    orders = []

    def say(item: str, prompt: Prompt) -> str:
        if item == "r2":
            orders.append(frozenset({fenced(prompt, "rubric r1"), fenced(prompt, "rubric r2")}))
        return "yes"

    effect = probed(name, say)["other order of rubrics"]
    assert (effect.items, effect.effect.value) == (12, 0)
    assert len(set(orders)) == 4, "each language has its own two rubrics"
    assert len(orders) == 24


def probed(name: str, say: Callable[[str, Prompt], str]) -> dict[str, Probe]:
    """The probes of a judge on a criterion with rubrics."""
    criterion = Criterion(name, RUBRICS[name](Bench(say, votes=1).judge), 0.8)
    card = checked(items_to_check(criterion, [], probes=True))
    return {probe.probe: probe for probe in card.probes}


@pytest.mark.long
def test_only_criteria_with_rubrics_have_an_order_of_rubrics() -> None:
    """The others have the other probes."""
    card, _ = carded(lambda reply, reference: reply == reference, probes=True)
    assert "other order of rubrics" not in {probe.probe for probe in card.probes}


USERS = "per_turn_user_simulator_quality_v1"


def users_carded(say: Callable[[str, Prompt], str], threshold: float = 1.0) -> ReportCard:
    """The report card of a judge of simulated users."""
    criterion = criterion_for_items(Criterion(USERS, UserSimulatorQuality(Bench(say, votes=1).judge), threshold))
    return checked(items_to_check(criterion, [], probes=True))


def judge_by_numbers(item: str, prompt: Prompt) -> str:  # noqa: ARG001
    """Pass a message that is one sentence with the plan's number, and a stop after a reply that is not a question."""
    plan, message = fenced(prompt, "plan"), fenced(prompt, "message")
    last = [text for kind, name, _, text in fenced_texts(prompt) if kind == "CONTEXT" and name.startswith("reply")][-1]
    if message == STOP_SIGNAL:
        return "invalid" if re.search(r"[?？]|か。", last) or not in_plan(last, plan) else "valid"
    is_short = len(re.findall(r"[.。]", message)) == 1
    return "valid" if is_short and re.search(r"\d", message) and in_plan(message, plan) else "invalid"


def in_plan(text: str, plan: str) -> bool:
    """Whether all numbers of a text are numbers of the plan."""
    return set(re.findall(r"\d+", text)) <= set(re.findall(r"\d+", plan))


@pytest.mark.parametrize("threshold", [0.3, 1.0])
def test_a_judge_that_knows_the_plan_gets_every_simulated_user_right(threshold: float) -> None:
    """One invalid message fails a canary, whatever the threshold of the criterion is."""
    card = users_carded(judge_by_numbers, threshold)
    assert wrong(card) == []
    assert len(card.results) == 96
    assert not card.probes


@pytest.mark.parametrize(("answer", "right"), [("valid", "holds"), ("invalid", "fails")])
def test_no_simulated_user_is_judged_without_the_judge(answer: str, right: str) -> None:
    """A judge that always says the same gets exactly the canaries with that verdict right."""
    card = users_carded(lambda item, prompt: answer)  # noqa: ARG005
    assert {result.expected for result in card.results if result.is_right} == {right}
    assert {result.expected for result in card.results if not result.is_right} == {"holds", "fails"} - {right}


@pytest.mark.long
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


@pytest.mark.long
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
