"""Write the results of a skill in the layout of agentskills.io, which skill-creator's scripts and its viewer read."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

from fairtrial.analysis.variants import SIGN
from fairtrial.api.skills.attempt_files import GradedAttempt, grade_attempt, output_files
from fairtrial.errors import UsageError
from fairtrial.reports.skill_uses import skill_sentences
from fairtrial.reports.transcript import transcripts

if TYPE_CHECKING:
    from fairtrial.api.stored_runs import Run
    from fairtrial.records.expectation import ExpectedCase

_FOLDERS = {"with": "with_skill", "without": "without_skill", "old": "old_skill"}
_UNSAFE = re.compile(r"[^\w-]+")
_NUMBER = re.compile(r"(?:eval-)?(\d{1,9})")
_LONGEST_NAME = 80
_DIGITS = 4


class _Eval(NamedTuple):
    """A case in the layout: its number, its folder, its name and its prompt."""

    number: int
    folder: str
    name: str
    prompt: str


def write_benchmark(run: Run, folder: Path) -> list[Path]:
    """Write the results of a run with variants into a folder, which must be new or empty, and return the files.

    `eval-CASE/with_skill/run-1/` holds the files of the first attempt at a case. Raises UsageError if the run has no
    variants, or if the folder holds something.
    """
    if not run.info.config.get("variants"):
        raise UsageError("the run does not test a skill, so that it has no variants to lay out", code="unusable-run")
    written: dict[Path, None] = {}
    try:
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(f"{folder}: holds something; name a new folder", code="would-overwrite")
        for name, content in _files(run):
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
            written[file] = None
    except OSError as problem:
        raise UsageError(f"{folder}: {problem.strerror or problem}", code="unwritable-file") from None
    return list(written)


def _files(run: Run) -> Iterator[tuple[str, bytes]]:
    """Yield the files by their paths. Of each attempt, only its grades are kept in memory."""
    expected = list(run.expected)
    evals = _number_evals(expected)
    for placed in expected:
        own = evals[placed.position]
        texts = [rubric.text for rubric in placed.case.rubrics]
        metadata = {"eval_id": own.number, "eval_name": own.name, "prompt": own.prompt, "assertions": texts}
        # Scripts look for the number in the first place, and viewers for the prompt in the second.
        for place in (own.folder, f"{own.folder}/{_variant_name(placed.eval_set.rpartition(SIGN)[2])}"):
            yield f"{place}/eval_metadata.json", _as_json(metadata)
    graded: dict[str, list[tuple[_Eval, GradedAttempt]]] = defaultdict(list)
    for transcript in transcripts(run):
        result = transcript.result
        variant, case = _variant_name(result.eval_set.rpartition(SIGN)[2]), evals[result.position]
        attempt = grade_attempt(transcript)
        graded[variant].append((case, attempt))
        place = f"{case.folder}/{variant}/run-{result.attempt}"
        if attempt.grading is not None:
            yield f"{place}/grading.json", _as_json(attempt.grading)
        yield f"{place}/timing.json", _as_json(attempt.timing)
        for name, content in output_files(transcript):
            yield f"{place}/outputs/{name}", content
    skills = {own.case.workspace.skill for own in expected if own.case.workspace is not None}
    yield "benchmark.json", _as_json(_benchmark(run, graded, next(iter(sorted(filter(None, skills))), "")))


def _as_json(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "replace")


def _number_evals(expected: Sequence[ExpectedCase]) -> dict[int, _Eval]:
    """Return the case at each position. Variants of a case share its number, which is that of its id if it has one."""
    ids = list(dict.fromkeys((own.eval_set.rpartition(SIGN)[0], own.case.id) for own in expected))
    stated = [int(match[1]) if (match := _NUMBER.fullmatch(case)) else None for _, case in ids]
    keeps = None not in stated and len(set(stated)) == len(stated)
    folders: dict[tuple[str, str], str] = {}
    for key in ids:
        name = f"eval-{_UNSAFE.sub('-', key[1].removeprefix('eval-'))[:_LONGEST_NAME]}"
        folders[key] = name if name not in folders.values() else f"{name}-{len(folders) + 1}"
    evals = {}
    for own in expected:
        key = own.eval_set.rpartition(SIGN)[0], own.case.id
        place = ids.index(key)
        number = stated[place] if keeps else None
        prompt = own.case.conversation[0].query if own.case.conversation else ""
        evals[own.position] = _Eval(place + 1 if number is None else number, folders[key], own.case.id, prompt)
    return evals


def _variant_name(variant: str) -> str:
    return _FOLDERS.get(variant, _UNSAFE.sub("-", variant)[:_LONGEST_NAME])


def _benchmark(run: Run, graded: Mapping[str, Sequence[tuple[_Eval, GradedAttempt]]], skill: str) -> dict[str, Any]:
    """Return the attempts, the means of each variant, and the difference between the first and the last of them.

    An attempt in which no assertion was decided, for example because of an outage, counts nowhere.
    """
    runs: list[dict[str, Any]] = []
    summary: dict[str, dict[str, Any]] = {}
    for variant, attempts in graded.items():
        graded_attempts = [(case, own) for case, own in attempts if own.grading is not None]
        runs += [_run(case, own, variant) for case, own in graded_attempts]
        columns = {
            "pass_rate": [own.grading["summary"]["pass_rate"] for _, own in graded_attempts if own.grading is not None],
            "time_seconds": [own.seconds for _, own in graded_attempts if own.seconds is not None],
            "tokens": [own.tokens for _, own in graded_attempts if own.tokens is not None],
        }
        summary[variant] = {name: _spread(values) for name, values in columns.items() if values}
    names = list(summary)
    if len(names) > 1:
        first, last = summary[names[0]], summary[names[-1]]
        summary["delta"] = {
            name: round(first[name]["mean"] - last[name]["mean"], _DIGITS) for name in first if name in last
        }
    numbers = sorted({case.number for attempts in graded.values() for case, _ in attempts})
    metadata = {
        "skill_name": skill,
        "skill_path": next(iter(run.info.config.get("paths") or ()), ""),
        "executor_model": ", ".join(run.info.models),
        "timestamp": run.info.started,
        "evals_run": numbers,
        "runs_per_configuration": max((own.number for attempts in graded.values() for _, own in attempts), default=0),
    }
    notes = [*run.summary.notes, *skill_sentences(run.summary.skill_uses)]
    return {"metadata": metadata, "runs": runs, "run_summary": summary, "notes": notes}


def _run(case: _Eval, attempt: GradedAttempt, variant: str) -> dict[str, Any]:
    grading = attempt.grading or {}
    metrics = grading["execution_metrics"]
    result = {
        **grading["summary"],
        **({} if attempt.seconds is None else {"time_seconds": round(attempt.seconds, _DIGITS)}),
        **({} if attempt.tokens is None else {"tokens": attempt.tokens}),
        "tool_calls": metrics["total_tool_calls"],
        "errors": metrics["errors_encountered"],
    }
    return {
        "eval_id": case.number,
        "eval_name": case.name,
        "configuration": variant,
        "run_number": attempt.number,
        "result": result,
        "expectations": grading["expectations"],
        "notes": grading["user_notes_summary"]["needs_review"],
    }


def _spread(values: Iterable[float]) -> dict[str, float]:
    numbers = list(values)
    own = {
        "mean": fmean(numbers),
        "stddev": stdev(numbers) if len(numbers) > 1 else 0.0,
        "min": min(numbers),
        "max": max(numbers),
    }
    return {name: round(value, _DIGITS) for name, value in own.items()}
