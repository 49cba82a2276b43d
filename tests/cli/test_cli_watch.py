"""`fairtrial watch` raises an alarm if the scores of production traffic leave their reference."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO

import httpx2
import pytest
from msgspec.structs import replace

from commands import MATCH, case, enter, eval_set, fairtrial, session, write
from fairtrial import Criterion, EvalCase, EvalSet, Invocation, Message, Score, Trace, api, score
from fairtrial.api.stores import open_store
from fairtrial.cli.outputs.alarm_posts import AlarmPosts
from fairtrial.records.label import Label
from fairtrial.store import DEFAULT_URL
from forked_commands import start_forked
from graded_runs import graded, graded_run, recording
from span_files import call, otlp

DAY = 150
SMALL = ("--reference", "200", "--false-every", "1000")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder."""
    enter(tmp_path, monkeypatch)


def store_day(
    rng: random.Random,
    rate: float,
    *,
    value: float = 1.0,
    threshold: float = 0.5,
    tags: tuple[str, ...] = (),
    fixed: bool = False,
) -> str:
    """The id of a run of traffic: 150 conversations, of which a share has the value and the others 0."""
    values = {f"{'canary' if fixed else rng.random()}-{number}": value * (rng.random() < rate) for number in range(DAY)}
    cases = tuple(EvalCase(name, (Invocation(Message("Grade?")),)) for name in values)
    recordings = [recording(name, value, 1) for name, value in values.items()]
    run = score(recordings, EvalSet("traffic", cases), [graded(threshold)], store=DEFAULT_URL)
    with closing(open_store(DEFAULT_URL)) as store:
        store.finish(replace(run.info, config={**run.info.config, "tags": list(tags)}), run.summary)
    return run.info.id


@pytest.mark.parametrize(
    ("since", "problem"),
    [
        ("yesterday", "--since: must be a date such as 2026-01-02, got 'yesterday'"),
        ("2026-1-2", "--since: must be a date such as 2026-01-02, got '2026-1-2'"),
        ("9000-01-01 10:00", "no run of score or receive started since 9000-01-01 10:00"),
    ],
)
def test_a_start_that_is_no_date_or_that_no_run_follows_is_refused(since: str, problem: str) -> None:
    """The store has a run."""
    store_day(random.Random(1), 0.9)
    done = fairtrial("watch", "--since", since)
    assert done.code == 2
    assert problem in done.err


@pytest.mark.parametrize(("hours", "code"), [(-1, 0), (1, 2)])
def test_a_start_with_a_zone_is_a_moment(hours: int, code: int) -> None:
    """A run that started now is after an hour ago, and before an hour from now, also in the zone of Kiritimati."""
    store_day(random.Random(1), 0.9)
    since = datetime.now(timezone(timedelta(hours=14))) + timedelta(hours=hours)
    assert fairtrial("watch", "--since", since.isoformat()).code == code


@pytest.mark.long
def test_traffic_without_a_change_raises_no_alarm() -> None:
    """The report says what the reference is."""
    rng = random.Random(1)
    for _ in range(4):
        store_day(rng, 0.9)
    done = fairtrial("watch", *SMALL)
    assert done.code == 0
    assert "No alarm: nothing shows that a measure left its reference." in done.out
    rows = fairtrial("watch", *SMALL, "--json", "-").json["measures"]
    assert {row["measure"]: (row["state"], row["count"]) for row in rows} == {
        "cases": ("steady", 4 * DAY),
        "quality": ("steady", 4 * DAY),
    }
    assert all(row["reference"]["low"] < 0.9 < row["reference"]["high"] for row in rows)


@pytest.mark.long
def test_a_fall_raises_an_alarm_and_names_the_run() -> None:
    """The exit code is 1."""
    rng = random.Random(2)
    ids = [store_day(rng, 0.9 if day < 3 else 0.4) for day in range(5)]
    done = fairtrial("watch", *SMALL, "--json", "-")
    assert done.code == 1
    (row,) = [row for row in done.json["measures"] if row["measure"] == "quality"]
    assert (row["state"], row["since"], row["judge"]) == ("lower", ids[3], "unknown")
    assert row["seen_in"] == ids[3]
    assert row["evidence"] >= 1000


def test_the_reference_waits_for_its_conversations() -> None:
    """Nothing is compared before."""
    store_day(random.Random(3), 0.9)
    (row, *_) = fairtrial("watch", "--json", "-").json["measures"]
    assert (row["state"], row["reference"]["value"]) == ("reference", None)


