"""No state of a page has a violation of WCAG 2.2 AA: each control is used, wide and light, and narrow and dark.

The languages and both themes of each page are tested where its content is: pages, viewer, board and labels. Each width
is a walk of its own, so that two processes can share the work.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from browsing import HEIGHTS, opened, signed_in
from msgspec.structs import replace
from walking import Walk, classes_of_sources

from commands import fairtrial
from fairtrial.analysis.comparison import compare_runs
from fairtrial.api import QueueRequest, history, history_html
from fairtrial.api.labels.label_desk import LabelDesk
from fairtrial.records.result import Outcome
from fairtrial.records.score import Range, Score
from fairtrial.reports.html import write_pages
from fairtrial.store import Store
from finished import FinishedRun
from graded_runs import graded_run
from judged_pages import judged_run, write_judged
from mode_runs import EXTRA, NOW, mode_run
from mutated_pages import write_mutants
from report_pages import measured, write_comparison, write_comparisons, write_run
from report_pages import run as report_run
from viewers import FIRST, fill, viewing

pytestmark = pytest.mark.browser

WIDTHS = {1280: ("light", "en-US"), 320: ("dark", "ja-JP")}
"""The theme and the language of each width."""
WALKS = [pytest.param(width, marks=pytest.mark.xdist_group(f"walk at {width}")) for width in WIDTHS]

SECOND = "20261122-093000-cccccc"
"""The run that is compared with the first."""
RUNNING, BROKEN, GRADED = "20261123-093000-dddddd", "20261124-093000-eeeeee", "20261125-093000-ffffff"
"""A run that this process writes, one whose process is gone, and one with a criterion from 1 to 5."""

LONG = f"\u202e**bold**\n\n---\n\n{'word ' * 3000}"
"""A text with a character that reorders it, with a rule, and longer than a page shows."""

CASE, READY = "#page=case&case=0", ".case .invocation"
FILES = {
    "run": ("run", "", ".row .name"),
    "grouped": ("run", "#sort=verdict&group=yes", ".group-name"),
    "nothing found": ("run", "#q=zzzz", "[role=grid][aria-rowcount='0']"),
    "setup": ("run", "#page=setup", ".setup-page"),
    "attempts of a case": ("run", "#page=case&case=1", READY),
    "an error": ("run", "#page=case&case=3", ".case"),
    "long texts": ("long", CASE, READY),
    "judged case": ("judged", CASE, READY),
    "a question without parts": ("asked", CASE, ".asked"),
    "more cases than are printed": ("long list", "", "[role=grid][aria-rowcount='1001']"),
    "two runs": ("both", "#page=compare", ".compared-cases li"),
    "two setups": ("setups", "#page=compare", "dl.setup"),
    "a case in two runs": ("both", "#page=compare&case=2", ".pane .invocation"),
    "four runs": ("many", "#page=compare", ".compare-all tbody a"),
    "modes": ("modes", "", ".modes"),
    "a decisive step": ("modes", "#page=case&case=12", ".decisive"),
    "mutants": ("mutants", "", "main.mutation"),
    "failures": ("failures", "", "main.mutation"),
    "history": ("history", "", "svg.series"),
}
"""The pages that are files: the file, the fragment, and the element that must be there."""
VIEWS = {
    "list of runs": ("#page=runs", ".run-link"),
    "run in a viewer": (f"#run={FIRST}", ".row .name"),
    "case in a viewer": (f"#page=case&run={FIRST}&case=0", READY),
    "setup in a viewer": (f"#page=setup&run={FIRST}", ".setup-page"),
    "run that goes on": (f"#run={RUNNING}", ".progress:not(.warning)"),
    "run without its process": (f"#run={BROKEN}", ".progress.warning"),
    "compared in a viewer": (f"#page=compare&run={SECOND}&base={FIRST}&case=2", ".pane .invocation"),
    "board": (f"#page=board&run={NOW}", ".card"),
    "failed case": (f"#page=case&run={NOW}&case=12", ".decisive"),
    "labels": (f"#page=labels&run={FIRST}", ".queue-link"),
    "name of a labeller": (f"#page=label&run={FIRST}&queue=1", ".label-form"),
    "blind label": (f"#page=label&run={FIRST}&queue=1&as=eva", ".label-item"),
    "open label": (f"#page=label&run={FIRST}&queue=2&as=eva", ".label-item"),
    "label of a part": (f"#page=label&run={FIRST}&queue=4&as=eva", ".label-part"),
    "label that is a number": (f"#page=label&run={GRADED}&queue=1&as=eva", ".grade"),
    "end of a queue": (f"#page=label&run={FIRST}&queue=3&as=eva", ".label-item, .label-end"),
    "no run": ("#run=20200101", "main [role=alert]"),
}
"""The pages of a viewer: the fragment, and the element that must be there."""
ELSEWHERE = {
    "fact": "test_fact_marks",
    "fact-list": "test_fact_marks",
    "fact-sign": "test_fact_marks",
    "facts": "test_fact_marks",
    "changed-file": "test_state_delta",
    "confusion": "test_labelling",
    "inner-steps": "test_inner_steps",
    "tried": "test_threshold",
}
"""Classes of pages whose runs are made by other modules, which read them with axe."""
ONLY_WIDE = {"tint"}
"""Classes of the columns of the grid, for which a narrow window has no room."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The addresses of the files."""
    folder = tmp_path_factory.mktemp("states")
    written: dict[str, Callable[[Path], str]] = {
        "run": write_run,
        "long": lambda path: write_run(path, cases=2, hostile=[LONG]),
        "judged": lambda path: write_judged(path, turns=12),
        "asked": write_asked,
        "long list": lambda path: write_run(path, cases=1001, attempts=1),
        "setups": write_setups,
        "both": write_comparison,
        "many": write_comparisons,
        "modes": write_modes,
        "mutants": write_mutants,
        "failures": write_failures,
        "history": write_history,
    }
    return {name: write(folder / f"{name}.html") for name, write in written.items()}


