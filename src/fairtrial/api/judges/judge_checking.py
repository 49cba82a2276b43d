"""Check judges with the package's questions that have known answers."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from fairtrial.api.connection import find_models
from fairtrial.errors import ConfigError, nearest
from fairtrial.judge.judge import Judge
from fairtrial.judge.judges import Judges
from fairtrial.llm.address import address
from fairtrial.llm.model import NamedModel
from fairtrial.llm.model_pool import HasPanel, ModelPool
from fairtrial.llm.provider import price
from fairtrial.loading import criteria_in
from fairtrial.metrics.exams.canaries import exam_canaries
from fairtrial.metrics.exams.known_answers import HOLDS, KnownAnswer
from fairtrial.metrics.exams.known_questions import JUDGED_PROMPTS, check_cases
from fairtrial.metrics.exams.known_tasks import WRITING_PROMPTS, writing_cases
from fairtrial.metrics.exams.refusals import ExamAnswer, list_refusals
from fairtrial.records.judge_check import CheckResult, JudgeCheckReport, RuleRates, Share
from fairtrial.stats.agreement import share_interval
from fairtrial.system.event_loop import blocking

PROMPTS = (*JUDGED_PROMPTS, *WRITING_PROMPTS)
"""The prompts with a table of questions or tasks."""
_OUTPUT_TOKENS = 150
"""The typical length of an answer to one question."""


@dataclass(frozen=True)
class JudgeCheck:
    """The questions for some models, with their number, and their estimated tokens and cost.

    `cost` is in US dollars, or None if the price of a model is unknown.
    """

    judges: Judges
    voters: tuple[NamedModel, ...]
    cases: tuple[KnownAnswer, ...]
    votes: int = 1

    @property
    def question_count(self) -> int:
        """The number of questions to all models together."""
        return len(self.cases) * len(self.voters)

    @property
    def tokens(self) -> int:
        """The estimated tokens of all prompts and answers together."""
        return self.votes * len(self.voters) * (self._input_tokens + len(self.cases) * _OUTPUT_TOKENS)

    @property
    def cost(self) -> float | None:
        """The estimated cost in US dollars, or None if the price of a model is unknown."""
        prices = [self._price(voter) for voter in self.voters]
        known_prices = [amount for amount in prices if amount is not None]
        return self.votes * sum(known_prices) if len(known_prices) == len(prices) else None

    @property
    def _input_tokens(self) -> int:
        return sum(case.token_estimate for case in self.cases)

    def _price(self, voter: NamedModel) -> float | None:
        if voter.model is not None or voter.name in self.judges.models.custom_models:
            return None
        return price(address(voter.name, voter.endpoint), self._input_tokens, len(self.cases) * _OUTPUT_TOKENS)

    def run(self, on_result: Callable[[CheckResult], None]) -> None:
        """Ask every question, and pass each result on. Raises UsageError if a model cannot be called at all."""
        blocking(self._run(on_result))

    async def _run(self, on_result: Callable[[CheckResult], None]) -> None:
        async def ask(voter: NamedModel, case: KnownAnswer) -> None:
            on_result(await case.ask(Judge((voter,), self.votes)))

        async with ModelPool(self.judges.models) as pool:
            connected = list(map(pool.connected, self.voters))
            await pool.check()
            await asyncio.gather(*(ask(voter, case) for case in self.cases for voter in connected))

    def report(self, results: Iterable[CheckResult]) -> JudgeCheckReport:
        """Return the report on the results so far."""
        places = {case.id: place for place, case in enumerate(self.cases)}
        ordered = sorted(results, key=lambda result: (result.model, places[result.id]))
        models = dict.fromkeys(result.model for result in ordered)
        refusals = {model: list_refusals(_answers(ordered, model)) for model in models}
        return JudgeCheckReport(self.question_count, tuple(_rates(ordered)), tuple(ordered), refusals)


def plan_judge_check(
    judges: Judges, config: str | Path | None = None, *, prompts: Sequence[str] = (), votes: int = 1
) -> JudgeCheck:
    """Plan the questions for each model that a configuration names, or for the model of `judges`.

    `prompts` selects prompts by their names, all by default. The questions of the prompts alternate, so that a budget
    that ends early leaves some of each. Raises ConfigError for an unknown prompt or model.
    """
    for name in prompts:
        if name not in PROMPTS:
            hint = nearest(name, PROMPTS) or f"; allowed: {', '.join(PROMPTS)}"
            raise ConfigError(f"prompt {name!r} does not exist{hint}")
    tables: list[Sequence[KnownAnswer]] = [
        (*check_cases(name), *exam_canaries(name)) if name in JUDGED_PROMPTS else writing_cases(name)
        for name in prompts or PROMPTS
    ]
    mixed = (case for row in itertools.zip_longest(*tables) for case in row if case is not None)
    return JudgeCheck(judges, list_voters(judges, config), tuple(mixed), votes)


def list_voters(judges: Judges, config: str | Path | None) -> tuple[NamedModel, ...]:
    """Return every model that a configuration names as a judge, each once, or the models of `judges`."""
    with_panel: list[HasPanel] = [judges.judge()] if config is None else _judges_in(Path(config), judges)
    voters = {msgspec.json.encode(voter.signature): voter for judge in with_panel for voter in judge.panel}
    if not voters:
        raise ConfigError(f"{config}: has no criterion that asks a judge")
    return tuple(voters.values())


def _judges_in(config: Path, judges: Judges) -> list[HasPanel]:
    """Return the judges that the criteria of a configuration ask."""
    criteria = criteria_in(config, judges=judges).criteria
    fields = [field for criterion in criteria for field in find_models(criterion.metric).values()]
    return [field for field in fields if isinstance(field, HasPanel)]


def _answers(results: Iterable[CheckResult], model: str) -> list[ExamAnswer]:
    """Return the answers of a model to the questions of the prompts that judge."""
    return [
        ExamAnswer(
            result.id,
            result.rule,
            result.language,
            result.expected,
            result.is_right if result.outcome else None,
            result.is_invented,
        )
        for result in results
        if result.model == model and result.prompt not in WRITING_PROMPTS
    ]


def _rates(results: Sequence[CheckResult]) -> Iterator[RuleRates]:
    """Yield the rates of each model: by rule over all prompts first, then by rule of each prompt."""
    for model in dict.fromkeys(result.model for result in results):
        own = [result for result in results if result.model == model]
        prompts = dict.fromkeys(result.prompt for result in own)
        if len(prompts) > 1:
            yield from _rates_by_rule(own, "")
        for prompt in prompts:
            yield from _rates_by_rule([result for result in own if result.prompt == prompt], prompt)


def _rates_by_rule(results: Sequence[CheckResult], prompt: str) -> Iterator[RuleRates]:
    """Yield the rates over all rules first, then of each rule."""
    yield _rate(results, prompt, "")
    for rule in dict.fromkeys(result.rule for result in results):
        yield _rate([result for result in results if result.rule == rule], prompt, rule)


def _rate(results: Sequence[CheckResult], prompt: str, rule: str) -> RuleRates:
    answers = [result for result in results if result.outcome]
    positives = [result.is_right for result in answers if result.expected == HOLDS]
    negatives = [result.is_right for result in answers if result.expected != HOLDS]
    unread = sum(not result.outcome and result.calls > 0 for result in results)
    return RuleRates(results[0].model, prompt, rule, _share(positives), _share(negatives), unread)


def _share(hits: Sequence[bool]) -> Share | None:
    interval = share_interval([(hit, 1.0) for hit in hits])
    return None if interval is None else Share(sum(hits), len(hits), *interval)
