"""Evaluations work with pytest-xdist: each case once, one run, one table."""

from __future__ import annotations

import pytest

from fairtrial.pytest_plugin import pytest_xdist_make_scheduler
from fairtrial.pytest_plugin.worker_shares import ShareScheduling
from sessions import MARKED, calls, prepare, session, stored_run

pytestmark = pytest.mark.long

pytest_plugins = ["pytester"]

CASES = [f"case{number}" for number in range(9)]


@pytest.mark.parametrize("mode", ["load", "loadgroup"])
def test_workers_make_one_run(pytester: pytest.Pytester, mode: str) -> None:
    """Every case is run once. With --dist loadgroup, one worker runs the whole set."""
    prepare(pytester, *CASES, "fail")
    pytester.makepyfile(MARKED.format(more="") + "\n\ndef test_other():\n    pass\n")
    result = session(pytester, "-n", "2", "--dist", mode, plugins=("xdist",))
    result.assert_outcomes(passed=len(CASES) + 1, failed=1)
    assert calls(pytester) == sorted([*CASES, "fail"])
    processes = {line.split()[1] for line in (pytester.path / "calls.log").read_text().splitlines()}
    assert len(processes) == (1 if mode == "loadgroup" else 2)
    run = stored_run(pytester)
    assert [case.name for case in run.expected] == [*CASES, "fail"]
    assert [recording.case_id for _, recording in run.recordings] == [*CASES, "fail"]
    assert run.summary.cases == {"passed": len(CASES), "failed": 1}
    assert run.info.finished is not None
    assert sum(line.strip("= ") == "fairtrial" for line in result.outlines) == 1
    assert sum(line.startswith("fairtrial show") for line in result.outlines) == 1


TOGETHER = """
import asyncio
import pytest

begun = []
all_have_begun = asyncio.Event()

async def together(conversation):
    begun.append(conversation)
    if len(begun) == {number}:
        all_have_begun.set()
    await all_have_begun.wait()
    return "ok"

{parameter}
@pytest.mark.fairtrial("trips.evalset.json", agent=together, reply_timeout=30)
def test_trips(fairtrial_case{argument}):
    fairtrial_case.check()
"""
"""An agent that answers nobody until a number of its conversations have begun."""


@pytest.mark.parametrize("parameter", ["", '@pytest.mark.parametrize("mail", ["a@b.example"])'], ids=["plain", "mail"])
def test_a_worker_starts_its_whole_group_together(pytester: pytest.Pytester, parameter: str) -> None:
    """Agents that wait until eight of them have begun all end with --dist loadgroup, also beside a parameter."""
    prepare(pytester, *CASES)
    argument = ", mail" if parameter else ""
    pytester.makepyfile(TOGETHER.format(number=8, parameter=parameter, argument=argument))
    result = session(pytester, "-n", "2", "--dist", "loadgroup", plugins=("xdist",))
    result.assert_outcomes(passed=len(CASES))


def test_a_worker_starts_its_share_together(pytester: pytest.Pytester) -> None:
    """With -n 2, each worker starts 8 of 16 cases together, although pytest-xdist alone sends it two tests at first."""
    prepare(pytester, *(f"case{number}" for number in range(16)))
    others = '@pytest.mark.parametrize("number", range(9))\ndef test_other(number):\n    pass\n\n'
    pytester.makepyfile(TOGETHER.format(number=8, parameter=others, argument=""))
    result = session(pytester, "-n", "2", plugins=("xdist",))
    result.assert_outcomes(passed=16 + 9)


@pytest.mark.parametrize(
    ("arguments", "is_ours"),
    [(["load"], True), (["load", "--maxschedchunk", "2"], False), (["worksteal"], False)],
    ids=["load", "limited", "worksteal"],
)
def test_only_load_sends_shares(pytester: pytest.Pytester, arguments: list[str], is_ours: bool) -> None:
    """A worker gets its share whole only with --dist load, and only if the user does not limit what it gets."""
    config = pytester.parseconfig("-p", "xdist", "--tx", "2*popen", "--dist", *arguments)
    scheduler = pytest_xdist_make_scheduler(config, None)
    assert isinstance(scheduler, ShareScheduling) == is_ours


def test_workers_only_replay_a_cassette(pytester: pytest.Pytester) -> None:
    """Two processes cannot write one cassette."""
    prepare(pytester, "good")
    pytester.makepyfile(
        workers="""
        def pytest_configure(config):
            config.workerinput = {"workercount": 2, "workerid": "gw0"}
        """
    )
    pytester.makepyfile(MARKED.format(more=""))
    options = ("--fairtrial-cassette", "tape.jsonl", "--fairtrial-cassette-mode", "record")
    result = session(pytester, *options, plugins=("workers",))
    result.stdout.fnmatch_lines(["*several workers can only replay a cassette*"])
