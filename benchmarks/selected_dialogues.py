"""Does `select` select traces that people want? It is measured on 200 dialogues of tau-bench's airline.

    .venv/bin/python benchmarks/selected_dialogues.py [--splits 20]

In each split, the dialogues of a random third of the tasks are held out, and N of the others are selected. The
selection sees vectors of MiniLM. Coverage and near-duplicates are measured by other features: the words of all
messages, weighted by their rarity (tf-idf). The selected dialogues then predict the next tool of held-out dialogues
that passed: the prediction for a state is the tool that followed the most similar state of a selected dialogue.

The splits share dialogues, so the intervals of differences have the correction of Nadeau and Bengio (2003,
doi:10.1023/A:1024068626366). The dialogues lie beside the project.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Sequence
from math import log, sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np
from measuring import heading, line
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array, vstack
from scipy.stats import t as students_t

import fairtrial
from fairtrial.loading.documents import TraceDefaults, document_files, iter_documents
from fairtrial.records.reasoning import ReasoningTrace
from fairtrial.valuation.chunk import parse_document
from fairtrial.valuation.embed import embedder
from fairtrial.valuation.facility_location import mean_cosine
from fairtrial.valuation.whole_trace import choose_part, embed_traces

DATA = Path(__file__).parents[2] / "shared" / "data" / "tau-bench" / "gpt-4o-airline.json"
BUDGETS = (10, 40)
SPLITS = 20
RANDOM_DRAWS = 10
NEAR = 0.5
"""Two dialogues with at least this cosine of their words are near-duplicates: 1.5 % of all pairs, 3 in 4 of a task."""
SEED = 20261128
Floats = NDArray[np.float64]
Places = list[int]


class Dialogues(NamedTuple):
    """The dialogues as traces, with their tasks, verdicts, vectors, words, and the states before each next tool."""

    traces: list[ReasoningTrace]
    tasks: NDArray[np.int64]
    passed: NDArray[np.bool_]
    vectors: Floats
    words: Floats
    states: Floats
    next_tools: NDArray[np.str_]
    owners: NDArray[np.int64]


class Quality(NamedTuple):
    """What a selection of a split is worth."""

    success: float
    coverage: float
    own_coverage: float
    near_pairs: float
    accuracy: float


def weigh_words(texts: Sequence[str]) -> Floats:
    """Return a row of unit length for each text: its words that another text has too, weighted by their rarity."""
    counts = [Counter(re.findall(r"\w+", text.lower())) for text in texts]
    frequency = Counter(word for count in counts for word in count)
    columns = {word: place for place, word in enumerate(sorted(word for word in frequency if frequency[word] > 1))}
    rows = np.zeros((len(texts), len(columns)))
    for row, count in zip(rows, counts, strict=True):
        for word, times in count.items():
            if word in columns:
                row[columns[word]] = (1 + log(times)) * log(len(texts) / frequency[word])
    unit: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return unit


def read_dialogues() -> Dialogues:
    embed = choose_part(embedder("minilm"), "contents")
    assert embed is not None
    documents = iter_documents(document_files([str(DATA)]), TraceDefaults(0.8, None))
    traces = [trace for trace in map(parse_document, documents) if isinstance(trace, ReasoningTrace)]
    raw: list[dict[str, Any]] = json.loads(DATA.read_text(encoding="utf-8"))
    texts: list[str] = []
    states: list[str] = []
    tools: list[str] = []
    owners: list[int] = []
    for owner, dialogue in enumerate(raw):
        messages = [message for message in dialogue["traj"] if message["role"] != "system"]
        texts.append(json.dumps(messages))
        for place, message in enumerate(messages):
            if message["role"] == "assistant":
                states.append(describe_state(messages[:place]))
                calls = message.get("tool_calls") or []
                tools.append(calls[0]["function"]["name"] if calls else "reply")
                owners.append(owner)
    return Dialogues(
        traces,
        np.array([dialogue["task_id"] for dialogue in raw]),
        np.array([trace.metadata.success for trace in traces]),
        np.asarray(embed_traces(traces, embed), dtype=np.float64),
        weigh_words(texts),
        weigh_words(states),
        np.array(tools),
        np.array(owners),
    )


def describe_state(messages: Sequence[dict[str, Any]]) -> str:
    """Return the last three messages, the words of the user and the tools that were called, as one text."""
    said = [str(message.get("content") or "") for message in messages if message["role"] == "user"]
    called = [call["function"]["name"] for message in messages for call in message.get("tool_calls") or []]
    return " ".join([json.dumps(messages[-3:])[:4000], *said, *(f"called_{name}" for name in called[-3:])])


def measure_quality(dialogues: Dialogues, pool: Places, selected: Places, tests: Places) -> Quality:
    near = (dialogues.words[selected] @ dialogues.words[selected].T)[np.triu_indices(len(selected), 1)] >= NEAR
    known, asked = np.isin(dialogues.owners, selected), np.isin(dialogues.owners, tests)
    nearest = (dialogues.states[asked] @ dialogues.states[known].T).argmax(axis=1)
    return Quality(
        float(dialogues.passed[selected].mean()),
        float((dialogues.words[pool] @ dialogues.words[selected].T).max(axis=1).mean()),
        float(
            similarities(dialogues.vectors[pool], dialogues.vectors[pool])[:, find(pool, selected)].max(axis=1).mean()
        ),
        float(near.sum()),
        float((dialogues.next_tools[known][nearest] == dialogues.next_tools[asked]).mean()),
    )


def find(pool: Places, selected: Places) -> Places:
    return [pool.index(place) for place in selected]


def similarities(vectors: Floats, others: Floats) -> Floats:
    """Return the similarities of `select`, which are 0 for two arbitrary traces of the set."""
    baseline = mean_cosine(vectors.astype(np.float32))
    return np.clip((vectors @ others.T - baseline) / (1 - baseline), 0.0, 1.0)


def select(dialogues: Dialogues, pool: Places, budget: int, by: Any) -> Places:
    traces = [dialogues.traces[place] for place in pool]
    places = {trace.id: place for trace, place in zip(traces, pool, strict=True)}
    selection = fairtrial.select(traces, budget=budget, by=by, vectors=dialogues.vectors[pool])
    return [places[trace.id] for trace in selection.traces]


def select_determinantal(dialogues: Dialogues, pool: Places, budget: int) -> Places:
    """Return the greedy mode of a determinantal process over the vectors (Chen et al. 2018, arXiv 1709.05135)."""
    kernel = dialogues.vectors[pool] @ dialogues.vectors[pool].T + 1e-6 * np.eye(len(pool))
    rows = np.zeros((budget, len(pool)))
    left = np.diag(kernel).copy()
    chosen: Places = []
    for step in range(min(budget, len(pool))):
        best = int(left.argmax())
        rows[step] = (kernel[best] - rows[:step].T @ rows[:step, best]) / sqrt(left[best])
        left -= rows[step] ** 2
        chosen.append(best)
        left[chosen] = -np.inf
    return [pool[place] for place in chosen]


def compare_methods(dialogues: Dialogues, budget: int, splits: int) -> tuple[dict[str, list[Quality]], list[int]]:
    """Return the quality of each method in each split, and the fewest near-duplicate pairs that are possible.

    The quality of a random method is the mean of ten selections.
    """
    rng = np.random.default_rng(SEED)
    qualities: dict[str, list[Quality]] = {}
    fewest: list[int] = []
    names = np.unique(dialogues.tasks)
    for _ in range(splits):
        held_out = rng.choice(names, len(names) // 3, replace=False)
        is_test = np.isin(dialogues.tasks, held_out)
        pool = np.flatnonzero(~is_test).tolist()
        passed = np.flatnonzero(~is_test & dialogues.passed).tolist()
        tests = np.flatnonzero(is_test & dialogues.passed).tolist()
        fewest.append(fewest_near_pairs(dialogues, passed, budget))
        selections = {
            "random": [rng.choice(pool, budget, replace=False).tolist() for _ in range(RANDOM_DRAWS)],
            "random, passed": [rng.choice(passed, budget, replace=False).tolist() for _ in range(RANDOM_DRAWS)],
            "determinantal": [select_determinantal(dialogues, pool, budget)],
            "determinantal, passed": [select_determinantal(dialogues, passed, budget)],
            "--by value": [select(dialogues, pool, budget, "value")],
            "--by coverage": [select(dialogues, pool, budget, "coverage")],
            "--by verdict": [select(dialogues, pool, budget, "verdict")],
        }
        for name, drawn in selections.items():
            measured = [measure_quality(dialogues, pool, selected, tests) for selected in drawn]
            qualities.setdefault(name, []).append(Quality(*map(fmean, zip(*measured, strict=True))))
    return qualities, fewest


def difference(first: Sequence[float], second: Sequence[float]) -> str:
    """Return the mean difference over the splits with a 95 % interval. The tested tasks are half of the others."""
    differences = [one - other for one, other in zip(first, second, strict=True)]
    error = stdev(differences) * sqrt(1 / len(differences) + 0.5)
    margin = float(students_t.ppf(0.975, len(differences) - 1)) * error
    mean = fmean(differences)
    return f"{mean:+.3f} [{mean - margin:+.3f} {mean + margin:+.3f}]"


def best_possible(dialogues: Dialogues, budget: int, allowed: Places) -> float:
    """Return the coverage of all dialogues that no selection of the allowed ones exceeds: parts may be selected."""
    table = similarities(dialogues.vectors, dialogues.vectors[allowed])
    clients, items = table.shape
    # Variables: the part of each item that is selected, then the part of each client that each item covers.
    pairs = np.arange(clients * items)
    ones = np.ones(clients * items)
    covers = csr_array((ones, (pairs // items, items + pairs)), shape=(clients, items + clients * items))
    limits = csr_array(
        (np.concatenate([ones, -ones]), (np.tile(pairs, 2), np.concatenate([items + pairs, pairs % items]))),
        shape=(clients * items, items + clients * items),
    )
    size = csr_array((np.ones(items), (np.zeros(items, dtype=int), np.arange(items))), shape=(1, items + len(pairs)))
    upper = vstack([covers, limits, size], format="csr")
    most = np.concatenate([np.ones(clients), np.zeros(len(pairs)), [budget]])
    goal = np.concatenate([np.zeros(items), -table.ravel() / clients])
    solved = linprog(goal, A_ub=upper, b_ub=most, bounds=(0, 1), method="highs")
    return -float(solved.fun)


def fewest_near_pairs(dialogues: Dialogues, allowed: Places, budget: int) -> int:
    """Return the least number of near-duplicate pairs in any selection of the allowed dialogues, by a linear program.

    The parts of dialogues and pairs are whole numbers, so the number is exact.
    """
    firsts, seconds = np.triu_indices(len(allowed), 1)
    rows = dialogues.words[allowed]
    near = (rows @ rows.T)[firsts, seconds] >= NEAR
    firsts, seconds, items = firsts[near], seconds[near], len(allowed)
    pairs = np.arange(len(firsts))
    table = np.zeros((len(pairs) + 1, items + len(pairs)))
    table[pairs, firsts] = table[pairs, seconds] = 1
    table[pairs, items + pairs] = -1
    table[-1, :items] = 1
    least, most = np.full(len(table), -np.inf), np.ones(len(table))
    least[-1] = most[-1] = budget
    solved = milp(
        np.concatenate([np.zeros(items), np.ones(len(pairs))]),
        constraints=LinearConstraint(table, least, most),
        integrality=np.concatenate([np.ones(items), np.zeros(len(pairs))]),
        bounds=Bounds(0, 1),
    )
    if not solved.success:
        raise AssertionError(solved.message)
    return round(float(solved.fun))


def main(splits: int = SPLITS) -> None:
    heading("select on 200 dialogues of tau-bench's airline")
    if not DATA.exists():
        line("tau-bench", f"is not at {DATA}")
        return
    dialogues = read_dialogues()
    everything = list(range(len(dialogues.traces)))
    passed = np.flatnonzero(dialogues.passed).tolist()
    for budget in BUDGETS:
        heading(f"{budget} of the dialogues, {splits} splits: success, coverage, own coverage, near pairs, next tool")
        qualities, fewest = compare_methods(dialogues, budget, splits)
        for name, measured in qualities.items():
            means = Quality(*map(fmean, zip(*measured, strict=True)))
            line(
                name,
                f"{means.success:.2f}  {means.coverage:.3f}  {means.own_coverage:.3f}  "
                f"{means.near_pairs:.1f}  {means.accuracy:.3f}",
            )
        line("fewest near pairs of passed dialogues", f"{fmean(fewest):.1f}")
        own = [*zip(*qualities["--by verdict"], strict=True)]
        for other in ("random", "random, passed", "--by coverage", "determinantal", "determinantal, passed"):
            theirs = [*zip(*qualities[other], strict=True)]
            found = [difference(first, second) for first, second in zip(own, theirs, strict=True)]
            line(f"verdict - {other}", "  ".join(found))
        selections = {
            "--by verdict": select(dialogues, everything, budget, "verdict"),
            "--by coverage": select(dialogues, everything, budget, "coverage"),
            "--by value": select(dialogues, everything, budget, "value"),
            "determinantal": select_determinantal(dialogues, everything, budget),
            "determinantal, passed": select_determinantal(dialogues, passed, budget),
        }
        heading(f"{budget} of all 200: success, coverage, own coverage, near pairs")
        for name, selected in selections.items():
            quality = measure_quality(dialogues, everything, selected, everything)
            line(name, " ".join(f"{number:.3f}" for number in quality[:4]))
        line("fewest near pairs of passed dialogues", f"{fewest_near_pairs(dialogues, passed, budget)}")
        line("most own coverage of passed dialogues", f"{best_possible(dialogues, budget, passed):.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=SPLITS)
    main(parser.parse_args().splits)
