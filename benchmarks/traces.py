"""Which traces do fairtrial and agentevals-cli understand, and how fast are they?

    python benchmarks/traces.py --peer PYTHON --traces FOLDER

The folder holds files of traces and `expected.json`, which says what is in each file. `--peer` is the Python of an
environment with agentevals-cli. Prints a table in Markdown, a row for each kind of files.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import measuring

_CONVERSATIONS = 400
_SIZES = (7_100, 14_200, 28_400)
"""So many conversations are a quarter of a GB, half a GB, and a GB."""
_TIMES = 3
_DIALOGUE = "google-adk/v1_two_turns.traces.jsonl"
_ID = re.compile(r'"(?:traceId|spanId|parentSpanId)":"([0-9a-f]+)"')
_ORDER = "A-17"
_FIRST_ORDER = 1000
_CASES = "two_turns.evalset.json"
_CRITERION = "tool_trajectory_avg_score"
_SESSION = re.compile(r'"gcp.vertex.agent.session_id","value":\{"stringValue":"([^"]+)"')

Entry = dict[str, Any]


def main() -> None:
    """Print the table, then the CPU, then the memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", required=True, help="the Python of an environment with agentevals-cli")
    parser.add_argument("--scout", help="the Python of an environment with inspect_scout")
    parser.add_argument("--traces", required=True, type=Path, help="the folder with the files and expected.json")
    arguments = parser.parse_args()
    peer = str(Path(arguments.peer).absolute())
    scout = arguments.scout and str(Path(arguments.scout).absolute())
    compare_understanding(peer, scout, arguments.traces)
    with tempfile.TemporaryDirectory() as folder:
        compare_scoring(peer, arguments.traces, Path(folder))
        compare_reading(peer, arguments.traces / _DIALOGUE, Path(folder) / "dialogues.jsonl")
        measure_memory(arguments.traces / _DIALOGUE, Path(folder) / "large.jsonl")


def compare_understanding(peer: str, scout: str | None, traces: Path) -> None:
    """Print for each kind in how many files each tool finds what is in them."""
    entries: list[Entry] = json.loads((traces / "expected.json").read_bytes())
    ours = read(measuring.OURS, "read_traces_fairtrial.py", entries, traces, "+")
    theirs = read(peer, "read_traces_agentevals.py", entries, traces, "")
    third = read(scout, "read_traces_scout.py", entries, traces, "") if scout else {}
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for entry in entries:
        for kind in (str(Path(entry["files"][0]).parent), "all"):
            row = counts[kind]
            row[0] += 1
            row[1] += meets(ours[entry["files"][0]], entry)
            row[2] += meets(theirs[entry["files"][0]], entry)
            row[3] += meets(third.get(entry["files"][0]), entry)
    print("| kind | files | fairtrial | agentevals-cli | inspect_scout |\n|---|---|---|---|---|")
    for kind, row in counts.items():
        if kind != "all":
            print("| {} | {} | {} | {} | {} |".format(kind, *row))
    print("| **all** | {} | {} | {} | {} |".format(*counts["all"]), flush=True)


def read(python: str, script: str, entries: list[Entry], traces: Path, joined_by: str) -> dict[str, Any]:
    """Return what a tool finds, by the first file of each entry. agentevals-cli takes one file at a time."""
    names = [joined_by.join(entry["files"]) if joined_by else entry["files"][0] for entry in entries]
    paths = [joined_by.join(str(traces / part) for part in name.split("+")) for name in names]
    found = measuring.run([python, measuring.SIDES / script, *paths]).said["files"]
    return {entry["files"][0]: found[path] for entry, path in zip(entries, paths, strict=True)}


def meets(found: Any, entry: Entry) -> bool:
    """Whether the conversations, turns, calls and texts are those of the expectation, as far as it states them."""
    if not isinstance(found, list) or len(found) != entry["totals"]["recordings"]:
        return False
    turns = [turn for conversation in found for turn in conversation]
    if len(turns) != entry["totals"]["invocations"]:
        return False
    calls = entry["totals"].get("tool_calls")
    if calls is not None and sum(len(turn["calls"]) for turn in turns) != calls:
        return False
    expected = [turn for recording in entry.get("recordings", ()) for turn in recording["invocations"]]
    return all(is_same_turn(turn, wanted, entry) for turn, wanted in zip(turns, expected, strict=False))


def is_same_turn(turn: Entry, wanted: Entry, entry: Entry) -> bool:
    """Whether a turn is the expected one. Null in the expectation means that it does not say."""
    texts = [key for key in ("user", "reply") if wanted.get(key) is not None and "reply_contains" not in entry]
    if any(turn[key].strip() != wanted[key].strip() for key in texts if key not in wanted.get("withheld", ())):
        return False
    if entry.get("count_calls_only"):
        return len(turn["calls"]) == len(wanted["calls"])
    names = [name for name, _ in wanted["calls"]]
    if [name for name, _ in turn["calls"]] != names:
        return False
    pairs = zip(turn["calls"], wanted["calls"], strict=True)
    checks_args = not entry.get("check_names_only")
    return all(not checks_args or args is None or got == args for (_, got), (_, args) in pairs)