def write_asked(path: Path) -> str:
    """Write the page of a run in which a judge was asked once about a whole reply, so that no part shows the votes."""
    own = judged_run(1)
    ballot = next(iter(own.ballots))
    outcome = Outcome("final_response_match_v2", Score(0.0, "no 2, yes 1", ballots=(ballot,)), 0.8)
    results = [replace(result, outcomes=(outcome,)) for result in own.results]
    with path.open("wb") as stream:
        write_pages(stream, [dataclasses.replace(own, results=results)])
    return path.as_uri()


def write_setups(path: Path) -> str:
    """Write the page of two runs of which the second has another model and another judge."""
    own = [report_run(FIRST), report_run(SECOND, seed=2)]
    signatures = {"agent": {"metric": "shop.agent:reply", "model": "b"}, "judge": {"options": {"votes": 5}}}
    own[1] = dataclasses.replace(own[1], info=replace(own[1].info, signatures=signatures))
    with path.open("wb") as stream:
        write_pages(stream, own, comparisons=compare_runs(measured(own[0]), [measured(own[1])]))
    return path.as_uri()


def write_modes(path: Path) -> str:
    """Write the page of a run with two modes."""
    with path.open("wb") as stream:
        write_pages(stream, [mode_run(NOW, extra=EXTRA)])
    return path.as_uri()


def write_failures(path: Path) -> str:
    """Write the page about the failures of a run."""
    url = f"sqlite:///{path.parent}/failures.db"
    with closing(Store(url)) as store:
        fill(store, mode_run(NOW, extra=EXTRA))
    fairtrial("failures", NOW, "--store", url, "--html", str(path))
    return path.as_uri()


def write_history(path: Path) -> str:
    """Write the page of a series with a broken case."""
    url = f"sqlite:///{path.parent}/series.db"
    for number in range(4):
        graded_run({"steady": [1.0], "broken": [float(number < 2)]}, store=url)
    path.write_text(history_html(history(store=url)), encoding="utf-8")
    return path.as_uri()


