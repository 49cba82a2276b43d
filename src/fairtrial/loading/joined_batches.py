"""Join the requests of a batch with their answers, which the services of models write into another file."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from fairtrial.errors import FormatError
from fairtrial.formats import packed
from fairtrial.formats.kinds.model_logs import BATCH, NO_ANSWER, NO_REQUEST
from fairtrial.formats.recognise import Loaded, read
from fairtrial.loading.found_files import can_read_again


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
