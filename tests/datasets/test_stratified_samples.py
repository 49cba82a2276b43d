"""Samples of data sets that take each value of a field in proportion, and their estimates of the whole."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from statistics import fmean, variance
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import t as student
from traffic import conversation, write_expectation, write_lines

from commands import Done
from commands import fairtrial as command
from fairtrial.api.datasets.dataset_strata import allocate
from fairtrial.errors import UsageError
from fairtrial.loading import shards
from fairtrial.stats.interval import bounded_interval, logarithmic_interval, student_interval
from fairtrial.stats.stratified import (
    Stratum,
    stratified_bounded_interval,
    stratified_logarithmic_interval,
    stratified_mean,
    stratified_student_interval,
)

MODELS = ["large"] * 30 + ["small"] * 15 + ["tiny"] * 5


def make_conversations(number: int) -> list[dict[str, Any]]:
    """Conversations with three models; those with `small` call two tools."""
    made = []
    for i in range(number):
        model = MODELS[i % len(MODELS)]
        one = {**conversation(i), "metadata": {"model": model}}
        if model == "small":
            calls = one["messages"][1]["tool_calls"]
            calls.append({**calls[0], "id": "another"})
        made.append(one)
    return made


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration whose criterion needs no expectation."""
    path = tmp_path / "calls.config.json"
    path.write_text(json.dumps({"criteria": {"tool_call_count_v1": {"threshold": 1}}}))
    return path


def sampled(recorded: Path | str, out: Path, config: Path, *options: str | Path) -> Done:
    """Score a sample of a data set without a store."""
    return command("score", recorded, "--config", config, "--out", out, "--store", "none", *options)


def count_strata(out: Path) -> dict[str, int]:
    """The number of conversations of each stratum in the results."""
    counts = pq.read_table(out / "attempts")["stratum"].value_counts().to_pylist()
    return {row["values"]: row["counts"] for row in counts}


def read_summary(out: Path) -> Any:
    """The summary in the manifest."""
    return json.loads((out / "manifest.json").read_bytes())["summary"]


@pytest.mark.long
def test_each_value_of_a_field_is_sampled_in_proportion(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over many shards. The summary is about the whole: its mean is that of the population, its interval the book's."""
    monkeypatch.setattr(shards, "SHARD_BYTES", 4096)
    recorded = write_lines(tmp_path / "traffic.jsonl", make_conversations(200))
    out = tmp_path / "out"
    done = sampled(recorded, out, config, "--sample", "40", "--stratify", "metadata.model")
    assert done.code == 1, done.err
    assert count_strata(out) == {"large": 24, "small": 12, "tiny": 4}
    summary = read_summary(out)
    notes = " ".join(summary["notes"])
    assert "strata: large 24 of 120, small 12 of 60, tiny 4 of 20" in notes
    assert "a sample of 40 of 200 conversations (stratified by metadata.model, seed 0)" in notes
    (criterion,) = [one for one in summary["criteria"] if one["criterion"] == "tool_call_count_v1"]
    # Within a stratum, all conversations are alike, so that the sample leaves no doubt about the mean.
    assert criterion["mean"]["value"] == pytest.approx((120 + 2 * 60 + 20) / 200)
    assert criterion["mean"].get("low") is None
    assert criterion["pass_rate"]["value"] == pytest.approx(140 / 200)


@pytest.mark.long
def test_the_same_conversations_are_sampled_tomorrow(tmp_path: Path, config: Path) -> None:
    """In another order, as another format, and with other workers. Another seed samples others."""
    rows = make_conversations(100)
    lines = write_lines(tmp_path / "a.jsonl", rows)
    table = tmp_path / "b.parquet"
    columns = {
        "id": [row["id"] for row in rows[::-1]],
        "messages": [json.dumps(row["messages"]) for row in rows[::-1]],
        "model": [row["metadata"]["model"] for row in rows[::-1]],
    }
    pq.write_table(pa.table(columns), table)
    runs = [
        (lines, "metadata.model", "1", "1"),
        (table, "model", "1", "2"),
        (lines, "metadata.model", "2", "1"),
    ]
    ids = []
    for number, (path, name, seed, jobs) in enumerate(runs):
        out = tmp_path / f"out{number}"
        options = ["--sample", "20%", "--stratify", name, "--seed", seed, "--jobs", jobs]
        assert sampled(path, out, config, *options).code == 1
        ids.append(set(pq.read_table(out / "attempts")["case_id"].to_pylist()))
    assert ids[0] == ids[1] != ids[2]
    assert len(ids[0]) == 20


def test_conversations_without_the_field_are_a_stratum(tmp_path: Path, config: Path) -> None:
    """They belong to the whole, too."""
    rows = [{**conversation(i), **({"paid": i % 2 == 0} if i < 10 else {})} for i in range(20)]
    recorded = write_lines(tmp_path / "traffic.jsonl", rows)
    assert sampled(recorded, tmp_path / "out", config, "--sample", "8", "--stratify", "paid").code == 0
    assert count_strata(tmp_path / "out") == {"": 4, "true": 2, "false": 2}


def test_files_are_strata(tmp_path: Path, config: Path) -> None:
    """Also those that are JSON arrays, whose records have no fields that can be read."""
    folder = tmp_path / "days"
    write_lines(folder / "one.jsonl", [conversation(i) for i in range(30)])
    (folder / "two.json").write_text(json.dumps([conversation(i) for i in range(30, 40)]))
    assert sampled(folder, tmp_path / "out", config, "--sample", "8", "--stratify", "file").code == 0
    assert count_strata(tmp_path / "out") == {str(folder / "one.jsonl"): 6, str(folder / "two.json"): 2}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--stratify", "model"], "--stratify: needs --sample"),
        (["--sample", "5", "--stratify", "modle"], "--stratify modle: no conversation has this field"),
        (["--sample", "5", "--stratify", "metadata.model"], "5 conversations are too few for the 3 strata"),
        (["--sample", "50", "--stratify", "id"], "--stratify id: has more than 1,000 values"),
        (["--sample", "5", "--stratify", "file", "--against", "SET"], "--stratify: does not go with --against"),
    ],
)
def test_strata_that_cannot_work_are_refused(tmp_path: Path, config: Path, options: list[str], message: str) -> None:
    """With the reason and the way out."""
    expectation = write_expectation(tmp_path)
    recorded = write_lines(tmp_path / "traffic.jsonl", make_conversations(1001 if "id" in options else 100))
    given = [str(expectation) if option == "SET" else option for option in options]
    done = sampled(recorded, tmp_path / "out", config, *given)
    assert done.code == 2
    assert message in done.err


