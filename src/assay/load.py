"""Files -> eval sets, criteria, recordings."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from assay.data.case import EvalCase, EvalSet
from assay.data.config import CriterionSpec, EvalConfig
from assay.data.noun import Json, Noun
from assay.data.outcome import Criterion
from assay.data.recording import Failure, Recording
from assay.data.trace import Trace
from assay.data.work import Pair, Work
from assay.errors import ConfigError, FormatError, UsageError, collecting, nearest
from assay.formats.recognise import Loaded, read
from assay.judge.judges import Judges
from assay.metrics.catalog import build
from assay.simulate.environment_options import EnvironmentOptions, environment_options
from assay.text.globs import fits

Match = Literal["id", "session", "order"]
Heard = Recording | EvalCase
"""A recording, or a case that was itself recorded: its conversation is what happened."""

NO_RECORDING = "no recording"
_CONFIG_NAME = "test_config.json"
_PATTERNS = ("*.test.json", "*.evalset.json")
_RECORDED = (*_PATTERNS, "*.session.json", "*.evalset_result.json", "*.jsonl")
DEFAULT_CONFIG = EvalConfig(
    (
        CriterionSpec("tool_trajectory_avg_score", 1.0, pointer="/criteria/tool_trajectory_avg_score"),
        CriterionSpec("response_match_score", 0.8, pointer="/criteria/response_match_score"),
    )
)


class Source(Noun, frozen=True):
    """One file that was read: what it holds, the folder it was found under, and the digest of its bytes."""

    loaded: Loaded
    root: str
    sha256: str
    only: tuple[str, ...] = ()


class Criteria(Noun, frozen=True):
    """The criteria for a file: where they are from, and what was said while they were read."""

    criteria: tuple[Criterion, ...]
    origin: str
    sha256: str | None = None
    warnings: tuple[str, ...] = ()
    user_simulator: dict[str, Json] | None = None
    environment: EnvironmentOptions | None = None


def read_file(path: Path, *, lenient: bool = False) -> tuple[Loaded, str]:
    """Return what a file holds, and the SHA-256 of its bytes; raises FormatError."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise FormatError(ascii(str(path)), ["has a name that is not UTF-8; rename the file"]) from None
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FormatError(str(path), [error.strerror or str(error)]) from None
    return read(data, str(path), lenient=lenient), hashlib.sha256(data).hexdigest()


def sources(paths: Sequence[str | Path], *, lenient: bool = False, recorded: bool = False) -> list[Source]:
    """Return the files at paths; of a folder those with the names of eval sets (and, `recorded`, of recordings).

    A path that does not exist may be `FILE:case1,case2`, as in ADK. Raises FormatError that lists the problems of all
    files at once.
    """
    found: list[Source] = []
    problems: list[FormatError] = []
    for given in paths:
        path, only = _split(str(given))
        for file in _files(path, _RECORDED if recorded else _PATTERNS):
            try:
                loaded, digest = read_file(file, lenient=lenient)
                _useful(loaded, recorded=recorded)
                found.append(Source(loaded, str(path if path.is_dir() else file.parent), digest, only))
            except FormatError as error:
                problems.append(error)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise UsageError("\n".join(str(problem) for problem in problems))
    return found


def _useful(loaded: Loaded, *, recorded: bool) -> None:
    if loaded.eval_set is None and not (recorded and loaded.recordings):
        raise FormatError(loaded.path, [f"holds {loaded.kind}, where an eval set is needed"])


def _split(given: str) -> tuple[Path, tuple[str, ...]]:
    path, colon, cases = given.rpartition(":")
    if colon and not Path(given).exists() and Path(path).exists():
        return Path(path), tuple(one.strip() for one in cases.split(",") if one.strip())
    return Path(given), ()


def _files(path: Path, patterns: Sequence[str]) -> list[Path]:
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    if not path.is_dir():
        return [path]
    files = sorted({file for pattern in patterns for file in path.rglob(pattern) if file.is_file()})
    if not files:
        raise UsageError(f"{path}: holds no {' or '.join(patterns)}")
    return files


