"""How fast is a data set scored into Parquet, how much faster with two processes, and does memory grow with it?"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
import time
from functools import cache
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from measuring import OURS, SIDES, heading, in_turn, line, run, target, yardstick
from sides import material

CONVERSATIONS = 200_000
CASES = 1000
PEER_CONVERSATIONS = 200
COMPARED = 10_000_000
"""The number of attempts in each of two folders that are compared."""
SCORE = "import sys; from fairtrial.cli import command; sys.exit(command())"


def main(peer: str) -> None:
    """Print the speed and the memory of `fairtrial score --out`, and google-adk beside it on some conversations."""
    heading(f"data sets: {CONVERSATIONS:,} conversations of two invocations, three calls and sixty-word replies")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_expectation(folder / "shop.evalset.json")
        (folder / "test_config.json").write_text(
            json.dumps({"criteria": {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}})
        )
        write_traffic(folder / "small.jsonl", CONVERSATIONS // 4)
        write_traffic(folder / "large.jsonl", CONVERSATIONS)
        small, large = (_score(folder, size, 1) for size in ("small", "large"))
        # Starting and summarizing stand in both, so that the difference is the scoring of the rest.
        rate = (CONVERSATIONS - CONVERSATIONS // 4) / (large["cpu"] - small["cpu"])
        line("conversations in the CPU time of the yardstick", f"{rate * yardstick():,.0f}")
        target("conversations a CPU second, one process", rate, "/s", at_least=4000)
        two = _score(folder, "large", 2)
        target("two processes against one, seconds", large["seconds"] / two["seconds"], "times", at_least=1.8)
        target("peak memory", large["mb"], "MB", at_most=400)
        line("peak memory of a quarter of the conversations", f"{small['mb']:.0f} MB")
        _compare_folders(folder)
        _measure_failures(folder)
        _measure_reading(folder)
        _compare(folder, peer)


def _measure_failures(folder: Path) -> None:
    """Print how much slower conversations are that fail, because each of them is kept."""
    for name, share in (("passing", 0.0), ("failing", 1.0)):
        write_traffic(folder / f"{name}.jsonl", CONVERSATIONS // 10, failing=share)

    def cpu(name: str) -> float:
        shutil.rmtree(folder / f"{name}-1", ignore_errors=True)
        return _score(folder, name, 1)["cpu"]

    passing, failing = in_turn(lambda: cpu("passing"), lambda: cpu("failing"), times=3)
    line("CPU if every conversation fails / if every one passes", f"{failing / passing:.2f}")


def _compare_folders(folder: Path) -> None:
    """Print what a comparison of two folders takes. Their parts are the same few, linked again and again."""
    sizes = {"small-1": CONVERSATIONS // 4, "large-1": CONVERSATIONS}
    for name, size in sizes.items():
        for part in sorted((folder / name).rglob("*.parquet")):
            table = part.parent.relative_to(folder / name)
            (folder / f"many-{name}" / table).mkdir(parents=True, exist_ok=True)
            for number in range(COMPARED // size):
                (folder / f"many-{name}" / table / f"part-{number:03d}{part.name[-11:]}").hardlink_to(part)
        shutil.copy(folder / name / "manifest.json", folder / f"many-{name}")
    taken = run([OURS, "-c", SCORE, "compare", *(folder / f"many-{name}" for name in sizes)], codes=(0, 1))
    heading(f"two folders of {COMPARED:,} attempts each at {CASES:,} cases")
    target("CPU of the comparison", taken.cpu, "s", at_most=600)
    target("peak memory of the comparison", taken.peak_mb, "MB", at_most=1000)


def _measure_reading(folder: Path) -> None:
    """Print how much longer reading takes than decoding the same JSON without types, in one process."""
    write_traffic(folder / "read.jsonl", CONVERSATIONS // 40)
    said = [run([OURS, SIDES / "conversations_read.py", folder / "read.jsonl"]).said for _ in range(3)]
    assert all(taken["conversations"] == CONVERSATIONS // 40 for taken in said)
    ratio = median(min(taken["passes"]) / taken["decoding"] for taken in said)
    target("reading / decoding JSON without types", ratio, "times", at_most=5)


def _compare(folder: Path, peer: str) -> None:
    """Print the CPU time of both tools for the first conversations, without their start."""
    with (folder / "small.jsonl").open() as file:
        (folder / "first.jsonl").write_text("".join(islice(file, PEER_CONVERSATIONS)))
    arguments = [folder / "first.jsonl", folder / "shop.evalset.json"]
    sides: dict[str, dict[str, Any]] = {}

    def ours() -> float:
        shutil.rmtree(folder / "first", ignore_errors=True)
        sides["ours"] = run([OURS, SIDES / "dataset_fairtrial.py", *arguments, folder / "first"]).said
        return float(sides["ours"]["cpu"])

    def theirs() -> float:
        sides["theirs"] = run([peer, SIDES / "dataset_adk.py", *arguments]).said
        return float(sides["theirs"]["cpu"])

    fairtrial, adk = in_turn(ours, theirs, times=3)
    assert sides["ours"]["means"] == [round(mean, 12) for mean in sides["theirs"]["means"]], sides
    line(f"CPU of the first {PEER_CONVERSATIONS} conversations", f"{fairtrial:.2f} s", f"{adk:.2f} s")


def _score(folder: Path, size: str, jobs: int) -> dict[str, float]:
    out = folder / f"{size}-{jobs}"
    command = [OURS, "-c", SCORE, "score", folder / f"{size}.jsonl", "--against", folder / "shop.evalset.json"]
    started = time.perf_counter()
    taken = run([*command, "--out", out, "--store", "none", "--quiet", "--jobs", str(jobs)], codes=(0, 1))
    return {"seconds": time.perf_counter() - started, "cpu": taken.cpu, "mb": taken.peak_mb}


@cache
def _words() -> list[str]:
    """Return the running words of Python's documentation. Some of them, such as key and token, precede secrets."""
    return material.vocabulary()


