"""Recognise the eval files of Agent Skills among documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairtrial.errors import OtherContentError
from fairtrial.formats.skills import evals_json, skilljack, trigger_queries, waza
from fairtrial.formats.skills.evals_json import is_eval
from fairtrial.formats.skills.other_dialects import NEAREST, advise, has_marks
from fairtrial.formats.skills.trigger_queries import is_query

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics
    from fairtrial.records.case import EvalSet

KINDS = (evals_json.KIND, skilljack.KIND, waza.KIND, waza.TASK_KIND)
"""The kinds of files whose cases ask for work, rather than for a trigger."""
TRIGGER_KIND = trigger_queries.KIND
_SETTINGS = (
    (
        {"root", "workspace", "target"},
        "settings of agent-skills-eval, which hold no case; give the folder of the skill",
    ),
    ({"models", "scoring", "runner"}, "settings of skilljack-evals, which hold no case; give tasks.yaml"),
)

__all__ = ["KINDS", "TRIGGER_KIND", "is_eval", "is_query", "read_document", "read_list"]


def read_document(whole: dict[str, Any], reading: Diagnostics, stem: str) -> tuple[str, EvalSet] | None:
    """Return the kind and the cases of a document about a skill, or None for any other document.

    Raises OtherContentError for settings of another program, which hold no case.
    """
    if evals_json.is_evals(whole):
        return evals_json.KIND, evals_json.read_evals(whole, reading, stem)
    if trigger_queries.is_queries(whole):
        return trigger_queries.KIND, trigger_queries.read_queries(whole, reading, stem)
    if skilljack.is_tasks(whole):
        return skilljack.KIND, skilljack.read_tasks(whole, reading, stem)
    if waza.is_task(whole):
        return waza.TASK_KIND, waza.read_task(whole, reading, stem)
    if has_marks(whole):
        reading.error((), f"is one case in another dialect; the nearest is {evals_json.KIND}: {NEAREST}")
        for key, advice in advise({*whole}):
            reading.error(((), key), advice)
        reading.finish()
    for keys, problem in _SETTINGS:
        if keys <= whole.keys():
            raise OtherContentError(reading.path, [f"holds {problem}"])
    return None


def read_list(items: list[Any], reading: Diagnostics, stem: str) -> tuple[str, EvalSet]:
    """Return the kind and the queries, or the prompts, of a bare list."""
    if not is_query(items[0]):
        return evals_json.KIND, evals_json.read_evals({"evals": items}, reading, stem)
    return trigger_queries.KIND, trigger_queries.read_query_list(items, reading, stem)