def criteria_of(
    config: EvalConfig,
    *,
    origin: str,
    own: tuple[Criterion, ...] = (),
    lenient: bool = False,
    digest: str | None = None,
    judges: Judges | None = None,
) -> Criteria:
    """Return `own` criteria and those of a configuration; a ConfigError says all that is wrong, and where it is."""
    if not config.criteria and not own:
        raise ConfigError(
            f"{origin}: /criteria: must name at least one criterion, such as {{'tool_trajectory_avg_score': 1.0}}"
        )
    problems: list[str] = []
    environment: EnvironmentOptions | None = None
    unknown: Sequence[str] = ()
    with collecting(problems):
        criteria, warnings = build(config, lenient=lenient, judges=judges)
    with collecting(problems):
        if config.environment is not None:
            environment, unknown = environment_options(config.environment, lenient=lenient)
    if problems:
        raise ConfigError(*(f"{origin}: {problem}" for problem in problems))
    said = tuple(f"{origin}: {warning}" for warning in (*warnings, *unknown))
    return Criteria((*own, *criteria), origin, digest, said, config.user_simulator, environment)


def criteria_in(path: Path, *, lenient: bool = False, judges: Judges | None = None) -> Criteria:
    """Return the criteria that a configuration file asks for."""
    if not path.is_file():
        raise ConfigError(f"{path}: no such configuration file")
    loaded, digest = read_file(path, lenient=lenient)
    if loaded.config is None:
        raise FormatError(str(path), [f"holds {loaded.kind}, where an EvalConfig ({{'criteria': ...}}) is needed"])
    made = criteria_of(loaded.config, origin=str(path), lenient=lenient, digest=digest, judges=judges)
    return replace(made, warnings=(*loaded.warnings, *made.warnings))


def criteria_for(source: Source, *, lenient: bool = False, judges: Judges | None = None) -> Criteria:
    """Return the criteria of the nearest `test_config.json`, from beside the file up to where it was looked for.

    Without one, ADK's defaults.
    """
    folder = Path(source.loaded.path).parent
    while True:
        if (folder / _CONFIG_NAME).is_file():
            return criteria_in(folder / _CONFIG_NAME, lenient=lenient, judges=judges)
        if folder == Path(source.root) or folder == folder.parent:
            return criteria_of(DEFAULT_CONFIG, origin="defaults")
        folder = folder.parent


class Wanted(Noun, frozen=True):
    """An eval set with what its configuration says; `only` are globs for the ids of its cases, none for all."""

    eval_set: EvalSet
    criteria: tuple[Criterion, ...]
    only: tuple[str, ...] = ()
    user_simulator: dict[str, Json] | None = None
    environment: EnvironmentOptions | None = None


def works(wanted: Sequence[Wanted]) -> list[Work]:
    """Return all cases in file order, chosen or not; ids that several sets share are told apart by the set's."""
    ids = _unique_ids(wanted)
    todo: list[Work] = []
    for one in wanted:
        for case in one.eval_set.cases:
            todo.append(Work(len(todo), ids[len(todo)], case, one.criteria, one.eval_set.id))
    return todo


def chosen(todo: list[Work], wanted: Sequence[Wanted], only: Sequence[str] = ()) -> list[Work]:
    """Return the cases whose id matches a glob of `only`, and of their own set's.

    Raises UsageError for a glob that matches nothing.
    """
    if not only and not any(one.only for one in wanted):
        return todo
    _check_globs(only, [(work.case.id, work.id) for work in todo])
    own: list[tuple[str, ...]] = []
    for one in wanted:
        _check_globs(one.only, [(case.id, case.id) for case in one.eval_set.cases])
        own += [one.only] * len(one.eval_set.cases)
    return [
        work
        for work, globs in zip(todo, own, strict=True)
        if _matches((work.case.id, work.id), only) and _matches((work.case.id,), globs)
    ]


