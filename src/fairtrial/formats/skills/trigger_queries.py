"""Read trigger queries: prompts that should make an agent use a skill, and prompts that should not."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from fairtrial.formats.skills.evals_json import IS_TO_BE_WRITTEN, TODO
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Invocation, Message
from fairtrial.records.workspace import Workspace

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place
    from fairtrial.records.record import Json

KIND = "trigger queries of an Agent Skill"
_QUERY = ("query", "prompt")
_SHOULD = ("should_trigger", "shouldTrigger")
_SIDES = (("should_trigger_prompts", True), ("should_not_trigger_prompts", False))
_READ_KEYS = {*_QUERY, *_SHOULD, "id", "name", "category", "kind", "reason", "confidence"}


def is_query(value: Any) -> bool:
    """Whether an item of a list is a query with the answer whether it should trigger."""
    return isinstance(value, dict) and any(key in value for key in _QUERY) and any(key in value for key in _SHOULD)


def is_queries(whole: dict[str, Any]) -> bool:
    """Whether a document holds queries: skill-creator's `queries`, or the two lists of waza."""
    queries = whole.get("queries")
    is_list = isinstance(queries, list) and bool(queries) and is_query(queries[0])
    return is_list or any(isinstance(whole.get(key), list) for key, _ in _SIDES)


def read_query_list(items: list[Any], reading: Diagnostics, stem: str) -> EvalSet:
    """Return the queries of a bare list."""
    return _eval_set([(item, None, ((), i)) for i, item in enumerate(items)], "", stem, reading)


def read_queries(whole: dict[str, Any], reading: Diagnostics, stem: str) -> EvalSet:
    """Return the queries of a document, which may name the skill."""
    placed: list[tuple[Any, bool | None, Place]] = [
        (item, None, (((), "queries"), i)) for i, item in enumerate(reading.array(whole, "queries", ()))
    ]
    for key, triggers in _SIDES:
        placed += [(item, triggers, (((), key), i)) for i, item in enumerate(reading.array(whole, key, ()))]
    skill = next((whole[key] for key in ("skill_name", "skill") if isinstance(whole.get(key), str)), "")
    known_keys = {"queries", "skill_name", "skill", *(key for key, _ in _SIDES)}
    if unread := [key for key in whole if key not in known_keys]:
        reading.notes.append(f"not read: {', '.join(f'/{key}' for key in unread)}")
    return _eval_set(placed, skill, stem, reading)


def _eval_set(placed: list[tuple[Any, bool | None, Place]], skill: str, stem: str, reading: Diagnostics) -> EvalSet:
    cases: list[EvalCase] = []
    unread: Counter[str] = Counter()
    names: set[str] = set()
    for number, (item, side, at) in enumerate(placed, 1):
        raw = {"query": item} if isinstance(item, str) and side is not None else item
        if not isinstance(raw, dict):
            reading.wrong_type(at, "a query such as {'query': ..., 'should_trigger': true}", item)
            continue
        unread.update(key for key in raw if key not in _READ_KEYS)
        query = next((raw[key] for key in _QUERY if key in raw), None)
        triggers = next((raw[key] for key in _SHOULD if key in raw), side)
        if not isinstance(query, str) or not query.strip():
            reading.error(at, "must have a 'query' with a text")
        elif not isinstance(triggers, bool):
            reading.error(at, f"must have 'should_trigger': true or false, got {triggers!r:.40}")
        else:
            if query.startswith(TODO):
                reading.warning(at, IS_TO_BE_WRITTEN)
            groups: dict[str, Json] = {key: raw[key] for key in ("category", "confidence") if key in raw}
            if "kind" in raw:
                groups.setdefault("category", raw["kind"])
            name = raw.get("id", raw.get("name"))
            case_id = str(name) if isinstance(name, str | int) else f"{'yes' if triggers else 'no'}-{number}"
            case_id = f"{case_id}-{number}" if case_id in names else case_id
            names.add(case_id)
            workspace = Workspace(skill=skill, triggers=triggers)
            cases.append(EvalCase(case_id, (Invocation(Message(query)),), groups=groups, workspace=workspace))
    if unread:
        reading.notes.append(f"not read: {', '.join(f'{key} ({number} times)' for key, number in unread.items())}")
    sides = {case.workspace.triggers for case in cases if case.workspace is not None}
    for side, kind in ((True, "should trigger"), (False, "should not trigger")):
        if cases and side not in sides:
            reading.warning((), f"holds no query that {kind}, so that only one kind of mistake can be seen")
    return EvalSet(f"{skill or stem}-trigger" if skill else stem, tuple(cases), name=skill)
