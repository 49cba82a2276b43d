"""Spans on standard input and in pipes are read like those in files, and without holding them."""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from fairtrial import loading
from fairtrial.errors import FormatError
from fairtrial.formats.spans import large_files
from fairtrial.formats.spans.large_files import LargeFile
from fairtrial.loading.found_files import read_stream
from fairtrial.records.attempt import Recording
from span_files import call, otlp

STDIN = Path("-")
LINES = b"\n".join(
    json.dumps(otlp(call(number, ["hi"], f"hello {number}", **{"gen_ai.conversation.id": str(number)}))).encode()
    for number in range(1, 4)
)


@pytest.fixture
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of temporary files, which is empty, and in which every stream is large."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(large_files, "LARGE", 100)
    return folder


def give(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Make bytes the standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def recordings_in(path: Path) -> list[Recording]:
    """Return the recordings of a file or a stream."""
    (source,) = loading.sources([path], recorded=True)
    return list(source.loaded.recordings)


def test_spans_of_a_large_stream_stay_in_a_temporary_file(
    temporary_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the spans of a stream are needed, they are on disk and not in memory. Afterwards the file is gone."""
    give(monkeypatch, LINES)
    content = read_stream(STDIN)
    assert isinstance(content.spans, LargeFile)
    assert content.data == b""
    (file,) = temporary_folder.iterdir()
    assert file.read_bytes() == LINES
    assert len([*content.spans]) == 3
    del content
    assert not [*temporary_folder.iterdir()]


def test_a_large_stream_has_the_recordings_of_a_file(
    tmp_path: Path, temporary_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bytes give the same recordings and the same digest, from a file and from standard input."""
    file = tmp_path / "spans.jsonl"
    file.write_bytes(LINES)
    give(monkeypatch, LINES)
    (of_stream,), (of_file,) = (loading.sources([path], recorded=True) for path in (STDIN, file))
    assert list(of_stream.loaded.recordings) == list(of_file.loaded.recordings)
    assert len(of_stream.loaded.recordings) == 3
    assert of_stream.sha256 == of_file.sha256
    assert not [*temporary_folder.iterdir()]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_is_read_once(tmp_path: Path, temporary_folder: Path) -> None:
    """A pipe such as `<(cat spans.jsonl)` is empty when it was read, so that it is read as standard input is."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[LINES])
    writer.start()
    assert len(recordings_in(pipe)) == 3
    writer.join()
    assert not [*temporary_folder.iterdir()]


def test_a_small_stream_is_read_in_memory(temporary_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written to disk for a stream that is as small as a small file."""
    monkeypatch.setattr(large_files, "LARGE", len(LINES))
    give(monkeypatch, LINES)
    content = read_stream(STDIN)
    assert content.spans is None
    assert content.data == LINES
    assert not [*temporary_folder.iterdir()]


def test_a_broken_line_of_a_large_stream_has_the_name_of_the_stream(
    temporary_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A problem names standard input as the user did, and not the temporary file."""
    give(monkeypatch, LINES + b"\n{")
    with pytest.raises(FormatError, match=r"^-: line 4, column 2: is not JSON"):
        recordings_in(STDIN)
    assert not [*temporary_folder.iterdir()]


def test_a_large_stream_without_spans_is_read_as_a_whole(
    temporary_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages on standard input are read as those in a file."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Where is order A-17? " * 9},
        {"role": "assistant", "content": "It has shipped."},
    ]
    give(monkeypatch, json.dumps(messages).encode())
    (recording,) = recordings_in(STDIN)
    assert recording.trace.invocations[0].reply == "It has shipped."
    assert not [*temporary_folder.iterdir()]
