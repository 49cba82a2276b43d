"""Does a changed file change its dialogue without a word, or crash the reader?

    python benchmarks/mutated_files.py --traces FOLDER [--mutations 40000]

Renames each key of each JSON file of the folder, one at a time, and counts how the file is then read. After that, it
changes the files and the samples of the package at random places, and counts the exceptions that are no FormatError.
"""

from __future__ import annotations

import argparse
import copy
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fairtrial.formats
from fairtrial.errors import FormatError

sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))
import renamed_keys

_SAMPLES = Path(fairtrial.formats.__file__).parent / "samples"
_LARGEST = 300_000
_LARGEST_MUTATED = 20_000
_MOST_KEYS = 400
_STRUCTURE = renamed_keys.STRUCTURE | {
    *("parentSpanId", "trace_id", "span_id", "parent_span_id", "parent_id", "parentId", "session_id", "spanID"),
    *("start_time", "end_time", "endTimeUnixNano", "references", "refType", "gcp.vertex.agent.invocation_id"),
}
"""Keys that join and order spans. They hold no content."""
_VALUES: tuple[Any, ...] = (None, True, 0, -1.5, "", "x", [], {}, [[]], {"a": {}}, "\ud83d", 10**30)


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", required=True, type=Path, help="the folder with files of traces")
    parser.add_argument("--mutations", type=int, default=40_000)
    arguments = parser.parse_args()
    files = [path for path in sorted(arguments.traces.rglob("*.json*")) if path.stat().st_size <= _LARGEST]
    rename_all(files)
    mutate_all([*files, *sorted(_SAMPLES.iterdir())], arguments.mutations)


def rename_all(files: list[Path]) -> None:
    """Print how files are read if one of their keys has another name, and the keys that change them in silence."""
    outcomes: Counter[str] = Counter()
    silent: list[str] = []
    for path in files:
        for key, outcome in _rename_keys(path):
            outcomes[outcome] += 1
            if outcome == "silent":
                silent.append(f"{path.name}: {key}")
    print(f"{outcomes.total()} renamed keys of {len(files)} files: {dict(outcomes)}")
    print(*silent, sep="\n")


def _rename_keys(path: Path) -> Iterator[tuple[str, str]]:
    try:
        whole = renamed_keys.read_recordings(path.read_bytes(), path.name)
        documents, is_lines = _decode(path)
    except (FormatError, ValueError):
        return
    same = renamed_keys.write_documents(renamed_keys.rename(documents, "", ""), is_lines=is_lines)
    if not renamed_keys.is_whole(whole) or renamed_keys.judge_change(whole, same, path.name) != "no effect":
        return  # written anew, the JSON inside of its texts is another text
    calls = [call for recording in whole for turn in recording.trace.invocations for call in turn.tool_calls]
    of_models = {name for call in calls for name in (call.name, *renamed_keys.keys(call.args), *texts(call.args))}
    for key in sorted({*renamed_keys.keys(documents)} - _STRUCTURE - of_models)[:_MOST_KEYS]:
        data = renamed_keys.write_documents(renamed_keys.rename(documents, key, f"{key}_of_us"), is_lines=is_lines)
        yield key, renamed_keys.judge_change(whole, data, path.name)


def texts(args: Any) -> Iterator[str]:
    """Yield the texts in arguments. Renaming a key also renames a text that equals it."""
    return (holder[key] for holder, key in _places(args) if isinstance(holder[key], str))


def _decode(path: Path) -> tuple[Any, bool]:
    text = path.read_text(encoding="utf-8")
    try:
        return renamed_keys.read_documents(text, is_lines=False), False
    except ValueError:
        return renamed_keys.read_documents(text, is_lines=True), True


def mutate_all(files: list[Path], count: int) -> None:
    """Print how many random changes of files end in an exception that is no FormatError."""
    choice = random.Random(1)
    small = [path for path in files if path.stat().st_size <= _LARGEST_MUTATED]
    outcomes: Counter[str] = Counter()
    for _ in range(count):
        path = choice.choice(small)
        data = _mutate(path, choice)
        try:
            renamed_keys.read_recordings(data, path.name)
            outcomes["read"] += 1
        except FormatError:
            outcomes["refused"] += 1
        except Exception as error:  # noqa: BLE001 - each crash is counted
            outcomes["crashed"] += 1
            print(f"{path.name}: {type(error).__name__}: {error}")
    print(f"{count} changes of {len(small)} files: {dict(outcomes)}")


def _mutate(path: Path, choice: random.Random) -> bytes:
    """Return a file with a change: of a value, of a key, or of its bytes."""
    data = path.read_bytes()
    try:
        documents, is_lines = _decode(path)
    except ValueError:
        documents, is_lines = None, False
    if documents is None or choice.random() < 0.2:
        start = choice.randrange(len(data) + 1)
        return data[:start] + bytes([choice.randrange(256)]) * choice.randrange(3) + data[start + choice.randrange(9) :]
    for _ in range(choice.randint(1, 3)):
        holder, key = choice.choice(list(_places(documents)) or [({"": None}, "")])
        if isinstance(holder, dict) and choice.random() < 0.3:
            holder[f"{key}_x"] = holder.pop(key)
        else:
            holder[key] = copy.deepcopy(choice.choice(_VALUES))
    return renamed_keys.write_documents(documents, is_lines=is_lines and isinstance(documents, list))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(item, dict | list):
            yield from _places(item)


if __name__ == "__main__":
    main()