def _unique_ids(wanted: Sequence[Wanted]) -> list[str]:
    plain = [case.id for one in wanted for case in one.eval_set.cases]
    if len(set(plain)) == len(plain):
        return plain
    shared = Counter(plain)
    sets = (one.eval_set.id for one in wanted for _ in one.eval_set.cases)
    long = [
        case_id if shared[case_id] == 1 else f"{set_id}:{case_id}" for set_id, case_id in zip(sets, plain, strict=True)
    ]
    counts, seen = Counter(long), Counter[str]()
    unique: list[str] = []
    for name in long:
        seen[name] += 1
        unique.append(name if counts[name] == 1 else f"{name}#{seen[name]}")
    return unique


def _matches(names: Sequence[str], globs: Sequence[str]) -> bool:
    return not globs or any(fits(name, glob) for name in names for glob in globs)


def _check_globs(globs: Sequence[str], names: Sequence[tuple[str, str]]) -> None:
    for glob in globs:
        if not any(_matches(pair, [glob]) for pair in names):
            known = nearest(glob, [name for name, _ in names]) or f"; there are {len(names)} cases"
            raise UsageError(f"no case matches {glob!r}{known}")


def heard_in(found: Sequence[Source]) -> list[Heard]:
    """Return what the files recorded, in order; an eval set without recordings is one: its conversations happened."""
    heard: list[Heard] = []
    for source in found:
        loaded = source.loaded
        heard += loaded.recordings or (loaded.eval_set or EvalSet("")).cases
    return heard


def as_recording(heard: Heard) -> Recording:
    """Return a recording, or the conversation of a case, as something that happened."""
    if isinstance(heard, Recording):
        return heard
    session = (heard.session_input.extra or {}).get("session_id", "") if heard.session_input else ""
    return Recording(heard.id, Trace(heard.conversation or (), str(session or "")))


def without_reference(eval_set: EvalSet) -> EvalSet:
    """Return an eval set that was itself recorded: its conversations are what happened, not what was expected."""
    return replace(eval_set, cases=tuple(replace(case, conversation=None) for case in eval_set.cases))


class Recorded(Noun, frozen=True):
    """Cases with what answers them, the attempts of a case one after another; None: nobody recorded the case.

    Recordings are made of it as they are asked for, so that a large run does not hold them all.
    """

    works: tuple[Work, ...] = ()
    heard: tuple[Heard | None, ...] = ()

    def __len__(self) -> int:
        return len(self.works)

    def __iter__(self) -> Iterator[Pair]:
        pairs = zip(self.works, self.heard, strict=True)
        for _, attempts in groupby(pairs, key=lambda pair: pair[0].position):
            for attempt, (work, heard) in enumerate(attempts, 1):
                if heard is None:
                    failure = Failure("infrastructure", NO_RECORDING)
                    yield work, Recording(work.id, Trace(), failure=failure, ended_by="failure")
                else:
                    yield work, replace(as_recording(heard), case_id=work.id, attempt=attempt)

    def of(self, works: Sequence[Work]) -> Recorded:
        """Return what answers these cases."""
        kept = {work.position for work in works}
        pairs = [pair for pair in zip(self.works, self.heard, strict=True) if pair[0].position in kept]
        return Recorded(tuple(work for work, _ in pairs), tuple(heard for _, heard in pairs))


def match(todo: Sequence[Work], heard: Sequence[Heard], *, by: Match = "id") -> tuple[Recorded, list[str]]:
    """Return the recordings beside the cases that they answer, and a warning for each that answers none.

    Several recordings of a case are its attempts 1..n in order. A case without recording gets one that failed for want
    of infrastructure. `by`: the case's id; the session's id (the case's pinned session, or its id); or the order.
    """
    found = _homes(todo, heard, by)
    left = [as_recording(one) for one, work in zip(heard, found, strict=True) if work is None]
    works = [work for work in found if work is not None]
    answers: list[Heard | None] = [one for one, work in zip(heard, found, strict=True) if work is not None]
    answered = {work.position for work in works}
    works += [work for work in todo if work.position not in answered]
    answers += [None] * (len(works) - len(answers))
    order = sorted(range(len(works)), key=lambda i: works[i].position)
    recorded = Recorded(tuple([works[i] for i in order]), tuple([answers[i] for i in order]))
    return recorded, [f"recording {one.case_id or one.trace.session_id!r} belongs to no case" for one in left]


