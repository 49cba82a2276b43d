"""Read `evals.json` of Agent Skills: prompts with files, expected outputs, assertions and checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.skills.case_files import read_files
from fairtrial.formats.skills.check_types import CHECK_TYPES, read_check, write_check
from fairtrial.formats.skills.other_dialects import PROMPT_KEYS, advise, has_marks
from fairtrial.formats.skills.proposals import propose_check
from fairtrial.formats.written_checks import read_checks as read_reply_checks
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import Invocation, Message
from fairtrial.records.workspace import Workspace, WorkspaceCheck
from fairtrial.text.display import compact, count

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Names, Place
    from fairtrial.records.check import Check

KIND = "evals of an Agent Skill"
TODO, IS_TO_BE_WRITTEN = "TODO:", "is still to be written"
DESCRIBED = "The result is as described: "
"""The beginning of the rubric that an expected output becomes."""
FINAL_RESPONSE = "FINAL_RESPONSE_QUALITY"
_LISTS = ("evals", "test_cases", "cases")
_TOP: Names = {
    **dict.fromkeys(("skill_name", "skillName", "skill"), "skill_name"),
    **dict.fromkeys(_LISTS, "evals"),
}
_CASE: Names = {
    "id": "id",
    "name": "name",
    **dict.fromkeys(("prompt", "query", "input"), "prompt"),
    **dict.fromkeys(("expected_output", "expectedOutput", "expected"), "expected_output"),
    "files": "files",
    "assertions": "assertions",
    "expectations": "expectations",
    **dict.fromkeys(("must_have", "mustHave", "expect"), "must_have"),
    **dict.fromkeys(("must_not_have", "mustNotHave", "fail"), "must_not_have"),
    "checks": "checks",
    **dict.fromkeys(("category", "kind"), "category"),
    **dict.fromkeys(("should_trigger", "shouldTrigger"), "should_trigger"),
}
_DEMANDS = ("assertions", "expectations", "must_have", "must_not_have", "expect", "fail")
_ASSERTION_TEXT = ("text", "check", "assertion", "description", "criterion")
_ASSERTION_KEYS = {*_ASSERTION_TEXT, "id", "name", "type", "weight"}
_JUDGED_TYPES = {"llm", "judge", "rubric", "semantic", "manual", "qualitative", "behavior", "llm-judge"}


def is_evals(whole: dict[str, Any]) -> bool:
    """Whether a document is an `evals.json`: a list of prompts for a skill."""
    items = next((whole[key] for key in _LISTS if isinstance(whole.get(key), list)), None)
    if items is None:
        return False
    if whole.keys() & {"skill_name", "skillName"}:
        return True
    first = items[0] if items else None
    if has_marks(first) or not isinstance(first, dict) or "evals" not in whole:
        return has_marks(first)
    return "prompt" in first or (not first.keys().isdisjoint(PROMPT_KEYS) and not first.keys().isdisjoint(_DEMANDS))


def is_eval(item: Any) -> bool:
    """Whether an item of a bare list is a prompt for a skill, with a list of what has to be true afterwards."""
    is_prompt = isinstance(item, dict) and isinstance(item.get("prompt"), str)
    return has_marks(item) or (is_prompt and any(isinstance(item.get(key), list) for key in _DEMANDS))


def read_evals(whole: dict[str, Any], reading: Diagnostics, stem: str) -> EvalSet:
    """Return the cases of an `evals.json`. Notes say what is not read, and which assertions could be checks."""
    fields, extra = reading.fields(whole, _TOP, (), open_ended=True)
    skill = reading.text(fields, "skill_name", ())
    key = next((name for name in _LISTS if name in whole), "evals")
    items = reading.array({key: fields.get("evals")}, key, ())
    unread: Counter[str] = Counter(f"/{name}" for name in extra or {})
    cases = _with_numbers([_case(item, i, skill, ((), key), reading, unread) for i, item in enumerate(items)], items)
    _check_unique(cases, ((), key), reading)
    if not items:
        reading.error(((), key), "holds no case")
    if unread:
        names = ", ".join(name if number == 1 else f"{name} ({number} times)" for name, number in unread.items())
        reading.notes.append(f"not read, and kept: {names}")
    silent = sum(_expects_nothing(case) for case in cases)
    if silent:
        reading.warning((), f"{count(silent, 'case')} of {len(cases)} expect nothing, so that nothing can be graded")
    return EvalSet(skill or stem, tuple(cases), name=skill, extra=extra)


def _with_numbers(cases: Sequence[EvalCase], items: Sequence[Any]) -> list[EvalCase]:
    """Return cases whose names are distinct, as far as their ids are: a repeated name gets the number of its case."""
    names: set[str] = set()
    distinct_cases = []
    for case, item in zip(cases, items, strict=True):
        number = item.get("id") if isinstance(item, dict) else None
        is_repeated = case.id in names and isinstance(number, int) and bool(item.get("name"))
        distinct_cases.append(replace(case, id=f"{case.id}-{number}") if is_repeated else case)
        names.add(distinct_cases[-1].id)
    return distinct_cases


def _expects_nothing(case: EvalCase) -> bool:
    own = case.workspace or Workspace()
    return not (case.rubrics or case.checks or own.checks) and own.triggers is None


def _case(raw: Any, number: int, skill: str, parent: Place, reading: Diagnostics, unread: Counter[str]) -> EvalCase:
    at: Place = (parent, number)
    fields, extra = reading.fields(raw, _CASE, at, open_ended=True)
    unread.update(f"/{parent[1]}/*/{name}" for name in extra or {})
    for key, advice in advise({*(extra or {}), *(["prompt"] if "prompt" in fields else [])}):
        reading.error((at, key), advice)
    prompt = reading.required(fields, "prompt", at)
    expected = reading.text(fields, "expected_output", at)
    for key, own in (("prompt", prompt), ("expected_output", expected)):
        if own.startswith(TODO):
            reading.warning((at, key), IS_TO_BE_WRITTEN)
    reply_checks, own_checks = _checks(fields, at, reading)
    rubrics, checks = _assertions(fields, at, reading)
    checks = (*own_checks, *checks)
    is_judged = bool(expected) and bool(rubrics or not (checks or reply_checks))
    if expected and not is_judged:
        extra = {**(extra or {}), "expected_output": expected}
    if is_judged:
        rubrics = (Rubric("expected_output", f"{DESCRIBED}{expected}", type=FINAL_RESPONSE), *rubrics)
    triggers = fields.get("should_trigger")
    if triggers is not None and not isinstance(triggers, bool):
        reading.wrong_type((at, "should_trigger"), "true or false", triggers)
        triggers = None
    category = fields.get("category")
    return EvalCase(
        _case_id(fields, number, at, reading),
        (Invocation(Message(prompt)),),
        rubrics=rubrics,
        extra=extra,
        groups={} if category is None else {"category": category},
        checks=reply_checks,
        workspace=Workspace(
            read_files(fields.get("files"), prompt, (at, "files"), reading), skill, triggers, checks=checks
        ),
    )


def _checks(
    fields: dict[str, Any], at: Place, reading: Diagnostics
) -> tuple[tuple[Check, ...], tuple[WorkspaceCheck, ...]]:
    """Return the checks of replies and calls, and those with a `type`, which are about the workspace."""
    replies: list[Check] = []
    workspace: list[WorkspaceCheck] = []
    for i, raw in enumerate(reading.array(fields, "checks", at)):
        place: Place = ((at, "checks"), i)
        if isinstance(raw, dict) and "type" not in raw:
            replies += read_reply_checks(raw, place, reading)
        elif (check := read_check(raw, place, reading)) is not None:
            workspace.append(check)
    return tuple(replies), tuple(workspace)


def _case_id(fields: dict[str, Any], number: int, at: Place, reading: Diagnostics) -> str:
    """Return the name of a case, because a number says little in a report. Without a name, it is the id."""
    own, name = fields.get("id"), fields.get("name")
    for key, value in (("id", own), ("name", name)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, str | int)):
            reading.wrong_type((at, key), "a text or a number", value)
            return ""
    if isinstance(own, str) and own:
        return own
    if name:
        return str(name)
    return f"eval-{number + 1}" if own is None else f"eval-{own}"


def _assertions(
    fields: dict[str, Any], at: Place, reading: Diagnostics
) -> tuple[tuple[Rubric, ...], tuple[WorkspaceCheck, ...]]:
    """Return the textual assertions as rubrics, and the assertions that are checks."""
    rubrics: list[Rubric] = []
    checks: list[WorkspaceCheck] = []
    for key, beginning in (("assertions", ""), ("expectations", ""), *_CONTENTS):
        for i, raw in enumerate(_as_list(fields, key, at, reading)):
            place: Place = ((at, key), i)
            if isinstance(raw, dict) and raw.get("type") in CHECK_TYPES:
                check = read_check(raw, place, reading)
                checks += [] if check is None else [check]
                continue
            text, name = _assertion(raw, place, reading)
            if not text:
                continue
            if text.startswith(TODO):
                reading.warning(place, IS_TO_BE_WRITTEN)
            ids = {rubric.id for rubric in rubrics}
            own_id = name if name and name not in ids else f"{_SHORT[key]}-{i + 1}"
            rubrics.append(Rubric(own_id, f"{beginning}{text}", type=FINAL_RESPONSE))
            if not beginning and (proposal := propose_check(text)) is not None:
                reading.notes.append(
                    f"{reading.pointer(place)}: could be a check without a model: "
                    f"{compact(write_check(proposal))} for {text!r:.120}"
                )
    return tuple(rubrics), tuple(checks)


_CONTENTS = (("must_have", "The result has: "), ("must_not_have", "The result does not have: "))
_SHORT = {"assertions": "assertion", "expectations": "expectation", "must_have": "has", "must_not_have": "has-not"}


def _as_list(fields: dict[str, Any], key: str, at: Place, reading: Diagnostics) -> list[Any]:
    return [fields[key]] if isinstance(fields.get(key), str) else reading.array(fields, key, at)


def _assertion(raw: Any, at: Place, reading: Diagnostics) -> tuple[str, str]:
    """Return the text and the name of an assertion. A weight is an error: a verdict does not weigh rubrics."""
    if isinstance(raw, str):
        return raw.strip(), ""
    if not isinstance(raw, dict):
        reading.wrong_type(at, "a text or an object with 'text'", raw)
        return "", ""
    text = next((raw[key] for key in _ASSERTION_TEXT if isinstance(raw.get(key), str) and raw[key].strip()), "")
    kind = raw.get("type")
    if kind is not None and kind not in _JUDGED_TYPES:
        check_names = ", ".join(CHECK_TYPES)
        if not text:
            reading.error(
                (at, "type"), f"is not a check, and has no text to judge, got {kind!r:.80}; checks are {check_names}"
            )
            return "", ""
        reading.warning(
            (at, "type"), f"is not a check, and is judged as a text, got {kind!r:.80}; checks are {check_names}"
        )
    if not text:
        reading.error(at, f"must have a text: one of {', '.join(_ASSERTION_TEXT)}")
        return "", ""
    weight = raw.get("weight")
    if weight not in (None, 1):
        reading.warning((at, "weight"), f"is not read: a case passes if all its assertions hold, got {weight!r:.20}")
    unread = sorted(raw.keys() - _ASSERTION_KEYS)
    if unread:
        reading.warning(at, f"not read: {', '.join(unread)}")
    name = raw.get("name", raw.get("id"))
    return text.strip(), str(name) if isinstance(name, str | int) else ""


def _check_unique(cases: Sequence[EvalCase], parent: Place, reading: Diagnostics) -> None:
    places: dict[str, int] = {}
    for i, case in enumerate(cases):
        if case.id and case.id in places:
            reading.error((parent, i), f"has the name {case.id!r} of case {places[case.id]}; names must be unique")
        places.setdefault(case.id, i)


def with_skill(eval_set: EvalSet, skill: str) -> EvalSet:
    """Return an eval set whose cases are about a skill of this name."""
    cases = tuple(
        replace(case, workspace=replace(case.workspace or Workspace(), skill=skill)) for case in eval_set.cases
    )
    return replace(eval_set, cases=cases)
