"""Check the judges of a run with canaries: before they judge, while they judge, and after it."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from fairtrial.llm.model_pool import HasPanel, find_models
from fairtrial.metrics.exams.canaries import canaries, canary_sample
from fairtrial.metrics.exams.known_items import judge_item
from fairtrial.metrics.exams.refusals import chance_of_wrong, describe_forged, is_in_doubt, list_refusals
from fairtrial.planned_case import PlannedCase
from fairtrial.records.score import Score

if TYPE_CHECKING:
    from fairtrial.protocols import Model
    from fairtrial.records.case import EvalCase
    from fairtrial.records.judging.gold import GoldItem
    from fairtrial.records.judging.judge_check import CheckResult
    from fairtrial.records.reply import Prompt, Reply
    from fairtrial.records.result import Criterion
    from fairtrial.records.trace import Trace

PARTS = 3
"""The parts of a run in which a judge is examined: before the run, during it and after it."""
EVERY = 10
"""One canary follows so many questions of a run to a judge."""
CHANGED = 0.005
"""A judge has changed if its answers to the same canaries differ in one direction, and chance explains it so rarely."""

Connect = Callable[[PlannedCase], PlannedCase]


@dataclass
class RunCanaries:
    """The canaries of a run: `number` of them for the judge of each criterion before the run, and as many after it."""

    number: int
    note: Callable[[str], None]
    _watches: dict[bytes, _Watch] = field(default_factory=dict)

    async def before(self, connect: Connect, cases: Iterable[PlannedCase]) -> Connect:
        """Ask each judge about its canaries, and return how cases get criteria that may be trusted.

        A criterion is unscored in every case, with the reason, if its judge is refused. The canaries take no part in
        any score. `note` receives the result of each criterion.
        """
        criteria: dict[bytes, Criterion] = {}
        for case in cases:
            for criterion in connect(case).criteria:
                criteria.setdefault(_identity(criterion), criterion)
        reasons: dict[bytes, str] = {}
        for key, criterion in criteria.items():
            if not canaries(criterion.name):
                continue
            watch = self._watches[key] = _Watch(criterion, canary_sample(criterion.name, self.number))
            watch.earlier = await watch.examine("")
            self.note(f"{criterion.name}: the judge is wrong about {_count_wrong(watch.earlier)} canaries")
            if refusals := list_refusals(watch.earlier, PARTS):
                reasons[key] = f"{criterion.name}: {refusals[0].reason}, so its verdicts are not used"
                self.note(reasons[key])
                del self._watches[key]
            elif forged := describe_forged(watch.earlier):
                self.note(f"{criterion.name}: the judge {forged}")

        def connect_trusted(case: PlannedCase) -> PlannedCase:
            ready = connect(case)
            return replace(ready, criteria=tuple(self._trusted(own, reasons) for own in ready.criteria))

        return connect_trusted

    def _trusted(self, criterion: Criterion, reasons: Mapping[bytes, str]) -> Criterion:
        key = _identity(criterion)
        if key in reasons:
            return replace(criterion, metric=_Untrusted(reasons[key]))
        return criterion if key not in self._watches else self._watches[key].count_questions(criterion)

    async def after(self) -> tuple[str, ...]:
        """Ask each trusted judge again, and return an alarm for each judge that has changed since the first part."""
        alarms = [alarm for watch in self._watches.values() if (alarm := await watch.find_change())]
        for alarm in alarms:
            self.note(f"alarm: {alarm}")
        return tuple(alarms)

    def cancel(self) -> None:
        """Cancel the canaries in flight, for example if the run fails."""
        for watch in self._watches.values():
            for task in watch.tasks:
                task.cancel()


@dataclass
class _Watch:
    """The canaries of one criterion, and the answers of its judge before the run and during it."""

    criterion: Criterion
    sample: Sequence[GoldItem]
    earlier: list[CheckResult] = field(default_factory=list)
    during: list[CheckResult] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    questions: int = 0

    async def examine(self, part: str) -> list[CheckResult]:
        """Ask about the sample, and about all other canaries of the criterion if the answers leave a doubt."""
        answers = await self._ask(self.sample, part)
        if is_in_doubt(answers):
            asked = {item.case.id for item in self.sample}
            rest = [item for item in canaries(self.criterion.name) if item.case.id not in asked]
            answers += await self._ask(rest, part)
        return answers

    def count_questions(self, criterion: Criterion) -> Criterion:
        """Return the criterion with a judge whose questions are counted. A canary follows every tenth of them."""
        metric: Any = criterion.metric
        judges: Any = {}
        for name, own in find_models(metric).items():
            judge: Any = own
            if isinstance(own, HasPanel):
                panel = tuple(voter.through(_CountedModel(voter, self.count)) for voter in own.panel)
                judges[name] = dataclasses.replace(judge, panel=panel)
        return replace(criterion, metric=dataclasses.replace(metric, **judges)) if judges else criterion

    def count(self) -> None:
        """Count a question of the run, and ask about a canary if it is the tenth."""
        self.questions += 1
        if self.questions % EVERY == 0:
            self.tasks.append(asyncio.get_running_loop().create_task(self._ask_next(len(self.tasks))))

    async def _ask_next(self, number: int) -> None:
        repetition, place = divmod(number, len(self.sample))
        self.during += await self._ask([self.sample[place]], f"during {repetition + 1}")

    async def find_change(self) -> str:
        """Return how the judge has changed since the first part, or an empty text."""
        await asyncio.gather(*self.tasks)
        parts = {"during": self.during, "after": await self.examine("after")}
        for part, answers in parts.items():
            if evidence := describe_change(self.earlier, answers):
                before = f"wrong about {_count_wrong(self.earlier)} canaries before the run"
                counts = f"{before}, and about {_count_wrong(answers)} {part} it"
                return f"{self.criterion.name}: the judge has changed: it is {counts} ({evidence})"
        return ""

    async def _ask(self, items: Sequence[GoldItem], part: str) -> list[CheckResult]:
        """Return the answers of the judge. A part of the run with a name gets replies of its own."""
        repetition = f" {part}" if part else ""
        answers = await asyncio.gather(*(judge_item(self.criterion, item, repetition) for item in items))
        return [answer.result("", self.criterion.name) for answer in answers]


@dataclass(frozen=True)
class _CountedModel:
    """A model of a judge. `count` is called for the first vote on each question, wherever the judge runs."""

    model: Model
    count: Callable[[], None]

    async def __call__(self, prompt: Prompt) -> Reply:
        if prompt.draw == "1" and prompt.ask == 1:
            self.count()
        return await self.model(prompt)


def describe_change(earlier: Sequence[CheckResult], later: Sequence[CheckResult]) -> str:
    """Return the evidence for a change: a reason to refuse the later answers, or answers that differ in one way."""
    if refusals := list_refusals(later, PARTS):
        return refusals[0].reason
    before = {answer.id: answer.is_right for answer in earlier if answer.outcome}
    pairs = [(before[answer.id], answer.is_right) for answer in later if answer.outcome and answer.id in before]
    worse, better = pairs.count((True, False)), pairs.count((False, True))
    if worse + better and 2 * chance_of_wrong(max(worse, better), worse + better, 0.5) < CHANGED:
        return f"{worse} of the same canaries became wrong, {better} became right"
    return ""


def _count_wrong(answers: Sequence[CheckResult]) -> str:
    judged = [answer.is_right for answer in answers if answer.outcome]
    return f"{judged.count(False)} of {len(judged)}"


def _identity(criterion: Criterion) -> bytes:
    return msgspec.json.encode([criterion.name, criterion.signature, criterion.threshold])


@dataclass(frozen=True)
class _Untrusted:
    """Leaves every case unscored. It is picklable, so that workers can have it."""

    reason: str

    def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002  (every metric has two arguments)
        return Score(None, self.reason, side="judge")
