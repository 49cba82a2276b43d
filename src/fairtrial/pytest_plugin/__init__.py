"""Evaluations as tests of pytest: a test for each case of an eval set, and checks of traces in tests.

pytest imports this module at every start. Everything else is imported when a test uses it.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fairtrial.pytest_plugin.plugin_options import add_options, option_value

if TYPE_CHECKING:
    from fairtrial.pytest_plugin.collection import EvalSetFile
    from fairtrial.pytest_plugin.fixtures import Checks, FairtrialCase
    from fairtrial.pytest_plugin.worker_shares import ShareScheduling

_SUMMARY = pytest.StashKey[list[str]]()
_RERUNS = "pytest-rerunfailures would hide attempts; use attempts= and pass_rate= of the mark, and no reruns"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Describe our mark."""
    config.addinivalue_line(
        "markers", "fairtrial(evalset, agent=, recorded=, config=, attempts=, only=, pass_rate=): a test for each case"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test for each case of the mark."""
    mark = metafunc.definition.get_closest_marker("fairtrial")
    if mark is None and "fairtrial_case" not in metafunc.fixturenames:
        return
    from fairtrial.pytest_plugin.collection import parametrize

    parametrize(metafunc, mark)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> EvalSetFile | None:
    """Collect eval sets themselves, if there is an agent for them."""
    if file_path.suffix != ".json" or option_value(parent.config, "agent") is None:
        return None
    from fairtrial.pytest_plugin.collection import collect_file

    return collect_file(file_path, parent)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Tell pytest-xdist, if it is there, which tests belong together, for --dist loadgroup."""
    for item in items if config.pluginmanager.hasplugin("xdist") else ():
        if _is_ours(item) and item.get_closest_marker("xdist_group") is None:
            from fairtrial.pytest_plugin.suite import tested_case

            case = tested_case(item)
            if case is not None:
                # xdist overlooks a group with a closing bracket.
                item.add_marker(pytest.mark.xdist_group(case.group.replace("]", ")")))
    yield
    for item in filter(_is_ours, items):
        _write_group(item)


def _write_group(item: Any) -> None:
    """Write the group of a test to its id, if pytest-xdist could not.

    pytest-xdist 3.8 writes it to a field that pytest 9.2 does not read. xdist then distributes each test alone.
    """
    grouped = vars(item).get("_nodeid")
    if grouped is not None and grouped != item.nodeid:
        item._id = type(item.id).parse(grouped)  # noqa: SLF001  (pytest has no other way to rename a test)


def _is_ours(item: pytest.Item) -> bool:
    return item.get_closest_marker("fairtrial") is not None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Name the folder of parts to a worker of pytest-xdist."""
    from fairtrial.pytest_plugin.suite import WORKER_FOLDER, get_suite

    node.workerinput[WORKER_FOLDER] = str(get_suite(node.config).folder)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Describe the groups of a worker's tests before pytest-xdist reports the tests to the scheduler."""
    if hasattr(session.config, "workerinput") and any(map(_is_ours, session.items)):
        from fairtrial.pytest_plugin.worker_shares import write_groups

        write_groups(session)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ShareScheduling | None:
    """Send each worker its share of a group whole, for --dist load. A user's limit of --maxschedchunk holds."""
    if config.getoption("dist") != "load" or config.getoption("maxschedchunk", None) is not None:
        return None
    from fairtrial.pytest_plugin.worker_shares import ShareScheduling

    return ShareScheduling(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse to run a case again until it passes."""
    if not _is_ours(item) or not item.config.pluginmanager.hasplugin("rerunfailures"):
        return
    mark = item.get_closest_marker("flaky")
    reruns = item.config.getoption("reruns", None)
    if mark is not None:
        reruns = mark.kwargs.get("reruns", mark.args[0] if mark.args else 1)
    if reruns:
        pytest.fail(_RERUNS, pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Fail a test that did not look at its case: it would be green whatever the agent did."""
    result = yield
    case = pyfuncitem.funcargs.get("fairtrial_case")
    if _is_ours(pyfuncitem) and not getattr(case, "was_read", True):
        pytest.fail("the test did not check its case; call fairtrial_case.check()", pytrace=False)
    return result


@pytest.fixture
def fairtrial_case(request: pytest.FixtureRequest) -> FairtrialCase:
    """One case of the eval set of the mark, after the agent has had its conversations."""
    from fairtrial.pytest_plugin.collection import case_of_request

    return case_of_request(request)


@pytest.fixture
def fairtrial(request: pytest.FixtureRequest) -> Checks:
    """Conversations with an agent, and expectations that stand in the test."""
    from fairtrial.pytest_plugin.fixtures import Checks
    from fairtrial.pytest_plugin.suite import get_suite

    return Checks(request.node, get_suite(request.config))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Put the run together, and write its reports, in the process that ends the session."""
    if hasattr(session.config, "workerinput"):
        return
    from fairtrial.pytest_plugin.suite import SUITE_KEY

    if SUITE_KEY not in session.config.stash:
        return
    from fairtrial.pytest_plugin.session_report import finish_session

    session.config.stash[_SUMMARY] = list(finish_session(session.config))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the numbers of the run."""
    lines = config.stash.get(_SUMMARY, [])
    if lines:
        terminalreporter.section("fairtrial")
        for line in lines:
            terminalreporter.write_line(line)
