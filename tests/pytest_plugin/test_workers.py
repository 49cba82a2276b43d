"""Do evaluations work with pytest-xdist: each case once, one run, one table?"""

from __future__ import annotations

import pytest

from sessions import MARKED, calls, prepare, session, stored_run

pytest_plugins = ["pytester"]

CASES = [f"case{number}" for number in range(9)]


GROUPS_WORK = not hasattr(pytest.Item, "id")
"""pytest-xdist 3.8 writes the group of a test to a field that pytest 9.2 no longer reads."""


@pytest.mark.parametrize(("workers", "mode"), [("2", "load"), ("4", "loadgroup")])
def test_workers_make_one_run(pytester: pytest.Pytester, workers: str, mode: str) -> None:
    """Every case is run once. With --dist loadgroup, one worker runs the whole set."""
    prepare(pytester, *CASES, "fail")
    pytester.makepyfile(MARKED.format(more="") + "\n\ndef test_other():\n    pass\n")
    result = session(pytester, "-n", workers, "--dist", mode, plugins=("xdist",))
    result.assert_outcomes(passed=len(CASES) + 1, failed=1)
    assert calls(pytester) == sorted([*CASES, "fail"])
    processes = {line.split()[1] for line in (pytester.path / "calls.log").read_text().splitlines()}
    assert len(processes) == 1 if mode == "loadgroup" and GROUPS_WORK else 1 < len(processes) <= int(workers)
    run = stored_run(pytester)
    assert [case.name for case in run.expected] == [*CASES, "fail"]
    assert [recording.case_id for _, recording in run.recordings] == [*CASES, "fail"]
    assert run.summary.cases == {"passed": len(CASES), "failed": 1}
    assert run.info.finished is not None
    assert sum(line.strip("= ") == "fairtrial" for line in result.outlines) == 1
    assert sum(line.startswith("fairtrial show") for line in result.outlines) == 1


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