def write_dialogues(source: Path, target: Path, count: int) -> float:
    """Write copies of a conversation with ids and an order of their own, a line for each. Return the MB of the file.

    The order stands in nearly all messages, so that a reader that remembers texts gains nothing from the copies.
    """
    line = source.read_text(encoding="utf-8").strip()
    ids, session = sorted(set(_ID.findall(line))), _SESSION.findall(line)[0]
    pattern = re.compile("|".join(map(re.escape, [*ids, session, _ORDER])))
    digits = random.Random(1)
    with target.open("w", encoding="utf-8") as file:
        for number in range(count):
            names = {each: f"{digits.getrandbits(4 * len(each)):0{len(each)}x}" for each in ids} | {
                session: f"s{number}",
                _ORDER: f"A-{number + _FIRST_ORDER}",
            }
            file.write(pattern.sub(lambda match, names=names: names[match[0]], line) + "\n")
    return target.stat().st_size / 1e6


def write_cases(source: Path, target: Path, count: int) -> None:
    """Write the expectations of the conversations of `write_dialogues`, a case for each."""
    cases = json.loads(source.read_bytes())
    case = json.dumps(cases["eval_cases"][0])
    orders = (case.replace(_ORDER, f"A-{number + _FIRST_ORDER}") for number in range(count))
    own = [{**json.loads(text), "eval_id": f"s{number}"} for number, text in enumerate(orders)]
    target.write_text(json.dumps({**cases, "eval_cases": own}), encoding="utf-8")


def compare_scoring(peer: str, traces: Path, folder: Path) -> None:
    """Print the CPU seconds of both commands that score the same conversations, start and reports included."""
    file, cases, config = (folder / name for name in ("scored.jsonl", "cases.evalset.json", "test_config.json"))
    size = write_dialogues(traces / _DIALOGUE, file, _CONVERSATIONS)
    write_cases(traces / _CASES, cases, _CONVERSATIONS)
    config.write_text(json.dumps({"criteria": {_CRITERION: 1.0}}), encoding="utf-8")
    measuring.heading(f"{_CONVERSATIONS} conversations of google-adk, {size:.1f} MB, scored by their trajectories")
    our_command = [measuring.OURS, "-m", "fairtrial", "score", file, "--against", cases, "--config", config]
    their_command = [Path(peer).with_name("agentevals"), "run", file, "-e", cases, "-m", _CRITERION, "-o", "json"]

    def ours() -> float:
        taken = measuring.run(our_command, cwd=folder)
        assert f"{_CONVERSATIONS} passed" in taken.output
        return taken.cpu

    def theirs() -> float:
        taken = measuring.run([*their_command, "--group-by", "conversation"], cwd=folder)
        assert taken.output.count('"PASSED"') == _CONVERSATIONS
        return taken.cpu

    our_cpu, their_cpu = measuring.in_turn(ours, theirs, times=_TIMES)
    print(f"  CPU: fairtrial {our_cpu:.2f} s, agentevals-cli {their_cpu:.2f} s")
    measuring.target("CPU, ours / theirs", our_cpu / their_cpu, "", at_most=0.25)


def compare_reading(peer: str, source: Path, file: Path) -> None:
    """Print the CPU seconds that both tools take to read the same conversations, imports not counted.

    Each side first reads one conversation, so that it has imported what it needs.
    """
    size = write_dialogues(source, file, _CONVERSATIONS)
    measuring.heading(f"The same {_CONVERSATIONS} conversations, {size:.1f} MB, only read")

    def side(python: str, script: str) -> float:
        said = measuring.run([python, measuring.SIDES / script, source, file]).said
        assert len(said["files"][str(file)]) == _CONVERSATIONS
        return float(said["cpu"])

    ours, theirs = measuring.in_turn(
        lambda: side(measuring.OURS, "read_traces_fairtrial.py"),
        lambda: side(peer, "read_traces_agentevals.py"),
        times=_TIMES,
    )
    print(f"  CPU: fairtrial {ours:.2f} s, agentevals-cli {theirs:.2f} s; ours / theirs {ours / theirs:.2f}")


def measure_memory(source: Path, file: Path) -> None:
    """Print how CPU and memory of scoring grow with a file that is larger than memory should be."""
    measuring.heading("`fairtrial score` of a large file of spans, a criterion without a model, no store")
    per_mb: list[float] = []
    for count in _SIZES:
        size = write_dialogues(source, file, count)
        taken = measuring.run([measuring.OURS, measuring.SIDES / "score_spans.py", file])
        per_mb.append(taken.cpu / size)
        print(f"  {count:,} conversations, {size:.0f} MB: {taken.cpu:.0f} s of CPU, {taken.peak_mb:.0f} MB", flush=True)
    measuring.target("peak memory", taken.peak_mb, "MB", at_most=500)
    piped = f"cat '{file}' | '{measuring.OURS}' '{measuring.SIDES / 'score_spans.py'}' -"
    from_stdin = measuring.run(["sh", "-c", piped])
    print(f"  {size:.0f} MB on standard input: {from_stdin.cpu:.0f} s of CPU", flush=True)
    measuring.target("peak memory with standard input", from_stdin.peak_mb, "MB", at_most=500)
    measuring.target("CPU for each MB, of the largest file / of the smallest", per_mb[-1] / per_mb[0], "", at_most=1.25)


if __name__ == "__main__":
    main()
