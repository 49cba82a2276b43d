"""A run as SARIF 2.1.0, which code scanning reads: each failed outcome is a result at the line of its case."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from fairtrial.metrics.entries import CATALOG
from fairtrial.records.result import CaseResult, Outcome, Verdict
from fairtrial.reports.report_table import DEFAULTS, ReportedRun, ReportOptions
from fairtrial.text.display import shorten, visible
from fairtrial.text.redaction.redact import without_secrets
from fairtrial.version import __version__

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.expectation import ExpectedCase

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LONGEST = 1_000
_SEVERE = "8.0"
"""The severity of a successful attack. From 7.0 on, code scanning calls it high."""
_MOST_BYTES = 10_000_000


def write(target: BinaryIO, run: ReportedRun, options: ReportOptions = DEFAULTS) -> None:  # noqa: ARG001
    """Write the failed outcomes of a run."""
    expected = {case.position: case for case in run.expected}
    files = _CaseLines([str(path) for path, _ in run.info.config.get("eval_sets") or ()])
    results = [_result(item, outcome, expected.get(item.position), files) for item, outcome in _list_failures(run)]
    names = sorted({str(result["ruleId"]) for result in results})
    driver = {"name": "fairtrial", "version": __version__, "rules": list(map(_rule, names))}
    document = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "automationDetails": {"id": f"fairtrial/{run.info.kind}/"},
                "results": results,
                "columnKind": "unicodeCodePoints",
            }
        ],
    }
    target.write(json.dumps(document, indent=2, ensure_ascii=True).encode("ascii"))


def _list_failures(run: ReportedRun) -> Iterator[tuple[CaseResult, Outcome]]:
    for result in run.cases:
        for outcome in result.outcomes:
            if outcome.verdict is Verdict.FAILED:
                yield result, outcome


def _result(result: CaseResult, outcome: Outcome, expected: ExpectedCase | None, files: _CaseLines) -> dict[str, Any]:
    case = expected.case if expected is not None else None
    rule = _rule_id(outcome, case)
    reason = outcome.score.reason or next((part.reason for part in outcome.score.parts if part.value == 0), "")
    text = f"{result.title}: {outcome.criterion}: {reason or 'failed'}"
    path, line = files.find(_own_id(result.case_id, case))
    key = f"{result.eval_set}\0{result.case_id}\0{outcome.criterion}"
    properties: dict[str, Any] = {"attempt": result.attempt, "criterion": outcome.criterion}
    if case is not None and case.attack is not None:
        attack = case.attack
        properties |= {"attack": attack.template, "place": attack.place, "language": attack.language}
        properties["planted"] = _clean(attack.text)
    return {
        "ruleId": rule,
        "level": "error",
        "message": {"text": _clean(text)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": path, "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": line},
                },
                "logicalLocations": [{"name": _clean(result.case_id), "kind": "member"}],
            }
        ],
        "partialFingerprints": {"caseAndCriterion/v1": hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()},
        "properties": properties,
    }


def _own_id(case_id: str, case: EvalCase | None) -> str:
    """Return the id that stands in the file. An attacked case has the name of its attack behind it."""
    return case_id.partition("+")[0] if case is not None and case.attack is not None else case_id


def _rule_id(outcome: Outcome, case: EvalCase | None) -> str:
    attack = case.attack if case is not None else None
    if attack is None or attack.goal is None or outcome.criterion != "attack_success_v1":
        return outcome.criterion
    return f"attack/{attack.goal.kind}"


def _rule(name: str) -> dict[str, Any]:
    entry = CATALOG.get("attack_success_v1" if name.startswith("attack/") else name)
    summary, purpose = (entry.summary, entry.when) if entry else (name, "A criterion of your own configuration.")
    rule: dict[str, Any] = {
        "id": name,
        "shortDescription": {"text": _clean(summary)},
        "fullDescription": {"text": purpose},
        "help": {"text": f"{purpose} `fairtrial show RUN CASE` shows the conversation."},
    }
    if name.startswith("attack/"):
        rule["properties"] = {"security-severity": _SEVERE, "tags": ["security", "prompt-injection"]}
    return rule


def _clean(text: str) -> str:
    return shorten(visible(without_secrets(text)), _LONGEST)


class _CaseLines:
    """Finds the line of a case in the files of its run. Files that cannot be read have the line 1."""

    def __init__(self, paths: list[str]) -> None:
        self._texts = {path: _read_text(Path(path)) for path in paths}

    def find(self, case_id: str) -> tuple[str, int]:
        """Return the file and the line in which the id of a case stands first."""
        for path, text in self._texts.items():
            for quoted in (json.dumps(case_id), json.dumps(case_id, ensure_ascii=False), case_id):
                place = text.find(quoted)
                if place >= 0:
                    return _uri(path), text.count("\n", 0, place) + 1
        return _uri(next(iter(self._texts), "eval-set")), 1


def _read_text(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST_BYTES:
            return ""
        return path.read_text("utf-8", errors="replace")
    except (OSError, ValueError):
        return ""


def _uri(path: str) -> str:
    whole = Path(path)
    if whole.is_absolute():
        try:
            whole = whole.relative_to(Path.cwd())
        except ValueError:
            return whole.as_uri()
    return whole.as_posix().replace(" ", "%20")
