"""A question to a judge, and the parser of its answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_fields
from functools import lru_cache
from typing import TYPE_CHECKING
from unicodedata import normalize

from msgspec.structs import replace

from fairtrial.llm.fences import Fences
from fairtrial.llm.structured import read_json
from fairtrial.llm.thoughts import NoAnswerError
from fairtrial.records.ballot import Answer, JudgeAnswer
from fairtrial.records.record import Json, Record

if TYPE_CHECKING:
    from fairtrial.judge.voting import Rule
    from fairtrial.records.reply import Prompt
    from fairtrial.records.trace import Part


@dataclass(frozen=True)
class Question:
    """One closed set of answers for one or several items. Without `answers`, the answer is any number.

    `items` are the ids of the items in the prompt. `marks` are words that may accompany an answer, for example kinds of
    hazards. `check` returns the problem of an answer on an item, or an empty string. `reordered` is the same prompt
    with the possible answers in the opposite order, because models prefer the answer at a certain place.
    """

    prompt: Prompt
    items: tuple[str, ...]
    answers: tuple[Answer, ...]
    rule: Rule
    marks: tuple[str, ...] = ()
    check: Callable[[str, JudgeAnswer], str] | None = None
    reordered: Prompt | None = None

    def prompt_for(self, turn: int) -> Prompt:
        """Return the prompt of a model's vote. Its first vote has turn 0, and every second vote is reordered."""
        return self.reordered if turn % 2 and self.reordered is not None else self.prompt

    def with_pictures(self, pictures: tuple[Part, ...]) -> Question:
        """Return the question with pictures beside its text."""
        if not pictures:
            return self
        own, reordered = (
            None if prompt is None else replace(prompt, pictures=pictures) for prompt in (self.prompt, self.reordered)
        )
        return with_fields(self, prompt=own or self.prompt, reordered=reordered)


def answer_schema(
    items: Sequence[str], answers: Sequence[Answer], *, marks: Sequence[str] = (), reasons_first: bool = False
) -> dict[str, Json]:
    """Return the JSON schema of a reply: one entry for every item, with quote and rationale before the answer.

    Models write the fields in the order of the schema. With `reasons_first`, the rationale stands before the quote.
    """
    text: dict[str, Json] = {"type": "string"}
    fields: dict[str, Json] = {"id": {"type": "string", "enum": list(items)}}
    fields |= dict.fromkeys(("rationale", "quote") if reasons_first else ("quote", "rationale"), text)
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


def score_schema() -> dict[str, Json]:
    """Return the JSON schema of a reply that is one score with its explanation."""
    fields: dict[str, Json] = {"explanation": {"type": "string"}, "score": {"type": "number"}}
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


class ParsedReply(Record, frozen=True):
    """A parsed reply: an opinion for each readable item, and a problem for every other item."""

    opinions: dict[str, JudgeAnswer] = {}
    problems: dict[str, str] = {}


def ask_again(prompt: Prompt, problems: Mapping[str, str]) -> Prompt:
    """Return a prompt for the second attempt, which says what was wrong with the first reply.

    The problems may quote that reply, so they stand in a fence of their own.
    """
    name = "problems of the previous reply"
    lines = dict.fromkeys(problems.values()) if len(set(problems.values())) == 1 else map(": ".join, problems.items())
    fences = Fences({name: "\n".join(lines)}, [prompt.id, prompt.version, prompt.text])
    text = (
        f"{prompt.text}\n\nA previous reply to this question could not be used:\n{fences.context(name)}\n"
        "Avoid these problems, and reply again in the form that is described above."
    )
    return replace(prompt, text=text, ask=2)


def parse_reply(text: str, question: Question, interruption: str = "") -> ParsedReply:
    """Parse a reply item by item.

    If an id is unknown or repeated, the whole reply is unreadable, because every answer may be on the wrong item.
    Otherwise, a problem of one item does not affect the other items. An `interruption` is the reason of
    whatever is missing.
    """
    try:
        reply = _reply_json(text, question.prompt, is_cut_off=bool(interruption))
        if not question.answers:
            return ParsedReply(opinions=dict.fromkeys(question.items, _score(reply)))
        entries = _entries(reply, question.items)
    except ValueError as error:
        cause = str(error) if isinstance(error, NoAnswerError) else f"the reply cannot be read: {error}"
        problem = interruption or cause
        return ParsedReply(problems=dict.fromkeys(question.items, problem))
    opinions: dict[str, JudgeAnswer] = {}
    problems: dict[str, str] = {}
    for item in question.items:
        try:
            opinions[item] = _opinion(item, entries[item], question)
        except KeyError:
            problems[item] = interruption or "the reply leaves it out"
        except ValueError as problem:
            problems[item] = str(problem)
    return ParsedReply(opinions=opinions, problems=problems)


