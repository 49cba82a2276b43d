"""Labels are read as spreadsheets write them, and mistakes are named with their line."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from fairtrial.errors import FormatError
from fairtrial.formats.labels import COLUMNS, read_label, read_rows, read_weight, write_rows
from fairtrial.records.score import Range
from hostile_corpus import HOSTILE


def test_a_cell_that_a_spreadsheet_would_compute_is_text() -> None:
    """A reply that begins with = is written behind an apostrophe, and a control character is spelt out."""
    text = write_rows([{"key": "k", "reply": '=HYPERLINK("http://x")', "question": "a\x1b[1m"}], ".csv").decode(
        "utf-8-sig"
    )
    (row,) = csv.DictReader(text.splitlines())
    assert row["reply"].startswith("'=")
    assert row["question"] == r"a\x1b[1m"
    assert tuple(row) == COLUMNS


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_csv_of_every_spreadsheet_is_read(tmp_path: Path, delimiter: str, encoding: str) -> None:
    """Comma, semicolon or tab, with or without a BOM. A quoted cell may hold lines."""
    path = tmp_path / "labels.csv"
    lines = [["key", "reply", "label"], ["a", '"two\nlines"', "pass"], ["b", "x", ""], ["c", "y", "?"]]
    path.write_text("\r\n".join(delimiter.join(line) for line in lines), encoding=encoding)
    rows = read_rows(path)
    assert [(row.key, row.label) for row in rows] == [("a", "pass"), ("c", "?")], "an empty label is no label"
    assert rows[1].place.endswith("line 5")


def test_json_lines_are_read(tmp_path: Path) -> None:
    """A label may be a JSON boolean or number."""
    path = tmp_path / "labels.jsonl"
    path.write_text('{"key": "a", "label": true}\n\n{"key": "b", "label": 0}\n')
    assert [read_label(row.label, Range()) for row in read_rows(path)] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.csv", b"key,lable\nx,pass\n", "line 1: lacks the column 'label'; the nearest is 'lable'"),
        ("b.csv", b"key,label\nx,\xff\n", "is not UTF-8: byte 12 is 0xff"),
        ("c.csv", b'key,label\n"x,pass\n', "is not CSV"),
        ("d.csv", b"key,label\nx,pass,y\n", "line 2: has 3 cells, and the first line has 2 names"),
        ("e.jsonl", b'{"key": 1}\n', "line 1: lacks the column 'label'"),
        ("f.jsonl", b"[]\n{\n", "line 1: must be an object"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    """The message names the file, the line and the problem."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError) as error:
        read_rows(tmp_path / name)
    assert problem in str(error.value)
    assert name in str(error.value)


@pytest.mark.parametrize(("text", "value"), [("Pass", 1.0), ("INVALID", 0.0), (" yes ", 1.0), ("0", 0.0), ("0,5", 0.5)])
def test_words_and_numbers_are_labels(text: str, value: float) -> None:
    """Any case, and a comma as the decimal sign."""
    assert read_label(text, Range()) == value


@pytest.mark.parametrize(
    ("text", "scale"), [("passt", Range()), ("1.5", Range()), ("pass", Range(1, 5)), ("nan", Range())]
)
def test_other_labels_are_refused(text: str, scale: Range) -> None:
    """The message says what is allowed."""
    with pytest.raises(ValueError, match=r"label: must be .*a number from \d to \d, or \?"):
        read_label(text, scale)


@pytest.mark.parametrize("text", ["0", "-1", "x", "inf", "nan"])
def test_a_weight_is_above_0(text: str) -> None:
    """An empty weight is 1."""
    assert read_weight("") == read_weight(None) == 1.0
    with pytest.raises(ValueError, match="weight: must be a number above 0"):
        read_weight(text)


def test_no_cell_is_computed_by_a_spreadsheet() -> None:
    """Whatever text an agent wrote, also with the wide signs of Japanese keyboards: no cell begins a formula."""
    texts = [*HOSTILE, "＝1+1", "＋1", "－1", "＠A1", "\n=1+1", " \n\t=1+1"]
    written = write_rows([{"key": "k", "reply": text, "note": text} for text in texts], ".csv").decode("utf-8-sig")
    cells = [cell for row in csv.reader(io.StringIO(written, newline="")) for cell in row]
    assert len(cells) == len(COLUMNS) * (len(texts) + 1)
    assert [cell for cell in cells if cell.lstrip().startswith(tuple("=+-@＝＋－＠"))] == []
    assert [cell for cell in cells if cell.startswith(("\t", "\r"))] == []
