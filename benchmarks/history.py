"""How often the steps of `fairtrial history` are false, and how soon a true step is seen.

    python benchmarks/history.py            # 500 seeds for each world, about an hour on one core
    python benchmarks/history.py --seeds 20
    python benchmarks/history.py --results false_steps.jsonl   # go on where the last call ended
    python benchmarks/history.py --results false_steps.jsonl --first 250   # seeds from 250 on
    python benchmarks/history.py --page     # the time of the page for a store of 1,000 runs of 200 cases

Each world is a series of runs over the same cases. Most cases pass nearly always; in the world `flaky`, the pass rates
of the cases are spread evenly over 0..1. Beside the detector run a threshold on the last run (more than three standard
errors below the mean of the runs before), and CUSUM on the means of the runs (allowance half and limit five of their
standard deviation, which the first 20 runs give).
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

from msgspec.structs import replace

import fairtrial
from fairtrial import api
from fairtrial.analysis.aggregation import aggregate
from fairtrial.api.decisions.history import keep_history
from fairtrial.records.result import CaseResult
from fairtrial.stats.step_detector import StepDetector
from fairtrial.stats.step_tests import CaseValue
from fairtrial.store import Store

RUNS = 200
BEFORE, AFTER = 20, 6
Alarm = Callable[[dict[int, CaseValue]], int]
"""Takes the values of the next run, and returns the number of steps that it shows."""
World = tuple[int, str, int, bool]
"""Cases, how their pass rates are spread, attempts at each case, and whether these depend on each other."""
WORLDS: dict[str, World] = {
    f"{cases} {kind} cases, {attempts} {'dependent ' if is_dependent else ''}attempts": (
        cases,
        kind,
        attempts,
        is_dependent,
    )
    for cases, kind, attempts, is_dependent in (
        (50, "flaky", 3, True),
        (50, "stable", 3, True),
        (100, "stable", 1, False),
        (100, "flaky", 1, False),
        (20, "flaky", 1, False),
        (200, "stable", 1, False),
        (50, "flaky", 3, False),
    )
}
NAMES = ("e-detector", "last run", "CUSUM", *(("asv",) if find_spec("asv") else ()))


def make_rates(rng: random.Random, cases: int, kind: str) -> list[float]:
    """Return the pass rates of the cases of a world."""
    return [rng.random() if kind == "flaky" else rng.betavariate(0.3, 0.06) for _ in range(cases)]


def draw(rng: random.Random, rates: Sequence[float], attempts: int, *, is_dependent: bool) -> dict[int, CaseValue]:
    """Return the values of a run. Dependent attempts at a case all pass, or all fail."""
    values = {}
    for case, rate in enumerate(rates):
        passed = attempts * (rng.random() < rate) if is_dependent else sum(rng.random() < rate for _ in range(attempts))
        values[case] = (float(passed), attempts)
    return values


def e_detector() -> Alarm:
    """Return the detector of `fairtrial history`."""
    detector = StepDetector()
    return lambda values: detector.add(values) is not None


def threshold_on_last() -> Alarm:
    """Return an alarm that looks at the last run alone."""
    means: list[float] = []

    def add(values: dict[int, CaseValue]) -> bool:
        mean = statistics.fmean(total / attempts for total, attempts in values.values())
        alarm = False
        if means:
            before = statistics.fmean(means)
            error = math.sqrt(max(before * (1 - before), 1e-4) / len(values))
            alarm = before - mean > 3 * error
        means.append(mean)
        return alarm

    return add


def cusum() -> Alarm:
    """Return CUSUM on the means of the runs, in both directions."""
    means: list[float] = []
    sums = [0.0, 0.0]

    def add(values: dict[int, CaseValue]) -> bool:
        means.append(statistics.fmean(total / attempts for total, attempts in values.values()))
        if len(means) <= BEFORE:
            return False
        centre, spread = statistics.fmean(means[:BEFORE]), statistics.stdev(means[:BEFORE]) or 1e-3
        for place, sign in enumerate((1, -1)):
            sums[place] = max(0.0, sums[place] + sign * (means[-1] - centre) / spread - 0.5)
        if max(sums) <= 5:
            return False
        means.clear()
        sums[:] = [0.0, 0.0]
        return True

    return add


def asv(looks: Collection[int]) -> Alarm:
    """Return asv on the means of the runs. It looks at the series after these numbers of runs."""
    from asv.step_detect import detect_steps

    means: list[float] = []

    def add(values: dict[int, CaseValue]) -> int:
        means.append(statistics.fmean(total / attempts for total, attempts in values.values()))
        return len(detect_steps(means)) - 1 if len(means) in looks else 0

    return add


def make_methods(looks: Collection[int]) -> dict[str, Alarm]:
    """Return the methods by their names. asv looks after these numbers of runs."""
    methods: dict[str, Alarm] = {"e-detector": e_detector(), "last run": threshold_on_last(), "CUSUM": cusum()}
    return {**methods, "asv": asv(looks)} if "asv" in NAMES else methods


def count_false(world: World, seed: int) -> dict[str, int]:
    """Return the number of alarms of each method over the runs of a series without a change."""
    cases, kind, attempts, is_dependent = world
    alarms = dict.fromkeys(NAMES, 0)
    rng = random.Random(f"{cases} {kind} {attempts} {is_dependent} {seed}")
    rates = make_rates(rng, cases, kind)
    methods = make_methods({RUNS})
    for _ in range(RUNS):
        values = draw(rng, rates, attempts, is_dependent=is_dependent)
        for name, add in methods.items():
            alarms[name] += add(values)
    return alarms


def count_all_false(seeds: range, results: Path | None) -> None:
    """Print the alarms in each world. A file of results gets a line for each series, and spares those it holds."""
    known: dict[tuple[str, int], dict[str, int]] = {}
    if results is not None and results.exists():
        lines = map(json.loads, results.read_text().splitlines())
        known = {(line["world"], line["seed"]): line["alarms"] for line in lines}
    for seed in seeds:
        for title, world in WORLDS.items():
            if (title, seed) not in known:
                known[title, seed] = alarms = count_false(world, seed)
                if results is not None:
                    with results.open("a") as file:
                        file.write(json.dumps({"world": title, "seed": seed, "alarms": alarms}) + "\n")
    total = len(known) * RUNS
    print(
        f"False steps in {len(known)} series of {RUNS} runs; one in 1,000 allows {total / 1000:.0f} in {total:,} runs"
    )
    for title in WORLDS:
        own = [alarms for (world, _), alarms in known.items() if world == title]
        sums = (f"{name} {sum(alarms.get(name, 0) for alarms in own)}" for name in NAMES)
        print(f"  {title:45} {len(own)} series:", ", ".join(sums), flush=True)
    print(f"  e-detector in all: {sum(alarms['e-detector'] for alarms in known.values())}", flush=True)


def find_true(seeds: int, cases: int, kind: str, size: float, *, breaks: bool) -> dict[str, tuple[float, float]]:
    """Return the shares of seeds in which each method sees a fall in the first run, and within six runs.

    If the change `breaks` cases, some of them never pass any more. Otherwise all lose the same share.
    """
    first, within = dict.fromkeys(NAMES, 0), dict.fromkeys(NAMES, 0)
    for seed in range(seeds):
        rng = random.Random(f"true {cases} {kind} {size} {breaks} {seed}")
        rates = make_rates(rng, cases, kind)
        after = break_cases(rng, rates, size) if breaks else [rate * (1 - size * cases / sum(rates)) for rate in rates]
        before = [draw(rng, rates, 1, is_dependent=False) for _ in range(BEFORE)]
        later = [draw(rng, after, 1, is_dependent=False) for _ in range(AFTER)]
        for name, add in make_methods(range(BEFORE + 1, BEFORE + AFTER + 1)).items():
            for values in before:
                add(values)
            seen = [add(values) > 0 for values in later]
            first[name] += seen[0]
            within[name] += any(seen)
    return {name: (first[name] / seeds, within[name] / seeds) for name in NAMES}


def break_cases(rng: random.Random, rates: Sequence[float], size: float) -> list[float]:
    """Return rates of which some are lowered to 0, until their mean has fallen by a size."""
    after, remaining = list(rates), size * len(rates)
    for case in rng.sample(range(len(rates)), len(rates)):
        fall = min(after[case], remaining)
        after[case] -= fall
        remaining -= fall
    return after


def fill_store(url: str, runs: int, cases: int, end: Callable[[str], None] = lambda run_id: None) -> None:  # noqa: ARG005
    """Store runs of an agent, and call `end` after each. In the last 25 runs, a twentieth of the cases is broken."""
    rng = random.Random(1)
    rates = make_rates(rng, cases, "stable")
    questions = [(f"Question {number}?", "Paris") for number in range(cases)]
    last = fairtrial.evaluate(questions, lambda message: "Paris", {"exact_match": 1.0}, store=url)  # noqa: ARG005
    store = Store(url)
    expected, results = list(store.cases(last.info.id)), list(store.results(last.info.id))
    store.remove(last.info.id)  # it would stay the newest run, so that each new run came before it
    for number in range(runs):
        started = datetime.fromisoformat(last.info.started) - timedelta(hours=runs - number)
        info = replace(last.info, id=f"{started:%Y%m%d-%H%M%S}-{number:06x}", started=started.isoformat())
        broken = cases // 20 if number >= runs - 25 else 0
        own = [
            mark(result, passed=result.position >= broken and rng.random() < rate)
            for result, rate in zip(results, rates, strict=True)
        ]
        store.begin(info)
        store.add_cases(info.id, expected)
        for result in own:
            store.add_result(info.id, result)
        store.finish(info, aggregate(own, (), informs=info.informs, defaults=info.defaults, rules=info.attempt_rules))
        store.commit()
        end(info.id)
    store.close()


def mark(result: CaseResult, *, passed: bool) -> CaseResult:
    """Return a result with another value of its first outcome."""
    outcome, *others = result.outcomes
    score = replace(outcome.score, value=float(passed), parts=())
    return replace(result, outcomes=(replace(outcome, score=score), *others))


def time_page(runs: int = 1000, cases: int = 200) -> None:
    """Print the time from the store to the page, of the wall and of the processor, and the time at the end of a run."""
    with tempfile.TemporaryDirectory() as folder:
        url, ends = f"sqlite:///{folder}/runs.db", list[float]()

        def end(run_id: str) -> None:
            """Follow as the end of each run does. Of the first ends, each follows 50 runs, which takes less time."""
            ends.append(0.0)
            if len(ends) % 50 == 0 or len(ends) > runs - 20:
                start = time.process_time()
                keep_history(url, run_id)
                ends[-1] = time.process_time() - start

        fill_store(url, runs, cases, end)
        print(f"at the end of one of the last runs: {statistics.median(ends[-10:]):.3f} s", flush=True)
        for last in (50, runs):
            _look(url, last, runs, cases, "that the ends of runs prepared")
        for last in (50, runs):
            with sqlite3.connect(f"{folder}/runs.db") as database:
                database.execute("DELETE FROM fairtrial_histories")
            _look(url, last, runs, cases, "without preparation")


def _look(url: str, last: int, runs: int, cases: int, kind: str) -> None:
    start, used = time.perf_counter(), time.process_time()
    history = fairtrial.history(last=last, store=url)
    read = time.process_time()
    page = api.history_html(history)
    print(
        f"{last} of {runs} runs of {cases} cases, a look {kind}: {time.perf_counter() - start:.2f} s, processor "
        f"{read - used:.2f} s for the history and {time.process_time() - read:.2f} s for the page of "
        f"{len(page) / 1e6:.1f} MB",
        flush=True,
    )


def main() -> None:
    """Print both tables, or the time of the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--first", type=int, default=0, help="the first seed without a change")
    parser.add_argument("--results", type=Path, help="go on with this file of false steps, and count nothing else")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    if options.page:
        time_page()
        return
    seeds = options.seeds
    count_all_false(range(options.first, seeds), options.results)
    if options.results is not None:
        return
    print("True steps seen in the first run, and within six runs")
    for kind in ("stable", "flaky"):
        for breaks in (True, False):
            for size in (0.05, 0.2):
                found = find_true(seeds, 100, kind, size, breaks=breaks)
                shape = f"{kind}, {size:.0%} {'of the cases break' if breaks else 'from all cases'}"
                shares = ", ".join(f"{name} {one:.1%} {six:.1%}" for name, (one, six) in found.items())
                print(f"  {shape:45}", shares, flush=True)


if __name__ == "__main__":
    main()
