"""Run the cases of a pytest session. All cases of a group start when the first of their tests is reached."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fairtrial.errors import FairtrialError, UsageError
from fairtrial.pytest_plugin.case_sources import CASE_KEY, FIXTURE, MARK, CaseSource, ListedCases, TestedCase
from fairtrial.pytest_plugin.plugin_options import option_value

if TYPE_CHECKING:
    from fairtrial.api import Holding, Judges, Run
    from fairtrial.records.attempt_rule import AttemptRule
    from fairtrial.records.result import CaseResult
    from fairtrial.records.trace import Trace

SUITE_KEY = pytest.StashKey["Suite"]()
WORKER_FOLDER = "fairtrial_folder"
"""The key under which the controller of pytest-xdist names the folder of parts to its workers."""


class Suite:
    """The cases of one session of pytest. Each process writes its parts to a store of its own in a common folder."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.listed = ListedCases()
        self._runs: dict[str, list[Run]] = {}
        self._results: dict[tuple[str, int], list[CaseResult]] = {}
        self._problems: dict[str, str] = {}
        self._values: dict[tuple[str, str], list[Any]] = {}
        self._folder: Path | None = None
        self._judges: Judges | None = None

    @property
    def worker(self) -> dict[str, Any]:
        """The messages of pytest-xdist to this worker. They are empty in any other process, for example `workerid`."""
        return getattr(self._config, "workerinput", {})

    @property
    def folder(self) -> Path:
        """The folder of the parts, which the process that ends the session removes."""
        if self._folder is None:
            common_folder = self.worker.get(WORKER_FOLDER)
            self._folder = Path(common_folder or tempfile.mkdtemp(prefix="fairtrial-pytest-"))
        return self._folder

    @property
    def _part_store(self) -> str:
        return f"sqlite:///{self.folder}/{self.worker.get('workerid', 'main')}.db"

    @property
    def judges(self) -> Judges:
        """The judges of this process. All its runs share one budget, and workers divide the budget among them."""
        if self._judges is None:
            from fairtrial import api

            workers = self.worker.get("workercount", 1)
            calls, cost = (option_value(self._config, name) for name in ("max-calls", "max-cost"))
            cassette = option_value(self._config, "cassette")
            models = api.ModelOptions(
                budget=api.Budget(
                    None if calls is None else calls // workers, None if cost is None else cost / workers
                ),
                cassette=None if cassette is None else Path(cassette),
                cassette_mode=option_value(self._config, "cassette-mode"),
            )
            if workers > 1 and models.cassette_mode in {"record", "auto"}:
                raise UsageError(
                    "--fairtrial-cassette-mode: several workers can only replay a cassette; leave out -n",
                    code="options-conflict",
                )
            self._judges = api.Judges(model=option_value(self._config, "judge-model"), models=models)
        return self._judges

    def _holding(self) -> Holding:
        """Return how conversations are held. Workers divide the rate of messages among them."""
        from fairtrial import api

        rate = option_value(self._config, "requests-per-second")
        return api.Holding(
            option_value(self._config, "isolation") or "",
            requests_per_second=None if rate is None else rate / self.worker.get("workercount", 1),
            conversation_timeout=option_value(self._config, "conversation-timeout"),
        )

    def find_results(self, item: pytest.Item, case: TestedCase, agent: Any) -> list[CaseResult]:
        """Return the attempts at a case. The first test of a group runs the cases of all its tests in this process."""
        place = (case.group, case.position)
        if place not in self._results and case.group not in self._problems:
            cases = [tested_case(next_item) for next_item in (item, *assigned_items(item))]
            positions = {own.position for own in cases if own is not None and own.group == case.group}
            positions -= {position for group, position in self._results if group == case.group}
            try:
                self._run(case.group, case.source, agent, positions)
            except FairtrialError as error:
                self._problems[case.group] = str(error)
        if place not in self._results:
            pytest.fail(self._problems.get(case.group, f"{case.name}: has no result"), pytrace=False)
        return self._results[place]

    def value_number(self, test: str, parameter: str, value: Any) -> int:
        """Return the number of a value among the values of a parameter of a test, in the order of the session.

        pytest numbers the calls of a test, not the values, if a value is given to the test itself.
        """
        values = self._values.setdefault((test, parameter), [])
        for number, known_value in enumerate(values):
            if known_value is value:
                return number
        values.append(value)
        return len(values) - 1

    def find_rule(self, case: TestedCase, results: Sequence[CaseResult]) -> AttemptRule:
        """Return the rule by which the attempts at a case decide, as the mark or the configuration says."""
        (first, *_) = results
        return self._runs[case.group][0].info.attempt_rules.find_rule(first.eval_set, first.case_id)

    def _run(self, group: str, source: CaseSource, agent: Any, positions: set[int]) -> None:
        from fairtrial import api

        concurrency = option_value(self._config, "concurrency") or 8
        if source.recorded:
            options = api.RunOptions(concurrency=concurrency, judges=self.judges)
            plan = api.plan_score(list(source.recorded), list(source.paths) or None, source.config, run=options)
        else:
            options = api.RunOptions(
                source.attempts, concurrency, 1, source.reply_timeout, self.judges, holding=self._holding()
            )
            plan = api.plan_run(list(source.paths), agent, source.config, run=options)
        run = api.execute(api.find_part(plan, group, positions), store=self._part_store)
        self._runs.setdefault(group, []).append(run)
        for result in run.cases:
            self._results.setdefault((group, result.position), []).append(result)

    def check_trace(self, trace: Trace, name: str, *, test: str, **expected: Any) -> list[CaseResult]:
        """Return the result of a trace against expectations that stand in a test."""
        from fairtrial import api

        run = api.check_trace(trace, name, test=test, judges=self.judges, store=self._part_store, **expected)
        return list(run.cases)

    def collect_traces(self, case: TestedCase) -> Iterator[Trace]:
        """Yield the conversations of a case."""
        for run in self._runs.get(case.group, ()):
            yield from (recording.trace for position, recording in run.recordings if position == case.position)

    def merged(self) -> Run | None:
        """Put the parts of all processes together as one run of the store, and remove the parts."""
        if self._folder is None:
            return None
        try:
            urls = [f"sqlite:///{file}" for file in sorted(self._folder.glob("*.db"))]
            if not urls:
                return None
            from fairtrial import api

            store = option_value(self._config, "store") or api.DEFAULT_URL
            return api.merge_parts(urls, None if store == "none" else store)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


