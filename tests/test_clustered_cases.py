"""Cases that resemble each other count once: in a run, a comparison, a gate and a plan."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from commands import MATCH, enter, fairtrial, write
from fairtrial import (
    Claim,
    EvalCase,
    EvalSet,
    Invocation,
    Message,
    Run,
    UsageError,
    compare,
    gate,
    load_eval_set,
    plan,
    score,
)
from fairtrial.store import DEFAULT_URL
from graded_runs import graded, recording

FAMILIES = 12
COPIES = 4


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, with its own store."""
    enter(tmp_path, monkeypatch)


def make_run(values: Mapping[int, float], copies: int, *, declared: bool = True, attempts: int = 1) -> Run:
    """A run of families of cases. Every copy in a family has the value of the family."""
    cases, recordings = [], []
    for family, value in values.items():
        for copy in range(copies):
            name = f"{family}.{copy}"
            own = {"cluster": f"template {family}"} if declared and copies > 1 else {}
            groups = {"template": f"template {family}", "customer": f"customer {copy}"}
            cases.append(EvalCase(name, (Invocation(Message("Grade?")),), groups=groups, **own))  # type: ignore[arg-type]
            recordings += [recording(name, value, attempt + 1) for attempt in range(attempts)]
    return score(recordings, EvalSet("families", tuple(cases)), [graded()], store=DEFAULT_URL)


BASE = {family: float(family % 3 > 0) for family in range(FAMILIES)}
BETTER = {**BASE, 0: 1.0, 3: 0.8, 1: 0.4}


def test_a_difference_of_copies_is_as_sure_as_that_of_one_copy_each() -> None:
    """The interval and the p value are those of the families, and the head says how many there are."""
    copies = compare(make_run(BASE, COPIES), make_run(BETTER, COPIES))
    single = compare(make_run(BASE, 1), make_run(BETTER, 1))
    for measure in ("cases", "quality"):
        ours, theirs = copies.row(measure), single.row(measure)
        assert (ours.low, ours.high, ours.p) == pytest.approx((theirs.low, theirs.high, theirs.p))
        assert ours.cases == COPIES * theirs.cases
    assert (copies.pairs.clusters, single.pairs.clusters) == (FAMILIES, None)


@pytest.mark.long
def test_a_field_makes_clusters_of_cases_that_declare_none() -> None:
    """`--cluster template` gives what declared clusters give; another field makes other clusters."""
    declared = compare(make_run(BASE, COPIES), make_run(BETTER, COPIES))
    base, run = (make_run(values, COPIES, declared=False).info.id for values in (BASE, BETTER))
    by_template = fairtrial("compare", base, run, "--cluster", "template", "--json", "-").json
    assert by_template["rows"][0]["low"] == declared.row("cases").low
    assert by_template["pairs"]["clusters"] == FAMILIES
    assert compare(base, run, cluster="customer").pairs.clusters == COPIES
    assert compare(base, run).pairs.clusters is None
    assert (
        f"{FAMILIES * COPIES} cases in {FAMILIES} clusters"
        in fairtrial("compare", base, run, "--cluster", "template").out
    )


def test_an_unknown_field_is_refused_with_the_fields_there_are() -> None:
    """The message names them."""
    run = make_run(BASE, COPIES, declared=False)
    with pytest.raises(UsageError, match=r"has the property 'templat'; did you mean 'template'\?"):
        gate(run, [Claim("at_least", 0.5)], cluster="templat")


@pytest.mark.long
def test_a_gate_is_not_opened_by_copies() -> None:
    """Forty-eight passed cases show 90 %, twelve do not."""
    always = dict.fromkeys(range(FAMILIES), 1.0)
    claims = [Claim("at_least", 0.9)]
    assert gate(make_run(always, COPIES, declared=False), claims).verdict == "passed"
    decision = gate(make_run(always, COPIES), claims)
    assert decision.verdict == "undecided"
    assert decision.claims[0].low == pytest.approx(gate(make_run(always, 1), claims).claims[0].low, abs=0.001)
    assert "48 cases in 12 clusters" in " ".join(
        fairtrial("gate", decision.runs[0].id, "--at-least", "0.9").out.split()
    )
    claim = [Claim("not_worse_by", 0.1)]
    assert (
        gate(make_run(always, COPIES, declared=False), claim, against=make_run(always, COPIES, declared=False)).verdict
        == "passed"
    )
    assert gate(make_run(always, COPIES), claim, against=make_run(always, COPIES)).verdict == "undecided"


