"""Join the spans of several files of a data set into conversations, in files that workers read on their own.

The spans of a conversation may stand in any of the files. They go through a temporary database, so that memory does not
grow with them, and every conversation ends in the part that a hash of its id decides. A part changes only if one of its
conversations changes, so that late spans cost only the parts of their conversations.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

from msgspec.structs import replace

from fairtrial.errors import FormatError
from fairtrial.formats import recordings
from fairtrial.formats.conversation.options import TraceOptions
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans import large_files
from fairtrial.formats.spans.large_files import LargeFile, large_file
from fairtrial.loading import shards as shard_cutting
from fairtrial.loading.data_files import is_url, open_data_file
from fairtrial.loading.object_folders import ObjectFolder
from fairtrial.loading.shards import SPANS, Shard, group_small_files
from fairtrial.loading.span_spool import SpanSpool
from fairtrial.records.attempt import Recording
from fairtrial.records.decoding import json_decoder
from fairtrial.records.record import Record

_MOST_PARTS = 256
"""So many parts are open at once."""
INPUTS = "inputs"
"""The folder inside the results with what was fetched or joined before it was scored."""
_FOLDER = "conversations"
_COUNT = "parts"


class JoinedSpans(Record, frozen=True):
    """The conversations in the spans of some files.

    `shards` are the parts, with the digest of each in `versions`. `late` are the ids of conversations that changed
    since the parts were written before, and `warnings` say what is missing.
    """

    shards: tuple[Shard, ...]
    versions: tuple[str, ...]
    paths: frozenset[str]
    late: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def join_span_files(shards: Sequence[Shard], folder: Path, options: TraceOptions) -> JoinedSpans | None:
    """Return the conversations in the shards whose item is `SPANS`, with their parts below a folder.

    None if no file holds spans, or a single small one, which its worker reads as a whole.
    """
    whole = [shard for shard in shards if shard.item == SPANS]
    with TemporaryDirectory(prefix="fairtrial-spans-") as copies:
        files = {shard.path: spans for shard in whole if (spans := _spans_in(shard, Path(copies))) is not None}
        size = sum(shard.size for shard in whole if shard.path in files)
        if not files or (len(files) == 1 and size <= large_files.LARGE):
            return None
        spool, paths = SpanSpool(options), set()
        for path, spans in files.items():
            try:
                spool.add(spans)
            except FormatError:
                continue  # its worker refuses it with the reason
            paths.add(path)
        reading = Diagnostics(str(folder))
        conversations = spool.read_recordings(reading)
    return _write(conversations, folder / _FOLDER, size, reading, frozenset(paths))


def join_into_objects(shards: Sequence[Shard], objects: ObjectFolder, options: TraceOptions) -> JoinedSpans | None:
    """Return the same conversations, with their parts in a folder of an object store, from which workers read them."""
    if not any(shard.item == SPANS for shard in shards):
        return None
    with TemporaryDirectory(prefix="fairtrial-inputs-") as name:
        objects.download(Path(name), [INPUTS])
        joined = join_span_files(shards, Path(name) / INPUTS, options)
        if joined is None:
            return None
        objects.upload(Path(name), f"{INPUTS}/{_FOLDER}/*")
        parts = (
            replace(shard, path=objects.make_url(f"{INPUTS}/{_FOLDER}/{Path(shard.path).name}"))
            for shard in joined.shards
        )
        return replace(joined, shards=tuple(parts))


def _spans_in(shard: Shard, copies: Path) -> LargeFile | None:
    """Return the spans of a file, or None if it holds something else. An object of a store is copied first."""
    if not is_url(shard.path):
        return large_file(Path(shard.path), limit=-1)
    path = copies / f"{shard.number}"
    with open_data_file(shard.path) as stream, path.open("wb") as copy:
        shutil.copyfileobj(stream, copy)
    return large_file(path, limit=-1, name=shard.path)


def _write(
    conversations: Iterable[Recording], folder: Path, size: int, reading: Diagnostics, paths: frozenset[str]
) -> JoinedSpans:
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / _COUNT
    count = int(note.read_text()) if note.exists() else min(_MOST_PARTS, -(-size // shard_cutting.SHARD_BYTES) or 1)
    note.write_text(str(count))
    names = [folder / f"part-{number:04d}.jsonl" for number in range(count)]
    halves = [name.with_suffix(".half") for name in names]
    with ExitStack() as stack:
        files = [stack.enter_context(half.open("wb")) for half in halves]
        for recording in conversations:
            part = crc32(recording.case_id.encode("utf-8", "surrogatepass")) % count
            files[part].write(recordings.line(recording))
    late: list[str] = []
    versions = []
    for name, half in zip(names, halves, strict=True):
        late += _find_changes(name, half) if name.exists() else ()
        with half.open("rb") as file:
            versions.append(hashlib.file_digest(file, "sha256").hexdigest())
        half.replace(name)
    shards = tuple(
        Shard(number, str(name), (length := name.stat().st_size), "lines", "recordings", "", 0, length)
        for number, name in enumerate(names)
    )
    return JoinedSpans(shards, tuple(versions), paths, tuple(late), tuple(reading.warnings))


def _find_changes(before: Path, after: Path) -> Iterator[str]:
    """Yield the ids of the conversations that two files hold in different forms."""
    earlier = dict(_digests(before))
    for case_id, digest in _digests(after):
        if earlier.get(case_id, digest) != digest:
            yield case_id


def _digests(path: Path) -> Iterator[tuple[str, bytes]]:
    with path.open("rb") as file:
        for line in file:
            yield json_decoder(_CaseLine).decode(line).case_id, hashlib.blake2b(line, digest_size=16).digest()


class _CaseLine(Record, frozen=True):
    case_id: str


def renumber(joined: JoinedSpans, shards: Iterable[Shard]) -> tuple[Shard, ...]:
    """Return the parts, and the shards of all other files. The parts come first: their number never changes."""
    remaining = group_small_files(shard for shard in shards if shard.path not in joined.paths)
    start = len(joined.shards)
    return (*joined.shards, *(replace(shard, number=number) for number, shard in enumerate(remaining, start)))
