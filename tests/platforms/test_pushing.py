"""Scores arrive in the service once, and the scores of people come back as labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commands import MATCH, case, enter, eval_set, fairtrial, write
from fairtrial import api
from fairtrial.errors import UsageError
from platform_servers import KEY, TRACE_IDS, FakeLangfuse, FakeLangSmith, FakePhoenix, Service, langsmith_id, running
from span_files import call, otlp

CRITERION = "response_match_score"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enter(tmp_path, monkeypatch)
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk")
    for name in ("LANGFUSE_SECRET_KEY", "PHOENIX_API_KEY", "LANGSMITH_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("LANGSMITH_PROJECT", "shop")
    write("shop.evalset.json", eval_set(case("greeting", "Hi.", query="Hello?")))
    write("config.json", MATCH)


def score(source: str, *extra: str) -> str:
    """Score a file of spans or recordings, and return the id of the run."""
    options = ("--against", "shop.evalset.json", "--config", "config.json", "--match", "query", *extra)
    done = fairtrial("score", source, *options)
    assert done.code in (0, 1), done.err
    return fairtrial("runs", "--limit", "1", "--quiet").out.strip()


def pulled(name: str, service: Service) -> str:
    """Pull traces, and return the run that scored them."""
    api.pull(name, Path("traces.jsonl"), url=service.url)
    return score("traces.jsonl")


def push(run: str, target: str, service: Service) -> None:
    """Push a run without a question."""
    done = fairtrial("push", run, target, "--url", service.url, "--yes")
    assert done.code == 0, done.err


@pytest.mark.long
def test_scores_are_in_langfuse_once() -> None:
    """On the trace of their invocation, with the verdict."""
    langfuse = FakeLangfuse()
    with running(langfuse.service()) as service:
        run = pulled("langfuse", service)
        for _ in range(2):
            push(run, "langfuse", service)
    scores = [own for own in langfuse.scores.values() if own["name"] == CRITERION]
    assert sorted(own["traceId"] for own in scores) == TRACE_IDS
    assert {(own["value"], own["dataType"], own["metadata"]["verdict"]) for own in scores} == {
        (1.0, "NUMERIC", "passed")
    }
    assert scores[0]["metadata"]["run.id"] == run


@pytest.mark.long
def test_scores_are_in_phoenix_once() -> None:
    """As annotations of the root span."""
    phoenix = FakePhoenix()
    with running(phoenix.service()) as service:
        run = pulled("phoenix", service)
        for _ in range(2):
            push(run, "phoenix", service)
    spans = {key[1]: item for key, item in phoenix.annotations.items() if key[2] == CRITERION}
    assert sorted(spans) == [trace_id[16:] for trace_id in TRACE_IDS]
    first = spans[TRACE_IDS[0][16:]]
    assert (first["annotator_kind"], first["result"]) == ("CODE", {"score": 1.0, "label": "passed"})
    assert first["identifier"].startswith("fairtrial:")


def test_scores_are_in_langsmith_once() -> None:
    """As feedback on the root run."""
    langsmith = FakeLangSmith()
    with running(langsmith.service()) as service:
        run = pulled("langsmith", service)
        for _ in range(2):
            push(run, "langsmith", service)
    own = [item for item in langsmith.feedback.values() if item["key"] == CRITERION]
    assert sorted(item["run_id"] for item in own) == [langsmith_id(number) for number in range(1, 8)]
    assert {(item["score"], item["value"]) for item in own} == {(1.0, "passed")}


def test_scores_are_events_of_opentelemetry() -> None:
    """In the context of the span, in the words of the conventions, and equal when they are pushed again."""
    write("spans.json", otlp(call(1, ["Hello?"], "No.", **{"gen_ai.response.id": "r-1", "session.id": "s-1"})))
    run = score("spans.json")
    with running(Service(lambda _: {})) as service:
        for _ in range(2):
            push(run, "otlp", service)
    first, second = service.requests
    assert first.content == second.content
    assert first.path == "/v1/logs"
    (group,) = first.body["resourceLogs"]
    records = {_value(own, "gen_ai.evaluation.name"): own for own in group["scopeLogs"][0]["logRecords"]}
    record = records[CRITERION]
    assert (record["eventName"], record["traceId"], record["spanId"]) == (
        "gen_ai.evaluation.result",
        f"{1:032x}",
        f"{1:016x}",
    )
    assert _value(record, "gen_ai.evaluation.score.value") == 0.0
    assert _value(record, "gen_ai.evaluation.score.label") == "failed"
    assert _value(record, "gen_ai.response.id") == "r-1"
    assert _value(record, "gen_ai.conversation.id") == "s-1"
    assert _value(record, "fairtrial.threshold") == 0.8


def _value(record: Any, name: str) -> Any:
    values = {pair["key"]: next(iter(pair["value"].values())) for pair in record["attributes"]}
    return values.get(name)


def test_an_unscored_criterion_has_no_value() -> None:
    """The event says why."""
    write("spans.json", otlp(call(1, ["Hello?"], "Hi.")))
    run = score("spans.json")
    scores = api.scores_to_push(api.reread(api.DEFAULT_URL, run))
    (tokens,) = [own for own in scores if own.name == "token_usage_v1"]
    assert tokens.value is None
    with running(Service(lambda _: {})) as service:
        api.push((tokens,), "otlp", url=service.url)
    (record,) = service.requests[0].body["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert _value(record, "gen_ai.evaluation.score.value") is None
    assert _value(record, "error.type") == "unscored"
    assert _value(record, "error.message")


def test_nothing_is_sent_without_a_yes() -> None:
    """Nobody can be asked here."""
    write("spans.json", otlp(call(1, ["Hello?"], "Hi.")))
    run = score("spans.json")
    with running(Service(lambda _: {})) as service:
        done = fairtrial("push", run, "otlp", "--url", service.url)
    assert done.code == 2
    assert "add --yes to send" in done.err
    assert service.requests == []


def test_a_run_without_traces_has_nothing_to_push() -> None:
    """For example, recorded message lists."""
    write("messages.json", [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Hi."}])
    run = score("messages.json")
    done = fairtrial("push", run, "otlp", "--yes")
    assert done.code == 2
    assert "do not say in which traces" in done.err


def labels(run: str) -> list[tuple[str, float | None, str, str]]:
    """The labels of a run."""
    return [
        (label.criterion, label.value, label.author, label.note) for label in api.reread(api.DEFAULT_URL, run).labels
    ]


@pytest.mark.long
def test_annotations_of_langfuse_become_labels_once() -> None:
    """Scores of other sources and other traces do not. A name may stand for a criterion."""
    langfuse = FakeLangfuse()
    annotation = {"name": "helpful", "value": 0.0, "authorUserId": "ann", "comment": "rude", "source": "ANNOTATION"}
    langfuse.scores = {
        "1": {**annotation, "traceId": TRACE_IDS[0]},
        "2": {**annotation, "traceId": TRACE_IDS[1], "source": "API"},
        "3": {**annotation, "traceId": "elsewhere"},
        "4": {**annotation, "traceId": TRACE_IDS[2], "name": "other"},
    }
    with running(langfuse.service()) as service:
        run = pulled("langfuse", service)
        options = ("--from", "langfuse", "--url", service.url, "--criterion", f"helpful={CRITERION}")
        done = fairtrial("labels", run, *options)
        again = fairtrial("labels", run, *options)
    assert "labels added from langfuse: 1" in done.err
    assert "name no criterion of this run, or no value of its range: other" in done.err
    assert "labels added from langfuse: 0" in again.err
    assert labels(run) == [(CRITERION, 0.0, "ann", "rude")]


@pytest.mark.long
@pytest.mark.parametrize("value", [10**400, -(10**30), 1e300])
def test_a_number_that_is_no_score_leaves_the_other_labels(value: float) -> None:
    """It is named, in every service, and ends nothing."""
    langfuse, phoenix, langsmith = FakeLangfuse(), FakePhoenix(), FakeLangSmith()
    annotation = {"name": CRITERION, "authorUserId": "ann", "source": "ANNOTATION"}
    langfuse.scores = {
        "1": {**annotation, "value": value, "traceId": TRACE_IDS[0]},
        "2": {**annotation, "value": 1.0, "traceId": TRACE_IDS[1]},
    }
    for place, score in ((TRACE_IDS[0], value), (TRACE_IDS[1], 1.0)):
        human = {"name": CRITERION, "annotator_kind": "HUMAN", "identifier": "", "trace_id": place}
        phoenix.annotations["trace", place, CRITERION, ""] = {**human, "result": {"score": score}}
    for number, score in ((1, value), (2, 1.0)):
        person = {"key": CRITERION, "run_id": langsmith_id(number), "score": score}
        langsmith.feedback[str(number)] = {**person, "feedback_source": {"type": "app", "user_id": "cy"}}
    for name, platform in (("langfuse", langfuse), ("phoenix", phoenix), ("langsmith", langsmith)):
        with running(platform.service()) as service:
            run = pulled(name, service)
            done = fairtrial("labels", run, "--from", name, "--url", service.url)
        assert (done.code, f"added from {name}: 1" in done.err) == (0, True), done.err
        assert f"or no value of its range: {CRITERION}" in done.err


@pytest.mark.long
def test_annotations_of_people_in_phoenix_become_labels() -> None:
    """On spans and traces. Ours do not come back."""
    phoenix = FakePhoenix()
    human = {"name": CRITERION, "annotator_kind": "HUMAN", "identifier": "", "user_id": "ben"}
    result = {"score": 1.0, "explanation": "fine"}
    with running(phoenix.service()) as service:
        run = pulled("phoenix", service)
        push(run, "phoenix", service)
        for kind, place in (("span", TRACE_IDS[0][16:]), ("trace", TRACE_IDS[1]), ("session", "s-3")):
            phoenix.annotations[kind, place, CRITERION, ""] = {**human, "result": result, f"{kind}_id": place}
        assert "added from phoenix: 3" in fairtrial("labels", run, "--from", "phoenix", "--url", service.url).err
    assert labels(run) == [(CRITERION, 1.0, "ben", "fine")] * 3


def test_phoenix_may_not_know_the_spans_of_a_run() -> None:
    """It then answers with status 404. The annotations of the traces count all the same."""
    phoenix = FakePhoenix()
    write("spans.json", otlp({**call(1, ["Hello?"], "Hi."), "traceId": TRACE_IDS[0], "spanId": "ab" * 8}))
    run = score("spans.json")
    human = {"name": CRITERION, "annotator_kind": "HUMAN", "identifier": "", "trace_id": TRACE_IDS[0]}
    phoenix.annotations["trace", TRACE_IDS[0], CRITERION, ""] = {**human, "result": {"score": 1.0}}
    with running(phoenix.service()) as service:
        assert "added from phoenix: 1" in fairtrial("labels", run, "--from", "phoenix", "--url", service.url).err
        phoenix.project = "other"
        missing = fairtrial("labels", run, "--from", "phoenix", "--url", service.url)
    assert (missing.code, "/v1/projects/default answers with status 404" in missing.err) == (2, True)


@pytest.mark.long
def test_feedback_of_people_in_langsmith_becomes_labels() -> None:
    """Feedback of models and our own does not."""
    langsmith = FakeLangSmith()
    with running(langsmith.service()) as service:
        run = pulled("langsmith", service)
        push(run, "langsmith", service)
        person = {"key": CRITERION, "run_id": langsmith_id(1), "score": 1, "comment": "ok", "trace_id": langsmith_id(1)}
        langsmith.feedback["p"] = {**person, "feedback_source": {"type": "app", "user_id": "cy"}}
        langsmith.feedback["m"] = {**person, "feedback_source": {"type": "model"}}
        assert "added from langsmith: 1" in fairtrial("labels", run, "--from", "langsmith", "--url", service.url).err
    assert labels(run) == [(CRITERION, 1.0, "cy", "ok")]


def test_evaluations_in_a_file_of_otlp_become_labels() -> None:
    """Events of another program."""
    span = call(1, ["Hello?"], "Hi.")
    write("spans.json", otlp(span))
    run = score("spans.json")
    attributes = [
        {"key": "gen_ai.evaluation.name", "value": {"stringValue": CRITERION}},
        {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 0.5}},
    ]
    event = {"name": "gen_ai.evaluation.result", "timeUnixNano": "1", "attributes": attributes}
    write("evaluated.json", otlp({**span, "events": [event]}))
    assert "added from evaluated.json: 1" in fairtrial("labels", run, "--from", "evaluated.json").err
    assert labels(run) == [(CRITERION, 0.5, "OpenTelemetry", "")]


@pytest.mark.long
def test_labels_of_people_are_pushed_too() -> None:
    """As annotations of a human, beside the score."""
    phoenix = FakePhoenix()
    with running(phoenix.service()) as service:
        run = pulled("phoenix", service)
        human = {"name": CRITERION, "annotator_kind": "HUMAN", "identifier": "", "user_id": "ben"}
        place = TRACE_IDS[0][16:]
        key = ("span", place, CRITERION, "")
        phoenix.annotations[key] = {**human, "result": {"score": 1.0}, "span_id": place}
        fairtrial("labels", run, "--from", "phoenix", "--url", service.url)
        push(run, "phoenix", service)
    kinds = [item["annotator_kind"] for item in phoenix.annotations.values() if item["name"] == CRITERION]
    assert sorted(kinds) == ["CODE"] * 7 + ["HUMAN"] * 2


def test_a_service_must_be_known() -> None:
    """Before anything is asked."""
    write("spans.json", otlp(call(1, ["Hello?"], "Hi.")))
    run = api.reread(api.DEFAULT_URL, score("spans.json"))
    with pytest.raises(UsageError, match="did you mean 'langfuse'"):
        api.pull_labels(run, "langfus")


def test_scores_are_pushed_at_the_end_of_a_run() -> None:
    """To the address that OpenTelemetry's own variable names."""
    write("spans.json", otlp(call(1, ["Hello?"], "Hi.")))
    with running(Service(lambda _: {})) as service, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", service.url)
        score("spans.json", "--push", "otlp", "--yes")
    assert [own.path for own in service.requests] == ["/v1/logs"]
