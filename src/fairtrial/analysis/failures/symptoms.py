"""Symptoms in a conversation that need no expectation: errors, loops, refusals, and the way it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fairtrial.analysis.failures.call_differences import call_key
from fairtrial.analysis.failures.error_templates import error_text, make_template
from fairtrial.analysis.failures.events import Conversation, is_error, item_text, numbers
from fairtrial.analysis.failures.findings import Attempt, Finding
from fairtrial.analysis.failures.refusal_phrases import hands_over, is_hand_over_tool, other_language, refuses
from fairtrial.records.equality import equal_json
from fairtrial.records.failure_mode import Signature
from fairtrial.records.trace import Message, ToolCall, ToolResult
from fairtrial.text.display import shorten

Symptom = Callable[[Attempt, Conversation], Iterator[Finding]]
_LOOP = 3
"""A call with equal arguments and an equal result is a loop from the third time on."""
_READ = 20_000
_LONGEST_SMALL_NUMBER = 1
"""A number of one digit, such as a place in a list, needs no support."""


def unrepaired_errors(attempt: Attempt, conversation: Conversation) -> Iterator[Finding]:  # noqa: ARG001
    """Yield the first error of a tool after which the same tool did not answer."""
    answered: dict[str, int] = {}
    errors: list[tuple[int, ToolResult]] = []
    for place, event in enumerate(conversation.events):
        if isinstance(event.item, ToolResult):
            if is_error(event.item):
                errors.append((place, event.item))
            else:
                answered[event.item.name] = place
    callers = {result: call for call, result in conversation.results.items()}
    for place, result in errors:
        if answered.get(result.name, -1) < place:
            template = make_template(error_text(result.response))
            reason = f"{result.name} answered with an error that was not repaired: {shorten(template, 120)}"
            signature = Signature("error", tool=result.name, template=template)
            yield Finding(signature, callers.get(place, place), reason, "symptom")
            return


def loops(attempt: Attempt, conversation: Conversation) -> Iterator[Finding]:  # noqa: ARG001
    """Yield the first call that was made three times with equal arguments and an equal result."""
    seen: dict[str, list[int]] = {}
    for place in conversation.calls:
        own = seen.setdefault(call_key(conversation.call_at(place)), [])
        own.append(place)
        if len(own) >= _LOOP and _have_equal_results(conversation, own):
            tool = conversation.call_at(place).name
            reason = f"{tool} was called {len(own)} times with equal arguments and an equal result"
            yield Finding(Signature("loop", tool=tool), own[1], reason, "symptom")
            return


def _have_equal_results(conversation: Conversation, places: list[int]) -> bool:
    answers = [conversation.events[at].item for place in places if (at := conversation.results.get(place)) is not None]
    first = answers[0] if answers else None
    return len(answers) == len(places) and all(
        isinstance(own, ToolResult) and isinstance(first, ToolResult) and equal_json(own.response, first.response)
        for own in answers
    )


def empty_replies(attempt: Attempt, conversation: Conversation) -> Iterator[Finding]:  # noqa: ARG001
    """Yield the first invocation whose reply is empty or missing."""
    for index, invocation in enumerate(conversation.trace.invocations):
        reply = invocation.final_response
        if reply is not None and (reply.withheld or reply.parts or reply.text.strip()):
            continue
        if reply is None and (invocation.steps is None or conversation.last_reply(index) is not None):
            continue
        place = conversation.find_end(index)
        if place is not None and not _ends_with_hand_over(conversation, place):
            yield Finding(Signature("empty"), place, "the agent gave no reply", "symptom")
            return


def _ends_with_hand_over(conversation: Conversation, place: int) -> bool:
    item = conversation.events[place].item
    return isinstance(item, ToolCall | ToolResult) and is_hand_over_tool(item.name)


def changed_languages(attempt: Attempt, conversation: Conversation) -> Iterator[Finding]:  # noqa: ARG001
    """Yield the first reply in another language than the message that it answers."""
    query = ""
    for place, event in enumerate(conversation.events):
        if event.kind == "user":
            query = item_text(event.item)
        elif event.kind == "reply" and (languages := other_language(item_text(event.item), query)):
            reason = f"the user writes in the language {languages[1]}, and the agent replies in {languages[0]}"
            yield Finding(Signature("language"), place, reason, "symptom")
            return


def hand_overs(attempt: Attempt, conversation: Conversation) -> Iterator[Finding]:  # noqa: ARG001
    """Yield the call or the reply that hands over to a person."""
    for place, event in enumerate(conversation.events):
        if isinstance(event.item, ToolCall) and is_hand_over_tool(event.item.name):
            signature = Signature("hand_over", tool=event.item.name)
        elif event.kind == "reply" and hands_over(item_text(event.item)):
            signature = Signature("hand_over")
        else:
            continue
        yield Finding(signature, place, "the agent hands over to a person", "symptom")
        return


def refusals(attempt: Attempt, conversation: Conversation) -> Iterator[Finding]:  # noqa: ARG001
    """Yield the first reply that declines to help."""
    for place in conversation.replies:
        if refuses(item_text(conversation.events[place].item)):
            yield Finding(Signature("refusal"), place, "the agent refuses", "symptom")
            return


def unsupported_claims(attempt: Attempt, conversation: Conversation) -> Iterator[Finding]:
    """Yield the first fact of a reply that nothing before it holds, and that follows from no two values before it.

    Without a single result of a tool, there is nothing that could support a fact, and nothing is said.
    """
    known = {value for text in _background(attempt, conversation).values() for value in numbers(text)}
    any_result = False
    for place, event in enumerate(conversation.events):
        own = numbers(item_text(event.item))
        if isinstance(event.item, Message) and event.kind != "user" and any_result:
            is_unknown = any(value not in known and len(value) > _LONGEST_SMALL_NUMBER for value in own)
            claim = _unsupported_fact(attempt, conversation, place) if is_unknown else ""
            if claim:
                reason = f"the reply states {claim}, which no message and no result before it holds"
                yield Finding(Signature("claim"), place, reason, "symptom")
                return
        any_result = any_result or event.kind == "result"
        known.update(own)


def _background(attempt: Attempt, conversation: Conversation) -> dict[str, str]:
    """Return the texts that an agent has before the conversation."""
    texts = {f"instructions {number}": agent.instructions for number, agent in enumerate(conversation.trace.agents)}
    return texts if attempt.case is None else {**texts, "context": attempt.case.context}


def _unsupported_fact(attempt: Attempt, conversation: Conversation, place: int) -> str:
    """Return the first fact of a reply that no text before it supports, or "" if all have support."""
    # The patterns of facts take longer to import than all other symptoms.
    from fairtrial.text.facts.fact_evidence import EvidenceTexts, find_checkable
    from fairtrial.text.facts.fact_reading import read_facts

    texts = {str(at): item_text(event.item)[:_READ] for at, event in enumerate(conversation.events[:place])}
    evidence = EvidenceTexts()(_background(attempt, conversation) | texts)
    reply = item_text(conversation.events[place].item)[:_READ]
    stated = read_facts(reply)
    facts = find_checkable(reply, stated)
    supports = evidence.find_support(reply, facts, stated)
    unsupported = (own for own, support in zip(facts, supports, strict=True) if not support)
    return next((shorten(reply[own.start : own.end].strip(), 80) for own in unsupported), "")


def limits(attempt: Attempt, conversation: Conversation) -> Iterator[Finding]:
    """Yield that a limit ended the conversation."""
    if attempt.result.ended_by == "cap" and conversation.events:
        reason = "the conversation was ended by its limit on invocations"
        yield Finding(Signature("cap"), len(conversation.events) - 1, reason, "symptom")


SYMPTOMS: tuple[Symptom, ...] = (
    unrepaired_errors,
    loops,
    empty_replies,
    changed_languages,
    hand_overs,
    refusals,
    unsupported_claims,
    limits,
)
"""The symptoms in the order in which they count. A claim comes late, because replies that are right also make some.
A new one is a function and a row."""
