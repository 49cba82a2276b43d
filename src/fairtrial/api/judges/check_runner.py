"""The check of judges: one runner for all questions with known answers, and one report on the answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from fairtrial.api.connection import connect_criterion
from fairtrial.judge.judge import Judge
from fairtrial.llm.address import address
from fairtrial.llm.library_models import require_packages
from fairtrial.llm.model_pool import ModelPool
from fairtrial.llm.prompts import own_templates
from fairtrial.llm.token_counts import price
from fairtrial.llm.vertex_service import NAME as VERTEX
from fairtrial.metrics.exams.known_answers import HOLDS, KnownAnswer
from fairtrial.metrics.exams.known_items import ItemAnswer, judge_item
from fairtrial.metrics.exams.known_tasks import WRITING_PROMPTS
from fairtrial.metrics.exams.refusals import list_refusals
from fairtrial.metrics.judged_metric import TEMPLATES
from fairtrial.records.judging.judge_check import CheckResult, RuleRates, Share
from fairtrial.records.judging.report_card import ReportCard
from fairtrial.stats.agreement import share_interval
from fairtrial.system.concurrency import concurrently
from fairtrial.system.event_loop import blocking

if TYPE_CHECKING:
    from fairtrial.api.judges.item_exams import ItemExam
    from fairtrial.judge.judges import Judges
    from fairtrial.llm.model import NamedModel
    from fairtrial.records.refusal import Refusal
    from fairtrial.records.result import Criterion

_OUTPUT_TOKENS = 150
"""The typical length of an answer to one question."""
_MOST_AT_ONCE = 200
"""The largest number of questions that wait for their answers. The limits of the models hold besides."""

Ask = Callable[[], Awaitable[CheckResult]]


@dataclass(frozen=True)
class JudgeCheck:
    """The questions of a check, with their number, and their estimated tokens and cost.

    Each of the `cases` is put to each of the `voters`. Each of the `exams` has items that its own criterion judges.
    `templates` take the place of templates of the package, by their names.
    """

    judges: Judges
    voters: tuple[NamedModel, ...] = ()
    cases: tuple[KnownAnswer, ...] = ()
    votes: int = 1
    templates: Mapping[str, str] = field(default_factory=dict)
    exams: tuple[ItemExam, ...] = ()
    _answers: dict[tuple[str, int], ItemAnswer] = field(default_factory=dict, repr=False, compare=False)

    @property
    def question_count(self) -> int:
        """The number of questions to all models together."""
        return len(self.cases) * len(self.voters) + sum(len(exam.items) for exam in self.exams)

    @property
    def tokens(self) -> int:
        """The estimated tokens of all prompts and answers together."""
        return sum(tokens + calls * _OUTPUT_TOKENS for _, calls, tokens in self._loads)

    @property
    def cost(self) -> float | None:
        """The estimated cost in US dollars, or None if the price of a model is unknown."""
        prices = [self._price(*load) for load in self._loads]
        known_prices = [amount for amount in prices if amount is not None]
        return sum(known_prices) if len(known_prices) == len(prices) else None

    @property
    def _loads(self) -> list[tuple[NamedModel, int, int]]:
        """Each model with the estimated number of its calls, and of the tokens of their prompts."""
        for voter in filter(self._is_at_provider, self.voters):
            require_packages(address(voter.name, voter.endpoint))  # before a prompt is written to count its tokens
        with own_templates(self.templates):
            tokens = self.votes * sum(case.token_estimate for case in self.cases)
        loads = [(voter, self.votes * len(self.cases), tokens) for voter in self.voters]
        return loads + [load for exam in self.exams for load in exam.loads]

    def _price(self, voter: NamedModel, calls: int, tokens: int) -> float | None:
        if not self._is_at_provider(voter):
            return None
        return price(address(voter.name, voter.endpoint), tokens, calls * _OUTPUT_TOKENS)

    def _is_at_provider(self, voter: NamedModel) -> bool:
        return voter.model is None and voter.name not in {VERTEX, *self.judges.models.custom_models}

    def run(self, on_result: Callable[[CheckResult], None]) -> None:
        """Ask every question, and pass each result on. Raises UsageError if a model cannot be called at all."""
        blocking(self._run(on_result))

    async def _run(self, on_result: Callable[[CheckResult], None]) -> None:
        judges = self.judges
        async with ModelPool(judges.models) as pool:
            voters = [
                Judge((pool.connected(own),), self.votes, judges.all_votes, strict_model=judges.strict_model)
                for own in self.voters
            ]
            criteria = [connect_criterion(exam.criterion, pool) for exam in self.exams]
            await pool.check()
            with own_templates(self.templates):
                questions = self._questions(voters, criteria)
                async for result in concurrently(questions, lambda ask: ask(), limit=_MOST_AT_ONCE):
                    on_result(result)

    async def _questions(self, voters: Sequence[Judge], criteria: Sequence[Criterion]) -> AsyncIterator[Ask]:
        for case in self.cases:
            for voter in voters:
                yield partial(case.ask, voter)
        for exam, criterion in zip(self.exams, criteria, strict=True):
            for place in range(len(exam.items)):
                yield partial(self._ask_about, exam, criterion, place)

    async def _ask_about(self, exam: ItemExam, criterion: Criterion, place: int) -> CheckResult:
        answer = self._answers[exam.name, place] = await judge_item(criterion, exam.items[place])
        return answer.result(exam.judge, exam.name)

    def report(self, results: Iterable[CheckResult]) -> ReportCard:
        """Return the report on the answers so far: `results` are those of the cases, and the check has the others.

        Only canaries, and questions of prompts that judge, are a reason to refuse a judge.
        """
        places = {case.id: place for place, case in enumerate(self.cases)}
        scored = [answer for answer in self._answers.values() if answer.outcome.score.value is not None]
        own = [result for result in results if result.id in places]
        own.sort(key=lambda result: (result.model, places[result.id]))
        exams = [(exam, self._answers_to(exam)) for exam in self.exams]
        answered = len(scored) + sum(bool(result.outcome) for result in own)
        own += [result for exam, answers in exams for result in exam.results(answers)]
        with own_templates(self.templates):
            versions = {name: TEMPLATES.version(name) for name in self.templates}
        return ReportCard(
            gold=tuple(check for exam, answers in exams for check in exam.gold_checks(answers)),
            probes=tuple(probe for exam, answers in exams for probe in exam.find_effects(answers)),
            refusals=_refusals(own, by_criterion=bool(self.exams)),
            question_count=len(self.cases) * len(self.voters) + sum(len(exam.canaries) for exam in self.exams),
            unanswered=self.question_count - answered,
            rates=tuple(_rates(own)),
            results=tuple(own),
            templates=versions,
        )

    def _answers_to(self, exam: ItemExam) -> dict[int, ItemAnswer]:
        return {place: answer for (name, place), answer in self._answers.items() if name == exam.name}


def _refusals(results: Sequence[CheckResult], *, by_criterion: bool) -> dict[str, tuple[Refusal, ...]]:
    """Return the reasons to refuse each model, or the judge of each criterion, which may have options of its own."""
    groups: dict[str, list[CheckResult]] = {}
    for result in results:
        own = groups.setdefault(result.prompt if by_criterion else result.model, [])
        if result.prompt not in WRITING_PROMPTS:
            own.append(result)
    return {name: list_refusals(own) for name, own in groups.items()}


def _rates(results: Sequence[CheckResult]) -> Iterator[RuleRates]:
    """Yield the rates of each model: by language and rule over all prompts first, then of each prompt."""
    for model in dict.fromkeys(result.model for result in results):
        own = [result for result in results if result.model == model]
        prompts = dict.fromkeys(result.prompt for result in own)
        if len(prompts) > 1:
            yield from _rates_by_rule(own, "")
        for prompt in prompts:
            yield from _rates_by_rule([result for result in own if result.prompt == prompt], prompt)


def _rates_by_rule(results: Sequence[CheckResult], prompt: str) -> Iterator[RuleRates]:
    """Yield the rates over all rules first, then in each language, then of each rule."""
    yield _rate(results, prompt, "")
    for language in dict.fromkeys(result.language for result in results):
        yield _rate([result for result in results if result.language == language], prompt, "", language)
    for rule in dict.fromkeys(result.rule for result in results):
        yield _rate([result for result in results if result.rule == rule], prompt, rule)


def _rate(results: Sequence[CheckResult], prompt: str, rule: str, language: str = "") -> RuleRates:
    answers = [result for result in results if result.outcome]
    positives = [result.is_right for result in answers if result.expected == HOLDS]
    negatives = [result.is_right for result in answers if result.expected != HOLDS]
    unread = sum(not result.outcome and result.calls > 0 for result in results)
    return RuleRates(results[0].model, prompt, rule, _share(positives), _share(negatives), unread, language)


def _share(hits: Sequence[bool]) -> Share | None:
    interval = share_interval([(hit, 1.0) for hit in hits])
    return None if interval is None else Share(sum(hits), len(hits), *interval)
