"""The viewer shows what the store holds, and only what changed."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fairtrial import api
from fairtrial.api.viewer.text_index import TextIndex
from fairtrial.api.viewer.view_index import CaseQuery, places_with_text
from fairtrial.errors import UsageError
from fairtrial.records.result import CaseResult, Outcome
from fairtrial.records.score import Score
from fairtrial.records.trace import Trace
from fairtrial.store import Store
from finished import FinishedRun
from report_pages import run as report_run
from schema_checks import check_shape
from viewers import FIRST, SECOND, Site, fill, two_runs, viewing

CASES = 12


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store with two runs."""
    return two_runs(tmp_path_factory.mktemp("store"), cases=CASES)


@pytest.fixture(scope="module")
def site(url: str) -> Iterator[Site]:
    """A viewer into which the browser of the user has signed in."""
    with viewing(url) as own:
        own.sign_in()
        yield own


@pytest.fixture
def viewer(url: str) -> Iterator[api.StoreViewer]:
    """A reader of the store."""
    with closing(api.StoreViewer(url)) as own:
        yield own


@pytest.fixture
def live(tmp_path: Path) -> Iterator[tuple[Store, FinishedRun, api.StoreViewer]]:
    """A run that is not finished, its store, and a reader of the store."""
    whole = report_run(FIRST, cases=CASES)
    own = FinishedRun(
        replace(whole.info, finished=None, seconds=4.0), whole.results, whole.expectations, whole.recorded
    )
    store = Store(f"sqlite:///{tmp_path}/live.db")
    fill(store, own, results=8)
    with closing(store), closing(api.StoreViewer(store.url)) as viewer:
        yield store, own, viewer


def valid(value: Any, shape: str) -> None:
    """Check JSON against the schema of the view model."""
    check_shape(value, shape)


def test_the_answers_have_the_documented_shapes(site: Site) -> None:
    """A program of another language can read them."""
    valid(site.get("/api/runs"), "RunListView")
    valid(site.get(f"/api/runs/{SECOND}?base={FIRST}"), "OpenedRuns")
    valid(site.get(f"/api/runs/{FIRST}/cases"), "FoundCases")
    for row in site.get(f"/api/runs/{FIRST}/rows?at=0,5"):
        valid(row, "CaseRow")
    valid(site.get(f"/api/runs/{FIRST}/cases/3/2"), "AttemptView")


def test_runs_are_listed_with_the_newest_first(site: Site) -> None:
    """With their numbers; a search reads ids, agents and paths."""
    assert [run["id"] for run in site.get("/api/runs")["runs"]] == [SECOND, FIRST]
    first = site.get("/api/runs?q=0930+AAAA")["runs"]
    assert [run["id"] for run in first] == [FIRST]
    assert first[0]["target"] == "shop.agent:reply"
    assert sum(first[0]["counts"].values()) == 2 * CASES
    assert {"tool_trajectory_avg_score", "token_usage_v1"} <= {own["criterion"] for own in first[0]["criteria"]}
    assert site.get("/api/runs?q=nothing")["runs"] == []


@pytest.mark.long
def test_pages_of_runs_follow_each_other_by_key(tmp_path: Path) -> None:
    """Of 120 runs each is on one page, also if a new run comes meanwhile."""
    store = Store(f"sqlite:///{tmp_path}/many.db")
    info = report_run(FIRST, cases=1).info
    for number in range(120):
        store.begin(
            replace(info, id=f"run-{number:03d}", started=f"2026-11-20T09:{number // 60:02d}:{number % 60:02d}")
        )
    with closing(store), closing(api.StoreViewer(store.url)) as viewer:
        ids: list[str] = []
        before = ""
        while page := viewer.runs(before=before):
            ids += [run.id for run in page.runs]
            before = page.before
            store.begin(replace(info, id=f"new-{len(ids)}", started="2026-11-21T00:00:00"))
            if not before:
                break
    assert ids == [f"run-{number:03d}" for number in reversed(range(120))]


