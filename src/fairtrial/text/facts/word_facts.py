"""Facts that are words: the quotations of a reference, and the members of its lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairtrial.text.facts.fact import Fact, Kind, Reading
from fairtrial.text.facts.finding import Finding
from fairtrial.text.facts.lists import ListAgreement, Member, compare_lists
from fairtrial.text.facts.quotations import find_quotations, fold_quotation
from fairtrial.text.lazy_pattern import LazyPattern


def compare_words(
    findings: Sequence[Finding], reference: str, reply: str, kinds: frozenset[Kind], question: str = ""
) -> tuple[Finding, ...]:
    """Return the findings with those of quotations and lists.

    A number of things that the reply lists and does not count is found. A quotation of the question is no rival.
    """
    if reference == reply:
        return tuple(findings)
    lists = compare_lists(reference, reply) if "list" in kinds or findings else []
    findings_with_counts = list(findings)
    if counts := {float(item.sizes[0]) for item in lists if item.sizes[0] == item.sizes[1]}:
        findings_with_counts = [item._replace(state="found") if _is_count(item, counts) else item for item in findings]
    if lists and "list" in kinds:
        findings_with_counts += [
            item
            for hit in lists
            for item in _members(hit, reference, reply)
            # A reply need not repeat what the question names.
            if item.state != "missing" or _text(item, reference) not in question.lower()
        ]
    if "quote" in kinds:
        findings_with_counts += _quotations(reference, reply, question)
    return tuple(findings_with_counts)


def _text(finding: Finding, reference: str) -> str:
    return reference[finding.fact.start : finding.fact.end].strip().lower()


def _is_count(finding: Finding, counts: set[float]) -> bool:
    return (
        finding.state == "missing"
        and finding.fact.kind in {"number", "quantity"}
        and finding.fact.readings[0].as_written in counts
    )


def _members(hit: ListAgreement, reference: str, reply: str) -> Iterator[Finding]:
    """Yield a member that the reply replaces or leaves out, and one that it adds."""
    if any(
        sign.isdigit()
        for member, text in _members_with_texts(hit, reference, reply)
        for sign in text[member.start : member.end]
    ):
        # Numbers are facts of their own, and their nouns may be rivals.
        return
    longer = hit.sizes[1] > hit.sizes[0]
    if len(hit.missing) > 1 and not hit.additional:
        # Most of a short list in other words is a summary.
        return
    for place, member in enumerate(hit.missing):
        fact = _member_fact(member, reference)
        if place < len(hit.additional):
            counterpart = _member_fact(hit.additional[place], reply)
            yield Finding(fact, "contradicted", counterpart)
        else:
            yield Finding(fact, "missing")
    if longer and not hit.missing:
        # The first member has the beginning of the sentence, as in "Yes, Brazil and Peru".
        for member in hit.additional if not hit.begins_otherwise else hit.additional[1:]:
            if _REMARK.match(reply, member.start, member.end):
                continue
            addition = _member_fact(member, reply)
            yield Finding(
                Fact("list", addition.readings, 0, len(reference)), "contradicted", addition, "a list without it"
            )


_REMARK = LazyPattern(
    r"\s*(?:(?:and|or) )?(?:(?:the )?(?:north|south|east|west)\b|(?:with|which|who|where|whose|although|while|as)\b)"
)
"""What stands between commas and is no member: "Belgium to the west and north", "Kent and Sussex, with one outlier"."""


def _members_with_texts(hit: ListAgreement, reference: str, reply: str) -> Iterator[tuple[Member, str]]:
    yield from ((member, reference) for member in hit.missing)
    yield from ((member, reply) for member in hit.additional)


def _member_fact(member: Member, text: str) -> Fact:
    start, end = member.start, member.end
    return Fact("list", (Reading("list", text[start:end].strip()),), start, end)


def _quotations(reference: str, reply: str, question: str) -> list[Finding]:
    """Return the finding of each quotation: the reply repeats it, has another one in its place, or lacks it."""
    expected = find_quotations(reference)
    if not expected:
        return []
    folded, folded_elsewhere = fold_quotation(reply), fold_quotation(reference + question)
    rivals = [item for item in find_quotations(reply) if str(item.readings[0].value) not in folded_elsewhere]
    findings: list[Finding] = []
    for fact in expected:
        if str(fact.readings[0].value) in folded:
            findings.append(Finding(fact, "found"))
        elif rivals:
            findings.append(Finding(fact, "contradicted", rivals.pop(0)))
    return findings
