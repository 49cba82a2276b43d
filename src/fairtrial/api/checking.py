"""What are these files, and can they be used?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fairtrial import loading
from fairtrial.api.simulation import check_names
from fairtrial.errors import FormatError, collecting
from fairtrial.formats.recognise import Loaded
from fairtrial.llm.model_options import ModelOptions
from fairtrial.records.record import Record
from fairtrial.reports.numbers import count
from fairtrial.simulate.user import check_persona

_PATTERNS = ("*.json", "*.jsonl", "eval_config.y*ml")


class Checked(Record, frozen=True):
    """One file: what it is and holds, what makes it unusable, and what else is worth knowing."""

    path: str
    what: str
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def check(paths: Sequence[str], *, lenient: bool = False) -> Iterator[Checked]:
    """Yield each file, of a folder all its JSON."""
    for given in paths:
        path = Path(given)
        if not path.is_dir():
            yield _checked(path, lenient=lenient)
            continue
        files = sorted(one for pattern in _PATTERNS for one in path.rglob(pattern) if one.is_file())
        for file in files:
            yield _checked(file, lenient=lenient)
        if not files:
            yield Checked(str(path), "cannot be read", (f"holds no {' or '.join(_PATTERNS)}",))


def _checked(path: Path, *, lenient: bool) -> Checked:
    try:
        loaded, _ = loading.read_file(path, lenient=lenient)
    except FormatError as error:
        return Checked(str(path), "cannot be read", error.problems)
    warnings = tuple(warning.removeprefix(f"{path}: ") for warning in loaded.warnings)
    problems: list[str] = []
    if loaded.config is None:
        for case in loaded.eval_set.cases if loaded.eval_set else ():
            with collecting(problems):
                check_persona(case)
        return Checked(str(path), f"{loaded.kind}, {_held(loaded)}", tuple(problems), warnings)
    what = f"EvalConfig, criteria: {', '.join(one.name for one in loaded.config.criteria)}"
    with collecting(problems):
        made = loading.criteria_of(loaded.config, origin=str(path), lenient=lenient)
        warnings = (*warnings, *made.warnings)
        check_names(made, ModelOptions())
    return Checked(str(path), what, tuple(problem.removeprefix(f"{path}: ") for problem in problems), warnings)


def _held(loaded: Loaded) -> str:
    counts = []
    if loaded.eval_set is not None:
        counts.append(count(len(loaded.eval_set.cases), "case"))
    if loaded.recordings:
        counts.append(count(len(loaded.recordings), "recording"))
    return ", ".join(counts)
