"""The command `fairtrial redact` removes secrets from files, and reports their places."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from commands import fairtrial

HIDDEN = "x9Kq2Lm8Zt4v"
LINE = f'{{"user": "app", "password": "{HIDDEN}"}}\n'
CLEAN = '{"user": "app", "password": "[REDACTED:pair]"}\n'


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_file_is_written_without_its_secrets() -> None:
    """To standard output or to a file. Standard error counts the secrets by kind."""
    Path("a.jsonl").write_text(LINE + '{"mail": "jane@example.com"}\n')
    done = fairtrial("redact", "a.jsonl")
    assert (done.code, done.out) == (0, CLEAN + '{"mail": "[REDACTED:email]"}\n')
    assert done.err == "found: 1 email, 1 pair\n"
    assert fairtrial("redact", "a.jsonl", "-o", "b.jsonl", "--no-emails").err == "found: 1 pair\n"
    assert Path("b.jsonl").read_text() == CLEAN + '{"mail": "jane@example.com"}\n'


def test_check_names_the_places_and_fails() -> None:
    """For hooks: nothing is written, and no secret is printed."""
    Path("a.jsonl").write_text("{}\n" + LINE)
    Path("b.txt").write_text("nothing here\n")
    done = fairtrial("redact", "--check", "a.jsonl", "b.txt")
    assert (done.code, done.out) == (1, "a.jsonl:2/password: pair (password)\n")
    assert done.err == "found: 1 pair in 1 of 2 files\n"
    assert HIDDEN not in done.out + done.err
    done = fairtrial("redact", "--check", "b.txt")
    assert (done.code, done.out, done.err) == (0, "", "found: nothing\n")


def test_a_key_that_is_a_secret_is_not_printed() -> None:
    """The place of a secret is its place in the clean file."""
    Path("a.json").write_text('{"jane@example.com": 1}')
    done = fairtrial("redact", "--check", "a.json")
    assert done.out == "a.json:1/[REDACTED:email]: email (e-mail address)\n"


def test_personal_data_goes_on_request() -> None:
    """With --people."""
    Path("a.txt").write_text("call 010-2345-6789\n")
    assert fairtrial("redact", "a.txt").out == "call 010-2345-6789\n"
    assert fairtrial("redact", "a.txt", "--people").out == "call [REDACTED:phone]\n"


def test_packed_files_are_read_and_written() -> None:
    """The suffix of OUT says how it is packed."""
    Path("a.jsonl.gz").write_bytes(gzip.compress(LINE.encode()))
    Path("a.jsonl.zst").write_bytes(pa.compress(LINE.encode(), "zstd", asbytes=True))
    assert fairtrial("redact", "a.jsonl.gz").out == CLEAN
    assert fairtrial("redact", "a.jsonl.zst", "-o", "b.jsonl.gz").code == 0
    assert gzip.decompress(Path("b.jsonl.gz").read_bytes()).decode() == CLEAN
    assert fairtrial("redact", "a.jsonl.gz", "-o", "b.jsonl.zst").code == 0
    assert fairtrial("redact", "b.jsonl.zst").out == CLEAN


def test_several_files_go_to_a_folder() -> None:
    """Under their own names, packed as they were."""
    Path("in").mkdir()
    Path("in/a.jsonl").write_text(LINE)
    Path("in/b.jsonl.gz").write_bytes(gzip.compress(LINE.encode()))
    assert fairtrial("redact", "in/a.jsonl", "in/b.jsonl.gz", "-o", "out").code == 0
    assert Path("out/a.jsonl").read_text() == CLEAN
    assert gzip.decompress(Path("out/b.jsonl.gz").read_bytes()).decode() == CLEAN


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """As -."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINE.encode())))
    assert fairtrial("redact", "-").out == CLEAN


