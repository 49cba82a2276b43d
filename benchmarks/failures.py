"""Are the decisive steps and the modes of failures right, and how long do 20,000 failures and a million rows take?

The planted failures are those of the tests. The gold of AgentRx and the dialogues of tau-bench are read if they lie
beside the project.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from datasets import SCORE, write_expectation, write_traffic
from measuring import OURS, heading, line, run, target, yardstick
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests" / "failures")]

from fairtrial import EvalCase, EvalSet, Recording, Run, Trace, score  # noqa: E402
from fairtrial.analysis.failures.events import Conversation, item_text  # noqa: E402
from fairtrial.analysis.failures.modes import feature_weights, features, jaccard_distance  # noqa: E402
from fairtrial.api.failure_modes.run_modes import failure_changes, failures  # noqa: E402
from fairtrial.records.failure_mode import Failures  # noqa: E402
from planted_failures import KINDS, LANGUAGES, Planted, booking, perfect, plant, world  # noqa: E402

Distances = NDArray[np.float64]
CRITERIA = {"tool_trajectory_avg_score": 1.0, "exact_match": 1.0, "final_state_match_v1": 1.0}
FAILED = 20_000
ROWS = 1_000_000
SHARED = Path(__file__).parents[2] / "shared"
NEW = "a suite is booked"
LISTED = "import sys; from fairtrial.cli import command; sys.exit(command())"


def main(peer: str) -> None:
    """Print the measures beside their targets."""
    del peer
    with tempfile.TemporaryDirectory() as name:
        measure_store(Path(name))
        measure_folder(Path(name))
    heading(f"failures: {len(KINDS)} kinds planted in 220 conversations in four languages")
    eval_set, own = world(10)
    found = failures(score([one.recording for one in own], eval_set, CRITERIA))
    measure_planted(own, found)
    measure_texts(own, found, failures(score([one.recording for one in own], criteria={"solved": never_solved})))
    measure_new_modes()
    measure_gold()


def measure_planted(own: Sequence[Planted], found: Failures) -> None:
    """Print how often the planted step is found, and how well modes are kinds."""
    by_case = {failed.case: failed for failed in found.failed}
    steps = [(one, by_case[one.recording.case_id].step) for one in own]
    hits = sum(step is not None and (step.invocation, step.step) == (one.invocation, one.step) for one, step in steps)
    target("planted step found", 100 * hits / len(own), "%", at_least=95)
    purity, completeness = compare_with_kinds(own, [by_case[one.recording.case_id].mode for one in own])
    target("purity", purity, "", at_least=0.95)
    target("completeness", completeness, "", at_least=0.9)


def compare_with_kinds(own: Sequence[Planted], groups: Sequence[int | None]) -> tuple[float, float]:
    """Return the purity of groups and the completeness of the planted kinds. None is no group."""
    by_group: defaultdict[int | None, Counter[str]] = defaultdict(Counter)
    by_kind: defaultdict[str, Counter[int | None]] = defaultdict(Counter)
    for one, group in zip(own, groups, strict=True):
        by_group[group][one.kind] += 1
        by_kind[one.kind][group] += 1
    by_group.pop(None, None)
    purity = sum(max(kinds.values()) for kinds in by_group.values()) / len(own)
    return purity, sum(max(groups.values()) for groups in by_kind.values()) / len(own)


def never_solved(trace: Trace, case: EvalCase) -> bool:
    """Fail every attempt, as traffic whose expectations nobody wrote."""
    del trace, case
    return False


def measure_texts(own: Sequence[Planted], expected: Failures, unexpected: Failures) -> None:
    """Print how well groups of alike texts are kinds: replies, whole conversations, and the reasons of failures.

    Texts are vectors of their runs of three characters (TF-IDF), joined by average linkage until as many groups as
    kinds are left, alone and with the distances of signatures (each counts half).
    """
    for title, found in (("with expectations", expected), ("without", unexpected)):
        by_case = {failed.case: failed for failed in found.failed}
        failed = [by_case[one.recording.case_id] for one in own]
        line(f"modes by signatures, {title}: purity, completeness", shown(own, [entry.mode for entry in failed]))
        weights = feature_weights({entry.signature for entry in failed})
        names = [features(entry.signature) for entry in failed]
        apart = np.array([[jaccard_distance(ours, theirs, weights) for theirs in names] for ours in names])
        talks = [Conversation(one.recording.trace) for one in own]
        texts = {
            "replies": [" ".join(talk.reply_texts) for talk in talks],
            "whole conversations": [" ".join(item_text(event.item) for event in talk.events) for talk in talks],
            "reasons": [entry.reason for entry in failed],
        }
        for name, content in texts.items():
            away = text_distances(content)
            line(f"{name} alone", shown(own, linked(away)))
            line(f"{name} and signatures", shown(own, linked((away + apart) / 2)))


def shown(own: Sequence[Planted], groups: Sequence[int | None]) -> str:
    """Return purity and completeness as text."""
    return ", ".join(f"{number:.2f}" for number in compare_with_kinds(own, groups))


def text_distances(texts: Sequence[str]) -> Distances:
    """Return one minus the cosine of the vectors of texts."""
    counts = [Counter(text[at : at + 3] for at in range(len(text) - 2)) for text in map(str.lower, texts)]
    frequency = Counter(letters for own in counts for letters in own)
    places = {letters: place for place, letters in enumerate(frequency)}
    vectors = np.zeros((len(texts), len(places)))
    for row, own in enumerate(counts):
        for letters, number in own.items():
            vectors[row, places[letters]] = (1 + np.log(number)) * np.log(1 + len(texts) / frequency[letters])
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    distances: Distances = 1 - vectors @ vectors.T
    return distances


def linked(distances: Distances) -> list[int]:
    """Return the group of each text, as many groups as there are kinds."""
    upper = distances[np.triu_indices(len(distances), 1)].clip(0)
    return [int(group) for group in fcluster(linkage(upper, "average"), len(KINDS), "maxclust")]


def measure_new_modes() -> None:
    """Print how often a planted new failure in 5 % of 200 cases is called new, and how often chance alone is."""
    found = alarms = 0
    for seed in range(20):
        with_new, without = (changed_modes(seed, is_planted=is_planted) for is_planted in (True, False))
        found += with_new == ["book_suite is called and was not expected"]
        alarms += bool(without)
    target("planted new failure is the mode called new, of 20", found, "seeds", at_least=20)
    target("a mode is called new without one, of 20", alarms, "seeds", at_most=0)


def changed_modes(seed: int, *, is_planted: bool) -> list[str]:
    """Return the modes that are new between two runs of 200 cases, a third of which fail in other ways by chance."""
    rng = random.Random(seed)
    usual = [kind for kind in KINDS if kind != NEW]
    runs: list[Run] = []
    chosen = set(rng.sample(range(200), 10)) if is_planted else set[int]()
    for is_later in (False, True):
        recordings: list[Recording] = []
        cases = [booking(number, "en") for number in range(200)]
        for number, case in enumerate(cases):
            if is_later and number in chosen:
                recordings.append(plant(NEW, case).recording)
            elif rng.random() < 1 / 3:
                recordings.append(plant(rng.choice(usual), case).recording)
            else:
                recordings.append(perfect(case))
        runs.append(score(recordings, EvalSet("bookings", tuple(cases)), CRITERIA))
    changes = failure_changes(runs[1], runs[0]).changes
    return [own.name for own in changes if own.change == "new"]


def measure_gold() -> None:
    """Print the distance from steps that people named, and how much of tau-bench the first screen covers."""
    if not SHARED.is_dir():
        line("gold of AgentRx and tau-bench", "not here")
        return
    from test_gold_failures import distances, solved

    own = list(distances(SHARED))
    target("AgentRx: a step that a person named", 100 * sum(own == 0 for own in own) / len(own), "%", at_least=50)
    target("AgentRx: within one step", 100 * sum(own <= 1 for own in own) / len(own), "%", at_least=60)
    airline = score(SHARED / "data" / "tau-bench" / "gpt-4o-airline.json", criteria={"solved": solved}).failures()
    largest = sorted((mode.attempts for mode in airline.modes), reverse=True)[:20]
    covered = 100 * sum(largest) / airline.failed_attempts
    target("tau-bench: failures in the modes of the first screen", covered, "%", at_least=70)


def measure_store(folder: Path) -> None:
    """Print the time and the memory of the modes of 20,000 failed attempts, and of a quarter of them."""
    heading(f"failures: {FAILED:,} failed attempts in a store")
    peaks = []
    for number in (FAILED // 4, FAILED):
        url = f"sqlite:///{folder}/failed-{number}.db"
        run([OURS, __file__, str(number), url])  # a process of its own, whose memory is not that of the bench
        before = yardstick()
        taken = run([OURS, "-c", LISTED, "failures", "2", "--store", url])
        peaks.append(taken.peak_mb)
        if number == FAILED:
            target("CPU of the list of modes", taken.cpu, "s", at_most=5)
            line("the same in the CPU time of the yardstick", f"{taken.cpu / ((before + yardstick()) / 2):.1f}")
            target("peak memory", taken.peak_mb, "MB", at_most=250)
    line("peak memory of a quarter of them", f"{peaks[0]:.0f} MB")


def scored_many(number: int, url: str) -> None:
    """Store a run of so many failed attempts of all kinds."""
    kinds = list(KINDS)
    cases = [booking(at, LANGUAGES[at // len(kinds) % len(LANGUAGES)]) for at in range(number)]
    recordings = [plant(kinds[at % len(kinds)], case).recording for at, case in enumerate(cases)]
    score(recordings, EvalSet("bookings", tuple(cases)), CRITERIA, store=url)


def measure_folder(folder: Path) -> None:
    """Print the time and the memory of the modes of a million failed conversations of a data set.

    50,000 conversations are scored. Their decisive steps are then in the folder twenty times, as those of a million.
    """
    heading(f"failures: a data set of {ROWS:,} failed conversations")
    write_expectation(folder / "shop.evalset.json")
    (folder / "test_config.json").write_text(json.dumps({"criteria": {"tool_trajectory_avg_score": 1.0}}))
    write_traffic(folder / "traffic.jsonl", ROWS // 20, failing=1.0)
    command = [OURS, "-c", SCORE, "score", folder / "traffic.jsonl", "--against", folder / "shop.evalset.json"]
    run([*command, "--out", folder / "out", "--store", "none", "--quiet"], codes=(0, 1))
    small = run([OURS, "-c", LISTED, "failures", folder / "out"])
    for path in list(copies(folder / "out" / "failures")):
        os.link(*path)
    before = yardstick()
    taken = run([OURS, "-c", LISTED, "failures", folder / "out"])
    target("CPU of the list of modes", taken.cpu, "s", at_most=60)
    line("the same in the CPU time of the yardstick", f"{taken.cpu / ((before + yardstick()) / 2):.1f}")
    target("peak memory", taken.peak_mb, "MB", at_most=400)
    line("peak memory of a twentieth of the rows", f"{small.peak_mb:.0f} MB")


def copies(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Yield each part with nineteen further names."""
    for path in sorted(folder.glob("part-*.parquet")):
        number = int(path.stem.rpartition("-")[2])
        for copy in range(1, 20):
            yield path, path.with_name(f"part-{number + copy * 10_000:06d}.parquet")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        scored_many(int(sys.argv[1]), sys.argv[2])
    else:
        main(sys.executable)
