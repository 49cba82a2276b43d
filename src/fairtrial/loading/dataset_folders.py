"""Find the data files in the folder of a Hugging Face dataset."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from fairtrial.errors import UsageError
from fairtrial.formats import packed
from fairtrial.loading.folders import walk_files

_MARKS = ("dataset_dict.json", "dataset_info.json", "dataset_infos.json")
_NOT_DATA = (*_MARKS, "state.json")
_TEXTS = (".jsonl", ".json", ".csv", ".tsv")
_SUFFIXES = (".parquet", ".arrow", *_TEXTS, *(f"{text}{suffix}" for text in _TEXTS for suffix in packed.SUFFIXES))
_CARD = "README.md"
_CARD_KEYS = re.compile(r"^(?:configs|dataset_info|task_categories|size_categories|pretty_name):", re.MULTILINE)
_SPLIT = re.compile(r"(?<![a-z0-9])(train(?:ing)?|test(?:ing)?|eval(?:uation)?|validation|valid|val|dev)(?![a-z0-9])")
_LARGEST_CARD = 1 << 20


def data_files(folder: Path) -> list[Path]:
    """Return the data files of a dataset of Hugging Face, or nothing if a folder is not a dataset.

    A dataset has a `dataset_info.json` or its like, or a card in `README.md`. Raises UsageError if the dataset has
    several splits, because nobody wants to run an agent on the data of a training by accident.
    """
    if not _is_dataset(folder):
        return []
    files = [
        file for file in walk_files(folder) if file.name.lower().endswith(_SUFFIXES) and file.name not in _NOT_DATA
    ]
    splits = {_split(file.relative_to(folder)): file for file in reversed(files)}
    if len(splits) > 1:
        names = ", ".join(sorted(filter(None, splits)) or ["no name"])
        path = splits.get("test") or files[0]
        raise UsageError(f"{folder}: is a dataset with several splits ({names}); name the files of a split: {path}")
    return files


def _is_dataset(folder: Path) -> bool:
    if any((folder / name).is_file() for name in _MARKS):
        return True
    try:
        with (folder / _CARD).open(encoding="utf-8", errors="replace") as file:
            text = file.read(_LARGEST_CARD)
    except OSError:
        return False
    head = text.removeprefix("---\n").partition("\n---")
    return text.startswith("---\n") and bool(head[1]) and _CARD_KEYS.search(head[0]) is not None


def _split(file: Path) -> str:
    """Return the split that the name of a file or of its folders contains, such as `test-00000-of-00001.parquet`."""
    names: Sequence[str] = [file.name, *(folder.name for folder in file.parents)]
    match = next((match for name in names if (match := _SPLIT.search(name.lower())) is not None), None)
    return match.group(1) if match else ""
