"""The viewer and report files say since which run the typical failure of the newest run of a series lasts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fairtrial import api, open_run
from fairtrial.records.failure_mode import LastingFailure
from graded_runs import Value, graded_run
from html_pages import read_page

GOOD = {f"good_{number}": [1.0] for number in range(4)}
PASSES: dict[str, list[Value]] = {"refund": [1.0], "cancel": [1.0]}
FAILS: dict[str, list[Value]] = {"refund": [0.0], "cancel": [0.0]}
FLAKY: dict[str, list[Value]] = {"refund": [0.0, 1.0], "cancel": [0.0, 1.0]}


@contextmanager
def viewed(folder: Path, *outcomes: dict[str, list[Value]]) -> Iterator[tuple[api.StoreViewer, list[str]]]:
    """A viewer of a series of runs, with the ids of the runs."""
    url = f"sqlite:///{folder}/runs.db"
    ids = [graded_run({**GOOD, **own}, store=url).info.id for own in outcomes]
    viewer = api.StoreViewer(url)
    yield viewer, ids
    viewer.close()


def lasting(viewer: api.StoreViewer, run: str) -> LastingFailure | None:
    """What the page of a run says."""
    modes = viewer.modes(run)
    return None if modes is None else modes.lasting


def test_the_first_failing_run_is_named(tmp_path: Path) -> None:
    """The case passed in one run, and failed in the next two."""
    with viewed(tmp_path, PASSES, FAILS, FAILS) as (viewer, ids):
        own = lasting(viewer, ids[2])
        assert own is not None
        assert (own.state, own.run, own.runs) == ("broken", ids[1], 3)
        assert own.case in FAILS
        assert own.started == viewer.store.run(ids[1]).started


def test_a_new_failure_lasts_since_its_own_run(tmp_path: Path) -> None:
    """The page says that the run before did not have it."""
    with viewed(tmp_path, PASSES, PASSES, FAILS) as (viewer, ids):
        own = lasting(viewer, ids[2])
        assert own is not None
        assert (own.state, own.run, own.runs) == ("broken", ids[2], 3)


def test_a_flaky_case_is_called_flaky(tmp_path: Path) -> None:
    """It passes in some attempts."""
    with viewed(tmp_path, PASSES, FLAKY, FLAKY) as (viewer, ids):
        own = lasting(viewer, ids[2])
        assert own is not None
        assert (own.state, own.run) == ("flaky", ids[1])


@pytest.mark.parametrize("place", [0, 1])
def test_an_older_run_says_nothing(tmp_path: Path, place: int) -> None:
    """What came later would stand on its page."""
    with viewed(tmp_path, FAILS, FAILS, PASSES) as (viewer, ids):
        assert lasting(viewer, ids[place]) is None


def test_report_files_name_the_first_failing_run(tmp_path: Path) -> None:
    """JSON and the page hold it as the viewer does, and Markdown says it in a sentence."""
    with viewed(tmp_path, PASSES, FAILS, FAILS) as (viewer, ids):
        own = lasting(viewer, ids[2])
        files = {suffix: tmp_path / f"report.{suffix}" for suffix in ("json", "html", "md")}
        open_run(ids[2], store=viewer.url).save(json=files["json"], html=files["html"], markdown=files["md"])
    assert own is not None
    expected = {"case": own.case, "state": "broken", "run": ids[1], "started": own.started, "runs": 3}
    assert json.loads(files["json"].read_text("utf-8"))["run"]["failures"]["lasting"] == expected
    assert read_page(files["html"].read_bytes()).view["runs"][0]["failures"]["lasting"] == expected
    assert f"- `{own.case}` has failed since {own.started[:10]} (run `{ids[1]}`)" in files["md"].read_text("utf-8")
