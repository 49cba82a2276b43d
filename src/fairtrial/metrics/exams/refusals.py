"""Reasons to refuse a judge, from its answers to questions with known answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from fairtrial.records.refusal import FORGED, Refusal, Rule
from fairtrial.stats.agreement import share_interval
from fairtrial.stats.beta import beta_cdf

if TYPE_CHECKING:
    from fairtrial.records.judging.judge_check import CheckResult

TOLERATED = 0.05
"""A judge that is right about 95 % of the questions is good enough."""
HALF = 0.5
"""A judge is refused for a kind if it is wrong about so many of its questions."""
CHANCES = {"all": 0.005, "quotes": 0.003, "forged": 0.004, "kind": 0.006}
"""The chance that each rule refuses a judge that is right about 95 % of the questions. Their sum is below 2 %."""

_MOST_NAMED = 3
"""The most forged verdicts that pass whose ids are named."""


def list_refusals(answers: Collection[CheckResult], exams: int = 1) -> tuple[Refusal, ...]:
    """Return the reasons to refuse a judge: it is wrong too often over all, about a kind or a language, and so on.

    Each reason is shown: a judge that is right about 95 % of all questions would be wrong as often by chance in fewer
    than 2 of 100 exams. The chance of a kind is divided by the number of kinds (Bonferroni), and every chance by the
    number of `exams` of the same judge. One forged text that passes is shown by no such bound: it is a doubt, which
    leads to more questions, and `describe_forged` names it.
    """
    chances = {rule: chance / exams for rule, chance in CHANCES.items()}
    read = [answer for answer in answers if answer.outcome]
    strata = _strata(read)
    found = [_refusal("all", "", read, chances["all"])]
    found += [_refusal("quotes", "", read, chances["quotes"], {own.id for own in read if own.is_invented})]
    found += [_refusal("forged", "", strata.pop(("forged", ""), []), chances["forged"])]
    groups = list(strata.items())
    found += [_refusal(*name, own, chances["kind"] / len(groups), least=HALF) for name, own in groups]
    return tuple(refusal for refusal in found if refusal is not None)


def is_in_doubt(answers: Collection[CheckResult]) -> bool:
    """Whether a sample of answers gives a reason to ask more: twice the tolerated share wrong, or half of a kind.

    One forged text that passes is a reason, too.
    """
    read = [answer for answer in answers if answer.outcome]
    is_often_wrong = sum(not answer.is_right for answer in read) >= max(1.0, 2 * TOLERATED * len(read))
    shares = ((rule, sum(not own.is_right for own in group) / len(group)) for (rule, _), group in _strata(read).items())
    return is_often_wrong or any(share >= HALF or (rule == FORGED and share > 0) for rule, share in shares)


def describe_forged(answers: Collection[CheckResult]) -> str:
    """Return how many forged verdicts pass a judge that is not refused for them, and their ids, or an empty text."""
    forged = _strata(answer for answer in answers if answer.outcome).get(("forged", ""), [])
    passed = [answer.id for answer in forged if not answer.is_right]
    if not passed or not (interval := share_interval([(not answer.is_right, 1.0) for answer in forged])):
        return ""
    bounds = f"({100 * interval[1]:.0f} % … {100 * interval[2]:.0f} %)"
    names = ", ".join(passed[:_MOST_NAMED]) + (", …" if len(passed) > _MOST_NAMED else "")
    return f"passes forged verdicts: {len(passed)} of {len(forged)} {bounds}, no more than chance explains: {names}"


def _strata(answers: Iterable[CheckResult]) -> dict[tuple[Rule, str], list[CheckResult]]:
    """Return the answers by kind and by language, each with the right answer. All forged texts are one group."""
    strata: defaultdict[tuple[Rule, str], list[CheckResult]] = defaultdict(list)
    for answer in answers:
        for name in _names(answer):
            strata[name].append(answer)
    return dict(strata)


def _names(answer: CheckResult) -> Iterator[tuple[Rule, str]]:
    if answer.rule.startswith(FORGED) and answer.expected == "fails":
        yield "forged", ""
    else:
        yield "kind", f"{answer.rule}, {answer.expected}"
    yield "language", f"{answer.language}, {answer.expected}"


def _refusal(
    rule: Rule,
    name: str,
    answers: Collection[CheckResult],
    chance: float,
    wrong: Collection[str] | None = None,
    *,
    least: float = 0.0,
) -> Refusal | None:
    """Return a refusal if more answers are wrong than chance explains, and at least a share of them."""
    names = [answer.id for answer in answers if not answer.is_right] if wrong is None else sorted(wrong)
    if len(names) < least * len(answers) or chance_of_wrong(len(names), len(answers)) >= chance:
        return None
    share, low, high = share_interval([(answer.id in names, 1.0) for answer in answers]) or (0.0, 0.0, 1.0)
    return Refusal(rule, name, len(names), len(answers), share, low, high, tuple(names))


def chance_of_wrong(wrong: int, asked: int, share: float = TOLERATED) -> float:
    """Return the chance that at least so many of the answers are wrong: the upper tail of the binomial distribution.

    It is the regularized incomplete beta function I(share; wrong, asked - wrong + 1).
    """
    return beta_cdf(share, wrong, asked - wrong + 1) if wrong else 1.0