def test_a_run_shows_the_intervals_of_its_clusters() -> None:
    """They are wider than those of as many cases by themselves, at the same mean."""
    together, apart = make_run(BASE, COPIES), make_run(BASE, COPIES, declared=False)
    for own, other in zip(together.summary.criteria, apart.summary.criteria, strict=True):
        assert own.mean.value == other.mean.value
        if own.criterion == "quality":
            assert width(own.mean) > 1.5 * width(other.mean)
            assert width(own.pass_rate) > 1.5 * width(other.pass_rate)


@pytest.mark.long
def test_pass_k_of_clusters_has_no_interval_and_says_why() -> None:
    """Forty-eight copies of twelve cases do not make pass^k as sure as 48 cases do."""
    together, apart = (make_run(BASE, COPIES, declared=own, attempts=2) for own in (True, False))
    again = make_run(BASE, COPIES, declared=False, attempts=2)
    why = "pass^k and pass@k have no intervals, because the cases come in clusters"
    assert [row.pass_hat.value for row in together.summary.pass_k] == [2 / 3, 2 / 3]
    assert apart.summary.pass_k[1].pass_hat.low is not None
    assert why not in apart.summary.notes
    report = fairtrial("show", together.info.id, "--json", "report.json").out
    assert f"note: {why}" in " ".join(report.split())
    shown = json.loads(Path("report.json").read_text(encoding="utf-8"))
    assert why in shown["run"]["notes"]
    compared = compare(together, again)
    assert why in compared.warnings
    assert why not in compare(apart, again).warnings
    assert compare(apart.info.id, again.info.id, cluster="template").warnings == (why,)
    for row in (*together.summary.pass_k, *compared.pass_k[0], *compared.pass_k[1]):
        assert (row.pass_hat.low, row.pass_hat.high, row.pass_at.low, row.pass_at.high) == (None,) * 4


def width(estimate: object) -> float:
    """The width of an interval."""
    return float(estimate.high - estimate.low)  # type: ignore[attr-defined]


def test_a_plan_asks_for_more_cases_if_they_are_copies() -> None:
    """Copies tell a quarter as much, and a note says so."""
    together, apart = (plan(make_run(BASE, COPIES, declared=own), half_width=0.1) for own in (True, False))
    assert together.rows[0].cases == pytest.approx(COPIES * (apart.rows[0].cases or 0), rel=0.15)
    assert any("48 cases in 12 clusters tell as much as" in note for note in together.notes)


def test_the_report_and_the_export_of_a_run_know_its_clusters() -> None:
    """A file decides as the store does. A field that only the cases have is refused for a report."""
    run = make_run(dict.fromkeys(range(FAMILIES), 1.0), COPIES)
    run.save(json="run.json")
    fairtrial("runs", "export", run.info.id, "run.jsonl")
    lows = [gate(source, [Claim("at_least", 0.9)]).claims[0].low for source in (run.info.id, "run.json", "run.jsonl")]
    assert lows[0] == lows[1] == lows[2]
    assert gate("run.jsonl", [Claim("at_least", 0.9)], cluster="template").claims[0].low == lows[0]
    with pytest.raises(UsageError, match=r"run\.json: does not hold the cases"):
        gate("run.json", [Claim("at_least", 0.9)], cluster="template")


def test_cases_declare_their_cluster_in_every_kind_of_file() -> None:
    """ADK's JSON, CSV, JSON lines and YAML. Other columns of a table are groups."""
    case = {"eval_id": "a", "conversation": [], "cluster": "t1", "groups": {"customer": "acme"}}
    write("set.evalset.json", {"eval_set_id": "s", "eval_cases": [case]})
    Path("set.csv").write_text("id,question,cluster,customer\na,hi,t1,acme\n", encoding="utf-8")
    Path("set.jsonl").write_text(
        '{"id": "a", "question": "hi", "cluster": "t1", "customer": "acme"}\n', encoding="utf-8"
    )
    Path("set.yaml").write_text("- id: a\n  question: hi\n  cluster: t1\n  customer: acme\n", encoding="utf-8")
    for name in ("set.evalset.json", "set.csv", "set.jsonl", "set.yaml"):
        (found,) = load_eval_set(name).cases
        assert (found.cluster, dict(found.groups)) == ("t1", {"customer": "acme"}), name


def test_a_column_can_be_named_as_the_cluster() -> None:
    """With the option that names every column."""
    write("test_config.json", MATCH)
    Path("set.csv").write_text("id,question,expected,template\na,good_1,ok,t1\nb,good_2,ok,t1\n", encoding="utf-8")
    done = fairtrial("run", "set.csv", "--agent", "commands:obedient", "--map", "cluster=template", "--json", "-")
    assert done.json["run"]["config"]["clusters"] == {"set": {"a": "t1", "b": "t1"}}