def test_a_row_equals_the_row_of_the_report(viewer: api.StoreViewer) -> None:
    """Both come from the same records, by different ways."""
    from html_pages import write_page

    own = report_run(FIRST, seed=1, cases=CASES)
    rows = json.loads(api.encode_view(viewer.rows(FIRST, range(CASES))))
    for expected in write_page(own).view["cases"][0]:
        row = rows[expected["position"]]
        assert (row["name"], row["query"], row["reason"]) == (expected["name"], expected["query"], expected["reason"])
        assert [entry["verdict"] for entry in row["attempts"]] == [entry["verdict"] for entry in expected["attempts"]]


def test_an_attempt_equals_the_attempt_of_the_report(viewer: api.StoreViewer) -> None:
    """Its conversation, its outcomes, its ballots and its labels."""
    from html_pages import write_page

    page = write_page(report_run(FIRST, seed=1, cases=CASES))
    expected, agents = page.attempts()[7], page.view["runs"][0]["agents"]
    shown = json.loads(api.encode_view(viewer.attempt(FIRST, 3, 2)))
    own_agents = shown.pop("agents")
    assert with_agents({**shown, "place": 7}, own_agents) == with_agents(expected, agents)


def with_agents(value: Any, agents: Any) -> Any:
    """A view with agents in place of their numbers, which differ between a run and an attempt."""
    if isinstance(value, dict):
        own = {key: with_agents(item, agents) for key, item in value.items()}
        return {**own, "agents": [agents[number] for number in value["agents"]]} if "agents" in value else own
    return [with_agents(item, agents) for item in value] if isinstance(value, list) else value


QUERIES = {
    "everything": CaseQuery(),
    "verdict": CaseQuery(verdict="failed"),
    "criterion": CaseQuery(criterion="tool_trajectory_avg_score"),
    "side": CaseQuery(side="agent"),
    "tool": CaseQuery(tool="get_order"),
    "no tool": CaseQuery(tool="get_orde"),
    "failed": CaseQuery(flags=("failed",)),
    "flaky": CaseQuery(flags=("flaky",)),
    "invalid": CaseQuery(flags=("invalid",)),
    "labelled": CaseQuery(flags=("labelled",)),
    "text": CaseQuery(text="월요일"),
    "capitals": CaseQuery(text="ARRIVES ON MONDAY"),
    "name": CaseQuery(text="case_1"),
    "called tool": CaseQuery(text="get_ord"),
    "several": CaseQuery(verdict="failed", criterion="tool_trajectory_avg_score", text="月曜日"),
    "a key of a record": CaseQuery(text="final_response"),
    "quotes": CaseQuery(text='"'),
    "argument": CaseQuery(text='"verbose":true'),
    "two characters": CaseQuery(text="주문"),
    "one character": CaseQuery(text="曜"),
    "two letters": CaseQuery(text="-1"),
    "nothing": CaseQuery(text="verbose: yes"),
}


@pytest.mark.parametrize("text", [query.text for query in QUERIES.values() if query.text])
def test_the_index_finds_what_reading_all_texts_finds(viewer: api.StoreViewer, text: str) -> None:
    """Also after an attempt got another result."""
    index = TextIndex(viewer.store, FIRST)
    index.update(viewer.store.last_change(FIRST))
    assert index.find(text) == places_with_text(viewer.store, FIRST, text, lambda: True)


def test_the_index_reads_results_that_are_replaced(live: tuple[Store, FinishedRun, api.StoreViewer]) -> None:
    """The earlier texts of the attempt are gone."""
    store, own, _ = live
    index = TextIndex(store, FIRST)
    index.update(store.last_change(FIRST))
    assert (0, 1) in index.find("the day differs")
    scores = [replace(entry, score=Score(0.0, "다른 이유")) for entry in own.results[0].outcomes]
    store.add_result(FIRST, replace(own.results[0], outcomes=tuple(scores), warnings=(), injections=()))
    store.commit()
    index.update(store.last_change(FIRST))
    assert (0, 1) in index.find("이유")
    assert index.find("다른 이유") == {(0, 1)}


