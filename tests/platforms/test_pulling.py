"""The traces of a service are pulled whole, page by page, and without a word about keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairtrial import api, load_recordings
from fairtrial.errors import UsageError
from platform_servers import KEY, TRACE_IDS, FakeLangfuse, FakeLangSmith, FakePhoenix, Service, running
from span_files import call, otlp

SESSIONS = [f"s-{number}" for number in range(1, 8)]
SERVICES: dict[str, Any] = {"langfuse": FakeLangfuse, "phoenix": FakePhoenix, "langsmith": FakeLangSmith}


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGFUSE_PUBLIC_KEY", "pk")
    for name in ("LANGFUSE_SECRET_KEY", "PHOENIX_API_KEY", "LANGSMITH_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("LANGSMITH_PROJECT", "shop")


def pull(name: str, service: Service, output: Path, **options: Any) -> tuple[api.PullReport, list[float]]:
    """Pull without waiting. Returns the report, and the waits that were asked for."""
    waits: list[float] = []
    return api.pull(name, output, url=service.url, wait=waits.append, **options), waits


@pytest.mark.parametrize("name", SERVICES)
def test_all_pages_become_recordings(name: str, tmp_path: Path) -> None:
    """Seven conversations on three pages."""
    with running(SERVICES[name]().service()) as service:
        report, _ = pull(name, service, tmp_path / "traces.jsonl")
    recordings = load_recordings(tmp_path / "traces.jsonl")
    assert report.recordings == 7
    assert sorted(recording.trace.session_id for recording in recordings) == SESSIONS
    first = recordings[0].trace.invocations[0]
    assert (first.query, first.reply) == ("Hello?", "Hi.")
    assert [path.name for path in tmp_path.iterdir()] == ["traces.jsonl"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_session_is_chosen(name: str, tmp_path: Path) -> None:
    """By the service if it can, otherwise here."""
    with running(SERVICES[name]().service()) as service:
        report, _ = pull(name, service, tmp_path / "traces.jsonl", session="s-2")
    assert report.recordings == 1


def test_personal_data_is_removed_on_demand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `redact`, the recordings hold no telephone number, and are read as before."""
    pytest.importorskip("phonenumbers", reason="the extra people is not installed")
    monkeypatch.setattr("platform_servers.USER", [{"role": "user", "content": "Call +82 10-2345-6789"}])
    queries = []
    for redact in (None, "people"):
        with running(FakeLangfuse().service()) as service:
            pull("langfuse", service, tmp_path / "traces.jsonl", redact=redact)
        recordings = load_recordings(tmp_path / "traces.jsonl")
        queries.append({invocation.query for one in recordings for invocation in one.trace.invocations})
    assert queries == [{"Call +82 10-2345-6789"}, {"Call [REDACTED:phone]"}]


