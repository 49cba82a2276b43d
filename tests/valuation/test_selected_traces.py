"""Selected traces, the quality of a selection, and its bound."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fairtrial
from fairtrial.errors import FormatError, UsageError
from fairtrial.valuation import facility_location, weights
from fairtrial.valuation.facility_location import Objective, choose, mean_cosine
from fairtrial.valuation.selected_traces import Candidates, SelectOptions, select_traces, split_budget
from reasonings import WORDS, by_words, many, reasoning

Floats = NDArray[np.float32]


def clustered(count: int, *, seed: int, clusters: int = 4, dimensions: int = 6, noise: float = 0.3) -> Floats:
    """Vectors of unit length around a few random centres."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(clusters, dimensions))
    rows = centres[rng.integers(clusters, size=count)] + noise * rng.normal(size=(count, dimensions))
    unit: Floats = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def compute_objective(vectors: Floats, places: tuple[int, ...], share: float, worths: Any, baseline: float) -> float:
    """The objective of a selection, written out item by item."""
    total = 0.0
    for row in vectors:
        cosines = [float(row @ vectors[place]) for place in places]
        total += max(min(1.0, max(0.0, (cosine - baseline) / (1 - baseline))) for cosine in cosines)
    worth = float(sum(worths[place] for place in places))
    return share * total / len(vectors) + (1 - share) * worth / len(places)


@pytest.mark.long
@pytest.mark.parametrize("share", [1.0, 0.5, 0.0])
@pytest.mark.parametrize("seed", range(8))
def test_a_selection_is_near_the_best_of_all_selections(seed: int, share: float) -> None:
    """Greedy reaches the guaranteed share of the exhaustive optimum, and the bound is never below the optimum."""
    vectors = clustered(11, seed=seed)
    worths = np.random.default_rng(seed).random(11)
    baseline = mean_cosine(vectors)
    best = max(compute_objective(vectors, places, share, worths, baseline) for places in combinations(range(11), 4))
    placement = choose(vectors, Objective(share, worths), [4], np.zeros(11, dtype=np.int64), baseline)
    reached = compute_objective(vectors, tuple(placement.places), share, worths, baseline)
    assert placement.objective == pytest.approx(reached, abs=1e-6)
    assert (1 - 1 / np.e) * best - 1e-6 <= reached <= best + 1e-6
    assert reached >= 0.95 * best
    assert best - 1e-6 <= placement.bound <= 1.5 * best


@pytest.mark.parametrize("seed", range(8))
def test_quotas_hold_and_the_bound_is_true_within_them(seed: int) -> None:
    """Each group gets its quota, and no selection with the same quotas is above the bound."""
    vectors, worths = clustered(12, seed=seed), np.zeros(12)
    groups = np.arange(12) % 3
    placement = choose(vectors, Objective(1.0, worths), [2, 1, 1], groups, 0.0)
    assert np.bincount(groups[placement.places]).tolist() == [2, 1, 1]
    allowed = [places for places in combinations(range(12), 4) if sorted(groups[list(places)]) == [0, 0, 1, 2]]
    best = max(compute_objective(vectors, places, 1.0, worths, 0.0) for places in allowed)
    assert 0.5 * best - 1e-6 <= placement.objective <= best + 1e-6 <= placement.bound + 2e-6


def test_lazy_evaluation_selects_what_full_evaluation_selects() -> None:
    """With 300 items, stale bounds change nothing: each step takes an item with the largest gain."""
    vectors = clustered(300, seed=3, clusters=20, dimensions=16)
    placement = choose(vectors, Objective(1.0, np.zeros(300)), [25], np.zeros(300, dtype=np.int64), 0.0)
    similarities = np.clip(vectors @ vectors.T, 0, 1)
    covered = np.zeros(300)
    for place, gain in zip(placement.places, placement.gains, strict=True):
        gains = np.maximum(similarities, covered).mean(axis=1) - covered.mean()
        assert gain == pytest.approx(gains.max(), abs=1e-6)
        covered = np.maximum(covered, similarities[place])