def test_a_later_search_ends_an_earlier_one(viewer: api.StoreViewer) -> None:
    """Reading all texts stops as soon as nobody waits for it."""
    asked = iter([True, True, False])
    assert places_with_text(viewer.store, FIRST, "a", lambda: next(asked)) is None
    assert next(asked, None) is None


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_finds_the_cases_that_fit(viewer: api.StoreViewer, name: str) -> None:
    """As a plain search in the records does."""
    query, own = QUERIES[name], report_run(FIRST, seed=1, cases=CASES)
    expected = {result.position for result in own.results if fits(own, result, query)}
    assert set(viewer.find_cases(FIRST, query).positions) == expected


def fits(own: FinishedRun, result: CaseResult, query: CaseQuery) -> bool:
    """Whether an attempt fits, by its records. A case of these runs is flaky if its attempts differ."""
    verdicts = {entry.verdict.value for entry in own.results if entry.position == result.position}
    recording = next(
        entry for position, entry in own.recorded if (position, entry.attempt) == (result.position, result.attempt)
    )
    outcomes = [entry for entry in result.outcomes if entry.criterion == query.criterion]
    invocations = recording.trace.invocations
    texts = [result.title, "get_order", "the user asks for an order.", *reasons(result)]
    texts += [text for entry in invocations for text in (entry.query, entry.reply, *thoughts(entry), *calls(entry))]
    return (
        query.verdict in ("", result.verdict.value)
        and (not query.criterion or any(entry.verdict.value in ("failed", "unscored") for entry in outcomes))
        and query.side in ("", result.find_fault_side(result.verdict))
        and query.tool in ("", "get_order")
        and ("failed" not in query.flags or result.verdict.value not in ("passed", "informational"))
        and ("flaky" not in query.flags or ("passed" in verdicts and bool(verdicts & {"failed", "error"})))
        and ("invalid" not in query.flags or bool(result.invalidations))
        and any(query.text.lower() in text.lower() for text in texts)
    )


def thoughts(invocation: Any) -> list[str]:
    """The texts of the steps."""
    return [step.text for step in invocation.steps or () if hasattr(step, "text")]


def calls(invocation: Any) -> list[str]:
    """The arguments and results of the steps, as JSON without spaces."""
    values = [
        getattr(step, name) for step in invocation.steps or () for name in ("args", "response") if hasattr(step, name)
    ]
    return [json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in values]


def reasons(result: CaseResult) -> list[str]:
    """The reasons of all outcomes."""
    return [part.reason for outcome in result.outcomes for part in (outcome.score, *outcome.score.parts)]


def test_cases_that_need_attention_come_first(viewer: api.StoreViewer) -> None:
    """Failed before broken, broken before unscored, unscored before passed."""
    order = ["failed", "error", "unscored", "passed", "informational"]
    positions = viewer.find_cases(FIRST, CaseQuery()).positions
    rows = viewer.rows(FIRST, positions)
    worst = [min(order.index(attempt.verdict) for attempt in row.attempts) for row in rows]
    assert worst == sorted(worst)
    assert len(positions) == CASES


def test_two_runs_are_compared(viewer: api.StoreViewer) -> None:
    """With the cases that changed, which a filter finds."""
    opened = viewer.open(SECOND, FIRST)
    assert [run.id for run in opened.runs] == [FIRST, SECOND]
    (comparison,) = opened.comparisons
    # Each case whose verdict changed, or whose attempts differ.
    changed = {case.candidate for case in comparison.cases if case.change != "same"}
    assert set(viewer.find_cases(SECOND, CaseQuery(flags=("changed",)), FIRST).positions) == changed
    assert viewer.open(FIRST, FIRST).problem == "a run cannot be compared with itself"


