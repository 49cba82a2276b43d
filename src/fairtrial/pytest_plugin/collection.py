"""Collect marks and eval sets as pytest tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairtrial.errors import FairtrialError
from fairtrial.pytest_plugin.case_sources import (
    CASE_KEY,
    FIXTURE,
    MARK,
    CaseSource,
    TestedCase,
    source_of_file,
    source_of_mark,
)
from fairtrial.pytest_plugin.fixtures import FairtrialCase
from fairtrial.pytest_plugin.suite import get_suite, tested_case


def parametrize(metafunc: pytest.Metafunc, mark: pytest.Mark | None) -> None:
    """Make a test for each case of a mark. A mark without the fixture, or the fixture without a mark, is an error."""
    if mark is None:
        raise pytest.Collector.CollectError(f"{FIXTURE}: the test needs @pytest.mark.{MARK}(EVALSET, agent=...)")
    if FIXTURE not in metafunc.fixturenames:
        raise pytest.Collector.CollectError(f"@pytest.mark.{MARK}: the test needs the fixture {FIXTURE}")
    config = metafunc.config
    try:
        source = source_of_mark(mark, config, Path(str(metafunc.definition.path)))
        cases = get_suite(config).listed.list_cases(source)
    except FairtrialError as error:
        raise pytest.Collector.CollectError(str(error)) from None
    metafunc.parametrize(FIXTURE, cases, ids=[case.name for case in cases], indirect=True)


def collect_file(path: Path, parent: pytest.Collector) -> EvalSetFile | None:
    """Return an eval set as a collector, if the file has the name of an eval set or was given by its path."""
    from fairtrial import api

    is_given = parent.session.isinitpath(path)
    if not is_given and not api.is_eval_set_name(path):
        return None
    file: EvalSetFile = EvalSetFile.from_parent(parent, path=path)
    return file


class EvalSetFile(pytest.File):
    """An eval set, whose cases are tests."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for each case. The cases of a file run together."""
        try:
            cases = get_suite(self.config).listed.list_cases(source_of_file(self.path, self.config))
        except FairtrialError as error:
            raise self.CollectError(str(error)) from None
        for case in cases:
            item: CaseItem = CaseItem.from_parent(self, name=case.name)
            item.stash[CASE_KEY] = TestedCase(case.source, case.position, case.name, self.nodeid)
            item.add_marker(getattr(pytest.mark, MARK))
            yield item


class CaseItem(pytest.Item):
    """A case of an eval set as a test of its own."""

    def runtest(self) -> None:
        """Run the cases of the file if this is the first, and check this case."""
        case = self.stash[CASE_KEY]
        suite = get_suite(self.config)
        FairtrialCase(self, suite, case, suite.find_results(self, case, case.source.agent)).check()

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the place of the case for pytest's reports."""
        return self.path, None, self.name


def case_of_request(request: pytest.FixtureRequest) -> FairtrialCase:
    """Return the case of a test. The agent may be the value of a fixture."""
    item: Any = request.node
    case = tested_case(item)
    if case is None:
        pytest.fail(f"{FIXTURE}: the test needs @pytest.mark.{MARK}(EVALSET, agent=...)", pytrace=False)
    suite = get_suite(request.config)
    return FairtrialCase(item, suite, case, suite.find_results(item, case, _agent(request, case.source)))


def _agent(request: pytest.FixtureRequest, source: CaseSource) -> Any:
    return request.getfixturevalue(source.agent_fixture) if source.agent_fixture else source.agent
