"""A session of pytest inside a test: a folder with an eval set and an agent, and the reports of its run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from commands import eval_set
from fairtrial import Run, evaluate, open_run
from fairtrial.api import runs
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Invocation, Message

AGENT = '''
import asyncio, os, pathlib
import pytest

LOG = pathlib.Path("calls.log")

def obedient(text: str) -> str:
    """Do what the first word of the user's message says."""
    with LOG.open("a") as log:
        log.write(f"{text} {os.getpid()}\\n")
    word = text.partition("_")[0]
    if word == "crash":
        raise RuntimeError("the agent fell over")
    return "no" if word == "fail" else "ok"
'''
MARKED = """
import pytest

@pytest.mark.fairtrial("trips.evalset.json", agent="bot:obedient"{more})
def test_trips(fairtrial_case):
    fairtrial_case.check()
"""
CONFIG = {"criteria": {"response_match_score": 0.8}}


def prepare(pytester: pytest.Pytester, *cases: str | dict[str, Any], config: dict[str, Any] | None = None) -> None:
    """Write the eval set, the agent and the criteria."""
    pytester.makepyfile(bot=AGENT)
    pytester.path.joinpath("trips.evalset.json").write_text(json.dumps(eval_set(*cases)), encoding="utf-8")
    pytester.path.joinpath("test_config.json").write_text(json.dumps(config or CONFIG), encoding="utf-8")
    pytester.syspathinsert()


def session(pytester: pytest.Pytester, *arguments: str, plugins: tuple[str, ...] = ()) -> pytest.RunResult:
    """Run pytest in this process, with our plugin and no other."""
    return pytester.runpytest_inprocess(*_only_plugins(pytester, plugins), *arguments)


def strict_session(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run pytest in a process of its own, with our plugin and no other: warnings and unknown marks are errors.

    A process knows the marks of all sessions that it ran, so that only a new one finds a mark unknown.
    """
    strict = ("--strict-markers", "--strict-config", "-W", "error")
    return pytester.runpytest_subprocess(*_only_plugins(pytester), *strict, *arguments)


def _only_plugins(pytester: pytest.Pytester, plugins: tuple[str, ...] = ()) -> list[str]:
    """Return the options that load our plugin and some others, and none that is only installed."""
    pytester._monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    names = [part for name in ("fairtrial.pytest_plugin", *plugins) for part in ("-p", name)]
    return [*names, "-p", "no:cacheprovider"]


def calls(pytester: pytest.Pytester) -> list[str]:
    """The messages that the agent got, in alphabetical order."""
    log = pytester.path / "calls.log"
    return sorted(line.split()[0] for line in log.read_text().splitlines()) if log.exists() else []


def stored_run(pytester: pytest.Pytester) -> Run:
    """The only run in the store of the session."""
    url = f"sqlite:///{pytester.path}/.fairtrial/fairtrial.db"
    (info,) = runs(url)
    return open_run(info.id, store=url)


def _import_everything() -> None:
    """Import what a session needs: a session in this process forgets the modules that it imported itself."""
    from fairtrial.pytest_plugin import collection, fixtures, session_report

    assert all((collection, fixtures, session_report))
    case = EvalCase("warm", (Invocation(Message("hi"), (), Message("ok")),))
    run = evaluate(EvalSet("warm", (case,)), lambda trace: "ok" if trace else "no")
    assert run.report()
    assert run._repr_html_()


_import_everything()
