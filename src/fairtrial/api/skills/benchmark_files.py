"""Write the results of a skill in the layout of agentskills.io: grading.json, timing.json and benchmark.json."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from fairtrial.analysis.variants import SIGN
from fairtrial.errors import UsageError
from fairtrial.records.result import CaseResult
from fairtrial.records.score import Score

_TOKENS, _SECONDS = "token_usage_v1", "invocation_duration_v1"
_NO_VERDICT = "not decided"
_FOLDERS = {"with": "with_skill", "without": "without_skill", "old": "old_skill"}
_UNSAFE = re.compile(r"[^\w-]+")
_LONGEST_NAME = 80


def write_benchmark(results: Iterable[CaseResult], folder: Path) -> list[Path]:
    """Write the results of a run with variants into a folder, which must be new or empty, and return the files.

    `eval-CASE/with_skill/` holds the files of an attempt, and `run-1`, `run-2`, ... in it those of several attempts.
    Raises UsageError if the run has no variants, or if the folder holds something.
    """
    by_variant: dict[str, dict[str, list[CaseResult]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        _, sign, variant = result.eval_set.rpartition(SIGN)
        if not sign:
            raise UsageError("the run does not test a skill, so that it has no variants to lay out")
        by_variant[variant][result.case_id].append(result)
    try:
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(f"{folder}: holds something; name a new folder")
        documents = dict(_documents(by_variant))
        for name, document in documents.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"{folder}: {problem.strerror or problem}") from None
    return [folder / name for name in documents]


def _documents(by_variant: Mapping[str, Mapping[str, list[CaseResult]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    names = _folder_names({case for cases in by_variant.values() for case in cases})
    for variant, cases in by_variant.items():
        for case, attempts in cases.items():
            for result in attempts:
                place = f"{names[case]}/{_variant_name(variant)}"
                place += f"/run-{result.attempt}" if len(attempts) > 1 else ""
                yield f"{place}/grading.json", _grading(result)
                yield f"{place}/timing.json", _timing(result)
    yield "benchmark.json", _benchmark(by_variant)


def _folder_names(cases: Iterable[str]) -> dict[str, str]:
    """Return a name of a folder for each case, without characters that mean something in a path."""
    names: dict[str, str] = {}
    for case in sorted(cases):
        name = f"eval-{_UNSAFE.sub('-', case)[:_LONGEST_NAME]}"
        names[case] = name if name not in names.values() else f"{name}-{len(names) + 1}"
    return names


def _variant_name(variant: str) -> str:
    return _FOLDERS.get(variant, _UNSAFE.sub("-", variant)[:_LONGEST_NAME])


def _grading(result: CaseResult) -> dict[str, Any]:
    """Return the assertions of an attempt with their evidence. An assertion without a verdict has not passed."""
    assertions = [
        {"text": part.title, "passed": part.value == 1, "evidence": part.reason or _NO_VERDICT * (part.value is None)}
        for part in _assertions(result)
    ]
    passed = sum(bool(assertion["passed"]) for assertion in assertions)
    total = len(assertions)
    summary = {"passed": passed, "failed": total - passed, "total": total}
    return {
        "assertion_results": assertions,
        "summary": {**summary, "pass_rate": passed / total if total else 0.0},
        **({"error": result.failure.cause} if result.failure is not None else {}),
    }


def _assertions(result: CaseResult) -> Iterator[Score]:
    for outcome in result.outcomes:
        if outcome.threshold is not None and outcome.score.applicable:
            yield from _leaves(outcome.score, outcome.criterion)


def _leaves(score: Score, name: str) -> Iterator[Score]:
    if score.parts:
        for part in score.parts:
            yield from _leaves(part, part.title or name)
    else:
        yield Score(score.value, score.reason, label=score.title or name)


def _timing(result: CaseResult) -> dict[str, Any]:
    tokens, seconds = _value(result, _TOKENS), _value(result, _SECONDS)
    return {
        "total_tokens": None if tokens is None else round(tokens),
        "duration_ms": None if seconds is None else round(seconds * 1000),
    }


def _value(result: CaseResult, criterion: str) -> float | None:
    return next((outcome.score.value for outcome in result.outcomes if outcome.criterion == criterion), None)


def _benchmark(by_variant: Mapping[str, Mapping[str, list[CaseResult]]]) -> dict[str, Any]:
    """Return the mean and the standard deviation of each variant, and the difference of the first two."""
    summary: dict[str, Any] = {}
    for variant, cases in by_variant.items():
        attempts = [result for results in cases.values() for result in results if result.failure is None]
        rates = [grading["summary"]["pass_rate"] for grading in map(_grading, attempts)]
        summary[_variant_name(variant)] = {
            "pass_rate": _mean(rates),
            "time_seconds": _mean([_value(result, _SECONDS) for result in attempts]),
            "tokens": _mean([_value(result, _TOKENS) for result in attempts]),
        }
    names = list(summary)
    if len(names) > 1:
        first, second = summary[names[0]], summary[names[1]]
        summary["delta"] = {key: _subtract(first[key]["mean"], second[key]["mean"]) for key in first}
    return {"run_summary": summary}


def _mean(values: Iterable[float | None]) -> dict[str, float | None]:
    numbers = [value for value in values if value is not None]
    deviation = stdev(numbers) if len(numbers) > 1 else 0.0
    return {"mean": fmean(numbers) if numbers else None, "stddev": deviation if numbers else None}


def _subtract(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second
