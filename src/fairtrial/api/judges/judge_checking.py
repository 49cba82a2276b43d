"""Check judges with the package's questions that have known answers."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from fairtrial.api.connection import find_models
from fairtrial.errors import ConfigError, nearest
from fairtrial.judge.judge import Judge
from fairtrial.judge.judges import Judges
from fairtrial.llm.address import address
from fairtrial.llm.model import NamedModel
from fairtrial.llm.model_pool import HasPanel, ModelPool
from fairtrial.llm.prompts import own_templates
from fairtrial.llm.provider import price
from fairtrial.loading import criteria_in
from fairtrial.metrics.exams.canaries import exam_canaries
from fairtrial.metrics.exams.known_answers import HOLDS, KnownAnswer
from fairtrial.metrics.exams.known_questions import JUDGED_PROMPTS, check_cases
from fairtrial.metrics.exams.known_tasks import WRITING_PROMPTS, writing_cases
from fairtrial.metrics.exams.refusals import ExamAnswer, list_refusals
from fairtrial.metrics.judged_metric import TEMPLATES
from fairtrial.records.judge_check import CheckResult, JudgeCheckReport, RuleRates, Share
from fairtrial.stats.agreement import share_interval
from fairtrial.store import Store
from fairtrial.system.event_loop import blocking

PROMPTS = (*JUDGED_PROMPTS, *WRITING_PROMPTS)
"""The prompts with a table of questions or tasks."""
QUICK = "ping"
"""The name of twelve easy questions, three in each language."""
_OUTPUT_TOKENS = 150
"""The typical length of an answer to one question."""


@dataclass(frozen=True)
class JudgeCheck:
    """The questions for some models, with their number, and their estimated tokens and cost.

    `cost` is in US dollars, or None if the price of a model is unknown. `templates` take the place of templates of the
    package, by their names.
    """

    judges: Judges
    voters: tuple[NamedModel, ...]
    cases: tuple[KnownAnswer, ...]
    votes: int = 1
    templates: Mapping[str, str] = field(default_factory=dict)

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
        with own_templates(self.templates):
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
            strict = self.judges.strict_model
            on_result(await case.ask(Judge((voter,), self.votes, self.judges.all_votes, strict_model=strict)))

        async with ModelPool(self.judges.models) as pool:
            connected = list(map(pool.connected, self.voters))
            await pool.check()
            with own_templates(self.templates):
                await asyncio.gather(*(ask(voter, case) for case in self.cases for voter in connected))

    def report(self, results: Iterable[CheckResult]) -> JudgeCheckReport:
        """Return the report on the results so far."""
        places = {case.id: place for place, case in enumerate(self.cases)}
        ordered = sorted(results, key=lambda result: (result.model, places[result.id]))
        models = dict.fromkeys(result.model for result in ordered)
        refusals = {model: list_refusals(_answers(ordered, model)) for model in models}
        with own_templates(self.templates):
            versions = {name: TEMPLATES.version(name) for name in self.templates}
        return JudgeCheckReport(self.question_count, tuple(_rates(ordered)), tuple(ordered), refusals, versions)


def plan_judge_check(
    judges: Judges, config: str | Path | None = None, *, prompts: Sequence[str] = (), votes: int = 1
) -> JudgeCheck:
    """Plan the questions for each model that a configuration names, or for the model of `judges`.

    `prompts` selects prompts by their names, all by default, or twelve easy questions by the name "ping". The questions
    of the prompts alternate, so that a budget that ends early leaves some of each. Raises ConfigError for an unknown
    prompt or model.
    """
    templates = {name: text for prompt in prompts for name, text in _read_template(prompt)}
    prompts = tuple(dict.fromkeys(next((name for name, _ in _read_template(own)), own) for own in prompts))
    for name in prompts:
        if name not in (*PROMPTS, QUICK):
            hint = nearest(name, PROMPTS) or f"; allowed: {', '.join(PROMPTS)}"
            raise ConfigError(f"prompt {name!r} does not exist{hint}")
    tables: list[Sequence[KnownAnswer]] = [
        writing_cases(name) if name in WRITING_PROMPTS else (*check_cases(name), *exam_canaries(name))
        for name in prompts or PROMPTS
    ]
    mixed = (case for row in itertools.zip_longest(*tables) for case in row if case is not None)
    return JudgeCheck(judges, list_voters(judges, config), tuple(mixed), votes, templates)


def _read_template(prompt: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of a template, if a prompt is a file or names a version of the package.

    The name of a file begins with the name of its prompt, for example "safety-strict.jinja". A version of the package
    is written as "final_response_match/3". Raises ConfigError if there is no such file or version.
    """
    name, slash, version = prompt.rpartition("/")
    try:
        if prompt.endswith(".jinja"):
            path = Path(prompt)
            yield re.split(r"[-.]", path.name)[0], path.read_text(encoding="utf-8")
        elif slash and name in JUDGED_PROMPTS:
            yield name, TEMPLATES.source(name, "" if version == TEMPLATES.version(name) else f"v{version}")
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigError(f"prompt {prompt!r}: {getattr(problem, 'strerror', None) or problem}") from None


def list_voters(judges: Judges, config: str | Path | None) -> tuple[NamedModel, ...]:
    """Return every model that a configuration names as a judge, each once, or the models of `judges`."""
    with_panel: list[HasPanel] = [judges.judge()] if config is None else _judges_in(Path(config), judges)
    voters = {msgspec.json.encode(voter.signature): voter for judge in with_panel for voter in judge.panel}
    if not voters:
        raise ConfigError(f"{config}: has no criterion that asks a judge")
    return tuple(voters.values())


def connections(judges: Judges, config: str | Path | None = None) -> dict[str, str]:
    """Return the protocol, the address and the source of the key of each model that is checked. It holds no secret."""
    own_models = judges.models.custom_models
    return {
        voter.name: address(voter.name, voter.endpoint).description
        for voter in list_voters(judges, config)
        if voter.model is None and voter.name not in own_models
    }


def estimate_cost(run_id: str, store: str, model: str) -> tuple[int, float | None]:
    """Return the number of replies of a run's judges, and the cost of their tokens with a model, if it is known."""
    run_store = Store(store, create=False)
    try:
        run = run_store.run(run_id).id
        replies = run_store.replies(run)
        keys = {call.key for ballot in run_store.ballots(run).values() for call in ballot.calls}
        tokens = [(reply.input_tokens or 0, reply.output_tokens or 0) for key in keys if (reply := replies.get(key))]
    finally:
        run_store.close()
    try:
        at = address(model)
    except ConfigError:  # a name that only its own server knows
        return len(tokens), None
    return len(tokens), price(at, sum(own[0] for own in tokens), sum(own[1] for own in tokens))


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