def invocations(case: int) -> list[tuple[str, list[tuple[str, dict[str, Any]]], str]]:
    """Return the user's message, the calls and the reply of each of two invocations."""
    chance = random.Random(case)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("lookup_order", {"order_id": f"A{case}", "verbose": True}),
        ("get_status", {"id": case}),
        ("notify", {"channel": "mail"}),
    ]
    replies = [" ".join(chance.choices(_words(), k=60)) for _ in range(2)]
    return [(f"Where is order {case}?", calls[:1], replies[0]), (f"And its status, {case}?", calls[1:], replies[1])]


def write_expectation(path: Path) -> None:
    """Write an eval set with a case for each order."""
    cases = [
        {
            "eval_id": f"case_{case}",
            "conversation": [
                {
                    "user_content": {"parts": [{"text": query}]},
                    "final_response": {"parts": [{"text": reply}]},
                    "intermediate_data": {"tool_uses": [{"name": name, "args": args} for name, args in calls]},
                }
                for query, calls, reply in invocations(case)
            ],
        }
        for case in range(CASES)
    ]
    path.write_text(json.dumps({"eval_set_id": "shop", "eval_cases": cases}))


def write_traffic(path: Path, number: int, *, failing: float = 0.0) -> None:
    """Write conversations as JSON lines, each with its own texts: a twelfth of the words of a reply are others.

    A third of the replies is in another order of words. A share of the conversations answers another case than its
    own, so that it fails.
    """
    chance = random.Random(7)
    with path.open("w") as file:
        for conversation in range(number):
            case = conversation % CASES
            about = case + 1 if chance.random() < failing else case
            file.write(json.dumps({"id": f"case_{case}", "messages": list(_messages(about, chance))}) + "\n")


def _messages(case: int, chance: random.Random) -> Any:
    for query, calls, reply in invocations(case):
        yield {"role": "user", "content": f"{query} I asked at {chance.randrange(10**9)}."}
        for number, (name, args) in enumerate(calls):
            function = {"name": name, "arguments": json.dumps(args)}
            call = f"c{number}-{chance.randrange(10**9)}"
            yield {"role": "assistant", "tool_calls": [{"id": call, "type": "function", "function": function}]}
            content = json.dumps({"ok": True, "receipt": chance.randrange(10**9)})
            yield {"role": "tool", "tool_call_id": call, "content": content}
        words = reply.split()
        for _ in range(5):
            words[chance.randrange(len(words))] = _new_word(chance)
        if chance.random() < 1 / 3:
            chance.shuffle(words)
        yield {"role": "assistant", "content": " ".join(words)}


def _new_word(chance: random.Random) -> str:
    number = chance.randrange(10**7)
    return f"R{number}" if number % 3 else f"{chance.choice(_words()).lower()}{chance.choice('aeiou')}{number % 97}s"


if __name__ == "__main__":
    main(sys.executable)