@pytest.mark.long
def test_a_changed_threshold_begins_a_new_reference() -> None:
    """The fall of the pass rate is not the agent's."""
    rng = random.Random(4)
    for day in range(4):
        store_day(rng, 0.9, value=0.6, threshold=0.5 if day < 2 else 0.8)
    done = fairtrial("watch", *SMALL, "--json", "-")
    assert done.code == 0
    assert any("begins again" in note for note in done.json["notes"])


@pytest.mark.long
@pytest.mark.parametrize("language", ["ko", "ja", "zh-TW", "zh-CN"])
def test_alarms_and_notes_are_in_the_language_of_the_terminal(language: str) -> None:
    """All lines but the names of the series: a changed threshold, missing values, an alarm, and no canaries."""
    rng = random.Random(11)
    for day in range(4):
        store_day(rng, 0.9 if day < 3 else 0.3, value=0.7, threshold=0.6 if day else 0.5)
    graded_run({str(rng.random()): [None] for _ in range(3)}, store=DEFAULT_URL, criteria=[graded(0.6)], eval_set="x")
    english = fairtrial("watch", *SMALL, "--series", "agent,branch").out
    done = fairtrial("watch", *SMALL, "--series", "agent,branch", "--lang", language)
    for part in ("begins again", "conversations have no value", "is lower than", "canary", "raises a false alarm"):
        assert part in english
    assert re.findall(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}", "\n".join(done.out.splitlines()[1:])) == []


def test_a_measure_that_most_conversations_lack_is_unknown() -> None:
    """The values that are there are all good, and say nothing about the others."""
    rng = random.Random(7)
    for _ in range(2):
        values = {str(rng.random()): 1.0 if number % 3 == 0 else None for number in range(DAY)}
        graded_run({name: [value] for name, value in values.items()}, store=DEFAULT_URL, eval_set="traffic")
    done = fairtrial("watch", *SMALL, "--json", "-")
    assert done.code == 0
    (row,) = [row for row in done.json["measures"] if row["measure"] == "quality"]
    assert (row["state"], row["count"], row["recent"]) == ("unknown", 2 * DAY, 1.0)
    assert "quality: 200 of 300 conversations have no value" in " ".join(done.json["notes"])


@pytest.mark.long
@pytest.mark.parametrize(("canary_rate", "judge"), [(0.9, "steady"), (0.4, "drifted")])
def test_canaries_tell_the_judge_from_the_agent(canary_rate: float, judge: str) -> None:
    """The same recordings get other scores if the judge drifted."""
    rng = random.Random(5)
    for day in range(6):
        store_day(rng, 0.9 if day < 3 else 0.4)
        store_day(rng, 0.9 if day < 3 else canary_rate, tags=("canary",), fixed=True)
    done = fairtrial("watch", *SMALL, "--json", "-")
    assert done.code == 1
    assert {row["judge"] for row in done.json["measures"]} == {judge}
    said = "the judge scores the same recordings " + ("as before" if judge == "steady" else "differently, too")
    assert said in " ".join(fairtrial("watch", *SMALL).out.split())


LIMIT = {"now": 0.3}


def judge_by_limit(trace: Trace, case: EvalCase) -> float:
    """Whether the number that the agent replied is above a limit that changes without a change of the code."""
    del case
    return float(float(trace.invocations[-1].reply) > LIMIT["now"])


