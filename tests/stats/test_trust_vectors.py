"""The statistics agree with scipy, statsmodels, confseq and R. Their numbers are recorded in vectors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

import pytest

from fairtrial.records.average import mean
from fairtrial.stats.difference import paired_difference
from fairtrial.stats.evidence import Evidence, evidence_above, evidence_below
from fairtrial.stats.fixed_cases import case_sample, fixed_difference, fixed_interval
from fairtrial.stats.one_sided import cases_for_margin
from fairtrial.stats.pass_k import all_pass, any_passes, pass_k_interval
from fairtrial.stats.sample_size import cases_to_detect
from fairtrial.stats.several import holm, mcnemar
from fairtrial.stats.variance import judge_noise, variance_split
from vector_reasons import SIGNS, WHOLE_MOVES, reason_of_difference, reason_of_mean

pytestmark = pytest.mark.shared


@pytest.fixture(scope="module")
def trust(shared: Path) -> dict[str, Any]:
    """Inputs and numbers of statistical libraries."""
    vectors: dict[str, Any] = json.loads((shared / "vectors" / "trust.json").read_bytes())
    return vectors


def load_vectors(trust: dict[str, Any], group: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Inputs and outputs of a group; the outputs are approximations to its tolerance."""
    tolerance = trust["groups"][group]["tolerance"]
    return [(vector["in"], close(vector["out"], tolerance)) for vector in trust["groups"][group]["cases"]]


def close(value: Any, tolerance: float) -> Any:
    """The value, with every number in it as an approximation."""
    if isinstance(value, dict):
        return {key: close(item, tolerance) for key, item in value.items()}
    if isinstance(value, list):
        return [close(item, tolerance) for item in value]
    return pytest.approx(value, abs=tolerance, rel=0) if isinstance(value, int | float) else value


def test_paired_differences(trust: dict[str, Any]) -> None:
    """The difference of every vector, and each interval and p value without a named reason."""
    reasons: Counter[str | None] = Counter()
    for inputs, recorded in load_vectors(trust, "paired"):
        expected = recorded
        differences = [
            mean(after) - mean(before) for before, after in zip(inputs["base"], inputs["candidate"], strict=True)
        ]
        width = inputs["range_width"] or inf
        difference = paired_difference(differences, width=width)
        if difference is None:
            assert expected["low"] is None
            continue
        if inputs["range_width"] is None:
            # The recorded quantiles of scipy 1.12 err by up to 2e-9 of their size. Those of scipy 1.17 do not.
            expected = {name: pytest.approx(value.expected, rel=2e-9, abs=1e-9) for name, value in expected.items()}
        assert difference.value == expected["difference"]
        why = reason_of_difference(differences, width)
        reasons[why] += 1
        if why != WHOLE_MOVES:
            assert difference.interval() == (expected["low"], expected["high"])
        if why is None:
            assert difference.p == expected["p"]
    assert reasons == {None: 10, SIGNS: 11, WHOLE_MOVES: 12}


def test_these_cases(trust: dict[str, Any]) -> None:
    """One run, and the difference of two runs, if the cases are fixed."""
    for inputs, expected in load_vectors(trust, "these_cases"):
        base, candidate = ([case_sample(case) for case in inputs[run]] for run in ("base", "candidate"))
        for run, cases in (("base", base), ("candidate", candidate)):
            assert mean([case.mean for case in cases]) == expected[run]["mean"]
            assert list(fixed_interval(cases) or ()) == [expected[run]["low"], expected[run]["high"]]
        difference = fixed_difference(base, candidate)
        assert difference is not None
        low, high = difference.interval()
        found = {"value": difference.value, "low": low, "high": high, "p": difference.p}
        assert found == expected["difference"]


def test_mcnemar(trust: dict[str, Any]) -> None:
    """Exact p and mid-p."""
    for inputs, expected in load_vectors(trust, "mcnemar"):
        exact, mid_p = mcnemar(inputs["fixed"], inputs["broken"])
        assert {"exact": exact, "mid_p": mid_p} == expected


def test_holm(trust: dict[str, Any]) -> None:
    """Corrected p values stand in the order of the plain ones."""
    for inputs, expected in load_vectors(trust, "holm"):
        assert holm(inputs["p"]) == expected["p_holm"]


def pass_k(passed: list[int], attempts: list[int], k: int) -> dict[str, Any]:
    """Both numbers for one k, as the vectors hold them, without ends that are named to be others."""
    cases = [(c, m) for c, m in zip(passed, attempts, strict=True) if m >= k]
    found: dict[str, Any] = {"cases": len(cases)}
    if not cases:
        return {**found, "pass_hat": None, "pass_at": None}
    for name, share in (("pass_hat", all_pass), ("pass_at", any_passes)):
        shares = [share(c, m, k) for c, m in cases]
        low, high = pass_k_interval(shares, sum(m for _, m in cases), k) or (None, None)
        found[name] = {"value": mean(shares), "low": low, "high": high}
        if reason_of_mean(shares):
            found[name] = {"value": mean(shares)}
    return found