def test_a_run_that_goes_on_shows_its_progress(live: tuple[Store, FinishedRun, api.StoreViewer]) -> None:
    """How much is done, how fast, and how it is continued if its process is gone."""
    store, own, viewer = live
    (view,) = viewer.open(FIRST).runs
    progress = view.progress
    assert progress is not None
    assert (progress.attempts, progress.total, progress.rate, progress.seconds_left) == (8, 24, 2.0, 8.0)
    assert (progress.is_alive, progress.resume) == (False, f"fairtrial run --resume {FIRST} --store {store.url}")
    with store.lease(own.info.id).hold():
        (view,) = viewer.open(FIRST).runs
        assert view.progress is not None
        assert view.progress.is_alive
    store.finish(own.info, own.summary)
    store.begin(replace(own.info, finished="2026-11-20T10:00:00+00:00"))
    assert viewer.open(FIRST).runs[0].progress is None


def test_a_change_names_the_cases_that_changed(live: tuple[Store, FinishedRun, api.StoreViewer]) -> None:
    """And the numbers, which are those of the results so far."""
    store, own, viewer = live
    before, state = viewer.open(FIRST).change, viewer.run_state(FIRST)
    assert viewer.run_state(FIRST) == state
    for result in own.results[8:11]:
        store.add_result(FIRST, result)
    store.add_result(FIRST, own.results[2])
    store.commit()
    assert viewer.run_state(FIRST) != state
    change = viewer.change_since(FIRST, before)
    assert change.positions == [1, 4, 5]
    assert sum(change.run.counts.values()) == 11
    assert (change.run.config, change.run.signatures) == ({}, {})
    assert viewer.change_since(FIRST, change.change).positions == []


def test_the_newest_failures_of_a_run_that_goes_on_come_first(
    live: tuple[Store, FinishedRun, api.StoreViewer],
) -> None:
    """A failure that was written last stands at the top."""
    store, own, viewer = live
    failed = [result for result in own.results if result.verdict.value == "failed"]
    for result in (failed[0], failed[-1], failed[1]):
        store.add_result(FIRST, result)
    store.commit()
    first = viewer.find_cases(FIRST, CaseQuery(verdict="failed")).positions[0]
    assert first == failed[1].position


