"""Recorded judges have the numbers that their authors published."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import string
import subprocess
import sys
from collections import Counter
from math import isclose
from pathlib import Path
from statistics import variance
from typing import Any

import pytest
from test_docs import ROOT, blocks

from fairtrial.analysis.recorded_judges import measure_judges
from fairtrial.formats.verdict_tables import read_verdicts
from fairtrial.metrics.exams.gold_file import read_gold
from fairtrial.records.judging.gold import GoldItem
from fairtrial.records.judging.report_card import RecordedJudge
from fairtrial.stats.agreement import kappa, krippendorff, make_table, matthews
from fairtrial.stats.correction import Judged, Labelled, corrected_mean

pytestmark = [pytest.mark.shared, pytest.mark.long]

BOTH_ORDERS = {"verdict": "winner", "verdict_swapped": "winner_swapped", "group": "strategy"}


@pytest.fixture(scope="module")
def published(shared: Path) -> dict[str, Any]:
    """The published numbers, and further ones by other libraries."""
    content: dict[str, Any] = json.loads((shared / "vectors" / "trust.json").read_bytes())["published"]
    return content


def llmbar(shared: Path, subset: str) -> dict[tuple[str, str], RecordedJudge]:
    """The judges of LLMBar on a subset, by judge and strategy."""
    path = shared / "data" / "llmbar" / "judgements.csv"
    return {(own.judge, own.group): own for own in measure_judges(read_verdicts(path, BOTH_ORDERS, {"subset": subset}))}


def test_llmbar(shared: Path, published: dict[str, Any]) -> None:
    """GPT-4 on Natural is right in 95.5 % (90.6 … 97.9), and every other judge and strategy has its numbers, too."""
    values = published["llmbar"]["values"]
    assert [round(100 * value, 1) for value in values["natural/GPT-4/Vanilla"]["accuracy"]] == [95.5, 90.6, 97.9]
    cards = {subset: llmbar(shared, subset) for subset in {name.split("/")[0] for name in values}}
    for name, expected in values.items():
        subset, judge, strategy = name.split("/")
        card = cards[subset][judge, strategy]
        pairs = [
            (card.accuracy.value, expected["accuracy"][0]),
            (card.orders_agree.value, expected["same_in_both_orders"]),
            (card.first_place.value, expected["prefers_first_minus_second"]),
        ]
        if expected["kappa_between_orders"] is not None:
            pairs.append((card.orders_kappa.value, expected["kappa_between_orders"]))
        for actual, value in pairs:
            assert actual is not None, name
            assert isclose(actual, value, abs_tol=1e-9), name
        # The light cases of the interval weigh 1/2 here and 1/20 there (see `vector_reasons`).
        ends = zip((card.accuracy.low, card.accuracy.high), expected["accuracy"][1:], strict=True)
        assert all(actual is not None and isclose(actual, value, abs_tol=0.005) for actual, value in ends), name
        assert card.unreadable == expected["unreadable"], name


@pytest.mark.parametrize("pair", ["12", "13", "23"])
def test_pandalm_people(shared: Path, published: dict[str, Any], pair: str) -> None:
    """Cohen's kappa between the three people: 0.85, 0.88, 0.86."""
    first, second = (f"annotator{number}" for number in pair)
    path = shared / "data" / "pandalm" / "judgements.csv"
    (card,) = measure_judges(read_verdicts(path, {"label": first, "verdict": second}))
    assert card.kappa.value is not None
    assert isclose(card.kappa.value, published["pandalm"]["values"][f"kappa_{pair}"], abs_tol=1e-9)


@pytest.mark.parametrize("judge", ["gpt-3.5-turbo", "pandalm-7b"])
def test_pandalm_judges(shared: Path, published: dict[str, Any], judge: str, tmp_path: Path) -> None:
    """The judges against the majority of people. Verdicts that could not be read are left out."""
    rows = yield_rows(shared)
    path = tmp_path / "majority.jsonl"
    path.write_text("".join(json.dumps({**row, "label": majority(row)}) + "\n" for row in rows))
    (card,) = measure_judges(read_verdicts(path, {"verdict": judge}))
    expected = published["pandalm"]["values"][judge]
    assert len(rows) - card.unreadable == expected["readable"]
    assert card.accuracy.value is not None
    assert card.kappa.value is not None
    assert isclose(card.accuracy.value, expected["accuracy"], abs_tol=1e-9)
    assert isclose(card.kappa.value, expected["kappa"], abs_tol=1e-9)


def test_pandalm_alpha(shared: Path, published: dict[str, Any]) -> None:
    """Krippendorff's alpha among the three people."""
    items = [[float(row[f"annotator{number}"]) for number in (1, 2, 3)] for row in yield_rows(shared)]
    alpha = krippendorff(items)
    assert alpha is not None
    assert isclose(alpha, published["pandalm"]["values"]["alpha_nominal"], abs_tol=1e-9)


