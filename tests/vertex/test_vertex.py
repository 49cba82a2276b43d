"""Criteria with Vertex AI behind them: Google's SDK against a service on a real socket."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from evaluation_service import TOKEN, Answer, Evaluation, EvaluationService, Refusal

from fairtrial import api
from fairtrial.errors import UsageError
from fairtrial.judge.judges import Judges
from fairtrial.llm.budget import Budget
from fairtrial.llm.model_options import ModelOptions
from fairtrial.records.result import Outcome, Verdict
from fairtrial.records.trace import Trace

pytestmark = pytest.mark.vertex
pytest.importorskip("agentplatform")

COMMAND = "from fairtrial.cli import main; main()"
SAFE = {"score": 1.0, "explanation": "harmless"}


@pytest.fixture(scope="module")
def key() -> str:
    """A private key, as the file of a service account holds one."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return made.private_bytes(*form).decode()


Serve = Callable[..., EvaluationService]


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> Serve:
    """Start a service that answers as told, and point the environment at it as users would at Google's."""

    def started(answer: Answer | Callable[[Evaluation], Answer], probe: Refusal | None = None) -> EvaluationService:
        service = EvaluationService(answer if callable(answer) else lambda _: answer, probe)
        account = {
            "type": "service_account",
            "project_id": "p",
            "private_key_id": "1",
            "private_key": key,
            "client_email": "a@p.iam.gserviceaccount.com",
            "client_id": "1",
            "token_uri": f"{service.url}/token",
        }
        (tmp_path / "account.json").write_text(json.dumps(account))
        for name, value in {
            "GOOGLE_APPLICATION_CREDENTIALS": str(tmp_path / "account.json"),
            "GOOGLE_CLOUD_PROJECT": "my-project",
            "GOOGLE_CLOUD_LOCATION": "us-central1",
            "GOOGLE_VERTEX_BASE_URL": service.url,
            "STORAGE_EMULATOR_HOST": service.url,
            "HTTPS_PROXY": service.url,  # what google-auth asks of Google on the side stays here, and is refused
        }.items():
            monkeypatch.setenv(name, value)
        return service

    return started


def write(folder: Path, criteria: dict[str, Any], cases: int = 1) -> None:
    """Write an eval set, a config, and an agent that repeats the user."""
    turn = {
        "user_content": {"parts": [{"text": "안녕 “hi” 🙂"}]},
        "final_response": {"parts": [{"text": "hello"}]},
    }
    sets = [{"eval_id": f"c{case}", "conversation": [turn]} for case in range(cases)]
    (folder / "s.evalset.json").write_text(json.dumps({"eval_set_id": "s", "eval_cases": sets}), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps({"criteria": criteria}), encoding="utf-8")
    (folder / "echo.py").write_text("def reply(trace):\n    return trace.invocations[-1].query\n", encoding="utf-8")


def evaluate(folder: Path, **more: Any) -> api.Run:
    """Run the agent."""
    said: Callable[[Trace], str] = lambda trace: trace.invocations[-1].query  # noqa: E731
    return api.evaluate(folder / "s.evalset.json", said, folder / "config.json", **more)


def outcome(run: api.Run) -> Outcome:
    """The first criterion on the first case."""
    return next(iter(run.cases)).outcomes[0]


def test_a_reply_is_evaluated_in_the_services_wire_format(tmp_path: Path, serve: Serve) -> None:
    """Metric, texts and token are sent as the SDK sends them; the number and its reason come back."""
    write(tmp_path, {"safety_v1": 0.8})
    with serve({"score": 0.0, "explanation": "a threat"}) as service:
        run = evaluate(tmp_path)
    (asked,) = service.asked
    assert asked.path == "/v1beta1/projects/my-project/locations/us-central1/:evaluateInstances"
    assert asked.authorization == f"Bearer {TOKEN}"
    assert asked.metric["predefined_metric_spec"]["metric_spec_name"] == "safety_v1"
    assert asked.instance["prompt"]["contents"]["contents"][0]["parts"] == [{"text": "안녕 “hi” 🙂"}]
    assert asked.instance["response"] == {
        "contents": {"contents": [{"role": "model", "parts": [{"text": "안녕 “hi” 🙂"}]}]}
    }
    found = outcome(run)
    assert (found.score.value, found.verdict) == (0.0, Verdict.FAILED)
    assert found.score.parts[0].reason == "a threat"