@pytest.mark.long
def test_the_numbers_of_a_large_run_do_not_delay_its_page(
    live: tuple[Store, FinishedRun, api.StoreViewer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its counts are there at once, and its means later."""
    _, own, viewer = live
    monkeypatch.setattr("fairtrial.api.viewer.live_numbers._AT_ONCE", 2)
    (view,) = viewer.open(FIRST).runs
    assert view.progress is not None
    assert view.progress.computing
    assert view.criteria[0].mean.value is None
    first = view.criteria[0]
    assert first.passed + first.failed + first.unscored + first.errors == sum(view.counts.values()) == 8
    is_computing = True
    while is_computing:
        (view,) = viewer.open(FIRST).runs
        is_computing = view.progress is not None and view.progress.computing
    assert view.criteria[0].mean.value == pytest.approx(
        FinishedRun(own.info, own.results[:8]).summary.criteria[0].mean.value
    )


def test_events_say_what_changed(live: tuple[Store, FinishedRun, api.StoreViewer]) -> None:
    """A page gets the state at once, and then each change."""
    import http.client

    store, own, _ = live
    with viewing(store.url) as site:
        site.sign_in()
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=30)
        with closing(connection):
            connection.request("GET", f"/api/runs/{FIRST}/events?after=0", headers={"Cookie": site.cookie})
            stream = connection.getresponse()
            assert stream.headers["content-type"].startswith("text/event-stream")
            first = next_event(stream)
            assert first["positions"] == [0, 1, 2, 3]
            store.add_result(FIRST, own.results[8])
            store.commit()
            second = next_event(stream)
            assert (second["positions"], second["run"]["counts"]) != (first["positions"], first["run"]["counts"])
            assert second["positions"] == [4]
            stream.close()


def next_event(stream: Any) -> Any:
    """The data of the next event."""
    while True:
        line = stream.readline()
        if line.startswith(b"data: "):
            return json.loads(line[6:])


@pytest.mark.long
@pytest.mark.parametrize("report", ["json", "junit", "html", "markdown"])
def test_a_report_is_downloaded(site: Site, url: str, report: str, tmp_path: Path) -> None:
    """Equal to the file that `fairtrial show` writes; a browser saves it, and does not open it."""
    answer = site.request("GET", f"/download/{FIRST}/{report}")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith(f'attachment; filename="{FIRST}.')
    api.reread(url, FIRST).save(**{report: tmp_path / "file"})
    assert answer.body == (tmp_path / "file").read_bytes()


def test_tables_are_downloaded_as_an_archive(site: Site) -> None:
    """Each table is a file of it."""
    pytest.importorskip("pyarrow")
    answer = site.request("GET", f"/download/{FIRST}/parquet")
    names = zipfile.ZipFile(io.BytesIO(answer.body)).namelist()
    assert {"attempts.parquet", "outcomes.parquet"} <= set(names)


def test_a_removed_run_is_not_found(tmp_path: Path) -> None:
    """Also if its page was open."""
    url = two_runs(tmp_path, cases=2)
    with viewing(url) as site:
        site.sign_in()
        assert site.get(f"/api/runs/{FIRST}")["runs"][0]["id"] == FIRST
        api.remove_runs(url, [FIRST])
        answer = site.request("GET", f"/api/runs/{FIRST}")
        assert (answer.status, "no run" in answer.json["problem"]) == (404, True)
        assert [run["id"] for run in site.get("/api/runs")["runs"]] == [SECOND]


def test_a_page_does_not_say_where_the_store_is(tmp_path: Path) -> None:
    """Colleagues may share a viewer."""
    with viewing(two_runs(tmp_path, cases=2)) as site:
        site.sign_in()
        (tmp_path / "runs.db").write_bytes(b"no database" * 2000)
        for path in ("/api/runs", f"/api/runs/{FIRST}"):
            answer = site.request("GET", path)
            assert answer.status == 503
            assert answer.json["problem"].startswith("the store failed: ")
            assert str(tmp_path) not in answer.json["problem"]


def test_secrets_do_not_reach_the_page(tmp_path: Path) -> None:
    """Of texts that a store holds, for example because an older version wrote it."""
    secret = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2
    url = f"sqlite:///{tmp_path}/secret.db"
    store = Store(url)
    fill(store, report_run(FIRST, cases=1, hostile=[f"key {secret}"]))
    store.close()
    with viewing(url) as site:
        site.sign_in()
        for path in ("/api/runs", f"/api/runs/{FIRST}", f"/api/runs/{FIRST}/rows?at=0", f"/api/runs/{FIRST}/cases/0/1"):
            assert secret.encode() not in site.request("GET", path).body


def test_a_flaky_case_names_its_cause(tmp_path: Path) -> None:
    """The judge if equal traces got different verdicts, the agent if the traces differ, nobody without a difference."""
    own = report_run(FIRST, cases=3)
    values = {(0, 1): 1.0, (1, 1): 1.0, (2, 1): 1.0, (2, 2): 1.0}
    results = [
        replace(own_result, outcomes=(Outcome("m", Score(values.get(place, 0.0)), 0.5),), failure=None)
        for own_result in own.results
        for place in [(own_result.position, own_result.attempt)]
    ]
    recorded = [
        (position, replace(recording, trace=Trace()) if (position, recording.attempt) == (1, 2) else recording)
        for position, recording in own.recorded
    ]
    store = Store(f"sqlite:///{tmp_path}/runs.db")
    fill(store, FinishedRun(own.info, results, own.expectations, recorded))
    with closing(store), closing(api.StoreViewer(store.url)) as viewer:
        assert [row.cause for row in viewer.rows(FIRST, [0, 1, 2])] == ["judge", "agent", None]
        assert api.reread(store.url, FIRST).flaky_causes([0, 1]) == {0: "judge", 1: "agent"}


def scored(run_id: str, *values: tuple[float, float], rule: str = "mean") -> FinishedRun:
    """A run with the values of two attempts at each case on a criterion that needs 0.5."""
    own = report_run(run_id, cases=len(values))
    results = [
        replace(result, outcomes=(Outcome("m", Score(values[result.position][result.attempt - 1]), 0.5),), failure=None)
        for result in own.results
    ]
    config = {**own.info.config, "attempt_rules": {"eval_sets": {"shop": {"name": rule}}}}
    return FinishedRun(replace(own.info, config=config), results, own.expectations, own.recorded)


@pytest.mark.parametrize(("rule", "verdicts"), [("mean", ["passed", "failed"]), ("all", ["failed", "failed"])])
def test_the_verdict_of_a_case_follows_its_rule(tmp_path: Path, rule: str, verdicts: list[str]) -> None:
    """The means of the cases are 0.6 and 0.4, and one attempt at each passed."""
    with closing(Store(f"sqlite:///{tmp_path}/runs.db")) as store:
        fill(store, scored(FIRST, (1.0, 0.2), (0.8, 0.0), rule=rule))
        with closing(api.StoreViewer(store.url)) as viewer:
            assert [row.verdict for row in viewer.rows(FIRST, [0, 1])] == verdicts


@pytest.mark.long
def test_several_runs_are_compared_with_one_base(tmp_path: Path) -> None:
    """With the numbers of `fairtrial compare`, which corrects the p values of all runs together."""
    third = "20261122-093000-cccccc"
    with closing(Store(f"sqlite:///{tmp_path}/runs.db")) as store:
        for run_id, second in ((FIRST, 1.0), (SECOND, 0.0), (third, 0.5)):
            fill(store, scored(run_id, (1.0, 1.0), (1.0, second), (second, 0.0), (0.0, 0.0)))
        with closing(api.StoreViewer(store.url)) as viewer:
            found = viewer.open(third, FIRST, [SECOND, third])
            with pytest.raises(UsageError, match="at most 8 runs"):
                viewer.open(third, FIRST, [SECOND] * 9)
        expected = api.compare_all(FIRST, [SECOND, third], api.CompareOptions(store=store.url))
    assert [run.id for run in found.runs] == [FIRST, SECOND, third]
    assert [(own.candidate, own.rows) for own in found.comparisons] == [
        (own.runs[1].id, list(own.rows)) for own in expected
    ]


def test_a_case_is_broken_or_fixed_if_its_verdict_changed(tmp_path: Path) -> None:
    """As in `fairtrial compare`: by the rule of the case. A case with the same verdict and other attempts is flaky."""
    with closing(Store(f"sqlite:///{tmp_path}/runs.db")) as store:
        fill(store, scored(FIRST, (1.0, 1.0), (1.0, 0.0), (1.0, 0.0), (0.0, 0.0), rule="all"))
        fill(store, scored(SECOND, (1.0, 0.0), (1.0, 1.0), (0.0, 0.0), (0.0, 0.0), rule="all"))
        with closing(api.StoreViewer(store.url)) as viewer:
            (comparison,) = viewer.open(SECOND, FIRST).comparisons
    assert [case.change for case in comparison.cases] == ["broken", "fixed", "flaky", "same"]


def test_the_list_of_runs_counts_cases_by_their_verdicts(tmp_path: Path) -> None:
    """Beside the verdicts of their attempts."""
    with closing(Store(f"sqlite:///{tmp_path}/runs.db")) as store:
        fill(store, scored(FIRST, (1.0, 0.0), (1.0, 1.0), rule="all"))
        with closing(api.StoreViewer(store.url)) as viewer:
            (row,) = viewer.runs().runs
    assert (row.counts, row.case_verdicts) == ({"passed": 3, "failed": 1}, {"passed": 1, "failed": 1})


def test_a_run_leads_to_the_page_of_its_series(site: Site) -> None:
    """The page names the runs with links into the viewer. Its style is one that the policy of the server allows."""
    answer = site.request("GET", f"/history/{SECOND}")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    page = answer.body.decode()
    assert f'<a href="/#run={SECOND}">' in page
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in answer.headers["content-security-policy"]
    assert site.request("GET", "/history/nothing").status == 404
