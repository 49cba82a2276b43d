"""The programs for Spark and Daft on the page about data sets work as they stand. `make test-ray` runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fairtrial import score_batches

pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("pyspark")
pytest.importorskip("daft")

import pyarrow as pa  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "score-data-sets.md"
NUMBER = 400


@pytest.fixture
def traffic(tmp_path: Path) -> pa.Table:
    """A Parquet file of conversations with one to seven calls, in several row groups, and one row that is none."""
    rows = [
        {"id": f"c-{number}", "tenant": ("shop", "bank")[number % 2], "messages": json.dumps(messages(1 + number % 7))}
        for number in range(NUMBER)
    ]
    rows.append({"id": "broken", "tenant": "shop", "messages": "no JSON"})
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, tmp_path / "traffic.parquet", row_group_size=50)
    return table


def messages(calls: int) -> list[dict[str, object]]:
    """A conversation with a number of calls."""
    asked = [{"id": str(n), "type": "function", "function": {"name": "look", "arguments": "{}"}} for n in range(calls)]
    answers: list[dict[str, object]] = [
        {"role": "tool", "tool_call_id": call["id"], "content": "on its way"} for call in asked
    ]
    return [
        {"role": "user", "content": "Where is it?"},
        {"role": "assistant", "tool_calls": asked},
        *answers,
        {"role": "assistant", "content": "It is on its way."},
    ]


def run_program(name: str, folder: Path) -> str:
    """Save a program of the page, run it in a folder, and return what it prints."""
    block = re.compile(rf'^```python title="{re.escape(name)}"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
    (program,) = block.findall(PAGE.read_text())
    (folder / name).write_text(program)
    # As in an activated environment: the workers of Spark are the python3 of the path.
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [sys.executable, name], cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("name", ["spark_job.py", "daft_job.py"])
def test_an_engine_gives_the_summary_of_one_process(name: str, traffic: pa.Table, tmp_path: Path) -> None:
    """The program prints the criteria with their intervals."""
    scorer = score_batches(traffic.schema, {"tool_call_count_v1": 4.0}, carry=["tenant"])
    summary = scorer.summarize(map(scorer, traffic.to_batches()))
    passed = sum(1 + number % 7 <= 4 for number in range(NUMBER))
    assert summary.criteria[0].pass_rate is not None
    assert summary.criteria[0].pass_rate.value == passed / NUMBER
    assert run_program(name, tmp_path).strip().splitlines()[-1] == str(summary.criteria)


def test_the_rows_of_spark_are_those_of_one_process(traffic: pa.Table, tmp_path: Path) -> None:
    """Spark cuts the file where it likes, and says why a row is no conversation."""
    scorer = score_batches(traffic.schema, {"tool_call_count_v1": 4.0}, carry=["tenant"])
    run_program("spark_job.py", tmp_path)
    expected = pa.Table.from_batches(map(scorer, traffic.to_batches())).sort_by("case_id")
    actual = pq.read_table(tmp_path / "scored").sort_by("case_id")
    assert actual.to_pylist() == expected.to_pylist()
    assert [row["case_id"] for row in actual.to_pylist() if row["refused"]] == ["broken"]
