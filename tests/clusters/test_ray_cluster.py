"""Data sets on a real cluster of Ray with three nodes that work. They need the extra `ray`: `make test-ray`."""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

ray = pytest.importorskip("ray")

from ray.cluster_utils import Cluster  # noqa: E402

from fairtrial import Budget, Judges, ModelOptions, api, score_batches  # noqa: E402
from fairtrial.api.datasets.dataset_summary import GroupCounter  # noqa: E402
from fairtrial.api.result_folders import dataset_cases  # noqa: E402
from fairtrial.batch.executors import InProcess  # noqa: E402
from fairtrial.batch.ray_cluster import RayCluster  # noqa: E402
from fairtrial.loading import shards  # noqa: E402
from fairtrial.records.reply import Prompt  # noqa: E402
from fairtrial.testing import ScriptedModel  # noqa: E402
from folder_files import without_run  # noqa: E402

NUMBER = 240

# Ray warns of options of its own that it sets itself.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head, which works on nothing, and three nodes with one processor each."""
    os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
    running = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [running.add_node(num_cpus=1) for _ in range(3)]
    running.wait_for_nodes()
    yield running, nodes
    running.shutdown()


@pytest.fixture
def traffic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with conversations and a configuration, which gives 30 shards or so."""
    monkeypatch.setattr(shards, "SHARD_BYTES", 2048)
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello " * 20}]
    lines = (json.dumps({"id": f"conversation-{i}", "messages": messages}) for i in range(NUMBER))
    (tmp_path / "traffic.jsonl").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "config.json").write_text(json.dumps({"criteria": {"tool_call_count_v1": 1.0}}))
    return tmp_path


def score(
    folder: Path, name: str, executor: Any, on_shard: Any = lambda *_: None, judges: Judges | None = None
) -> Path:
    """Score the conversations of a folder into another."""
    plan = api.plan_dataset(
        [folder / "traffic.jsonl"], folder / name, criteria=folder / "config.json", executor=executor, judges=judges
    )
    run = plan.run(on_shard=on_shard)
    assert sum(run.summary.cases.values()) == NUMBER
    return folder / name


def read_files(folder: Path) -> dict[str, Any]:
    """The rows and the files of a folder without what names the run."""
    return {
        str(path.relative_to(folder)): without_run(path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file() and path.name != "manifest.json" and not path.name.startswith("judge.db")
    }


def test_a_cluster_writes_what_one_process_writes(cluster: Any, traffic: Path) -> None:
    """Every row is the same but for the name of the run."""
    one = score(traffic, "one", InProcess())
    many = score(traffic, "many", RayCluster(cluster[0].address))
    assert read_files(one) == read_files(many)


def test_the_cluster_counts_the_summary(cluster: Any, traffic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process of the command reads no result, if there are more than a group holds."""
    monkeypatch.setattr(dataset_cases, "_CONVERSATIONS", 20)
    with monkeypatch.context() as patch:
        patch.setattr(GroupCounter, "__call__", lambda *_: pytest.fail("the command counts results"))
        many = score(traffic, "counted", RayCluster(cluster[0].address))
    one = score(traffic, "counted-by-one", InProcess())
    summaries = [json.loads((folder / "manifest.json").read_bytes())["summary"] for folder in (one, many)]
    assert summaries[0] == summaries[1]


def test_ray_data_maps_the_function_for_batches(cluster: Any, traffic: Path) -> None:
    """The numbers are those of a data set that one process scores."""
    import pyarrow as pa

    ray.init(address=cluster[0].address, log_to_driver=False, logging_level="warning")
    try:
        rows = [json.loads(line) for line in (traffic / "traffic.jsonl").read_text().splitlines()]
        table = pa.Table.from_pylist([{"id": row["id"], "messages": json.dumps(row["messages"])} for row in rows])
        scorer = score_batches(table.schema, {"tool_call_count_v1": 1.0})
        scored = (
            ray.data.from_arrow(table)
            .repartition(6)
            .map_batches(
                lambda batch: scorer(batch),  # noqa: PLW0108  (Ray takes functions only)
                batch_format="pyarrow",
            )
        )
        summary = scorer.summarize(scored.iter_batches(batch_format="pyarrow"))
    finally:
        ray.shutdown()
    assert sum(summary.cases.values()) == NUMBER
    expected = json.loads((score(traffic, "own", InProcess()) / "manifest.json").read_bytes())["summary"]
    assert json.loads(msgspec.json.encode(summary))["criteria"] == expected["criteria"]


def test_the_nodes_of_a_cluster_share_one_budget_of_judge_calls(cluster: Any, traffic: Path) -> None:
    """They ask the process of the command for each reply, and the results are those of one process."""
    write_judged_traffic(traffic)
    model_of_one, model = ScriptedModel(answer_by_content), ScriptedModel(answer_by_content)
    one = score(traffic, "judged-one", InProcess(), judges=judges_with(model_of_one))
    many = score(traffic, "judged-many", RayCluster(cluster[0].address), judges=judges_with(model))
    assert read_files(one) == read_files(many)
    assert len(model.prompts) == len(model_of_one.prompts)
    few = ScriptedModel(answer_by_content)
    score(traffic, "judged-few", RayCluster(cluster[0].address), judges=judges_with(few, Budget(max_calls=50)))
    assert len(few.prompts) == 50


def answer_by_content(prompt: Prompt) -> str:
    """A judge whose answer depends on the conversation."""
    answer = ("safe", "unsafe")[zlib.crc32(prompt.text.encode()) % 2]
    return json.dumps({"answers": [{"id": "reply", "quote": "", "rationale": "", "marks": [], "answer": answer}]})


def judges_with(model: ScriptedModel, budget: Budget | None = None) -> Judges:
    """Judges whose model is in this process."""
    return Judges(model="mine", votes=1, models=ModelOptions(custom_models={"mine": model}, budget=budget))


def write_judged_traffic(folder: Path) -> None:
    """Write conversations that differ, and a configuration with a judge."""
    (folder / "config.json").write_text(json.dumps({"criteria": {"safety_v1": {"threshold": 0.5, "backend": "judge"}}}))
    with (folder / "traffic.jsonl").open("w") as file:
        for i in range(NUMBER):
            messages = [{"role": "user", "content": f"hi {i}"}, {"role": "assistant", "content": "hello"}]
            file.write(json.dumps({"id": f"conversation-{i}", "messages": messages}) + "\n")


def test_a_node_that_is_killed_loses_nothing(cluster: Any, traffic: Path) -> None:
    """Its shards are scored again elsewhere, and nothing stands in the folder twice."""
    running, nodes = cluster
    killed: list[float] = []

    def kill_once(*_: object) -> None:
        if not killed:
            killed.append(time.monotonic())
            running.remove_node(nodes.pop(), allow_graceful=False)

    survived = score(traffic, "survived", RayCluster(running.address), kill_once)
    assert killed
    assert read_files(survived) == read_files(score(traffic, "whole", InProcess()))
