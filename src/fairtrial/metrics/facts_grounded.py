"""The criterion `facts_grounded_v1`: each fact of a reply stands in what the agent was given, or follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from fairtrial.config.reader import check_options
from fairtrial.metrics.asking import judge_each
from fairtrial.metrics.facts_match import Ignore, Kinds, Locale, Units, check_units, promise_score, state_fact
from fairtrial.metrics.judge_context import Texts, actions, agents_at, earlier, instructions, tools, user_message
from fairtrial.metrics.pairing import unknown_calls
from fairtrial.records.score import PartKey, Quote, Score, StatedFact, average_parts
from fairtrial.records.trace import Invocation, ToolCall, ToolResult, Trace
from fairtrial.text.facts.fact import KINDS, Fact
from fairtrial.text.facts.fact_agreement import Reader
from fairtrial.text.facts.fact_evidence import Evidence, EvidenceTexts, Support, find_checkable
from fairtrial.text.facts.own_units import parse_units
from fairtrial.text.facts.promises import find_promises
from fairtrial.text.facts.quotations import find_quotations, fold_quotation

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.contents import Content

_EVIDENCE: tuple[Content, ...] = ("user", "results")
_NO_TEXT = "no user message, result or instruction"


@dataclass(frozen=True, slots=True)
class FactsGrounded:
    """`facts_grounded_v1`: the share of the facts of a reply that the agent was given, 0..1. A case is the mean.

    Its evidence is the messages of the user, the results of tools, the instructions, the tools, and the context of the
    case. A
    number, an amount, a percentage or a time span may also follow from two given values, for example as their sum. The
    criterion needs no reference. A reply without facts is not applicable.
    """

    kinds: Kinds = ()
    locale: Locale = ""
    ignore: Ignore = ()
    units: Units = ()
    computed: Annotated[
        bool, Meta(description="whether a value that follows from two given values is grounded, for example their sum")
    ] = True
    names: Annotated[bool, Meta(description="whether cities and countries of the reply must be given")] = True

    def __post_init__(self) -> None:
        check_options(self)
        check_units(self.units)

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Look for the evidence of each fact of each reply, and take the mean."""
        read = EvidenceTexts(self._reader(with_options=False))

        async def score(invocation: Invocation, index: int) -> Score:
            if _lacks_results(trace.invocations[: index + 1]):
                reason = "calls are recorded without their results, which may tell the facts of the reply"
                return Score(None, reason, side="infrastructure")
            texts = _collect_texts(trace, case, invocation, index)
            found = self._score(texts, read(texts), invocation.reply)
            may_lack_results = found.value is not None and found.value < 1 and not case.context
            reason = unknown_calls(trace.invocations[: index + 1]) if may_lack_results else ""
            return Score(None, reason, side="infrastructure") if reason else found

        return await judge_each(trace, score, reads=("reply", *_EVIDENCE), reads_before=_EVIDENCE)

    def _reader(self, *, with_options: bool = True) -> Reader:
        units = parse_units(self.units)
        if not with_options:
            return Reader(units=units)
        return Reader(frozenset(self.kinds or KINDS), self.locale, self.ignore, units)

    def _score(self, texts: Texts, evidence: Evidence, reply: str) -> Score:
        reader = self._reader()
        stated = reader.read(reply)
        facts = find_checkable(reply, reader.select(stated, reply))
        supports = evidence.find_support(reply, facts, stated, computed=self.computed)
        parts = [
            _part(support, fact, reply, place, computed=self.computed)
            for place, (fact, support) in enumerate(zip(facts, supports, strict=True))
        ]
        kinds = self.kinds or KINDS
        if "quote" in kinds:
            parts += _quotations(texts, reply, len(parts))
        for start, end in evidence.foreign_places(reply) if self.names else ():
            name = reply[start:end]
            key, quotes = PartKey("fact", len(parts)), (Quote(name, "reply"),)
            fact = StatedFact("name", "ungrounded", "", None, (start, end))
            reason = f"not found: {_NO_TEXT} names {name!r}"
            parts.append(Score(0.0, reason, f"name: {name}", quotes=quotes, key=key, fact=fact))
        if "promise" in kinds:
            for promise in find_promises(reply, texts.values()):
                quote = Quote(reply[promise.start : promise.end].strip(), "reply")
                parts.append(promise_score(promise, quote, len(parts), f"{_NO_TEXT} names it"))
        if not parts:
            return Score(applicable=False, reason="the reply states no facts")
        return average_parts(parts)


def _quotations(texts: Texts, reply: str, place: int) -> list[Score]:
    """Return the part of each quotation of a reply: a text holds it, or none does."""
    facts = find_quotations(reply)
    if not facts:
        return []
    folded = {name: fold_quotation(text) for name, text in texts.items()}
    sources = [
        next((name for name, text in folded.items() if str(fact.readings[0].value) in text), "") for fact in facts
    ]
    return [
        _part(Support(name), fact, reply, place + n) for n, (fact, name) in enumerate(zip(facts, sources, strict=True))
    ]


def _part(support: Support, fact: Fact, reply: str, place: int, *, computed: bool = False) -> Score:
    text = reply[fact.start : fact.end].strip()
    key, label, quote = PartKey("fact", place), f"{fact.kind}: {text}", Quote(text, "reply")
    if not support:
        calculation = ", and no calculation with their values was found" if computed else ""
        reason = f"not found: {text!r} stands in {_NO_TEXT}{calculation}"
        stated = state_fact(fact, "ungrounded", actual=fact)
        return Score(0.0, reason, label, quotes=(quote,), key=key, fact=stated)
    reason = f"found in {support.source}" if support.source else f"follows: {support.calculation}"
    return Score(1.0, reason, label, quotes=(quote,), key=key, fact=state_fact(fact, "found", actual=fact))


def _lacks_results(invocations: Sequence[Invocation]) -> bool:
    """Return whether an invocation has calls, and no result of any."""
    return any(
        any(isinstance(step, ToolCall) for step in invocation.steps or ())
        and not any(isinstance(step, ToolResult) for step in invocation.steps or ())
        for invocation in invocations
    )


def _collect_texts(trace: Trace, case: EvalCase, invocation: Invocation, index: int) -> Texts:
    """Return the texts that the agent had when it wrote the reply of an invocation."""
    agents = agents_at(trace, index)
    texts: Texts = instructions(agents) | tools(agents)
    texts |= {"the case's context": case.context} if case.context else {}
    texts |= earlier(trace, index, with_replies=False) | user_message(invocation, index)
    return texts | actions(invocation, index, messages=False)