def test_a_file_is_replaced_only_if_the_user_says_so() -> None:
    """Under any of its names."""
    Path("a.jsonl").write_text(LINE)
    done = fairtrial("redact", "a.jsonl", "-o", "./a.jsonl")
    assert (done.code, Path("a.jsonl").read_text()) == (2, LINE)
    assert "is a file that this command reads; choose another file, or --in-place" in done.err
    Path("a.jsonl").chmod(0o600)
    assert fairtrial("redact", "a.jsonl", "--in-place").code == 0
    assert (Path("a.jsonl").read_text(), Path("a.jsonl").stat().st_mode & 0o777) == (CLEAN, 0o600)
    assert [path.name for path in Path().iterdir()] == ["a.jsonl"]


def test_a_file_that_cannot_be_read_to_its_end_stays() -> None:
    """With --in-place, an error leaves the file as it was."""
    packed = gzip.compress(LINE.encode() * 1000)[:-20]
    Path("a.gz").write_bytes(packed)
    done = fairtrial("redact", "a.gz", "--in-place")
    assert (done.code, Path("a.gz").read_bytes()) == (2, packed)
    assert [path.name for path in Path().iterdir()] == ["a.gz"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
def test_a_file_keeps_its_encoding(encoding: str) -> None:
    """Bytes that are not UTF-8 stay as they are."""
    text = f"grüße, password={HIDDEN}\n"
    Path("a.txt").write_bytes(text.encode(encoding))
    assert fairtrial("redact", "a.txt", "-o", "b.txt").code == 0
    assert Path("b.txt").read_bytes() == text.replace(HIDDEN, "[REDACTED:pair]").encode(encoding)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.bin"], "a.bin: is a binary file; only text, JSON and JSON lines are read"),
        (["missing.txt"], "missing.txt"),
        (["--check", "--in-place", "a.txt"], "give only one of --check, --in-place and --output"),
        (["a.txt", "b/a.txt", "-o", "out"], "two files have the name 'a.txt'"),
        (["a.txt", "b/a.txt", "-o", "a.bin"], "must be a folder, because there are 2 files"),
        (["-", "--in-place"], "standard input cannot be replaced"),
        ([], "Missing argument 'FILE...'"),
    ],
)
def test_mistakes_are_refused_in_words(arguments: list[str], message: str) -> None:
    """Before anything is written."""
    Path("b").mkdir()
    for name in ("a.txt", "b/a.txt"):
        Path(name).write_text("plain\n")
    Path("a.bin").write_bytes(b"PAR1\0\0")
    done = fairtrial("redact", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_json_that_a_trace_reader_reads_is_still_read() -> None:
    """The structure of a trace stays, so that the clean file has the same value."""
    trace = json.loads((Path(__file__).parents[2] / "examples/traces.jsonl").read_text().splitlines()[0])
    trace["steps"][0]["content"] = f"DB_PASSWORD={HIDDEN}"
    Path("a.json").write_text(json.dumps(trace, indent=2))
    assert fairtrial("redact", "a.json", "-o", "b.json").code == 0
    value = ["value", "--embedder", "none", "--json"]
    assert fairtrial(*value, "b.json").json == fairtrial(*value, "a.json").json


@pytest.mark.long
def test_measure_plants_secrets_and_counts_them() -> None:
    """Each group of kinds has a share with its interval, look-alikes too. The file stays as it was."""
    Path("a.jsonl").write_text('{"steps": [{"content": "hello"}]}\n')
    done = fairtrial("redact", "--measure", "a.jsonl")
    assert done.code == 0
    lines = [line for line in done.out.splitlines() if not line.startswith(" ")]
    assert len(lines) > 10
    assert all("%, " in line for line in lines)
    (look_alikes,) = [line for line in lines if line.startswith("look-alike")]
    assert "changed: 0 of" in look_alikes
    assert Path("a.jsonl").read_text() == '{"steps": [{"content": "hello"}]}\n'
    refused = fairtrial("redact", "--measure", "--check", "a.jsonl")
    assert (refused.code != 0, "--measure writes nothing" in refused.err) == (True, True)
