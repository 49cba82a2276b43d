"""The commands `pull`, `push` and `labels --from` work with real Phoenix and MLflow servers (`make test-services`)."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from commands import MATCH, case, enter, eval_set, fairtrial, write
from fairtrial import api, load_recordings
from ports import free_port
from span_files import answer, messages

BIN = Path(sys.executable).parent
pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(not (BIN / "phoenix").exists(), reason="needs Phoenix and MLflow: make test-services"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

CRITERION = "response_match_score"
CONVERSATIONS = 3
_READY = "Uvicorn running on"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enter(tmp_path, monkeypatch)
    write("shop.evalset.json", eval_set(case("greeting", "Hi.", query="Hello?")))
    write("config.json", MATCH)


@contextmanager
def running(*command: str, **environment: str) -> Iterator[None]:
    """Run a server of this environment from the line that says that it listens."""
    program, *arguments = command
    process = subprocess.Popen(
        [BIN / program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUNBUFFERED": "1", **environment},
    )
    assert process.stdout is not None
    lines: list[str] = []
    while _READY not in (line := process.stdout.readline()):
        lines.append(line)
        assert line, f"{program} ended: {''.join(lines[-20:])}"
    rest = threading.Thread(target=process.stdout.read)
    rest.start()
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)
        rest.join(60)
        process.stdout.close()


@pytest.fixture(scope="module")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of Phoenix with conversations."""
    port = str(free_port())
    environment = {
        "PHOENIX_WORKING_DIR": str(tmp_path_factory.mktemp("phoenix")),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": port,
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    url = f"http://127.0.0.1:{port}"
    with running("phoenix", "serve", **environment):
        send_conversations(url, {})
        # Phoenix answers before it has stored the spans.
        while len(spans_in(url)) < 2 * CONVERSATIONS:
            pass
        yield url


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of MLflow with conversations."""
    port, folder = str(free_port()), tmp_path_factory.mktemp("mlflow")
    store = ("--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", str(folder))
    url = f"http://127.0.0.1:{port}"
    with running("mlflow", "server", *store, "--host", "127.0.0.1", "--port", port, "--workers", "1"):
        send_conversations(url, {"x-mlflow-experiment-id": "0"})
        yield url


def send_conversations(url: str, headers: dict[str, str]) -> None:
    """Send a trace for each conversation with OpenTelemetry's exporter."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{url}/v1/traces", headers=headers)))
    tracer = provider.get_tracer("shop")
    for number in range(CONVERSATIONS):
        with tracer.start_as_current_span("agent") as agent:
            agent.set_attributes({"gen_ai.operation.name": "invoke_agent", "session.id": f"s-{number}"})
            with tracer.start_as_current_span("chat") as chat:
                chat.set_attribute("gen_ai.operation.name", "chat")
                chat.set_attribute("gen_ai.input.messages", messages("Hello?"))
                chat.set_attribute("gen_ai.output.messages", answer("Hi."))
    provider.shutdown()


def scored(service: str, url: str) -> str:
    """Pull everything, and return the run that scored it."""
    api.pull(service, Path("traces.jsonl"), url=url)
    done = fairtrial(
        "score", "traces.jsonl", "--against", "shop.evalset.json", "--config", "config.json", "--match", "query"
    )
    assert done.code == 0, done.err
    return fairtrial("runs", "--limit", "1", "--quiet").out.strip()


def pushed_twice(service: str, url: str) -> str:
    """Pull everything, push its scores twice, and return the run."""
    run = scored(service, url)
    for _ in range(2):
        done = fairtrial("push", run, service, "--url", url, "--yes")
        assert done.code == 0, done.err
    return run


@pytest.mark.parametrize("service", ["phoenix", "mlflow"])
def test_traces_are_pulled(service: str, request: pytest.FixtureRequest) -> None:
    """All conversations, and those of a session alone."""
    url = request.getfixturevalue(service)
    everything = api.pull(service, Path("all.jsonl"), url=url)
    session = api.pull(service, Path("one.jsonl"), url=url, session="s-1")
    assert (everything.recordings, session.recordings) == (CONVERSATIONS, 1)
    (recording,) = load_recordings("one.jsonl")
    (invocation,) = recording.trace.invocations
    assert (recording.trace.session_id, invocation.query, invocation.reply) == ("s-1", "Hello?", "Hi.")


def test_scores_are_in_phoenix_once(phoenix: str) -> None:
    """As annotations of the spans, which Phoenix lists itself."""
    run = pushed_twice("phoenix", phoenix)
    own = [item for item in fetch_annotations(phoenix, run) if item["name"] == CRITERION]
    assert [(item["annotator_kind"], item["result"]["score"]) for item in own] == [("CODE", 1.0)] * CONVERSATIONS


def test_scores_are_in_mlflow_once(mlflow: str) -> None:
    """As feedback on the traces, which MLflow's client lists."""
    run = pushed_twice("mlflow", mlflow)
    own = [item for item in feedback(mlflow) if item.name == CRITERION and item.metadata["run.id"] == run]
    assert [(item.source.source_type, item.value) for item in own] == [("CODE", 1.0)] * CONVERSATIONS


def test_labels_of_phoenix_come_back(phoenix: str) -> None:
    """An annotation of a person is a label. Ours is not."""
    import httpx2

    run = pushed_twice("phoenix", phoenix)
    span_id = api.scores_to_push(api.reread(api.DEFAULT_URL, run))[0].span_id
    result = {"score": 0.0, "explanation": "rude"}
    given = {"span_id": span_id, "name": CRITERION, "annotator_kind": "HUMAN", "result": result}
    httpx2.post(f"{phoenix}/v1/span_annotations?sync=true", json={"data": [given]}).raise_for_status()
    assert labels_from("phoenix", phoenix, run) == [(CRITERION, 0.0, "rude")]


def test_labels_of_mlflow_come_back(mlflow: str) -> None:
    """Feedback of a person is a label. Ours is not."""
    from mlflow import log_feedback
    from mlflow.entities import AssessmentSource

    run = pushed_twice("mlflow", mlflow)
    trace_id = api.scores_to_push(api.reread(api.DEFAULT_URL, run))[0].trace_id
    source = AssessmentSource(source_type="HUMAN", source_id="ann")
    log_feedback(trace_id=f"tr-{trace_id}", name=CRITERION, value=0.0, source=source, rationale="rude")
    assert labels_from("mlflow", mlflow, run) == [(CRITERION, 0.0, "rude")]


def labels_from(service: str, url: str, run: str) -> list[tuple[str, float | None, str]]:
    """Add the labels of a service twice, and return the labels of the run."""
    for count in (1, 0):
        done = fairtrial("labels", run, "--from", service, "--url", url)
        assert f"added from {service}: {count}" in done.err
    return [(label.criterion, label.value, label.note) for label in api.reread(api.DEFAULT_URL, run).labels]


def fetch_annotations(url: str, run: str) -> list[dict[str, Any]]:
    """Return the annotations of a run in Phoenix, of spans and of sessions."""
    import httpx2

    places = api.scores_to_push(api.reread(api.DEFAULT_URL, run))
    ids = {"span": {place.span_id for place in places}, "session": {place.session_id for place in places}}
    found: list[dict[str, Any]] = []
    for kind, names in ids.items():
        query: dict[str, Any] = {f"{kind}_ids": sorted(names), "limit": 1000}
        answered = httpx2.get(f"{url}/v1/projects/default/{kind}_annotations", params=query)
        found += [item for item in answered.json()["data"] if item["metadata"].get("run.id") == run]
    return found


def spans_in(url: str) -> list[Any]:
    """Return the spans in Phoenix, none as long as there is no project."""
    import httpx2

    answered = httpx2.get(f"{url}/v1/projects/default/spans", params={"limit": 1000})
    return [] if answered.status_code == 404 else list(answered.raise_for_status().json()["data"])


def feedback(url: str) -> list[Any]:
    """Return the feedback in MLflow."""
    import mlflow
    from mlflow.tracking import MlflowClient

    mlflow.set_tracking_uri(url)
    return [item for trace in MlflowClient().search_traces(["0"]) for item in trace.info.assessments]
