"""Write an eval set from the references that people corrected."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from fairtrial.api.eval_files import save_eval_set
from fairtrial.api.stored_runs import Run
from fairtrial.errors import UsageError, spell
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.keys import CaseKey
from fairtrial.records.label import Label
from fairtrial.records.trace import Message


def write_references(run: Run, path: Path) -> int:
    """Write the eval set of a run with the references that people gave in labels, and return how many were replaced.

    The last label on a reply counts. Raises UsageError if the file exists, if no label has a reference, or if the
    labels belong to several eval sets.
    """
    if path.exists():
        raise UsageError(
            f"{spell('references')}: {path} exists; choose another file, because an eval set is never changed"
        )
    labels = [label for label in run.labels if label.reference]
    names = sorted({label.case.eval_set for label in labels})
    if len(names) != 1:
        problem = f"labels of several eval sets have one: {', '.join(names)}" if names else "no label has one"
        raise UsageError(
            f"{spell('references')}: must be the better references of one eval set; in run {run.info.id}, {problem}"
        )
    by_case: dict[CaseKey, list[Label]] = {}
    for label in labels:
        by_case.setdefault(label.case, []).append(label)
    count = 0
    cases: list[EvalCase] = []
    for expected in run.expected:
        if expected.eval_set == names[0]:
            own = by_case.get(CaseKey(expected.eval_set, expected.case.id, expected.digest), [])
            case, replaced = _apply_correction(expected.case, own)
            cases.append(case)
            count += replaced
    save_eval_set(EvalSet(names[0], tuple(cases)), path)
    return count


def _apply_correction(case: EvalCase, labels: list[Label]) -> tuple[EvalCase, int]:
    """Return a case with the references of labels, and the number of replies that they replaced.

    A label on an invocation is about its reply, every other label is about the last reply. A simulated conversation has
    no expected reply.
    """
    conversation = list(case.conversation or ())
    texts: dict[int, str] = {}
    for label in labels:
        index = label.part.index if label.part is not None and label.part.kind == "invocation" else None
        place = len(conversation) - 1 if index is None else index
        if 0 <= place < len(conversation):
            texts[place] = label.reference
    for place, text in texts.items():
        earlier = conversation[place].final_response
        response = Message(text) if earlier is None else replace(earlier, text=text)
        conversation[place] = replace(conversation[place], final_response=response)
    return (replace(case, conversation=tuple(conversation)), len(texts)) if texts else (case, 0)