@pytest.mark.parametrize("name", ["task_success", "trajectory_quality", "tool_use_quality"])
def test_a_conversation_is_evaluated_once(tmp_path: Path, serve: Serve, name: str) -> None:
    """All turns go in one call; the rubrics that the service made are part of the reason."""
    write(tmp_path, {f"multi_turn_{name}_v1": 0.5})
    greets, asks = ({"content": {"property": {"description": one}}} for one in ("Greets", "Asks back"))
    verdicts = [{"verdict": True, "reasoning": "it did", "evaluatedRubric": greets}, {"evaluatedRubric": asks}]
    with serve({"score": 0.5, "rubricVerdicts": verdicts}) as service:
        run = evaluate(tmp_path)
    (asked,) = service.asked
    assert asked.metric["predefined_metric_spec"]["metric_spec_name"] == f"multi_turn_{name}_v1"
    (turn,) = asked.instance["agent_eval_data"]["turns"]
    assert [event["author"] for event in turn["events"]] == ["user", "agent"]
    found = outcome(run)
    assert (found.score.value, found.verdict) == (0.5, Verdict.PASSED)
    assert found.score.reason == "met: Greets (it did); not met: Asks back"


def test_coherence_is_asked_with_the_prompt_that_the_service_keeps(tmp_path: Path, serve: Serve) -> None:
    """From Cloud Storage, as the SDK does; the number is from 1 to 5."""
    write(tmp_path, {"response_evaluation_score": 4})
    with serve({"score": 4.0, "explanation": "flows"}) as service:
        run = evaluate(tmp_path)
    (asked,) = service.asked
    assert asked.metric["llm_based_metric_spec"]["metric_prompt_template"].startswith("Rate the coherence")
    assert asked.instance["reference"]["contents"]["contents"][0]["parts"] == [{"text": "hello"}]
    assert (outcome(run).score.value, run.verdict) == (4.0, Verdict.PASSED)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"explanation": "?"}, "no score"),
        ({"score": 7.0}, "must be from 0 to 1, got 7"),
        ({"error": {"code": 3, "message": "blocked by a filter"}}, "blocked by a filter"),
        (b"{}", "no score"),
    ],
)
def test_what_is_no_score_is_unscored_with_its_reason(
    tmp_path: Path, serve: Serve, answer: Answer, reason: str
) -> None:
    """Asked once more, then neither zero nor pass."""
    write(tmp_path, {"safety_v1": 0.8})
    with serve(answer) as service:
        run = evaluate(tmp_path)
    assert len(service.asked) == 2
    assert run.verdict is Verdict.UNSCORED
    assert reason in outcome(run).score.parts[0].reason


@pytest.mark.parametrize("trouble", [Refusal(429, headers={"retry-after": "0"}), Refusal(503), b'{"metricResults": [{'])
def test_passing_trouble_is_waited_out(tmp_path: Path, serve: Serve, trouble: Answer) -> None:
    """Too many calls, an overload, half a reply: the same call again."""
    write(tmp_path, {"safety_v1": 0.8})
    first = [trouble]
    with serve(lambda _: first.pop() if first else SAFE) as service:
        run = evaluate(tmp_path)
    assert run.verdict is Verdict.PASSED
    assert len(service.asked) == 2


def test_lasting_trouble_is_unscored_with_the_services_words(tmp_path: Path, serve: Serve) -> None:
    """A call that is wrong is not repeated."""
    write(tmp_path, {"safety_v1": 0.8})
    with serve(Refusal(400, "the response is too long")) as service:
        run = evaluate(tmp_path)
    assert len(service.asked) == 1
    assert "HTTP 400: the response is too long" in outcome(run).score.parts[0].reason


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"GOOGLE_APPLICATION_CREDENTIALS": "nowhere.json"}, "nowhere.json"),
        ({"GOOGLE_CLOUD_PROJECT": ""}, "set GOOGLE_CLOUD_PROJECT"),
        ({"GOOGLE_VERTEX_BASE_URL": "http://127.0.0.1:1"}, "Vertex AI, project my-project in us-central1: Connect"),
    ],
)
def test_what_cannot_work_is_said_before_anything_runs(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], message: str
) -> None:
    """Credentials, project, connection: one error, and the agent is not called."""
    write(tmp_path, {"safety_v1": {"threshold": 0.8, "backend": "vertex"}})
    with serve(SAFE) as service:
        for name, value in change.items():
            monkeypatch.setenv(name, value)
        called: list[Trace] = []
        with pytest.raises(UsageError, match=message):
            api.evaluate(tmp_path / "s.evalset.json", called.append, tmp_path / "config.json")
    assert (called, service.asked) == ([], [])