@pytest.mark.parametrize("name", ["langfuse", "langsmith"])
def test_no_page_with_personal_data_is_written(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted pull leaves no telephone number behind. It goes on, but not without the redaction."""
    pytest.importorskip("phonenumbers", reason="the extra people is not installed")
    monkeypatch.setattr("platform_servers.USER", [{"role": "user", "content": "Call +82 10-2345-6789"}])
    output, part = tmp_path / "traces.jsonl", tmp_path / "traces.jsonl.part"
    with running(SERVICES[name]().service()) as service:

        def interrupt(_: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            pull(name, service, output, on_page=interrupt, redact="people")
        assert "[REDACTED:phone]" in part.read_text()
        assert "2345" not in part.read_text()
        with pytest.raises(UsageError, match="belongs to a pull with other options"):
            pull(name, service, output)
        report, _ = pull(name, service, output, redact="people")
    assert report.recordings == 7
    assert "2345" not in output.read_text()


def test_sessions_of_two_people_stay_apart(tmp_path: Path) -> None:
    """An address as the id of a session gets a pseudonym, and the session is still found by its address."""
    pytest.importorskip("phonenumbers", reason="the extra people is not installed")
    langfuse = FakeLangfuse()
    for number, trace in enumerate(langfuse.traces):
        trace["sessionId"] = f"user{number % 2}@example.com"
    names = []
    for session in ("", "user1@example.com"):
        with running(langfuse.service()) as service:
            pull("langfuse", service, tmp_path / "traces.jsonl", redact="people", session=session)
        names.append({one.trace.session_id for one in load_recordings(tmp_path / "traces.jsonl")})
    assert "example.com" not in (tmp_path / "traces.jsonl").read_text()
    assert len(names[0]) == 2
    assert len(names[1]) == 1


@pytest.mark.long
@pytest.mark.parametrize("name", SERVICES)
def test_an_interrupted_pull_goes_on(name: str, tmp_path: Path) -> None:
    """After its last whole page. No page is asked for twice."""
    output = tmp_path / "traces.jsonl"
    with running(SERVICES[name]().service()) as service:

        def interrupt(_: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            pull(name, service, output, on_page=interrupt)
        with (tmp_path / "traces.jsonl.part").open("ab") as part:
            part.write(b'{"cursor":"2","docu')  # the process was killed while it wrote
        with pytest.raises(UsageError, match="belongs to a pull with other options"):
            pull(name, service, output, since="24h")
        report, _ = pull(name, service, output)
        asked = [(asked.path, asked.query, asked.content) for asked in service.requests if "sessions" not in asked.path]
    assert report.recordings == 7
    assert len(asked) == len({str(own) for own in asked})


@pytest.mark.parametrize("name", SERVICES)
def test_a_busy_service_is_asked_again(name: str, tmp_path: Path) -> None:
    """After the time that it names, or after longer and longer times."""
    with running(SERVICES[name]().service()) as service:
        service.troubles += [(429, {"retry-after": "7"}), (503, {}), (502, {})]
        report, waits = pull(name, service, tmp_path / "traces.jsonl")
    assert report.recordings == 7
    assert waits == [7.0, 1.0, 2.0]


@pytest.mark.parametrize("name", SERVICES)
def test_a_wrong_key_is_refused_without_its_text(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the variable."""
    variable = {"langfuse": "LANGFUSE_SECRET_KEY", "phoenix": "PHOENIX_API_KEY", "langsmith": "LANGSMITH_API_KEY"}[name]
    monkeypatch.setenv(variable, "another-secret")
    with running(SERVICES[name]().service()) as service, pytest.raises(UsageError) as caught:
        pull(name, service, tmp_path / "traces.jsonl")
    assert variable in str(caught.value)
    assert "401" in str(caught.value)
    assert "another-secret" not in str(caught.value)


def test_an_answer_that_repeats_the_key_is_not_shown(tmp_path: Path) -> None:
    """Keys stand in no message."""
    with running(FakePhoenix().service()) as service:
        service.answer = lambda _: None
        service.troubles += [(400, {})]
        with pytest.raises(UsageError) as caught:
            pull("phoenix", service, tmp_path / "traces.jsonl")
    assert "status 400" in str(caught.value)
    assert KEY not in str(caught.value)


def test_times_and_filters_reach_the_service(tmp_path: Path) -> None:
    """Each in its own words."""
    langsmith = FakeLangSmith()
    with running(langsmith.service()) as service:
        pull("langsmith", service, tmp_path / "a", session='s"1', filter_text='eq(name, "agent")', since="2026-01-01")
    keys = '["session_id","conversation_id","thread_id"]'
    expected = f'and(eq(name, "agent"), and(in(metadata_key, {keys}), eq(metadata_value, "s\\"1")))'
    assert set(langsmith.filters) == {expected}
    with running(FakeLangfuse().service()) as service:
        pull("langfuse", service, tmp_path / "b", until="2026-01-02T00:00:00Z")
    assert service.requests[0].first("toTimestamp") == "2026-01-02T00:00:00.000Z"


@pytest.mark.parametrize("wrap", [lambda spans: spans, lambda spans: {"trace": spans}])
def test_a_trace_of_tempo_is_pulled_by_its_url(wrap: Any, tmp_path: Path) -> None:
    """Both forms of its interface."""
    document = wrap(otlp(call(1, ["Hello?"], "Hi.")))
    with running(Service(lambda _: document)) as service:
        report = api.pull(f"{service.url}/api/traces/{TRACE_IDS[0]}", tmp_path / "trace.jsonl")
    assert report.recordings == 1
    assert service.requests[0].headers["accept"] == "application/json"


def test_a_part_of_a_trace_of_tempo_is_incomplete(tmp_path: Path) -> None:
    """Tempo cuts a trace that is larger than its limit. An agent must not be blamed for calls that are missing."""
    answered = {"trace": otlp(call(1, ["Hello?"], "Hi.")), "status": "PARTIAL", "message": "exceeds 5000000 bytes"}
    with running(Service(lambda _: answered)) as service:
        report = api.pull(f"{service.url}/api/v2/traces/{TRACE_IDS[0]}", tmp_path / "trace.jsonl")
    (recording,) = load_recordings(tmp_path / "trace.jsonl")
    reason = "Tempo gave only a part of the trace: exceeds 5000000 bytes"
    assert recording.trace.incomplete.startswith(reason)
    assert any(reason in warning for warning in report.warnings)


def test_a_trace_of_jaeger_is_pulled_by_its_url(tmp_path: Path) -> None:
    """With headers from the environment."""
    tags = [
        {"key": pair["key"], "value": pair["value"]["stringValue"]} for pair in call(1, ["Hi?"], "Hi.")["attributes"]
    ]
    span = {"traceID": TRACE_IDS[0], "spanID": "1" * 16, "operationName": "chat", "startTime": 1, "duration": 1}
    document = {"data": [{"traceID": TRACE_IDS[0], "spans": [{**span, "tags": tags}], "processes": {}}]}
    with running(Service(lambda _: document)) as service, pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRTRIAL_PULL_HEADERS", "Authorization=Bearer%20t0ken")
        report = api.pull(f"{service.url}/api/traces/{TRACE_IDS[0]}", tmp_path / "trace.jsonl")
    assert report.recordings == 1
    assert service.requests[0].headers["authorization"] == "Bearer t0ken"


@pytest.mark.parametrize(
    ("source", "options", "problem"),
    [
        ("langfus", {}, "did you mean 'langfuse'"),
        ("langfuse", {"since": "yesterday"}, "since: must be a time such as 24h"),
        ("langfuse", {"url": "localhost"}, "must be a URL"),
        ("langfuse", {"project": "shop"}, "keys of Langfuse belong to one project"),
        ("http://127.0.0.1:1/api/traces/1", {"session": "s"}, "a URL is one trace"),
        ("langsmith", {"url": "http://127.0.0.1:1"}, "LangSmith at http://127.0.0.1:1/sessions does not answer"),
    ],
)
def test_mistakes_are_named(source: str, options: Any, problem: str, tmp_path: Path) -> None:
    """Before a file is written."""
    with pytest.raises(UsageError) as caught:
        api.pull(source, tmp_path / "traces.jsonl", wait=lambda _: None, **options)
    assert problem in str(caught.value)


def test_a_trace_that_was_deleted_costs_only_itself(tmp_path: Path) -> None:
    """It is listed and answers with 404, for example after its retention. The warning names it after a restart, too."""

    class WithoutSecond(FakeLangfuse):
        def _answer(self, asked: Any) -> Any:
            if asked.path.endswith(TRACE_IDS[1]):
                raise KeyError(asked.path)
            return super()._answer(asked)

        def _filtered(self, conditions: list[Any]) -> list[Any]:
            return [each for each in super()._filtered(conditions) if each["traceId"] != TRACE_IDS[1]]

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    output = tmp_path / "traces.jsonl"
    with running(WithoutSecond().service()) as service:
        with pytest.raises(KeyboardInterrupt):
            pull("langfuse", service, output, on_page=interrupt)
        report, _ = pull("langfuse", service, output)
    assert report.recordings == 6
    assert any("1 trace that it does not have" in each and TRACE_IDS[1] in each for each in report.warnings)


def _paths(service: Service) -> list[str]:
    return [asked.path for asked in service.requests]


def test_langfuse_gives_the_observations_of_many_traces_at_once(tmp_path: Path) -> None:
    """Seven traces on three pages take a page of traces and a page of observations each."""
    with running(FakeLangfuse().service()) as service:
        pull("langfuse", service, tmp_path / "traces.jsonl")
    assert _paths(service) == ["/api/public/traces", "/api/public/observations"] * 3


def test_all_pages_of_observations_are_read(tmp_path: Path) -> None:
    """A trace may have more observations than a page holds."""
    langfuse = FakeLangfuse()
    for trace in langfuse.traces:
        (first,) = trace["observations"]
        trace["observations"] = [{**first, "id": f"{first['id'][:-1]}{number}"} for number in range(5)]
    with running(langfuse.service()) as service:
        report, _ = pull("langfuse", service, tmp_path / "traces.jsonl")
    assert report.recordings == 7
    # The pages of the server hold three: five of the last trace, and fifteen of each three before.
    assert _paths(service).count("/api/public/observations") == 5 + 5 + 2


def test_a_langfuse_that_ignores_filters_gives_each_trace(tmp_path: Path) -> None:
    """An older server answers with the observations of any trace, which would be taken for those that were asked."""
    with running(FakeLangfuse(filters=False).service()) as service:
        report, _ = pull("langfuse", service, tmp_path / "traces.jsonl")
    assert report.recordings == 7
    assert _paths(service).count("/api/public/observations") == 2
    assert {f"/api/public/traces/{trace_id}" for trace_id in TRACE_IDS} <= set(_paths(service))


def test_an_interrupted_pull_of_langfuse_goes_on_with_the_next_page(tmp_path: Path) -> None:
    """The pages before are in the part."""
    output = tmp_path / "traces.jsonl"

    def interrupt(count: int) -> None:
        if count >= 6:
            raise KeyboardInterrupt

    with running(FakeLangfuse().service()) as service:
        with pytest.raises(KeyboardInterrupt):
            pull("langfuse", service, output, on_page=interrupt)
        before = len(service.requests)
        report, _ = pull("langfuse", service, output)
    assert report.recordings == 7
    assert _paths(service)[before:] == ["/api/public/traces", "/api/public/observations"]
