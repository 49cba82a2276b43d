"""Prove that a paraphrase states the facts of a reply, and no others. What cannot be proven is no paraphrase."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

import regex

from fairtrial.mutations.operator import LANGUAGES, Invocations, Operator, Scene
from fairtrial.mutations.person_names import people
from fairtrial.text.facts.fact_agreement import compare_facts
from fairtrial.text.facts.names import places_in
from fairtrial.text.facts.polarity import is_negative
from fairtrial.text.language import detect_language, is_traditional

NAME = "paraphrased"
_SHORTEST, _LONGEST = 0.4, 2.5
"""The shortest and the longest paraphrase, as a share of the reply."""
_CODE = regex.compile(r"(?<![\p{L}\p{N}])(?=[A-Z\d_-]*[A-Z])[A-Z\d]{2,}(?:[-_][A-Z\d]+)*(?![\p{L}\p{N}])|https?://\S+")


def doubt(reply: str, paraphrase: str) -> str:
    """Return why it is not proven that a text states the same as a reply, or an empty text if it is."""
    return next(_doubts(reply, paraphrase), "")


def _doubts(reply: str, paraphrase: str) -> Iterator[str]:
    if paraphrase.split() == reply.split():
        yield "the same words"
    if not _SHORTEST <= len(paraphrase) / max(1, len(reply)) <= _LONGEST:
        yield "another length"
    if _variety(reply) != _variety(paraphrase):
        yield "another language or script"
    there, back = compare_facts(reply, paraphrase), compare_facts(paraphrase, reply)
    findings = (*there.findings, *back.findings)
    if there.contradicted or back.contradicted or any(finding.state != "found" for finding in findings):
        yield "other facts"
    if is_negative(reply) != is_negative(paraphrase):
        yield "another polarity"
    if _names(reply) != _names(paraphrase):
        yield "other names"
    if not there.findings and not there.agreed:
        yield "no fact that proves it"


def _variety(text: str) -> str:
    language = detect_language(text)
    return "zh-Hant" if language == "zh" and is_traditional(text) else language


def _names(text: str) -> set[object]:
    """Return the persons, places and codes that a text names. A place counts once in all of its languages."""
    return {
        *(text[person.start : person.end] for person in people(text, _variety(text))),
        *(place for _, _, place in places_in(text)),
        *_CODE.findall(text),
    }


def paraphrase_operator(proven: Mapping[str, str]) -> Operator:
    """Return the operator that writes a reply as its proven paraphrase."""

    def plant(scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
        return scene.with_reply(proven[scene.reply]) if scene.reply in proven else None

    return Operator(
        NAME,
        "harmless",
        plant,
        ("Order A-17 costs $20.", "You pay $20 for order A-17."),
        LANGUAGES,
        defect="A model never writes a reply twice in the same words.",
    )


PARAPHRASED = paraphrase_operator({})
"""The operator before a model was asked."""