def test_an_interrupted_sample_goes_on_with_the_same_field(tmp_path: Path, config: Path) -> None:
    """Another field would sample other conversations."""
    recorded = write_lines(tmp_path / "traffic.jsonl", make_conversations(50))
    with recorded.open("a") as file:
        file.write("not JSON\n")
    options = ["--sample", "20", "--stratify", "metadata.model"]
    assert "--max-refused" in sampled(recorded, tmp_path / "out", config, *options, "--max-refused", "0").err
    other = [*options[:3], "file", "--resume"]
    assert "is not the same as in the run" in sampled(recorded, tmp_path / "out", config, *other).err
    assert sampled(recorded, tmp_path / "out", config, *options, "--resume", "--max-refused", "1").code == 1


@pytest.mark.parametrize(
    ("sizes", "number", "sample"),
    [
        ({"a": 600, "b": 300, "c": 100}, 10, {"a": 5, "b": 3, "c": 2}),
        ({"a": 50, "b": 50}, 10, {"a": 5, "b": 5}),
        ({"a": 1, "b": 99}, 10, {"a": 1, "b": 9}),
        ({"a": 4, "b": 4}, 100, {"a": 4, "b": 4}),
        ({"a": 100, "b": 100, "c": 100}, 10, {"a": 4, "b": 3, "c": 3}),
    ],
)
def test_a_sample_is_divided_in_proportion(sizes: dict[str, int], number: int, sample: dict[str, int]) -> None:
    """At least two of each stratum, and as many in total as wanted."""
    assert allocate(sizes, number) == sample


def test_a_sample_smaller_than_its_strata_is_refused() -> None:
    """With the number that is needed."""
    with pytest.raises(UsageError, match="give at least 5"):
        allocate({"a": 10, "b": 1, "c": 10}, 4)


def test_the_interval_is_that_of_the_book() -> None:
    """By hand: the mean is 0.7 · 2 + 0.3 · 6, and the variance of each stratum counts by W² (1 − f) s² / n."""
    strata = [Stratum(70, 7, 4, [1.0, 2.0, 2.0, 3.0]), Stratum(30, 15, 3, [4.0, 6.0, 8.0])]
    middle = 0.7 * 2 + 0.3 * 6
    assert stratified_mean(strata) == pytest.approx(middle)
    parts = [0.49 * 0.9 * (2 / 3) / 4, 0.09 * 0.5 * 4 / 3]
    freedom = math.floor(sum(parts) ** 2 / (parts[0] ** 2 / 3 + parts[1] ** 2 / 2))
    half = student.ppf(0.975, freedom) * math.sqrt(sum(parts))
    assert stratified_student_interval(strata) == pytest.approx((middle - half, middle + half))


