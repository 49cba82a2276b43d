"""Read the files that the user named, with their recognised contents."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from fairtrial.errors import FormatError, OtherContentError, UsageError, spell
from fairtrial.formats import packed
from fairtrial.formats.chats.joined_requests import RequestJoiner, joined_message
from fairtrial.formats.conversation.options import DEFAULTS, TraceOptions
from fairtrial.formats.loaded import BATCH, NO_ANSWER, NO_REQUEST, TABLE, Loaded
from fairtrial.formats.reading import NO_COLUMNS, strip_suffixes
from fairtrial.formats.real_tools import with_real_tools
from fairtrial.formats.recognise import read
from fairtrial.formats.spans import large_files
from fairtrial.formats.spans.large_files import large_file
from fairtrial.loading.folders import with_agents
from fairtrial.loading.found_files import (
    FoundFile,
    can_read_again,
    check_name,
    find_files,
    large_eval_set,
    name_some,
    read_stream,
)
from fairtrial.loading.skill_folders import read_suite
from fairtrial.loading.span_files import with_conversations
from fairtrial.loading.spooled_recordings import SpooledRecordings
from fairtrial.records.case import EvalSet
from fairtrial.records.record import Record
from fairtrial.text.display import count

_FEWEST_REQUESTS = 2


class Source(Record, frozen=True):
    """The content of a file, the folder that the file was searched in, and the digest of its bytes."""

    loaded: Loaded
    root: str
    sha256: str
    only: tuple[str, ...] = ()

    def with_warning(self, warning: str) -> Source:
        """Return the content with one more warning."""
        return replace(self, loaded=replace(self.loaded, warnings=(*self.loaded.warnings, warning)))


def as_source(file: FoundFile, loaded: Loaded, sha256: str) -> Source:
    """Return the content of a file as a source, with the warnings about its folder."""
    return Source(replace(loaded, warnings=(*file.notes, *loaded.warnings)), file.root, sha256, file.only)


def read_file(
    path: Path, *, lenient: bool = False, columns: Mapping[str, str] = NO_COLUMNS, as_reference: bool = False
) -> Loaded:
    """Return the content of a file, or of standard input. Raises FormatError."""
    loaded, _ = read_part(path, lenient=lenient, columns=columns, hashed=False, as_reference=as_reference)
    return with_conversations([loaded], DEFAULTS)[0] if loaded.spans else loaded


def read_part(
    path: Path,
    *,
    lenient: bool = False,
    columns: Mapping[str, str] = NO_COLUMNS,
    hashed: bool = True,
    as_reference: bool = False,
) -> tuple[Loaded, str]:
    """Return the content of a file as `read_file` does, but spans are not made into recordings yet.

    The text is the SHA-256 of the file. It may be empty if nobody needs the file to be `hashed`.
    """
    check_name(path)
    if (spans := large_file(path)) is not None:
        return Loaded(str(path), spans.kind, spans=spans), hash_file(path) if hashed else ""
    try:
        if (eval_set := large_eval_set(path, lenient=lenient, columns=columns, hashed=hashed)) is not None:
            return eval_set
        if not can_read_again(path):
            content = read_stream(path)
            if content.spans is not None:
                return Loaded(str(path), content.spans.kind, spans=content.spans), content.sha256
            loaded = read(content.data, str(path), lenient=lenient, columns=columns, as_reference=as_reference)
            return loaded, content.sha256
        data = with_agents(path, path.read_bytes())
    except OSError as error:
        raise FormatError(str(path), [error.strerror or str(error)]) from None
    if (suite := read_suite(path, data, lenient=lenient)) is not None:
        return suite
    loaded = read(data, str(path), lenient=lenient, columns=columns, as_reference=as_reference)
    return loaded, hashlib.sha256(data).hexdigest() if hashed else ""


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file that is too large for memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sources(
    paths: Sequence[str | Path],
    *,
    lenient: bool = False,
    columns: Mapping[str, str] = NO_COLUMNS,
    recorded: bool = False,
    traces: TraceOptions = DEFAULTS,
) -> list[Source]:
    """Return the content of the files at paths. In a folder, names decide: `*.evalset.json`, for example.

    With `recorded`, files with recordings count too. Raises an error that lists the problems of all files at once.
    """

    def read_source(file: FoundFile, _number: int) -> Source:
        loaded, digest = read_part(file.path, lenient=lenient, columns=columns, as_reference=not recorded)
        check_useful(loaded, recorded=recorded)
        return as_source(file, loaded, digest)

    return join_spans(read_each(paths, read_source, recorded=recorded), traces)


def join_spans(sources: list[Source], traces: TraceOptions) -> list[Source]:
    """Return files with the recordings in their spans. The spans of all files are one body of data.

    The abandoned branches of sessions are recordings only if `traces` says so.
    """
    if are_batches([source.loaded for source in sources]):
        files = with_joined_batches([source.loaded for source in sources])
        sources = [replace(source, loaded=loaded) for source, loaded in zip(sources, files, strict=True)]
    if traces.join == "history":
        sources = _with_joined_requests(sources)
    if traces.branches == "all":
        sources = [replace(source, loaded=_with_branches(source.loaded)) for source in sources]
    with_spans = [source for source in sources if source.loaded.spans]
    contents = iter(with_conversations([source.loaded for source in with_spans], traces))
    whole = [replace(source, loaded=next(contents)) if source.loaded.spans else source for source in sources]
    return [_with_real_tools(source, traces) for source in whole] if traces.tool_names else whole


def _with_joined_requests(sources: list[Source]) -> list[Source]:
    """Return files of message lists without the requests that a later request repeats, in the same file or another."""
    lists = [source.loaded for source in sources if source.loaded.eval_set is None and source.loaded.recordings]
    if sum(len(loaded.recordings) for loaded in lists) < _FEWEST_REQUESTS:
        return sources
    joiner = RequestJoiner[None]()
    requests = [
        each
        for loaded in lists
        for recording in loaded.recordings
        for each in joiner.add(None, strip_suffixes(loaded.path), recording)
    ]
    kept = {id(recording) for _, recording in (*requests, *joiner.finish())}
    if not joiner.count:
        return sources
    joined = [
        replace(
            source, loaded=replace(source.loaded, recordings=tuple(each for each in recordings if id(each) in kept))
        )
        if (recordings := source.loaded.recordings) and source.loaded.eval_set is None
        else source
        for source in sources
    ]
    first = next(i for i, source in enumerate(sources) if source.loaded is lists[0])
    joined[first] = joined[first].with_warning(f"{lists[0].path}: {joined_message(joiner.count)}")
    return joined


def _with_real_tools(source: Source, traces: TraceOptions) -> Source:
    if isinstance(source.loaded.recordings, SpooledRecordings):
        return source  # the names were set when the recordings were made
    recordings = tuple(with_real_tools(recording, traces.tool_names) for recording in source.loaded.recordings)
    return replace(source, loaded=replace(source.loaded, recordings=recordings))


def _with_branches(loaded: Loaded) -> Loaded:
    return replace(loaded, recordings=(*loaded.recordings, *loaded.branches), branches=())


def read_each(
    paths: Sequence[str | Path], read_source: Callable[[FoundFile, int], Source], *, recorded: bool
) -> list[Source]:
    """Return the source that a function reads from each file. The function also gets the number of the file, from 0.

    Raises FormatError or UsageError with the problems of all files at once.
    """
    contents: list[Source] = []
    span_bytes = 0
    problems: list[FormatError] = []
    other_files: list[str] = []
    for file in find_files(paths, recorded=recorded):
        try:
            source = read_source(file, len(contents))
            if isinstance(source.loaded.spans, tuple) and source.loaded.spans and can_read_again(file.path):
                span_bytes += file.path.stat().st_size
                source = _without_spans_in_memory(source, file.path) if span_bytes > large_files.LARGE else source
            contents.append(source)
        except OtherContentError as error:
            if file.is_in_folder:
                other_files.append(str(file.path))
            else:
                problems.append(error)
        except FormatError as error:
            problems.append(error)
    if other_files and contents:
        contents[0] = contents[0].with_warning(
            f"no recordings are in {count(len(other_files), 'file')}: {name_some(other_files)}"
        )
    elif other_files and not problems:
        raise UsageError(f"no recordings are in {name_some(other_files)}", code="other-content")
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise UsageError("\n".join(str(problem) for problem in problems))
    return contents


def _without_spans_in_memory(source: Source, path: Path) -> Source:
    """Return a file of spans that reads them again when they are needed. Many small files are as large as one."""
    spans = large_file(path, limit=0)
    return source if spans is None else replace(source, loaded=replace(source.loaded, spans=spans))


def check_useful(loaded: Loaded, *, recorded: bool) -> None:
    """Raise FormatError for a file without an eval set. With `recorded`, a file may hold recordings instead.

    An eval set alone may have been recorded, but a table without a column of replies was not.
    """
    if loaded.kind == TABLE:
        _check_useful_table(loaded, recorded=recorded)
    elif loaded.eval_set is None and not (recorded and (loaded.recordings or loaded.spans)):
        requirement = "recordings are" if recorded else "an eval set is"
        raise OtherContentError(loaded.path, [f"holds {loaded.kind}, but {requirement} needed"])


def _check_useful_table(loaded: Loaded, *, recorded: bool) -> None:
    if recorded and not loaded.recordings:
        advice = f"write {spell('columns')} reply=COLUMN, or give the file to {spell('eval_set')}"
        raise OtherContentError(loaded.path, [f"holds a table without the agent's replies; {advice}"])
    if not recorded and loaded.eval_set is None:
        raise OtherContentError(
            loaded.path, [f"holds a table without the user's messages; write {spell('columns')} input=COLUMN"]
        )


def merge_sources(sources: Sequence[Source]) -> list[Source]:
    """Return the files, but merge files that recorded the same eval set, so that their recordings are attempts.

    Two sets are the same if they have the same id, and expect the same of every case that both hold.
    """
    merged: list[Source] = []
    # A folder may hold very many files, and only those with the same id are compared.
    places: dict[str, list[int]] = defaultdict(list)
    for source in sources:
        eval_set = source.loaded.eval_set
        candidates = places[eval_set.id] if eval_set is not None and eval_set.id else []
        home = next((place for place in candidates if _same_set(merged[place], source)), None)
        if home is None:
            candidates.append(len(merged))
            merged.append(source)
        else:
            merged[home] = _join(merged[home], source)
    return merged


def _same_set(first: Source, second: Source) -> bool:
    first_set, second_set = first.loaded.eval_set, second.loaded.eval_set
    if first_set is None or second_set is None:
        return False
    if first.only or second.only or not (first.loaded.recordings and second.loaded.recordings):
        return False
    cases = {case.id: case for case in first_set.cases}
    return all(cases.get(case.id, case) == case for case in second_set.cases)


def _join(first: Source, second: Source) -> Source:
    first_set, second_set = first.loaded.eval_set or EvalSet(""), second.loaded.eval_set or EvalSet("")
    ids = {case.id for case in first_set.cases}
    cases = (*first_set.cases, *(case for case in second_set.cases if case.id not in ids))
    loaded = replace(
        first.loaded,
        eval_set=replace(first_set, cases=cases),
        recordings=(*first.loaded.recordings, *second.loaded.recordings),
        warnings=(*first.loaded.warnings, *second.loaded.warnings),
    )
    return replace(first, loaded=loaded)


def are_batches(files: list[Loaded]) -> bool:
    """Whether several files hold requests or answers of batches."""
    return sum(loaded.kind == BATCH for loaded in files) > 1


def with_joined_batches(files: list[Loaded]) -> list[Loaded]:
    """Return files with the requests and answers of all batches joined by their ids. The first batch holds them.

    If two requests or two answers have the same id, they may belong to different batches, and the files stay as they
    are: each request then lacks its answer.
    """
    batches = [loaded for loaded in files if loaded.kind == BATCH and can_read_again(Path(loaded.path))]
    if len(batches) < 2 or not _are_halves(batches):
        return files
    first = batches[0]
    try:
        whole = read(b"\n".join(_read_bytes(loaded.path) for loaded in batches), first.path)
    except FormatError:  # documents, and not lines
        return files
    joined = replace(first, recordings=whole.recordings, warnings=(*first.warnings, *whole.warnings))
    return [
        joined if loaded is first else replace(loaded, recordings=()) if loaded in batches else loaded
        for loaded in files
    ]


def _are_halves(batches: list[Loaded]) -> bool:
    """Whether some requests have their answers in another file, and no id is that of two requests or two answers."""
    ids: dict[str, list[str]] = {NO_ANSWER: [], NO_REQUEST: [], "": []}
    for loaded in batches:
        for recording in loaded.recordings:
            cause = str(recording.failure.cause) if recording.failure is not None else ""
            ids[cause if cause in ids else ""].append(recording.case_id)
    requests, answers = ids[NO_ANSWER], ids[NO_REQUEST]
    are_unique = len({*requests}) == len(requests) and len({*answers}) == len(answers)
    return are_unique and not {*requests}.isdisjoint(answers) and {*requests, *answers}.isdisjoint(ids[""])


def _read_bytes(path: str) -> bytes:
    data = Path(path).read_bytes()
    return packed.unpacked(data, path) if packed.packing_at(data) else data
