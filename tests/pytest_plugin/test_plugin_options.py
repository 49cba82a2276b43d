"""The options work on the command line and in the ini file, and the plugin costs nothing without them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fairtrial.pytest_plugin.plugin_options import OPTIONS
from sessions import MARKED, calls, prepare, session, stored_run

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_reports_are_written(pytester: pytest.Pytester) -> None:
    """JSON and Markdown of the whole session, in folders that are made for them."""
    prepare(pytester, "good", "fail")
    pytester.makepyfile(MARKED.format(more=""))
    session(pytester, "--fairtrial-json", "out/run.json", "--fairtrial-markdown", "out/run.md")
    report = json.loads((pytester.path / "out" / "run.json").read_bytes())
    assert [case["verdict"] for case in report["attempts"]] == ["passed", "failed"]
    assert "<code>fail</code>: failed" in (pytester.path / "out" / "run.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_the_ini_file_states_every_option(pytester: pytest.Pytester) -> None:
    """The command line has precedence."""
    prepare(pytester, "good", "better", "fail")
    pytester.makeini("[pytest]\nfairtrial_only = b* fail\nfairtrial_attempts = 2\nfairtrial_store = none\n")
    pytester.makepyfile(MARKED.format(more=""))
    session(pytester, "-k", "better").assert_outcomes(passed=1, deselected=1)
    assert calls(pytester) == ["better", "better"]
    assert not (pytester.path / ".fairtrial").exists()
    session(pytester, "--fairtrial-attempts", "1", "--fairtrial-only", "good").assert_outcomes(passed=1)
    assert calls(pytester) == ["better", "better", "good"]


@pytest.mark.long
def test_cases_have_a_process_each(pytester: pytest.Pytester) -> None:
    """Without the option, all cases are in the process of pytest."""
    prepare(pytester, "good", "better")
    pytester.makepyfile(MARKED.format(more=""))
    for options, processes in (((), 1), (("--fairtrial-isolation", "process"), 2)):
        log = pytester.path / "calls.log"
        log.unlink(missing_ok=True)
        session(pytester, *options).assert_outcomes(passed=2)
        found = {int(line.split()[1]) for line in log.read_text().splitlines()}
        assert len(found) == processes
        assert (os.getpid() in found) == (not options)


def test_a_wrong_isolation_fails_in_words(pytester: pytest.Pytester) -> None:
    """The words that it may hold stand in the failure."""
    prepare(pytester, "good")
    pytester.makepyfile(MARKED.format(more=""))
    result = session(pytester, "--fairtrial-isolation", "thread")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*isolation must be made of process, case, folder; got 'thread'*"])


def test_a_config_applies_to_every_mark(pytester: pytest.Pytester) -> None:
    """In place of the test_config.json beside the eval set."""
    prepare(pytester, "fail")
    (pytester.path / "lax.json").write_text('{"criteria": {"response_match_score": 0.0}}', encoding="utf-8")
    pytester.makepyfile(MARKED.format(more=""))
    session(pytester, "--fairtrial-config", "lax.json").assert_outcomes(passed=1)


def test_eval_sets_are_collected_themselves(pytester: pytest.Pytester) -> None:
    """Each case is a test if there is an agent; without one the file is none of pytest's business."""
    prepare(pytester, "good", "fail")
    (pytester.path / "package.json").write_text("{}", encoding="utf-8")
    result = session(pytester, "-v", "--fairtrial-agent", "bot:obedient")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["trips.evalset.json::good PASSED*", "trips.evalset.json::fail FAILED*"])
    assert stored_run(pytester).verdict == "failed"
    assert session(pytester).ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.long
def test_a_broken_eval_set_is_an_error_of_collection(pytester: pytest.Pytester) -> None:
    """With the place in the file, and without a traceback of ours."""
    pytester.path.joinpath("bad.evalset.json").write_text('{"eval_set_id": "x", "eval_cases": 3}', encoding="utf-8")
    result = session(pytester, "--fairtrial-agent", "bot:obedient")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*/eval_cases*"])


@pytest.mark.long
def test_a_session_without_evaluations_loads_nothing(pytester: pytest.Pytester) -> None:
    """No SDK, no engine, no store file: the modules that a plain test suite pays for are few."""
    pytester.makepyfile(
        """
        import sys

        def test_nothing_is_loaded():
            ours = {name for name in sys.modules if name.startswith("fairtrial")}
            plugin = {"fairtrial.pytest_plugin", "fairtrial.pytest_plugin.plugin_options"}
            names = {"fairtrial.system", "fairtrial.system.lazy_names", "fairtrial.version"}
            assert ours == {"fairtrial", *names, *plugin}
            assert not {"msgspec", "sqlalchemy", "click"} & {*sys.modules}
        """
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "fairtrial.pytest_plugin", "-p", "no:cacheprovider"],
        cwd=pytester.path,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(sys.path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": ""},
    )
    assert done.returncode == 0, done.stdout
    assert not (pytester.path / ".fairtrial").exists()


def test_the_plugin_is_an_entry_point() -> None:
    """Pytest finds it in every environment that has fairtrial."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"fairtrial": "fairtrial.pytest_plugin"}


def test_every_option_is_documented() -> None:
    """Each option and each setting stands on the page about pytest."""
    page = (ROOT / "docs" / "how-to" / "test-with-pytest.md").read_text(encoding="utf-8")
    assert [option.name for option in OPTIONS if f"`--fairtrial-{option.name}" not in page] == []
    assert [option.name for option in OPTIONS if f"`{option.ini_name}`" not in page] == []