@pytest.mark.long
def test_a_sample_stands_for_a_large_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a sample of clients, the coverage is nearly the same, and the bound includes the error of the sample."""
    vectors = clustered(3000, seed=5, clusters=30, dimensions=16)
    groups = np.zeros(3000, dtype=np.int64)
    exact = choose(vectors, Objective(1.0, np.zeros(3000)), [30], groups, 0.0)
    monkeypatch.setattr(facility_location, "MOST_CLIENTS", 600)
    sampled = choose(vectors, Objective(1.0, np.zeros(3000)), [30], groups, 0.0)
    coverage = np.clip(vectors @ vectors[sampled.places].T, 0, 1).max(axis=1).mean()
    assert (exact.client_count, sampled.client_count) == (3000, 600)
    assert coverage >= 0.98 * exact.objective
    # Hoeffding's margin of 600 draws is sqrt(ln 100 / 1200) = 0.0619.
    assert min(1.0, sampled.objective + 0.0619) <= sampled.bound <= 1.0


def test_coverage_is_above_random_at_every_size() -> None:
    """Relative to arbitrary pairs of the set, a selection covers at least 5 % more than random selections."""
    vectors = clustered(200, seed=1, clusters=25, dimensions=24)
    for budget in (1, 2, 5, 10, 25, 50):
        names = [str(number) for number in range(200)]
        candidates = Candidates(names, [0.5] * 200, [""] * 200, vectors, "test")
        selection = select_traces(candidates, SelectOptions(budget=budget, by="coverage"))
        assert selection.coverage is not None
        assert selection.random_coverage is not None
        assert selection.coverage >= 1.05 * selection.random_coverage


def test_the_reasons_name_the_traces_that_are_covered() -> None:
    """Three copies of two texts: each selected trace covers its copies, and they are named."""
    traces = [
        reasoning(number, text=text) for number, text in enumerate(["plan query index"] * 3 + ["invoice refund"] * 3)
    ]
    selection = fairtrial.select(traces, budget=2, by="coverage", embedder=by_words)
    assert [trace.covers for trace in selection.traces] == [3, 3]
    assert {trace.id for trace in selection.traces} & {"kp:trace:0", "kp:trace:1", "kp:trace:2"}
    first = selection.traces[0]
    assert len(first.examples) == 2
    assert first.reason.endswith(f"covers 3 traces, for example {', '.join(first.examples)}")
    (alone,) = fairtrial.select(traces[:1], budget=1, by="coverage", embedder=by_words).traces
    assert alone.reason.endswith("covers 1 trace")


def test_traces_that_failed_are_selected_by_coverage_only() -> None:
    """By verdict, each selected trace passed, and a budget above the number of passed traces selects fewer."""
    traces = many(12)
    for trace in traces[:8]:
        trace["metadata"] |= {"success": False}
    by_verdict = fairtrial.select(traces, budget=6, embedder=by_words)
    assert {trace.id for trace in by_verdict.traces} == {trace["id"] for trace in traces[8:]}
    assert (by_verdict.count, by_verdict.failed) == (12, 8)
    assert sum(trace.covers or 0 for trace in by_verdict.traces) == 12
    by_coverage = fairtrial.select(traces, budget=12, by="coverage", embedder=by_words)
    assert (len(by_coverage.traces), by_coverage.failed) == (12, None)
    assert {trace.id for trace in by_coverage.traces if trace.passed} == {trace["id"] for trace in traces[8:]}


@pytest.mark.shared
@pytest.mark.parametrize(("budget", "limit"), [(10, 0.561), (40, 0.730)])
@pytest.mark.long
def test_real_dialogues_that_passed_cover_as_much_as_they_can(shared: Path, budget: int, limit: float) -> None:
    """No selection of the dialogues of tau-bench that passed covers more than the limit of a linear program."""
    if weights.find_installed() is None:
        pytest.skip("needs the weights of the model")
    file = shared / "data" / "tau-bench" / "gpt-4o-airline.json"
    selection = fairtrial.select(file, budget=budget, embedder="minilm", confidence=0.8)
    assert all(trace.passed for trace in selection.traces)
    assert (len(selection.traces), selection.count, selection.failed) == (budget, 200, 116)
    assert selection.coverage is not None
    assert selection.random_coverage is not None
    assert 0.99 * limit <= selection.coverage <= limit + 0.001
    assert selection.coverage >= 1.05 * selection.random_coverage


def test_a_set_without_a_passed_trace_is_refused_by_verdict() -> None:
    """The message names the goal that allows failed traces."""
    failed = reasoning()
    failed["metadata"] |= {"success": False}
    with pytest.raises(UsageError, match="no trace passed; select by coverage"):
        fairtrial.select([failed], budget=1, embedder=by_words)


@pytest.mark.parametrize("by", ["verdict", "coverage", "value"])
def test_a_trace_that_repeats_another_is_not_selected(by: Any) -> None:
    """Of three traces with the same steps the first one is a candidate. A failed trace hides no passed trace."""
    texts = ["plan query index", "plan query index", "plan query index", "invoice refund patient deploy rollback"]
    traces = [
        reasoning(number, steps=[{"step_id": 0, "type": "thought", "content": text}])
        for number, text in enumerate(texts)
    ]
    traces[0]["metadata"] |= {"success": by != "verdict"}
    selection = fairtrial.select(traces, budget=4, by=by, embedder=by_words)
    first = "kp:trace:1" if by == "verdict" else "kp:trace:0"
    assert {trace.id for trace in selection.traces} == {first, "kp:trace:3"}
    assert selection.repeated == (1 if by == "verdict" else 2)


def test_selection_by_value_takes_the_highest_values() -> None:
    """Without vectors, the bound is the objective: nothing can be better."""
    traces = [reasoning(number, outcome={"result_summary": "", "confidence": number / 10}) for number in range(8)]
    selection = fairtrial.select(traces, budget=3, by="value", embedder="none")
    assert [trace.id for trace in selection.traces] == ["kp:trace:7", "kp:trace:6", "kp:trace:5"]
    assert selection.least_share == pytest.approx(1.0)
    assert selection.coverage is None


def test_the_same_traces_give_the_same_selection() -> None:
    """Nothing depends on the time or on chance."""
    traces = many(40)
    first, second = (fairtrial.select(traces, budget=7, embedder=by_words) for _ in range(2))
    assert first == second
    assert len({trace.id for trace in first.traces}) == 7


def test_quotas_are_as_equal_as_the_groups_allow() -> None:
    """A small group gives the rest of its share to the others."""
    assert split_budget(10, [2, 9, 9]) == [2, 4, 4]
    assert split_budget(3, [5, 5]) == [2, 1]
    assert split_budget(9, [1, 1]) == [1, 1]


@pytest.mark.parametrize(
    ("per", "groups"), [("tool", {"grep", "fix"}), ("language", {"en", "ko"}), ("domain", {"a", "b"})]
)
def test_quotas_per_group(per: Any, groups: set[str]) -> None:
    """Half of the budget goes to each of two groups, although one of them has many more traces."""
    traces = []
    for number in range(12):
        is_rare = number < 3
        steps = [{"step_id": 0, "type": "tool_call", "tool": {"name": "grep" if is_rare else "fix"}}]
        content = "한국어로 쓴 추론의 내용입니다" if is_rare else "an English line of reasoning"
        thought = {"step_id": 1, "type": "thought", "content": f"{' '.join(WORDS[number : number + 3])} {content}"}
        trace = reasoning(number, steps=[*steps, thought])
        trace["metadata"] |= {"task_domain": "a" if is_rare else "b"}
        trace["task"] = {"objective": content}
        traces.append(trace)
    selection = fairtrial.select(traces, budget=4, per=per, embedder=by_words)
    assert selection.quotas == dict.fromkeys(groups, 2)
    assert sorted(trace.group for trace in selection.traces) == sorted([*groups] * 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "budget: must be at least 1, got 0"),
        ({"budget": 1, "by": "coverrage"}, "did you mean 'coverage'"),
        ({"budget": 1, "per": "tools"}, "per: must be one of tool, language, domain, got 'tools'"),
        ({"budget": 1, "embedder": "none"}, "by 'verdict' needs an embedder"),
        ({"budget": 1, "vectors": np.zeros((3, 2))}, "vectors: must be 1 rows"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options: dict[str, Any], message: str) -> None:
    """The message names the option, its value and the allowed values."""
    with pytest.raises(UsageError, match=message):
        fairtrial.select([reasoning()], **{"embedder": by_words, **options})


def test_paths_stand_for_the_traces_in_their_files(tmp_path: Path) -> None:
    """One path, or several, of files and folders, as text or as Path; the selection is that of the objects."""
    traces = many(6)
    file, other = tmp_path / "a.jsonl", tmp_path / "folder" / "b.json"
    other.parent.mkdir()
    file.write_text("\n".join(map(json.dumps, traces[:4])), encoding="utf-8")
    other.write_text(json.dumps(traces[4:]), encoding="utf-8")
    expected = fairtrial.select(traces, budget=3, embedder=by_words)
    paths: list[str | Path] = [file, str(other.parent)]
    assert fairtrial.select(paths, budget=3, embedder=by_words) == expected
    expected = fairtrial.select(traces[:4], budget=3, embedder=by_words)
    assert fairtrial.select(str(file), budget=3, embedder=by_words) == expected
    assert fairtrial.select(file, budget=3, embedder=by_words) == expected


def test_a_damaged_trace_of_a_file_is_refused_by_its_place(tmp_path: Path) -> None:
    """And a path without a file, as the command says it."""
    file = tmp_path / "a.jsonl"
    file.write_text("\n".join([json.dumps(reasoning()), json.dumps(reasoning() | {"steps": 3})]), encoding="utf-8")
    with pytest.raises(FormatError, match=r"a\.jsonl:2: /steps: "):
        fairtrial.select(file, budget=1, embedder=by_words)
    with pytest.raises(UsageError, match="nowhere: no such file or folder"):
        fairtrial.select(tmp_path / "nowhere", budget=1, embedder=by_words)


def test_a_text_is_not_taken_for_a_list_of_letters() -> None:
    """Also where paths are not read: the message shows the whole text."""
    path: Any = "examples/traces.jsonl"
    functions: tuple[Callable[[Any], object], ...] = (fairtrial.find_duplicates, fairtrial.value)
    for function in functions:
        with pytest.raises(UsageError, match=r"traces: must be a ReasoningTrace, .* got 'examples/traces.jsonl'"):
            function(path)
    assert fairtrial.find_duplicates(reasoning()) == (None,)


def test_a_budget_above_the_number_of_traces_selects_all() -> None:
    """Vectors of an earlier computation are taken as they are."""
    traces = many(5)
    selection = fairtrial.select(traces, budget=9, vectors=clustered(5, seed=1))
    assert sorted(trace.id for trace in selection.traces) == sorted(trace["id"] for trace in traces)
    assert selection.embedder == "vectors"