def _homes(todo: Sequence[Work], heard: Sequence[Heard], by: Match) -> list[Work | None]:
    """Return for each recording the case that it answers: the one it names, by the case's own id or its unique one."""
    home: dict[str, Work] = {}
    for i, work in enumerate(todo):
        home.setdefault(_key(work, i, by), work)
    if by != "order":
        for work in todo:
            home.setdefault(work.id, work)
    return [home.get(_said(one, i, by)) for i, one in enumerate(heard)]


def together(found: Sequence[Source]) -> list[Source]:
    """Return the files with those that recorded the same eval set made one, so that its recordings are attempts.

    The same is a set with the same id, and the same expectation of every case that both hold.
    """
    merged: list[Source] = []
    for source in found:
        home = next((i for i, one in enumerate(merged) if _same_set(one, source)), None)
        if home is None:
            merged.append(source)
        else:
            merged[home] = _joined(merged[home], source)
    return merged


def _same_set(one: Source, other: Source) -> bool:
    ours, theirs = one.loaded.eval_set, other.loaded.eval_set
    if ours is None or theirs is None or not (ours.id and ours.id == theirs.id) or one.only or other.only:
        return False
    known = {case.id: case for case in ours.cases}
    recorded = one.loaded.recordings and other.loaded.recordings
    return bool(recorded) and all(known.get(case.id, case) == case for case in theirs.cases)


def _joined(one: Source, other: Source) -> Source:
    ours, theirs = one.loaded.eval_set or EvalSet(""), other.loaded.eval_set or EvalSet("")
    known = {case.id for case in ours.cases}
    cases = (*ours.cases, *(case for case in theirs.cases if case.id not in known))
    loaded = replace(
        one.loaded,
        eval_set=replace(ours, cases=cases),
        recordings=(*one.loaded.recordings, *other.loaded.recordings),
        warnings=(*one.loaded.warnings, *other.loaded.warnings),
    )
    return replace(one, loaded=loaded)


def match_each(
    todo: Sequence[Work], wanted: Sequence[Wanted], found: Sequence[Source], *, by: Match = "id"
) -> tuple[Recorded, list[str]]:
    """Return the recordings of each file beside the cases of the same file; the rest is as in `match`."""
    works: list[Work] = []
    heard: list[Heard | None] = []
    warnings: list[str] = []
    start = 0
    for one, source in zip(wanted, found, strict=True):
        end = start + len(one.eval_set.cases)
        matched, said = match(todo[start:end], heard_in([source]), by=by)
        works += matched.works
        heard += matched.heard
        warnings += said
        start = end
    return Recorded(tuple(works), tuple(heard)), warnings


def told_apart(todo: Sequence[Work], found: Sequence[Source]) -> list[Heard]:
    """Return what the files recorded; where eval sets share the id of a case, a recording names its set too."""
    shared = {work.case.id for work in todo if work.id != work.case.id}
    if not shared:
        return heard_in(found)
    ids = {work.id for work in todo}
    heard: list[Heard] = []
    for source in found:
        eval_set = source.loaded.eval_set
        for one in map(as_recording, heard_in([source])):
            full = f"{eval_set.id}:{one.case_id}" if eval_set else ""
            named = one.case_id in shared and full in ids
            heard.append(replace(one, case_id=full) if named else one)
    return heard


def _key(work: Work, i: int, by: Match) -> str:
    if by == "session":
        return as_recording(work.case).trace.session_id or work.case.id
    return work.case.id if by == "id" else str(i)


def _said(one: Heard, i: int, by: Match) -> str:
    if by == "session":
        return as_recording(one).trace.session_id
    if by == "id":
        return one.case_id if isinstance(one, Recording) else one.id
    return str(i)