def agrees(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether both hold the same numbers, as far as the found ones are there."""
    return all(
        value == {name: expected[key][name] for name in value} if isinstance(value, dict) else value == expected[key]
        for key, value in found.items()
    )


def test_pass_k(trust: dict[str, Any]) -> None:
    """pass^k and pass@k with their intervals, also where cases have different numbers of attempts."""
    with_ends = 0
    for inputs, expected in load_vectors(trust, "pass_k"):
        for k in expected:
            found = pass_k(inputs["passed"], inputs["attempts"], int(k))
            assert agrees(found, expected[k])
            with_ends += sum("low" in value for value in found.values() if isinstance(value, dict))
    assert with_ends >= 10


def logs_above(waves: Sequence[Sequence[float]], limit: float) -> list[float]:
    """The evidence above a limit, by even gamblers.

    Vectors with a limit below 0.45 do not hold for the tuned gamblers, who need fewer waves there.
    """
    found, even = evidence_above(waves, limit), compute_logs(waves, limit)
    assert (found == even) == (limit >= 0.45)
    return even


def logs_below(waves: Sequence[Sequence[float]], limit: float) -> list[float]:
    """The evidence below a limit, by even gamblers, as above."""
    losses = [[1 - value for value in wave] for wave in waves]
    found, even = evidence_below(waves, limit), compute_logs(losses, 1 - limit)
    assert (found == even) == (1 - limit >= 0.45)
    return even


def compute_logs(waves: Sequence[Sequence[float]], limit: float) -> list[float]:
    """The logarithm of the wealth of even gamblers after each wave."""
    evidence = Evidence(limit, len(waves[0]))
    logs = []
    for wave in waves:
        evidence.add(wave)
        logs.append(evidence.log)
    return logs


def test_evidence(trust: dict[str, Any]) -> None:
    """The logarithm of the evidence after each wave, on both sides."""
    for inputs, expected in load_vectors(trust, "evidence"):
        assert logs_above(inputs["waves"], inputs["threshold"]) == expected["log_evidence_above"]
        assert logs_below(inputs["waves"], inputs["threshold"]) == expected["log_evidence_below"]


def test_variance(trust: dict[str, Any]) -> None:
    """The split agrees with the analysis of variance, and with REML if the attempts are balanced."""
    for inputs, expected in load_vectors(trust, "variance"):
        split = variance_split([case_sample(case) for case in inputs["values_by_case"]])
        assert split is not None
        assert split.case == expected["case"]
        if split.attempt is not None:
            assert split.attempt == expected["attempt"]
        if "reml_case" in expected:
            assert split.case == pytest.approx(expected["reml_case"].expected, abs=2e-4)


def test_judge_noise(trust: dict[str, Any]) -> None:
    """The closed form agrees with numeric integration."""
    compared = 0
    for inputs, expected in load_vectors(trust, "judge_noise"):
        for votes, variance in expected.items():
            if variance is not None:
                compared += 1
                assert judge_noise(inputs["yes_rate"], inputs["self_agreement"], int(votes)) == variance
    assert compared >= 6


def test_plan(trust: dict[str, Any]) -> None:
    """The least number of cases is the same as that of a search with scipy's quantiles."""
    for inputs, expected in load_vectors(trust, "plan"):
        variance = 2 * inputs["case"] * (1 - inputs["correlation"]) + 2 * inputs["attempt"] / inputs["attempts"]
        cases = cases_to_detect(inputs["effect"], variance, 1) or 0
        # Below 100 cases, sign flips need Connor's number: (1.96 sqrt(0.1) + 0.8416 sqrt(0.09))^2 / 0.01 = 76.1.
        assert cases == (expected["cases"] if expected["cases"].expected >= 100 else 77)
        # The limits of "not worse" are exact, so that they notice rare failures, and need more cases.
        not_worse = cases_for_margin(inputs["effect"], variance, 1) or 0
        assert 1 < not_worse / expected["cases_not_worse_alpha_05_one_sided"].expected < 1.2


def test_tau_bench_has_its_published_numbers(trust: dict[str, Any], shared: Path) -> None:
    """pass^1..4 of gpt-4o on the airline tasks are 0.420, 0.273, 0.220 and 0.200, as its authors published."""
    published = trust["published"]["tau_bench_airline_gpt4o"]["values"]
    by_case: dict[int, list[float]] = {}
    trials = json.loads((shared / "data" / "tau-bench" / "gpt-4o-airline.json").read_bytes())
    for trial in sorted(trials, key=lambda trial: trial["trial"]):
        by_case.setdefault(trial["task_id"], []).append(trial["reward"])
    values = list(by_case.values())
    passed, attempts = [int(sum(case)) for case in values], [len(case) for case in values]
    for k, rounded in enumerate((0.420, 0.273, 0.220, 0.200), 1):
        found = pass_k(passed, attempts, k)
        assert round(found["pass_hat"]["value"], 3) == rounded
        for name, group in (("pass_hat", f"pass^{k}"), ("pass_at", f"pass@{k}")):
            numbers = list(found[name].values())
            assert numbers == close(published[group][: len(numbers)], 1e-9)
    samples = [case_sample(case) for case in values]
    split = variance_split(samples)
    assert split is not None
    assert split._asdict() == close(published["variance"], 1e-9)
    rate = mean([case.mean for case in samples])
    assert [rate, *(fixed_interval(samples) or ())] == close(published["these_cases"], 1e-9)
    waves = list(zip(*values, strict=True))
    for limit, logs in published["evidence_by_trial"].items():
        assert logs_above(waves, float(limit)) == close(logs["log_above"], 1e-9)
        assert logs_below(waves, float(limit)) == close(logs["log_below"], 1e-9)
