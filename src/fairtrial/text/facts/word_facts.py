"""Facts that are words: the quotations of a reference, and the members of its lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fairtrial.text.facts.fact import Fact, Kind, Reading
from fairtrial.text.facts.finding import Finding
from fairtrial.text.facts.lists import ListAgreement, Member, compare_lists
from fairtrial.text.facts.quotations import find_quotations, fold_quotation


def compare_words(
    findings: Sequence[Finding], reference: str, reply: str, kinds: frozenset[Kind]
) -> tuple[Finding, ...]:
    """Return the findings with those of quotations and lists.

    A number of things that the reply lists and does not count is found.
    """
    if reference == reply:
        return tuple(findings)
    lists = compare_lists(reference, reply) if "list" in kinds or findings else []
    counts = {float(item.sizes[0]) for item in lists if item.sizes[0] == item.sizes[1]}
    counted = [replace(item, state="found") if _is_count(item, counts) else item for item in findings]
    if "list" in kinds:
        counted += [item for hit in lists for item in _members(hit, reference, reply)]
    if "quote" in kinds:
        counted += _quotations(reference, reply)
    return tuple(counted)


def _is_count(finding: Finding, counts: set[float]) -> bool:
    return (
        finding.state == "missing"
        and finding.fact.kind in {"number", "quantity"}
        and finding.fact.readings[0].as_written in counts
    )


def _members(hit: ListAgreement, reference: str, reply: str) -> Iterator[Finding]:
    """Yield a member that the reply replaces or leaves out, and one that it adds."""
    if any(
        sign.isdigit() for member, text in _placed(hit, reference, reply) for sign in text[member.start : member.end]
    ):
        # Numbers are facts of their own, and their nouns may be others.
        return
    longer = hit.sizes[1] > hit.sizes[0]
    if len(hit.missing) > 1 and not hit.extra:
        # Most of a short list in other words is a summary.
        return
    for place, member in enumerate(hit.missing):
        fact = _member_fact(member, reference)
        if place < len(hit.extra):
            counterpart = _member_fact(hit.extra[place], reply)
            yield Finding(fact, "contradicted", counterpart)
        else:
            yield Finding(fact, "missing")
    if longer and not hit.missing:
        # The first member has the beginning of the sentence, as in "Yes, Brazil and Peru".
        for member in hit.extra if not hit.first_is_extra else hit.extra[1:]:
            added = _member_fact(member, reply)
            yield Finding(Fact("list", added.readings, 0, len(reference)), "contradicted", added, "a list without it")


def _placed(hit: ListAgreement, reference: str, reply: str) -> Iterator[tuple[Member, str]]:
    yield from ((member, reference) for member in hit.missing)
    yield from ((member, reply) for member in hit.extra)


def _member_fact(member: Member, text: str) -> Fact:
    start, end = member.start, member.end
    return Fact("list", (Reading("list", text[start:end].strip()),), start, end)


def _quotations(reference: str, reply: str) -> list[Finding]:
    """Return the finding of each quotation: the reply repeats it, has another one in its place, or lacks it."""
    expected = find_quotations(reference)
    if not expected:
        return []
    folded, folded_reference = fold_quotation(reply), fold_quotation(reference)
    others = [item for item in find_quotations(reply) if str(item.readings[0].value) not in folded_reference]
    findings: list[Finding] = []
    for fact in expected:
        if str(fact.readings[0].value) in folded:
            findings.append(Finding(fact, "found"))
        elif others:
            findings.append(Finding(fact, "contradicted", others.pop(0)))
    return findings