def test_a_single_stratum_has_the_interval_of_a_plain_sample() -> None:
    """Except for the factor sqrt(1 - n / N) of a finite population."""
    values = [0.2, 0.4, 0.4, 0.9, 1.0]
    (stratum,) = strata = [Stratum(20, 15, 5, values)]
    for stratified, plain in (
        (stratified_bounded_interval(strata), bounded_interval(values)),
        (stratified_student_interval(strata), student_interval(values)),
        (stratified_logarithmic_interval(strata), logarithmic_interval(values)),
        (stratified_bounded_interval([stratum._replace(attempts=6)]), bounded_interval(values, attempts=6)),
    ):
        assert plain is not None
        middle = fmean(values)
        assert stratified == pytest.approx([middle + (end - middle) * 0.5 for end in plain])


def test_cases_without_a_value_make_the_size_of_a_stratum_uncertain() -> None:
    """The variance is that of the linearized ratio, which another formula of the same sample gives."""
    valued: list[list[float]] = [[1.0, 2.0, 4.0] * 40, [5.0, 9.0] * 60]
    cases = [150, 200]
    strata = [Stratum(9000, 150, 150, valued[0]), Stratum(3000, 200, 200, valued[1])]
    weights = [0.75, 0.25]
    sizes = [weight * len(values) / number for weight, values, number in zip(weights, valued, cases, strict=True)]
    middle = sum(size * fmean(values) for size, values in zip(sizes, valued, strict=True)) / sum(sizes)
    assert stratified_mean(strata) == pytest.approx(middle)
    total = 0.0
    for stratum, weight, values in zip(strata, weights, valued, strict=True):
        residuals = [(value - middle) / sum(sizes) for value in values]
        residuals += [0.0] * int(stratum.cases - len(residuals))
        total += weight**2 * stratum.remaining * variance(residuals) / stratum.cases
    interval = stratified_student_interval(strata)
    assert interval is not None
    assert (interval[1] - interval[0]) / 2 == pytest.approx(1.97 * math.sqrt(total), rel=0.01)


@pytest.mark.long
def test_the_interval_holds_the_mean_of_the_population_as_often_as_it_says() -> None:
    """Simulated: three strata of unlike pass rates, of which a quarter is drawn."""
    chance = random.Random(3)
    rates, sizes = [0.95, 0.6, 0.2], [600, 300, 100]
    population = [[float(chance.random() < rate) for _ in range(size)] for rate, size in zip(rates, sizes, strict=True)]
    truth = fmean(value for stratum in population for value in stratum)
    hits, widths = 0, 0.0
    for _ in range(500):
        strata = [
            Stratum(len(stratum), len(stratum) // 4, len(stratum) // 4, chance.sample(stratum, len(stratum) // 4))
            for stratum in population
        ]
        interval = stratified_bounded_interval([stratum._replace(attempts=stratum.cases) for stratum in strata])
        assert interval is not None
        hits += interval[0] <= truth <= interval[1]
        widths += interval[1] - interval[0]
    assert 0.93 <= hits / 500 <= 0.98
    # Plain samples of 250 leave more doubt, because the strata differ.
    plain = 2 * 1.97 * math.sqrt(truth * (1 - truth) / 250 * 0.75)
    assert widths / 500 < 0.9 * plain


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_strata_that_are_all_alike_leave_doubt_about_a_rate(value: float) -> None:
    """A pass rate of 100 % in a sample of 40 does not prove that everything passes."""
    strata = [Stratum(1000, 20, 20, [value] * 20, 20), Stratum(500, 20, 20, [value] * 20, 20)]
    interval = stratified_bounded_interval(strata)
    assert interval is not None
    assert (interval[0] == 0.0, interval[1] == 1.0) == (value == 0.0, value == 1.0)
    assert 0.05 < interval[1] - interval[0] < 0.2


def test_a_stratum_that_is_known_completely_adds_no_doubt() -> None:
    """Only the other stratum is estimated."""
    values = [2.0, 3.0, 4.0] * 3
    known, estimated = Stratum(10, 10, 10, [1.0, 5.0] * 5), Stratum(90, 9, 9, values)
    interval = stratified_student_interval([known, estimated])
    assert interval is not None
    half = student.ppf(0.975, 8) * 0.9 * math.sqrt(0.9 * variance(values) / 9)
    assert (interval[1] - interval[0]) / 2 == pytest.approx(half)