def yield_rows(shared: Path) -> list[dict[str, str]]:
    """The rows of PandaLM."""
    with (shared / "data" / "pandalm" / "judgements.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def majority(row: dict[str, str]) -> str:
    """The verdict of most people."""
    votes = [row[f"annotator{number}"] for number in (1, 2, 3)]
    return max(votes, key=votes.count)


@pytest.mark.parametrize("model", ["fid", "gpt35", "chatgpt", "gpt4", "newbing"])
def test_evouna(shared: Path, published: dict[str, Any], model: str) -> None:
    """A judge by containment on five systems, and the rate that 100 labels correct it to."""
    expected = published["evouna_nq"]["values"]["models"][model]
    people, judge, ids = evouna(shared, model)
    pairs = [(int(not own), int(not verdict), 1.0) for own, verdict in zip(people, judge, strict=True)]
    table = make_table(pairs, 2)
    numbers = {
        "human": sum(people) / len(people),
        "lexical_judge": sum(judge) / len(judge),
        "sensitivity": table[0][0] / sum(table[0]),
        "specificity": table[1][1] / sum(table[1]),
        "kappa": kappa(table),
        "mcc": matthews(table),
    }
    for name, value in numbers.items():
        assert value is not None
        assert isclose(value, expected[name], abs_tol=1e-9), name
    first = sorted(range(len(ids)), key=lambda n: hashlib.sha256(ids[n].encode()).hexdigest())[:100]
    labels = [Labelled(float(people[n]), float(judge[n]), n) for n in first]
    corrected = corrected_mean(labels, Judged(len(judge), sum(judge) / len(judge), variance(map(float, judge))))
    assert corrected is not None
    for actual, value in zip((corrected.value, *corrected.interval), expected["corrected_by_100_labels"], strict=True):
        assert isclose(actual, value, abs_tol=1e-9)


def gold_by_page(script: str, data: Path, folder: Path) -> list[GoldItem]:
    """The items that a script of the documentation makes of a file."""
    page = (ROOT / "docs" / "how-to" / "check-a-judge-against-people.md").read_text(encoding="utf-8")
    (code,) = (block.code for block in blocks(page) if block.title == script)
    done = subprocess.run([sys.executable, "-c", code, str(data)], capture_output=True, check=True)
    path = folder / "gold.jsonl"
    path.write_bytes(done.stdout)
    return read_gold(path)


def test_the_page_turns_evouna_into_gold_items(shared: Path, published: dict[str, Any], tmp_path: Path) -> None:
    """Each answer of a system is an item of its group, and people pass the published share."""
    items = gold_by_page("evouna.py", shared / "data" / "evouna" / "nq.jsonl", tmp_path)
    assert len(items) == 5 * 1007
    assert {item.criterion for item in items} == {"final_response_match_v2"}
    for model, expected in published["evouna_nq"]["values"]["models"].items():
        labels = [item.label for item in items if item.group == model]
        assert isclose(sum(labels) / len(labels), expected["human"], abs_tol=1e-9), model


def test_the_page_turns_llmbar_into_gold_items(shared: Path, tmp_path: Path) -> None:
    """Each pair is two items. The better reply passes, and stands in the rubric of the other."""
    data = shared / "data" / "llmbar" / "items.jsonl"
    items = gold_by_page("llmbar.py", data, tmp_path)
    rows = [json.loads(line) for line in data.read_text(encoding="utf-8").splitlines()]
    assert Counter(item.group for item in items) == {"natural": 200, "neighbor": 268}
    for row, first, second in zip(rows, items[::2], items[1::2], strict=True):
        better, worse = (first, second) if row["label"] == 1 else (second, first)
        (rubric,) = worse.case.rubrics
        reply = better.trace.invocations[0].reply
        assert (better.label, worse.label) == (1, 0)
        assert reply == row[f"output_{row['label']}"]
        assert rubric.text.endswith(reply)


def evouna(shared: Path, model: str) -> tuple[list[bool], list[bool], list[str]]:
    """The verdicts of people and of the judge on the answers of a system, and the ids of the questions."""
    rows = [json.loads(line) for line in (shared / "data" / "evouna" / "nq.jsonl").read_text().splitlines()]
    rows = [row for row in rows if model in row["answers"]]
    answers = [row["answers"][model] for row in rows]
    judge = [
        any(plain(reference) in plain(answer["text"]) for reference in row["references"])
        for row, answer in zip(rows, answers, strict=True)
    ]
    return [answer["correct"] for answer in answers], judge, [row["id"] for row in rows]


def plain(text: str) -> str:
    """A text in lower case, without punctuation, articles and surplus spaces."""
    letters = text.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", letters).split())
