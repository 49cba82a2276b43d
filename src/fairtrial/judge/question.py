"""What is asked, and how an answer is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairtrial.judge.voting import Rule
from fairtrial.llm.structured import read_json
from fairtrial.records.ballot import Answer, JudgeAnswer
from fairtrial.records.record import Json, Record
from fairtrial.records.reply import Prompt


@dataclass(frozen=True)
class Question:
    """One closed set of answers for one or several items.

    `items` are the ids under which the prompt shows them. `marks` are words that an answer may carry beyond itself
    (kinds of hazard, say). `check` returns what is wrong with an opinion on an item, or an empty string.
    """

    prompt: Prompt
    items: tuple[str, ...]
    answers: tuple[Answer, ...]
    rule: Rule
    marks: tuple[str, ...] = ()
    check: Callable[[str, JudgeAnswer], str] | None = None


def answer_schema(
    items: Sequence[str], answers: Sequence[Answer], *, quote: bool = False, marks: Sequence[str] = ()
) -> dict[str, Json]:
    """Return the JSON schema of a reply: one entry for every item, rationale before answer."""
    text: dict[str, Json] = {"type": "string"}
    fields: dict[str, Json] = {"id": {"type": "string", "enum": list(items)}}
    if quote:
        fields["quote"] = text
    fields["rationale"] = text
    if marks:
        fields["marks"] = {"type": "array", "items": {"type": "string", "enum": list(marks)}}
    fields["answer"] = {"type": "string", "enum": list(answers)}
    entry = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return {
        "type": "object",
        "properties": {"answers": {"type": "array", "items": entry}},
        "required": ["answers"],
        "additionalProperties": False,
    }


class ParsedReply(Record, frozen=True):
    """What a reply says: an opinion for each item that could be read, a problem for each that could not."""

    opinions: dict[str, JudgeAnswer] = {}
    problems: dict[str, str] = {}


def read(text: str, question: Question) -> ParsedReply:
    """Read a reply item by item.

    An unknown or repeated id makes it unreadable as a whole: the judge has lost count, and every answer may be on the
    wrong item. Otherwise each item stands for itself.
    """
    try:
        entries = _entries(read_json(text), question.items)
    except ValueError as problem:
        return ParsedReply(problems=dict.fromkeys(question.items, f"the reply cannot be read: {problem}"))
    opinions: dict[str, JudgeAnswer] = {}
    problems: dict[str, str] = {}
    for item in question.items:
        try:
            opinions[item] = _opinion(item, entries[item], question)
        except KeyError:
            problems[item] = "the reply leaves it out"
        except ValueError as problem:
            problems[item] = str(problem)
    return ParsedReply(opinions=opinions, problems=problems)


def _entries(reply: Json, items: Sequence[str]) -> dict[str, dict[str, Json]]:
    answers = reply.get("answers") if isinstance(reply, dict) else None
    if not isinstance(answers, list):
        raise ValueError("it is no object with a list 'answers'")  # noqa: TRY004 - for the reader it is one kind
    entries: dict[str, dict[str, Json]] = {}
    for entry in answers:
        name = entry.get("id") if isinstance(entry, dict) else None
        if not isinstance(name, str) or name not in items:
            raise ValueError(f"unknown id {_short(name)}")
        if name in entries:
            raise ValueError(f"id {name!r} is answered twice")
        entries[name] = entry
    return entries


def _opinion(item: str, entry: dict[str, Json], question: Question) -> JudgeAnswer:
    given = entry.get("answer")
    answer = given.strip().lower().replace(" ", "_").replace("-", "_") if isinstance(given, str) else ""
    if answer not in question.answers:
        raise ValueError(f"answer must be one of {', '.join(question.answers)}, got {_short(given)}")
    rationale, quote, marks = entry.get("rationale", ""), entry.get("quote") or "", entry.get("marks") or []
    if not isinstance(rationale, str) or not isinstance(quote, str):
        raise ValueError("rationale and quote must be text")  # noqa: TRY004
    if not isinstance(marks, list) or any(mark not in question.marks for mark in marks):
        raise ValueError(f"marks must be of {', '.join(question.marks) or 'none'}, got {_short(marks)}")
    opinion = JudgeAnswer(answer=answer, rationale=rationale, quote=quote, marks=tuple(marks))
    wrong = question.check(item, opinion) if question.check else ""
    if wrong:
        raise ValueError(wrong)
    return opinion


def _short(value: Json) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