def get_suite(config: pytest.Config) -> Suite:
    """Return the suite of a session, which begins to exist when it is first needed."""
    if SUITE_KEY not in config.stash:
        config.stash[SUITE_KEY] = Suite(config)
    return config.stash[SUITE_KEY]


def tested_case(item: pytest.Item) -> TestedCase | None:
    """Return the case that an item tests, with its group, or None if the item tests no case."""
    if CASE_KEY in item.stash:
        return item.stash[CASE_KEY]
    call = getattr(item, "callspec", None)
    case = None if call is None else call.params.get(FIXTURE)
    if not isinstance(case, TestedCase) or call is None:
        return None
    mark_home = next(node for node, _ in item.iter_markers_with_node(MARK))
    function = "" if mark_home is not item else f"::{getattr(item, 'originalname', item.name)}"
    home = item.parent if mark_home is item and item.parent is not None else mark_home
    group = home.nodeid + function
    number_value = get_suite(item.config).value_number
    parameters = [
        f"{name}={number_value(group, name, call.params[name])}" for name in sorted(call.params) if name != FIXTURE
    ]
    group += f" [{', '.join(parameters)}]" if parameters else ""
    item.stash[CASE_KEY] = TestedCase(case.source, case.position, case.name, group)
    return item.stash[CASE_KEY]


def assigned_items(item: pytest.Item) -> list[pytest.Item]:
    """Return the items that this process is going to run, from an item on, without those that are skipped.

    They are all items of a session, the group of an item if its xdist worker gets whole groups, or the worker's queue.
    """
    items = item.session.items
    group = _worker_group(item)
    if not hasattr(item.config, "workerinput"):
        assigned = items
    elif group:
        # If a worker has died, another worker gets the rest of its group, which is in the order of the session.
        assigned = [other for other in items[items.index(item) :] if _worker_group(other) == group]
    else:
        assigned = _queued_items(item)
    return [other for other in assigned if other.get_closest_marker("skip") is None]


def _worker_group(item: pytest.Item) -> str:
    """Return the group whose tests all come to the xdist worker of an item, or an empty text."""
    if not item.config.getoption("loadgroup", False):
        return ""
    # This is how xdist's scheduler recognises a group. An address in brackets belongs to a parameter.
    return item.nodeid.rpartition("@")[2] if item.nodeid.rfind("@") > item.nodeid.rfind("]") else ""


def _queued_items(item: pytest.Item) -> list[pytest.Item]:
    """Return the items that xdist has sent to this worker until now."""
    for plugin in item.config.pluginmanager.get_plugins():
        queue = getattr(plugin, "torun", None)
        if queue is not None:
            with queue.lock() as places:
                waiting = [*places, plugin.nextitem_index]
            return [item.session.items[place] for place in waiting if isinstance(place, int)]
    return []