def _reply_json(text: str, prompt: Prompt, *, is_cut_off: bool) -> Json:
    """Return the JSON of a reply, also if it is encoded twice. Raises ValueError, also for an echo of the question.

    Agents plant objects in their texts that look like the reply of a judge, and prompts hold worked examples.
    """
    reply = read_json(text, is_cut_off=is_cut_off)
    if isinstance(reply, str):
        reply = read_json(reply, is_cut_off=True)
    answers = reply.get("answers") if isinstance(reply, dict) else reply
    prompt_text = _bare(f"{prompt.system}\n{prompt.text}")
    for entry in answers if isinstance(answers, list) else [reply]:
        if not isinstance(entry, dict):
            continue
        entry_text = json.dumps(entry, ensure_ascii=False)
        if _bare(entry_text) in prompt_text or _bare(entry_text.replace("\\n", "")) in prompt_text:
            raise NoAnswerError("the reply repeats an object of the question word for word, and is no answer")
    return reply


_MARKS = str.maketrans("", "", ' \t\r\n"\\')


@lru_cache(maxsize=16)
def _bare(text: str) -> str:
    """Return a text without space, quotation marks and backslashes, which change if an object is written again."""
    return text.translate(_MARKS)


def _score(reply: Json) -> JudgeAnswer:
    """Return the number of a reply `{"explanation": TEXT, "score": NUMBER}`."""
    score = reply.get("score") if isinstance(reply, dict) else None
    explanation = reply.get("explanation", "") if isinstance(reply, dict) else ""
    # A literal such as 1e999 is JSON, and infinite.
    if not isinstance(score, int | float) or isinstance(score, bool) or not abs(score) < 1e300:
        raise ValueError(f"score must be a number, got {_short(score)}")
    if not isinstance(explanation, str):
        raise ValueError(f"explanation must be text, got {_short(explanation)}")  # noqa: TRY004
    return JudgeAnswer(answer=f"{float(score)!r}", rationale=explanation)


def _entries(reply: Json, items: Sequence[str]) -> dict[str, dict[str, Json]]:
    """Return the entries by their items. A single entry may stand without its list, and a list without its object."""
    answers = reply.get("answers") if isinstance(reply, dict) else reply
    if isinstance(reply, dict) and "answers" not in reply and "answer" in reply:
        answers = [reply]
    if not isinstance(answers, list):
        raise ValueError("it is not an object with a list 'answers'")  # noqa: TRY004 - callers catch ValueError
    names = {item.lower(): item for item in items} if len({item.lower() for item in items}) == len(items) else {}
    entries: dict[str, dict[str, Json]] = {}
    for entry in answers:
        name = entry.get("id") if isinstance(entry, dict) else None
        if isinstance(name, str) and name not in items:
            name = names.get(normalize("NFKC", name).strip().lower(), name)
        if not isinstance(name, str) or name not in items:
            raise ValueError(f"unknown id {_short(name)}")
        if name in entries:
            raise ValueError(f"id {name!r} is answered twice")
        entries[name] = entry
    return entries


def _opinion(item: str, entry: dict[str, Json], question: Question) -> JudgeAnswer:
    raw = entry.get("answer")
    # Models put an answer into bold, code or quotation marks, end it with a full stop, or write it in full width.
    plain = normalize("NFKC", raw).strip(" \t\r\n*`_\"'.。").lower() if isinstance(raw, str) else ""
    answer = plain.replace(" ", "_").replace("-", "_")
    if answer not in question.answers:
        raise ValueError(f"answer must be one of {', '.join(question.answers)}, got {_short(raw)}")
    rationale, quote, marks = entry.get("rationale") or "", entry.get("quote") or "", entry.get("marks") or []
    if not isinstance(rationale, str) or not isinstance(quote, str):
        raise ValueError("rationale and quote must be text")  # noqa: TRY004
    if not isinstance(marks, list) or any(mark not in question.marks for mark in marks):
        raise ValueError(f"marks must be of {', '.join(question.marks) or 'none'}, got {_short(marks)}")
    opinion = JudgeAnswer(answer=answer, rationale=rationale, quote=quote, marks=tuple(marks))
    problem = question.check(item, opinion) if question.check else ""
    if problem:
        raise ValueError(problem)
    return opinion


def _short(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
