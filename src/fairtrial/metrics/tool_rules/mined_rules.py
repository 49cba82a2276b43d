"""Propose rules that hold in all passing conversations and break in failing ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.metrics.tool_rules.call_history import CallHistory, PastCall
from fairtrial.metrics.tool_rules.rule_checks import CHECKS
from fairtrial.metrics.tool_rules.rule_options import (
    CountOptions,
    ErrorOptions,
    OrderOptions,
    SourceOptions,
    ToolRule,
    read_path,
)
from fairtrial.records.equality import equal_json
from fairtrial.stats.agreement import NORMAL
from fairtrial.stats.interval import wilson
from fairtrial.text.display import count
from fairtrial.text.globs import fits
from fairtrial.text.provenance import MADE_UP, trace_value

if TYPE_CHECKING:
    from fairtrial.records.trace import Trace

MOST_RULES = 30
LEAST_SUPPORT = 10
"""The fewest passing conversations that a rule must be about: fewer prove little."""
_LEAST_CASES = 5
"""The fewest cases of these conversations: attempts at one case resemble each other."""
_MOST_SOURCES = 4
_MOST_ARGUMENTS = 2
_LEAST_FITTED = 59
"""The least support of a rule that is not about the order of calls: at most 5 % of cases break it."""


class Conversation(NamedTuple):
    """A recorded conversation, whether it passed, and its case. An empty name is a case of its own."""

    trace: Trace
    passed: bool
    case: str = ""


class _Example(NamedTuple):
    """A passing conversation that is read, with the number of its case."""

    history: CallHistory
    case: int


@dataclass(frozen=True)
class MinedRule:
    """A proposed rule. `held` passing conversations of `support` cases are about it, and none broke it.

    `caught` of `applicable` failing conversations broke it. Attempts at one case resemble each other, so that `alarm`
    counts cases: it is the upper end of the one-sided 95 % interval (Clopper and Pearson) of the share of cases whose
    passing conversations would break the rule. `rate` is the Wilson interval of the caught share.
    """

    rule: ToolRule
    held: int
    support: int
    caught: int
    applicable: int

    @property
    def alarm(self) -> float:
        """The largest share of cases that probably break the rule although they pass."""
        return float(1 - 0.05 ** (1 / self.support))

    @property
    def rate(self) -> tuple[float, float]:
        """The 95 % interval of the share of failing conversations that break the rule."""
        return wilson(self.caught / self.applicable, self.applicable, NORMAL)

    @property
    def sentence(self) -> str:
        """The evidence in words, which stands behind the sentence of the rule."""
        low, high = self.rate
        return (
            f"Held in {count(self.held, 'passing conversation')} of {count(self.support, 'case')} (at most "
            f"{self.alarm:.0%} of cases may break it), broken in {self.caught} of {self.applicable} failing ones "
            f"({low:.0%} to {high:.0%})."
        )


def mine_rules(conversations: Sequence[Conversation]) -> tuple[MinedRule, ...]:
    """Return rules that passing conversations keep: those that catch most failing ones first."""
    numbers: dict[str, int] = {}
    passing, failing = [], []
    for place, own in enumerate(conversations):
        if not own.trace.invocations:
            continue
        history = CallHistory.read_trace(own.trace)
        if own.passed:
            passing.append(_Example(history, numbers.setdefault(own.case, place) if own.case else place))
        else:
            failing.append(history)
    histories = [example.history for example in passing]
    assessed = (_assess(rule, passing, failing) for rule in _candidates(histories))
    mined = [matches for matches in assessed if matches is not None]
    mined.sort(key=lambda pair: (-pair[0].caught, -pair[0].support, pair[0].rule.id))
    return tuple(rule for rule, _ in _without_twins(mined))[:MOST_RULES]


def _assess(
    rule: ToolRule, passing: Sequence[_Example], failing: Sequence[CallHistory]
) -> tuple[MinedRule, frozenset[int]] | None:
    decide, options = CHECKS[rule.form], rule.options
    cases: list[int] = []
    for history, case in passing:
        examined = decide(history, options)
        if any(violation.is_certain for violation in examined.violations):
            return None
        if examined.places > 0 and not examined.violations:
            cases.append(case)
    support = len(set(cases))
    is_order = rule.before is not None and not rule.before.needs_user
    if len(cases) < LEAST_SUPPORT or support < (_LEAST_CASES if is_order else _LEAST_FITTED):
        return None
    matches = [decide(history, options) for history in failing]
    caught = frozenset(i for i, examined in enumerate(matches) if any(item.is_certain for item in examined.violations))
    if not caught:
        return None
    applicable = sum(examined.places > 0 for examined in matches)
    mined = MinedRule(rule, len(cases), support, len(caught), max(applicable, len(caught)))
    return replace(mined, rule=_with_sentence(rule, mined)), caught


def _with_sentence(rule: ToolRule, mined: MinedRule) -> ToolRule:
    return ToolRule(id=rule.id, rule=f"{rule.rule} {mined.sentence}", **{rule.form: rule.options})


def _without_twins(mined: Sequence[tuple[MinedRule, frozenset[int]]]) -> Iterator[tuple[MinedRule, frozenset[int]]]:
    """Yield the rules without those that catch nothing that an earlier rule about the same call does not catch."""
    rules_so_far: list[tuple[str, frozenset[int]]] = []
    for rule, caught in mined:
        name = str(getattr(rule.rule.options, "call", getattr(rule.rule.options, "tool", "")))
        if not any(name == candidate and caught <= more for candidate, more in rules_so_far):
            rules_so_far.append((name, caught))
            yield rule, caught


def _candidates(passing: Sequence[CallHistory]) -> Iterator[ToolRule]:
    frequent = Counter(name for history in passing for name in {past.call.name for past in history.calls})
    tools = sorted(name for name, times in frequent.items() if times >= LEAST_SUPPORT)
    yield from _orders(tools, passing)
    yield from _numbers(tools, passing)
    yield from _sources(tools, passing)
    for tool in tools:
        options = OrderOptions(call=tool, needs_user=True)
        yield ToolRule(id=f"consent_{tool}", rule=f"The user agrees before {tool}.", before=options)
    for tool in sorted({result.name for history in passing for result in history.results if result.is_error}):
        options_of_errors = ErrorOptions(tool=tool)
        sentence = f"After an error of {tool} there is another try, or a word to the user."
        yield ToolRule(id=f"error_{tool}", rule=sentence, errors=options_of_errors)


def _orders(tools: Sequence[str], passing: Sequence[CallHistory]) -> Iterator[ToolRule]:
    for call in tools:
        own = [past for history in passing for past in history.find_calls(call)]
        origins = {(past.place, id(past.history)): _origins(past) for past in own}
        for needs in (tool for tool in tools if tool != call):
            if not all(past.earlier(needs) for past in own):
                continue
            names = _shared_names(own, needs)
            if not names and not all(needs in origins[past.place, id(past.history)] for past in own):
                continue  # calls that share no value stand in this order by chance
            yield ToolRule(
                id=f"{needs}_before_{call}",
                rule=f"{needs} is called before {call}.",
                before=OrderOptions(call=call, needs=needs),
            )
            for size in range(min(_MOST_ARGUMENTS, len(names)), 0, -1):
                for same in combinations(names, size):
                    yield ToolRule(
                        id=f"{needs}_before_{call}_same_{'_'.join(same)}",
                        rule=f"{needs} is called before {call}, with the same {' and '.join(same)}.",
                        before=OrderOptions(call=call, needs=needs, same=same),
                    )


def _origins(past: PastCall) -> set[str]:
    """Return the sources of the values of a call."""
    pieces = (piece for value in past.call.args.values() for piece in trace_value(value, past.sources()))
    return {name for piece in pieces for name in piece.sources}


def _shared_names(calls: Sequence[PastCall], needs: str) -> list[str]:
    """Return the arguments with which an earlier call of another tool always had an equal value."""
    names = set(calls[0].call.args)
    for past in calls:
        earlier = [candidate.call.args for candidate in past.earlier(needs)]
        names &= {
            name
            for name in names
            if any(name in args and equal_json(args[name], past.call.args.get(name)) for args in earlier)
        }
        if not names:
            break
    return sorted(names)


def _numbers(tools: Sequence[str], passing: Sequence[CallHistory]) -> Iterator[ToolRule]:
    for call in tools:
        numbers = [_successes(history, call) for history in passing]
        most = max(numbers)
        if numbers.count(most) >= LEAST_SUPPORT:  # a maximum that few conversations reach is no limit
            options = CountOptions(call=call, count=most)
            yield ToolRule(id=f"at_most_{most}_{call}", rule=f"{call} is called at most {most} times.", at_most=options)
        if all(numbers):
            least = CountOptions(call=call, count=1)
            yield ToolRule(id=f"at_least_1_{call}", rule=f"{call} is called.", at_least=least)


def _successes(history: CallHistory, tool: str) -> int:
    return sum(not past.failed for past in history.find_calls(tool))


def _sources(tools: Sequence[str], passing: Sequence[CallHistory]) -> Iterator[ToolRule]:
    for call in tools:
        calls = [past for history in passing for past in history.find_calls(call)]
        for field in sorted({name for past in calls for name in past.call.args}):
            trusted = _common_sources(calls, field)
            if trusted:
                sentence = f"{field} of {call} comes from {', '.join(trusted)}."
                options = SourceOptions(call=call, field=field, trusted=trusted)
                yield ToolRule(id=f"source_{call}_{field}", rule=sentence, source=options)


def _common_sources(calls: Sequence[PastCall], field: str) -> tuple[str, ...]:
    """Return the fewest sources, the user first, that gave every value of an argument. Empty if one was made up."""
    pieces: list[Collection[str]] = []
    try:
        path = read_path(field)
    except ValueError:
        return ()
    for past in calls:
        for value in path.find(past.call.args):
            matches = [piece.sources for piece in trace_value(value, past.sources())]
            if any(MADE_UP in sources for sources in matches):
                return ()
            pieces += [sources for sources in matches if sources]
    trusted: list[str] = []
    while pieces and len(trusted) < _MOST_SOURCES:
        tally = Counter(name for sources in pieces for name in sources)
        best = max(tally, key=_rank(tally))
        trusted.append(best)
        pieces = [sources for sources in pieces if not any(fits(name, best) for name in sources)]
    return () if pieces else tuple(trusted)


def _rank(tally: Counter[str]) -> Callable[[str], tuple[int, bool, str]]:
    return lambda name: (tally[name], name == "user", name)
