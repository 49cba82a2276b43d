"""Large eval sets, whose text is freed while it is read, are read like small ones."""

from __future__ import annotations

import json
import mmap
from pathlib import Path

import pytest

from fairtrial.errors import FormatError
from fairtrial.formats import large_text
from fairtrial.formats.large_text import LargeText
from fairtrial.formats.loaded import Loaded
from fairtrial.formats.spans import large_files
from fairtrial.loading import found_files, read_part

pytestmark = pytest.mark.skipif(not large_text.can_forget, reason="this system takes back whole memory only")

CASES = [
    {
        "eval_id": f"case_{number}",
        "conversation": [{"user_content": {"parts": [{"text": f'{number} says "hello" \\ {"x" * 300}'}]}}],
    }
    for number in range(100)
]
SET = {"eval_set_id": "large", "name": 'quoted "name"', "eval_cases": CASES, "creation_timestamp": 1.5}
TEXT = json.dumps(SET, indent=2)


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a few pages be much."""
    monkeypatch.setattr(large_text, "_STEP", mmap.PAGESIZE)


def read(folder: Path, text: bytes) -> tuple[Loaded, str] | tuple[str, ...]:
    """Return the content of a file and its digest, or its problems."""
    path = folder / "large.evalset.json"
    path.write_bytes(text)
    try:
        return read_part(path)
    except FormatError as error:
        return error.problems


@pytest.mark.parametrize("block", [7, 64, 1 << 16])
def test_a_large_eval_set_is_that_of_a_small_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """Also with quotes that are escaped at the end of a block. Its text is not read as a whole."""
    text = TEXT.replace('\\"hello', "\\u0022hello").encode()
    small = read(tmp_path, text)
    monkeypatch.setattr(large_files, "LARGE", 1000)
    monkeypatch.setattr(large_text, "_BLOCK", block)
    monkeypatch.setattr(Path, "read_bytes", lambda _: pytest.fail("was read as a whole"))
    assert read(tmp_path, text) == small


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace('"eval_id": "case_50"', '"eval_id": "first", "eval_id": "case_50"').encode(),
        TEXT.replace('"case_50"', "50").encode(),
        TEXT.replace('"case_50"', '"case_49"').encode(),
        TEXT.replace('"creation_timestamp": 1.5', '"creation_timestamp": 1.5,').encode(),
        TEXT.replace("50 says", "\x00 says").encode(),
        TEXT.encode().replace(b"50 says", b"\xff says"),
        TEXT[:-100].encode(),
        TEXT.replace("eval_cases", "eval_case_results").encode(),
    ],
)
def test_a_problem_of_a_large_eval_set_is_that_of_a_small_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    """A duplicate key, a wrong type, an id that stands there twice, a comma too many, and bytes that are no text."""
    small = read(tmp_path, text)
    monkeypatch.setattr(large_files, "LARGE", 1000)
    assert read(tmp_path, text) == small


def test_what_was_read_is_given_back(tmp_path: Path) -> None:
    """Whole pages are. What follows can still be read."""
    path = tmp_path / "text"
    path.write_bytes(b"a" * (4 * mmap.PAGESIZE))
    text = LargeText(path)
    text.forget(2 * mmap.PAGESIZE + 100)
    assert text.memory[:] == b"\0" * (2 * mmap.PAGESIZE) + b"a" * (2 * mmap.PAGESIZE)


def test_a_small_eval_set_is_read_as_a_whole(tmp_path: Path) -> None:
    """Its memory is not worth the work."""
    path = tmp_path / "small.evalset.json"
    path.write_text(TEXT)
    assert found_files.large_eval_set(path, lenient=False, columns={}) is None