def stored(folder: Path) -> Store:
    """A store with two runs of the same cases, one with modes, one with grades, two without an end, and queues."""
    store = Store(f"sqlite:///{folder}/runs.db")
    for seed, run_id in enumerate((FIRST, SECOND), 1):
        fill(store, report_run(run_id, seed=seed))
    fill(store, mode_run(NOW, extra=EXTRA))
    graded = report_run(GRADED, cases=4, attempts=1)
    grade = Outcome("grade", Score(3.0), 2.0, range=Range(1.0, 5.0))
    fill(store, dataclasses.replace(graded, results=[replace(own, outcomes=(grade,)) for own in graded.results]))
    for run_id in (RUNNING, BROKEN):
        own = report_run(run_id, cases=20, attempts=1)
        config = {"attempts": 1, "paths": ["evals"]}
        info = replace(own.info, finished=None, config=config)
        fill(store, FinishedRun(info, own.results, own.expectations, own.recorded), results=7)
    desk = LabelDesk(store)
    desk.open(FIRST, QueueRequest("final_response_quality", sample=5))
    desk.open(FIRST, QueueRequest("final_response_quality", sample=5, blind=False, question="Right?"))
    desk.open(FIRST, QueueRequest("final_response_quality", sample=1, seed=7))
    desk.open(FIRST, QueueRequest("final_response_quality", sample=5, part="rubric"))
    desk.open(GRADED, QueueRequest("grade"))
    return store


@contextmanager
def writing(url: str, run_id: str) -> Iterator[None]:
    """Hold a run as its writer does during the block, in a thread that renews the lease."""
    begun, done = threading.Event(), threading.Event()

    def write() -> None:
        with closing(Store(url)) as store:
            lease = store.lease(run_id)
            with lease.hold():
                begun.set()
                while not done.wait(5):
                    lease.renew()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert begun.wait(60)
        yield
    finally:
        done.set()
        thread.join()


@pytest.fixture(scope="module", params=WALKS)
def walk(
    request: pytest.FixtureRequest, browser: Any, files: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Walk:
    """A walk through all pages at a width, which takes minutes and is done once."""
    own, width = Walk(), request.param
    theme, locale = WIDTHS[width]
    options = {
        "viewport": {"width": width, "height": HEIGHTS[width]},
        "bypass_csp": True,
        "color_scheme": theme,
        "locale": locale,
    }
    with opened(browser, **options) as visit:
        for name, (file, fragment, ready) in FILES.items():
            own.through(f"{name} {width}", visit.page, lambda: visit.open(files[file] + fragment, ready))  # noqa: B023
        assert visit.errors == visit.requests == []
    store = stored(tmp_path_factory.mktemp("walked"))
    with closing(store), writing(store.url, RUNNING), viewing(store.url) as site:
        for name, (fragment, ready) in VIEWS.items():
            with signed_in(browser, site, **options) as window:
                own.through(f"{name} {width}", window.page, lambda: window.show(fragment, ready))  # noqa: B023
                assert window.errors == window.requests == []
    return own


def test_no_state_has_a_violation(walk: Walk) -> None:
    """Also no state is wider than its window."""
    assert walk.problems == []


def test_the_walk_was_long(walk: Walk) -> None:
    """Many states a page, so that a walk that finds no controls fails."""
    assert walk.states > 12 * (len(FILES) + len(VIEWS))


def test_every_element_of_the_program_was_seen(walk: Walk, request: pytest.FixtureRequest) -> None:
    """Each class in the sources was in the page when axe read it, here or in a module that is named."""
    width: int = request.node.callspec.params["walk"]
    seen = walk.classes | (ONLY_WIDE if width < max(WIDTHS) else set())
    missing = {name: source for name, source in classes_of_sources().items() if name not in seen}
    assert {name: source for name, source in missing.items() if name not in ELSEWHERE} == {}
    for module in set(ELSEWHERE.values()):
        assert "axe_problems(" in (Path(__file__).parent / f"{module}.py").read_text("utf-8")
