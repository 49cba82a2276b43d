"""Write an eval set from the references that people corrected, and from attempts that they call no failure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from fairtrial.api.eval_files import save_eval_set
from fairtrial.api.labels.repaired_cases import repaired_cases
from fairtrial.errors import UsageError, spell
from fairtrial.formats.adk.write import with_extra_as_metadata
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.keys import CaseKey
from fairtrial.records.trace import Message

if TYPE_CHECKING:
    from fairtrial.api.stored_runs import Run
    from fairtrial.records.label import Label


class WrittenReferences(NamedTuple):
    """The references of labels that an eval set has, and the cases that attempts repaired."""

    replaced: int
    repaired: int


def write_references(run: Run, path: Path) -> WrittenReferences:
    """Write the eval set of a run with the references that people gave in labels.

    The last label on a reply counts. If people say of a failed attempt that the agent did not fail, the case expects
    its calls or replies, unless a label has a reference. Raises UsageError if the file exists, if no label says
    either, or if the labels belong to several eval sets.
    """
    if path.exists():
        raise UsageError(
            f"{spell('references')}: {path} exists; choose another file, because an eval set is never changed",
            code="would-overwrite",
        )
    labels = [label for label in run.labels if label.reference]
    repaired = repaired_cases(run)
    all_expected = list(run.expected)
    names = sorted(
        {label.case.eval_set for label in labels}
        | {expected.eval_set for expected in all_expected if expected.position in repaired}
    )
    if len(names) != 1:
        problem = f"labels of several eval sets have one: {', '.join(names)}" if names else "no label has one"
        raise UsageError(
            f"{spell('references')}: must be the better references of one eval set; in run {run.info.id}, {problem}"
        )
    by_case: dict[CaseKey, list[Label]] = {}
    for label in labels:
        by_case.setdefault(label.case, []).append(label)
    count = repairs = 0
    cases: list[EvalCase] = []
    for expected in all_expected:
        if expected.eval_set == names[0]:
            own = by_case.get(CaseKey(expected.eval_set, expected.case.id, expected.digest), [])
            case, replaced = _apply_correction(expected.case, own)
            if not replaced and expected.position in repaired:
                case, repairs = repaired[expected.position], repairs + 1
            cases.append(with_extra_as_metadata(case))
            count += replaced
    save_eval_set(EvalSet(names[0], tuple(cases)), path)
    return WrittenReferences(count, repairs)


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