@pytest.mark.long
@pytest.mark.parametrize(("limit", "judge"), [(0.3, "steady"), (0.8, "drifted")])
def test_old_recordings_among_the_traffic_tell_the_judge_from_the_agent(
    limit: float, judge: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run scores 40 recordings of the first run again. No run has a tag."""
    rng = random.Random(8)
    old = {f"old-{number}": [0.5] for number in range(40)}
    monkeypatch.setitem(LIMIT, "now", 0.3)
    for day in range(6):
        if day == 3:
            LIMIT["now"] = limit
        new = {f"{day}-{number}": [0.5 * (day < 3 or rng.random() < 0.2)] for number in range(DAY)}
        criteria = [Criterion("quality", judge_by_limit, 0.5)]
        graded_run({**old, **new}, store=DEFAULT_URL, criteria=criteria, eval_set="traffic")
    done = fairtrial("watch", *SMALL, "--json", "-")
    assert done.code == 1
    assert {row["judge"] for row in done.json["measures"] if row["measure"] == "quality"} == {judge}


@pytest.fixture
def hook() -> Iterator[tuple[str, Callable[[], list[bytes]]]]:
    """The address of a service that takes alarms, and what it was sent."""
    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            """Write no log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/alarms", lambda: bodies
        server.shutdown()
        thread.join()


@pytest.mark.long
def test_alarms_are_posted(hook: tuple[str, Callable[[], list[bytes]]]) -> None:
    """The request holds names, numbers and ids, and no conversation."""
    url, sent = hook
    rng = random.Random(6)
    for _ in range(3):
        store_day(rng, 0.9)
    assert fairtrial("watch", *SMALL, "--post", url).code == 0
    assert sent() == []
    for _ in range(2):
        store_day(rng, 0.3)
    assert fairtrial("watch", *SMALL, "--post", url).code == 1
    (body,) = map(json.loads, sent())
    assert body["kind"] == "alarm"
    assert {alarm["measure"] for alarm in body["alarms"]} == {"cases", "quality"}
    assert "Grade?" not in json.dumps(body)


@pytest.mark.long
def test_a_run_that_raises_an_alarm_posts_it(
    hook: tuple[str, Callable[[], list[bytes]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`fairtrial score` posts the alarms of its own conversations, and no alarm of an earlier run."""
    url, sent = hook
    monkeypatch.setenv("FAIRTRIAL_WATCH_URL", url)
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set("a"))

    def score_day(replies: Sequence[str]) -> str:
        folder = Path(f"day-{replies[0]}-{len(replies)}")
        folder.mkdir()
        for number, reply in enumerate(replies):
            write(folder / f"{number}.session.json", session("a", "a", reply))
        return fairtrial("score", folder, "--against", "trips.evalset.json", "--config", "test_config.json").err

    assert "alarm" not in score_day(["ok"] * 350)
    assert "it was posted" in score_day(["no"] * 100)
    assert "alarm" not in score_day(["ok"] * 20)
    (body,) = map(json.loads, sent())
    assert [alarm["state"] for alarm in body["alarms"]] == ["lower"] * 2


@pytest.mark.long
def test_a_receiver_posts_an_alarm_while_it_receives(hook: tuple[str, Callable[[], list[bytes]]]) -> None:
    """Each alarm is posted once: not at the next look, and not again at the end."""
    url, sent = hook
    write("trips.evalset.json", eval_set(case("trip", "ok", query="Trip?")))
    write("config.json", MATCH)
    inputs = ("--against", "trips.evalset.json", "--config", "config.json")
    arguments = ("receive", *inputs, "--idle", "0.1s", "--listen", "127.0.0.1:0")
    program = "from fairtrial.cli import command; from fairtrial.cli.outputs import alarm_posts; "
    program += "alarm_posts.SECONDS_BETWEEN = 0.05; command()"
    process = start_forked(
        ["python", "-c", program, *arguments],
        environment={**os.environ, "FAIRTRIAL_WATCH_URL": url, "PYTHONUNBUFFERED": "1"},
    )
    address = read_line(process.stderr, "receiving at ").split("receiving at ")[1].split(",")[0]

    def send(names: range, reply: str) -> None:
        traces = [call(number, ["Trip?"], reply, **{"session.id": f"s-{number}"}) for number in names]
        httpx2.post(f"{address}/v1/traces", json=otlp(*traces)).raise_for_status()

    send(range(1, 320), "ok")
    send(range(320, 450), "no")
    read_line(process.stderr, "it was posted")
    posted = [alarm["measure"] for body in map(json.loads, sent()) for alarm in body["alarms"]]
    assert posted
    process.send_signal(signal.SIGINT)
    process.communicate()
    posted = [alarm["measure"] for body in map(json.loads, sent()) for alarm in body["alarms"]]
    assert sorted(posted) == ["cases", "response_match_score"]


def test_a_look_that_fails_for_an_unknown_reason_is_said_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The thread that looks goes on, so that later alarms are posted."""
    run = graded_run({"a": [1.0]}, store=DEFAULT_URL).info

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(api, "find_new_alarms", fail)
    posts = AlarmPosts(DEFAULT_URL, "http://127.0.0.1:9/")
    posts.look(run)
    posts.look(run)
    assert capsys.readouterr().err == "no look for alarms: OSError: [Errno 28] No space left on device\n"


def read_line(stream: IO[str] | None, part: str) -> str:
    """Return the next line that has a part."""
    assert stream is not None
    return next(line for line in stream if part in line)


@pytest.mark.long
def test_a_recording_that_is_scored_again_counts_once() -> None:
    """The report says how many there are."""
    rng = random.Random(9)
    for _ in range(2):
        store_day(rng, 0.9)
    old = {f"old-{number}": [1.0] for number in range(DAY)}
    for _ in range(3):
        graded_run(old, store=DEFAULT_URL, eval_set="traffic")
    done = fairtrial("watch", *SMALL, "--json", "-")
    (row,) = [row for row in done.json["measures"] if row["measure"] == "quality"]
    assert (row["count"], row["repeated"]) == (3 * DAY, 2 * DAY)
    note = f"{2 * DAY} conversations left out, because the same recording was scored before"
    assert note in " ".join(done.json["notes"])


@pytest.mark.long
def test_other_replies_in_the_same_conversation_count() -> None:
    """The agent may answer the same question each day."""
    for value in (1.0, 0.9, 0.8):
        graded_run({str(number): [value] for number in range(DAY)}, store=DEFAULT_URL, eval_set="traffic")
    (row,) = [row for row in fairtrial("watch", *SMALL, "--json", "-").json["measures"] if row["measure"] == "quality"]
    assert (row["count"], row["repeated"]) == (3 * DAY, 0)


def test_conversations_to_which_a_criterion_does_not_apply_are_counted() -> None:
    """They say nothing about the measure, and a note says how many they are."""

    def speed(trace: Trace, case: EvalCase) -> Score:
        del trace
        return Score(1.0) if int(case.id) % 3 else Score(applicable=False)

    values = {str(number): [1.0] for number in range(DAY)}
    criteria = [graded(), Criterion("speed", speed, 0.5)]
    graded_run(values, store=DEFAULT_URL, criteria=criteria, eval_set="traffic")
    done = fairtrial("watch", *SMALL, "--json", "-")
    rows = {row["measure"]: (row["count"], row["left_out"]) for row in done.json["measures"]}
    assert rows["speed"] == (100, 50)
    assert "speed: 50 conversations left out: no outcome" in " ".join(done.json["notes"])


@pytest.mark.long
def test_labels_of_people_give_a_corrected_mean() -> None:
    """The judge passes 90 %, and people 90 % of these. The labels are in two runs, and are drawn at random."""
    rng = random.Random(10)
    for _ in range(2):
        run = store_day(rng, 0.9)
        with closing(open_store(DEFAULT_URL)) as store:
            keys = rng.sample([key for _, key, _ in store.case_keys(run)], 60)
            judged = {result.key: result.outcomes[0].score.value for result in store.results(run)}
            labels = [
                Label(key, 1, "quality", value=float(bool(judged[key]) and rng.random() < 0.9), author="ann")
                for key in keys
            ]
            store.add_labels(run, labels)
    done = fairtrial("watch", *SMALL, "--json", "-")
    (row,) = [row for row in done.json["measures"] if row["measure"] == "quality"]
    assert row["labels"] == 120
    assert row["corrected"]["low"] < 0.81 < row["corrected"]["high"] < 0.95
    assert row["corrected"]["value"] < row["reference"]["value"] - 0.04
    assert "quality: people would give 0.8" in fairtrial("watch", *SMALL).out


def test_an_empty_store_is_refused() -> None:
    """There is no traffic."""
    store_day(random.Random(7), 0.9, tags=("canary",))
    done = fairtrial("watch")
    assert done.code == 2
    assert "no run of score or receive" in done.err


@pytest.mark.long
def test_a_file_of_each_day_is_a_series_of_its_own_and_the_report_says_so() -> None:
    """Its name names the eval set. The option that the note names watches all days together, and sees the fall."""
    rng = random.Random(5)
    for day, rate in enumerate((0.95, 0.95, 0.4)):
        rows = [f"Question {day} {place}?,{'yes' if rng.random() < rate else 'no'},yes" for place in range(DAY)]
        Path(f"day{day}.csv").write_text("\n".join(["input,output,reference", *rows]), encoding="utf-8")
        write("production.json", {"criteria": {"exact_match": 1.0}})
        fairtrial("score", f"day{day}.csv", "--config", "production.json")
    apart = fairtrial("watch", *SMALL)
    assert apart.code == 0
    note = "2 other runs of the store left out: another eval_set; --series agent,branch takes them together"
    assert note in " ".join((apart.out + apart.err).split())
    together = fairtrial("watch", *SMALL, "--series", "agent,branch")
    assert together.code == 1
    assert "left out" not in together.out + together.err
    assert note.split(":", maxsplit=1)[0] in " ".join(fairtrial("history").out.split())