def test_a_refused_project_is_said_before_anything_runs(tmp_path: Path, serve: Serve) -> None:
    """With the service's words."""
    write(tmp_path, {"safety_v1": 0.8})
    with serve(SAFE, Refusal(403, "Vertex AI API is disabled")) as service, pytest.raises(UsageError, match="disabled"):
        evaluate(tmp_path)
    assert service.asked == []


def test_what_was_evaluated_is_kept(tmp_path: Path, serve: Serve) -> None:
    """Equal attempts share a call, a later run takes what an earlier one has, calls are counted, a budget holds."""
    write(tmp_path, {"safety_v1": 0.8}, cases=3)
    store = f"sqlite:///{tmp_path}/a.db"
    with serve(SAFE) as service:
        first = evaluate(tmp_path, attempts=2, store=store)
        assert len(service.asked) == 1  # three cases are equal, too
        second = evaluate(tmp_path, store=store, reuse=first.info.id)
        assert len(service.asked) == 1
        spent = evaluate(tmp_path, judges=Judges(models=ModelOptions(budget=Budget(max_calls=0))))
    assert (first.verdict, second.verdict, spent.verdict) == (Verdict.PASSED, Verdict.PASSED, Verdict.UNSCORED)
    assert outcome(first).judge_stats is not None
    assert len(first.replies) == 1


def test_a_budget_in_money_cannot_be_kept(tmp_path: Path, serve: Serve) -> None:
    """Nobody knows what the service takes, so it is refused before anything runs."""
    write(tmp_path, {"safety_v1": 0.8})
    with serve(SAFE), pytest.raises(UsageError, match=r"/safety_v1/backend: .*price is not known"):
        evaluate(tmp_path, judges=Judges(models=ModelOptions(budget=Budget(max_cost=1.0))))


def test_a_cassette_is_replayed_without_service_and_token(tmp_path: Path, serve: Serve) -> None:
    """And holds no token."""
    write(tmp_path, {"safety_v1": {"threshold": 0.8, "backend": "vertex"}})
    path = tmp_path / "c.jsonl"
    with serve(SAFE):
        evaluate(tmp_path, judges=Judges(models=ModelOptions(cassette=path, cassette_mode="record")))
    assert TOKEN.encode() not in path.read_bytes()
    again = evaluate(tmp_path, judges=Judges(models=ModelOptions(cassette=path, cassette_mode="replay")))
    assert again.verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("config", "environment", "backend"),
    [
        (0.8, {}, "vertex"),
        ({"threshold": 0.8, "backend": "judge"}, {}, "judge"),
        (0.8, {"GOOGLE_CLOUD_LOCATION": ""}, "judge"),
        (0.8, {"GOOGLE_CLOUD_PROJECT": "", "GOOGLE_API_KEY": "a key alone"}, "judge"),
        ({"threshold": 0.8, "backend": "vertex"}, {}, "vertex"),
    ],
)
def test_the_choice_is_by_config_then_environment_and_is_signed(
    tmp_path: Path,
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
    config: Any,
    environment: dict[str, str],
    backend: str,
) -> None:
    """Project and location together choose the service, a key alone never does."""
    write(tmp_path, {"safety_v1": config})
    with serve(SAFE):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        plan = api.plan_run(tmp_path / "s.evalset.json", lambda _: "ok", tmp_path / "config.json")
    assert plan.info.signatures["safety_v1"]["backend"] == backend


def test_the_command_prints_the_choice_and_the_evaluation(tmp_path: Path, serve: Serve) -> None:
    """In the run, and in what it keeps."""
    write(tmp_path, {"safety_v1": 0.8})
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NO_COLOR": "1"}

    def fairtrial(*arguments: str) -> str:
        line = [sys.executable, "-c", COMMAND, *arguments, "--store", f"sqlite:///{tmp_path}/k.db"]
        told = subprocess.run(line, cwd=tmp_path, env={**environment, **os.environ}, capture_output=True, check=False)
        assert told.returncode == 0, told.stderr.decode()
        return told.stdout.decode()

    with serve(SAFE):
        said = fairtrial("run", "s.evalset.json", "--agent", "echo:reply", "--config", "config.json")
    assert "safety_v1: backend vertex" in said
    run_id = api.runs(f"sqlite:///{tmp_path}/k.db")[0].id
    assert "vote 1, vertex (served by vertex/safety_v1)" in fairtrial("show", run_id, "c0")
