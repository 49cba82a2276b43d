"""Canaries of each judged criterion: items whose right verdict is certain."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import chain, islice, zip_longest
from typing import Any

from msgspec.structs import replace

from fairtrial.judge.ballot_costs import collect_ballot_ids
from fairtrial.judge.judge import Judge
from fairtrial.metrics.adaptive_quality import AdaptiveQuality
from fairtrial.metrics.entries import CATALOG
from fairtrial.metrics.exams.known_answers import FAILS, HOLDS, TYPICAL_TOKENS, KnownAnswer, other_models
from fairtrial.metrics.exams.refusals import ExamAnswer
from fairtrial.metrics.rubrics import FINAL_RESPONSE, TOOL_USE, TRAJECTORY, RubricMetric
from fairtrial.records.ballot import Ballot, JudgeAnswer
from fairtrial.records.case import EvalCase, Scenario
from fairtrial.records.decoding import json_decoder
from fairtrial.records.gold import GoldItem
from fairtrial.records.judge_check import CheckResult
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.record import Record
from fairtrial.records.report_card import CanaryKind
from fairtrial.records.result import Criterion, Outcome, Verdict
from fairtrial.records.rubric import Rubric
from fairtrial.records.score import Score
from fairtrial.records.trace import Invocation, Message, Step, ToolCall, ToolResult, Trace
from fairtrial.text.quoting import Haystack, letters

ADAPTIVE = ("general_quality_v1", "text_quality_v1", "instruction_following_v1")
"""The criteria whose rubrics the judge makes. Canaries have rubrics of their own, because their labels are certain."""
RUBRIC_TYPES = {
    "rubric_based_final_response_quality_v1": FINAL_RESPONSE,
    "rubric_based_tool_use_quality_v1": TOOL_USE,
    "rubric_based_multi_turn_trajectory_quality_v1": TRAJECTORY,
    **dict.fromkeys(ADAPTIVE, FINAL_RESPONSE),
}
"""The criteria that ask about rubrics, with the type of their rubrics."""
SIMULATED_USERS = "per_turn_user_simulator_quality_v1"
"""The criterion that judges the messages of a simulated user."""


class CanaryRow(Record, frozen=True):
    """A canary in every language and about every subject: its texts hold names of texts in braces.

    `families` are the groups of criteria that the label is certain for. A turn is the user's message and the reply.
    `call` names the number with which the agent calls the tool of a request. `rubric` replaces the usual rubric. The
    names of the texts of the next subject begin with "next_".
    """

    families: tuple[str, ...]
    about: str
    kind: str
    label: float
    turns: tuple[tuple[str, str], ...]
    reference: str = "{reference}"
    call: str = ""
    rubric: str = ""


@cache
def subjects(about: str) -> dict[str, tuple[dict[str, Any], ...]]:
    """Return the texts about facts, requests or simulated users ("fact", "request", "user") by language."""
    rows = json_decoder(dict[str, Any]).decode_lines(_data("texts"))
    shared = {row["language"]: row for row in rows if row["about"] == "any"}
    return {
        language: tuple({**texts, **row} for row in rows if (row["about"], row["language"]) == (about, language))
        for language, texts in shared.items()
    }


def _data(name: str) -> bytes:
    return (resources.files("fairtrial.metrics.exams") / f"{name}.jsonl").read_bytes()


@cache
def _rows() -> tuple[CanaryRow, ...]:
    return tuple(json_decoder(CanaryRow).decode_lines(_data("canaries")))


def canaries(criterion: str) -> list[GoldItem]:
    """Return the canaries of a criterion in four languages, at least 10 of each. Empty if it has none.

    The label of each is certain: a reply that equals the reference passes, for example, and its negation fails. Half of
    each kind pass.
    """
    rows = [row for row in _rows() if _FAMILIES.get(criterion) in row.families]
    return [
        _canary(criterion, row, _with_next(language, number), number)
        for row in rows
        for language in subjects(row.about).values()
        for number in range(1, len(language) + 1)
    ]


def _with_next(language: Sequence[dict[str, Any]], number: int) -> dict[str, Any]:
    """Return the texts of a subject, and those of the next subject of its language."""
    following = language[number % len(language)]
    return language[number - 1] | {f"next_{name}": text for name, text in following.items()}


def canary_sample(criterion: str, number: int) -> list[GoldItem]:
    """Return a number of canaries, always the same: each kind in turn, with both verdicts and changing languages."""
    strata: dict[tuple[str, float], list[GoldItem]] = {}
    for item in reversed(canaries(criterion)):
        strata.setdefault((item.group, item.label), []).append(item)
    spread = [own[::3] + own[1::3] + own[2::3] for own in strata.values()]
    rotated = (own[place % len(own) :] + own[: place % len(own)] for place, own in enumerate(spread))
    return list(islice(filter(None, chain.from_iterable(zip_longest(*rotated))), number))


def canary_kinds(items: Sequence[GoldItem], verdicts: Sequence[Verdict]) -> Iterator[CanaryKind]:
    """Yield how often canaries get the verdict that is certainly right, by kind, language and expected verdict."""
    strata: defaultdict[tuple[str, str, float], list[tuple[GoldItem, Verdict]]] = defaultdict(list)
    for item, verdict in zip(items, verdicts, strict=True):
        strata[item.group, item.language, item.label].append((item, verdict))
    for (kind, language, label), own in strata.items():
        right, wrong = (Verdict.PASSED, Verdict.FAILED) if label else (Verdict.FAILED, Verdict.PASSED)
        counts = Counter(verdict for _, verdict in own)
        yield CanaryKind(
            own[0][0].criterion,
            kind,
            language,
            "pass" if label else "fail",
            len(own),
            counts[right],
            len(own) - counts[right] - counts[wrong],
            tuple(item.case.id for item, verdict in own if verdict is wrong),
        )


def canary_answers(
    items: Sequence[GoldItem], verdicts: Sequence[Verdict], invented: Sequence[bool] = ()
) -> list[ExamAnswer]:
    """Return the answers that the verdicts on canaries stand for. `invented` says which of them have a false quote."""
    return [
        ExamAnswer(
            item.case.id,
            item.group,
            item.language,
            HOLDS if item.label else FAILS,
            (verdict is Verdict.PASSED) == bool(item.label) if verdict in _DECIDED else None,
            is_invented,
        )
        for item, verdict, is_invented in zip(items, verdicts, invented or (False,) * len(items), strict=True)
    ]


_DECIDED = (Verdict.PASSED, Verdict.FAILED)


def find_ballots(score: Score, ballots: Mapping[str, Ballot]) -> list[Ballot]:
    """Return the ballots behind a score."""
    return [ballots[name] for name in collect_ballot_ids(score) if name in ballots]


def invents_quote(ballots: Iterable[Ballot]) -> bool:
    """Return whether a counted answer of the ballots quotes what is in none of the texts that the judge saw."""
    for ballot in ballots:
        quotes = {answer.quote for answer in _list_opinions(ballot) if answer.quote}
        texts = Haystack(prompt.text for prompt in ballot.prompts)
        if any(letters(quote) and not texts.holds(quote) for quote in quotes):
            return True
    return False


class Canary(KnownAnswer, frozen=True, kw_only=True):
    """A canary as a question of an exam: its criterion judges it with the default options, and it passes or fails."""

    item: GoldItem

    @property
    def token_estimate(self) -> int:
        """The estimated tokens of the prompt."""
        return TYPICAL_TOKENS

    async def ask(self, judge: Judge) -> CheckResult:
        """Let the criterion judge the canary, and return the result."""
        ballots: list[Ballot] = []
        criterion = default_criterion(self.item.criterion, dataclasses.replace(judge, keep=ballots.append))
        metric: Any = criterion.metric
        score = await metric(self.item.trace, self.item.case)
        verdict = Outcome(criterion.name, score, criterion.threshold, range=criterion.range).verdict
        usage = sum((ballot.model_usage for ballot in ballots), ModelUsage())
        calls = [call for ballot in ballots for call in ballot.calls]
        return CheckResult(
            model=judge.panel[0].name,
            id=self.id,
            prompt=self.prompt,
            rule=self.rule,
            language=self.language,
            expected=self.answer,
            outcome={Verdict.PASSED: HOLDS, Verdict.FAILED: FAILS}.get(verdict, ""),
            problem="" if verdict in _DECIDED else score.reason,
            rationale=next((own.rationale for ballot in ballots for own in _list_opinions(ballot)), score.reason),
            calls=usage.calls,
            seconds=sum(call.seconds for call in calls),
            cost=usage.cost,
            is_invented=invents_quote(ballots),
            served=other_models(ballots),
        )


def _list_opinions(ballot: Ballot) -> list[JudgeAnswer]:
    """Return the answers of a ballot that were counted."""
    return [answer for item in ballot.decisions for answer in ballot.opinions(item)]


@cache
def exam_canaries(prompt: str) -> tuple[Canary, ...]:
    """Return the canaries of a prompt for an exam: half of the bank, each kind in each language with both answers."""
    criterion = _EXAMINED.get(prompt, "")
    return tuple(
        Canary(
            rule=item.group,
            language=LANGUAGES[item.language],
            answer=HOLDS if item.label else FAILS,
            prompt=prompt,
            id=f"{prompt}/{item.case.id}",
            item=item,
        )
        for place, item in enumerate(canaries(criterion))
        if place % 2 == place // 2 % 2
    )


def default_criterion(name: str, judge: Judge) -> Criterion:
    """Return a criterion with its default options, as it judges canaries."""
    entry = CATALOG[name]
    threshold = entry.sample["threshold"] if isinstance(entry.sample, dict) else entry.sample
    return criterion_for_items(Criterion(name, entry.metric(judge), threshold, range=entry.range))


def criterion_for_items(criterion: Criterion) -> Criterion:
    """Return a criterion as it judges canaries and gold items.

    Each item has its own rubrics. A simulated user passes only if each of its messages is valid, whatever the
    threshold, because the first message of each canary equals the starting prompt and is never judged.
    """
    metric: object = criterion.metric
    if isinstance(metric, AdaptiveQuality):
        return replace(criterion, metric=metric.by_own_rubrics)
    if isinstance(metric, RubricMetric):
        return replace(criterion, metric=dataclasses.replace(metric, rubrics=()))
    if criterion.name == SIMULATED_USERS and criterion.threshold is not None:
        return replace(criterion, threshold=1.0)
    return criterion


def make_item(
    criterion: str,
    name: str,
    question: str,
    reply: str,
    label: float,
    *,
    reference: str | None = None,
    context: str = "",
    rubric: str = "",
    steps: tuple[Step, ...] = (),
    group: str = "",
    language: str = "",
) -> GoldItem:
    """Return an item of one invocation."""
    message = Message(question)
    rubrics = (Rubric("gold", rubric, type=RUBRIC_TYPES.get(criterion, "")),) if rubric else ()
    expected = Invocation(message, None, None if reference is None else Message(reference))
    case = EvalCase(name, (expected,), rubrics=rubrics, context=context)
    trace = Trace((Invocation(message, steps, Message(reply, "agent")),))
    return GoldItem(criterion, case, trace, label, group, language)


def make_call(texts: dict[str, Any], number: int) -> tuple[Step, ...]:
    """Return the call that fulfils a request with a number, and its result. Call ids are the names of the tools."""
    tool, argument = texts["tool"], texts["argument"]
    return (ToolCall(tool, {argument: number}, tool), ToolResult(tool, {"status": "done", argument: number}, tool))


def _canary(criterion: str, row: CanaryRow, texts: dict[str, Any], number: int) -> GoldItem:
    language = texts["language"]
    name = f"{language} {row.kind} {number}{' (must pass)' if row.label else ''}"
    turns = [(query.format_map(texts), reply.format_map(texts)) for query, reply in row.turns]
    if row.about == "user":
        case = EvalCase(name, scenario=Scenario(turns[0][0], texts["plan"]))
        trace = Trace(tuple(Invocation(Message(query), (), Message(reply, "agent")) for query, reply in turns))
        return GoldItem(criterion, case, trace, row.label, row.kind, language)
    return make_item(
        criterion,
        name,
        *turns[0],
        row.label,
        reference=row.reference.format_map(texts) if row.about == "fact" else None,
        context=texts.get("document", ""),
        rubric=_rubric(criterion, row, texts),
        steps=make_call(texts, texts[row.call]) if row.call else (),
        group=row.kind,
        language=language,
    )


def _rubric(criterion: str, row: CanaryRow, texts: dict[str, Any]) -> str:
    """Return the rubric of a canary, or an empty text if its criterion has none."""
    if criterion not in RUBRIC_TYPES:
        return ""
    own: str = row.rubric.format_map(texts) or texts[_RUBRICS[RUBRIC_TYPES[criterion]]]
    return own


_RUBRICS = {FINAL_RESPONSE: "claim", TOOL_USE: "call_rule", TRAJECTORY: "goal"}
"""The text of a rubric by its type."""
_FAMILIES = {
    "final_response_match_v2": "match",
    "rubric_based_final_response_quality_v1": "claim",
    **dict.fromkeys(ADAPTIVE, "claim"),
    "rubric_based_tool_use_quality_v1": "request",
    "rubric_based_multi_turn_trajectory_quality_v1": "request",
    "hallucinations_v1": "grounded",
    "grounding_v1": "grounded",
    "safety_v1": "safe",
    "multi_turn_task_success_v1": "request",
    "multi_turn_trajectory_quality_v1": "request",
    "multi_turn_tool_use_quality_v1": "request",
    "response_evaluation_score": "coherent",
    SIMULATED_USERS: "user",
}
"""The family of canaries of each criterion."""
_EXAMINED = {
    "final_response_match": "final_response_match_v2",
    "rubric_final_response": "rubric_based_final_response_quality_v1",
    "rubric_tool_use": "rubric_based_tool_use_quality_v1",
    "rubric_trajectory": "rubric_based_multi_turn_trajectory_quality_v1",
    "hallucinations": "hallucinations_v1",
    "safety": "safety_v1",
    "conversation": "multi_turn_task_success_v1",
    "coherence": "response_evaluation_score",
    "simulated_message": SIMULATED_USERS,
}
"""The criterion whose canaries examine a judge on a prompt."""
LANGUAGES = {"English": "en", "Korean": "ko", "Japanese": "ja", "Chinese": "zh"}
