"""Marks become a test for each case, with the outcome that the case deserves."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from commands import case, fairtrial
from sessions import MARKED, calls, prepare, session, stored_run, strict_session

pytest_plugins = ["pytester"]


def test_each_case_is_a_test_with_its_own_outcome(pytester: pytest.Pytester) -> None:
    """A wrong reply fails with the difference, an agent that raises with its traceback."""
    prepare(pytester, "good", "fail", "crash")
    pytester.makepyfile(MARKED.format(more=""))
    result = session(pytester, "-v")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*::test_trips[[]good[]] PASSED*",
            "*::test_trips[[]fail[]] FAILED*",
            "*expected*ok*",
            "*actual*no*",
            "*RuntimeError: the agent fell over*",
        ]
    )


CHECKED = """
def test_refund(fairtrial):
    fairtrial.check(fairtrial.trace("bot:obedient", "good"), reply="ok")
"""


@pytest.mark.long
def test_no_other_plugin_is_needed(pytester: pytest.Pytester) -> None:
    """Marks, fixtures and eval sets work where every warning and every unknown mark is an error."""
    prepare(pytester, "good")
    pytester.makepyfile(MARKED.format(more="") + CHECKED)
    result = strict_session(pytester, "--fairtrial-agent", "bot:obedient")
    result.assert_outcomes(passed=3)
    assert result.ret == pytest.ExitCode.OK


def test_the_numbers_of_the_run_end_the_report(pytester: pytest.Pytester) -> None:
    """With the command that shows the run again, which works."""
    prepare(pytester, "good", "fail")
    pytester.makepyfile(MARKED.format(more=""))
    result = session(pytester, "-q")
    result.stdout.fnmatch_lines(["*= fairtrial =*", "*response_match_score*50 %*", "*FAILED: 1 case failed*"])
    command = next(line for line in result.outlines if line.startswith("fairtrial show"))
    pytester._monkeypatch.chdir(pytester.path)
    shown = fairtrial(*command.split()[1:])
    assert shown.code == 0
    assert "fail" in shown.out
    assert fairtrial("show", command.split()[2], "good").code == 0


def test_each_case_is_run_once_and_all_start_together(pytester: pytest.Pytester) -> None:
    """Four agents that wait for each other end; a class with several tests shares the conversations."""
    prepare(pytester, "a", "b", "c", "d")
    pytester.makepyfile(
        """
        import asyncio
        import pytest

        met = []
        everybody_is_there = asyncio.Event()

        async def together(conversation):
            met.append(conversation)
            if len(met) == 4:
                everybody_is_there.set()
            await everybody_is_there.wait()
            return "ok"

        @pytest.mark.fairtrial("trips.evalset.json", agent=together)
        class TestTrips:
            def test_reply(self, fairtrial_case):
                fairtrial_case.check("response_match_score")

            def test_length(self, fairtrial_case):
                (trace,) = fairtrial_case.traces
                assert len(trace.invocations) == 1
                assert len(met) == 4
        """
    )
    session(pytester).assert_outcomes(passed=8)


def test_only_selected_cases_are_run(pytester: pytest.Pytester) -> None:
    """Cases that -k, only= or a mark leaves out cost nothing."""
    prepare(pytester, "good", "better", "best", "skipped")
    pytester.makepyfile(MARKED.format(more=', only=["b*", "good"]'))
    session(pytester, "-k", "good or best").assert_outcomes(passed=2, deselected=1)
    assert calls(pytester) == ["best", "good"]


@pytest.mark.long
def test_the_agent_may_be_a_fixture(pytester: pytest.Pytester) -> None:
    """With a parameter, each value is an agent of its own."""
    prepare(pytester, "good")
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture(params=["ok", "no"])
        def robot(request):
            return lambda trace: request.param if trace else ""

        @pytest.mark.fairtrial("trips.evalset.json", agent="robot")
        def test_trips(robot, fairtrial_case):
            fairtrial_case.check()
        """
    )
    session(pytester).assert_outcomes(passed=1, failed=1)


def test_the_rule_of_the_attempts_decides(pytester: pytest.Pytester) -> None:
    """The rule is ADK's mean, the rule of the mark, or a share with pass_rate; the interval stands beside it."""
    prepare(pytester, "good")
    pytester.makepyfile(
        """
        import itertools
        import pytest

        @pytest.fixture
        def fickle():
            replies = itertools.cycle(["ok", "ok", "no"])
            return lambda trace: next(replies) if trace else ""

        @pytest.mark.fairtrial("trips.evalset.json", agent="fickle", attempts=3)
        def test_mean(fairtrial_case):
            assert len(fairtrial_case.results) == 3
            fairtrial_case.check()

        @pytest.mark.fairtrial("trips.evalset.json", agent="fickle", attempts={"count": 3, "pass": {"at_least": 2}})
        def test_two(fairtrial_case):
            assert len(fairtrial_case.results) == 3
            fairtrial_case.check()

        @pytest.mark.fairtrial("trips.evalset.json", agent="fickle", attempts=3, pass_rate=0.6)
        def test_some(fairtrial_case):
            fairtrial_case.check()
        """
    )
    result = session(pytester)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["failed: 2 of 3 attempts passed, 67 % (95 % interval 21 % ? 94 %); needed: the mean of each criterion*"]
    )


def test_attempts_of_the_configuration_are_those_of_tests(pytester: pytest.Pytester) -> None:
    """Neither the mark nor the command line says anything, so the config decides, for the run of the session too."""
    prepare(pytester, "good")
    config = json.loads((pytester.path / "test_config.json").read_text())
    (pytester.path / "test_config.json").write_text(json.dumps(config | {"attempts": {"count": 2, "pass": "any"}}))
    pytester.makepyfile(
        """
        import itertools
        import pytest

        @pytest.fixture
        def fickle():
            replies = itertools.cycle(["no", "ok"])
            return lambda trace: next(replies) if trace else ""

        @pytest.mark.fairtrial("trips.evalset.json", agent="fickle")
        def test_any(fairtrial_case):
            assert len(fairtrial_case.results) == 2
            fairtrial_case.check()
        """
    )
    result = session(pytester)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*1 case: 1 passed  (needed: any attempt passes)*"])


@pytest.mark.long
def test_unscored_cases_fail_with_the_word_or_are_skipped(pytester: pytest.Pytester) -> None:
    """--fairtrial-allow-unscored skips them."""
    prepare(pytester, "good")
    pytester.makepyfile(
        """
        import pytest
        from fairtrial import Criterion, Score

        def broken(trace, case):
            return Score(None, "no judge today")

        @pytest.mark.fairtrial("trips.evalset.json", agent="bot:obedient", config={"broken": broken})
        def test_informs(fairtrial_case):
            fairtrial_case.check()

        @pytest.mark.fairtrial(
            "trips.evalset.json", agent="bot:obedient", config=[Criterion("broken", broken, 0.5)]
        )
        def test_trips(fairtrial_case):
            fairtrial_case.check()
        """
    )
    result = session(pytester)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["unscored", "*no judge today*"])
    session(pytester, "--fairtrial-allow-unscored").assert_outcomes(passed=1, skipped=1)


def test_a_case_to_which_nothing_applies_is_skipped(pytester: pytest.Pytester) -> None:
    """The data says so, not a failure."""
    prepare(pytester, "good")
    pytester.makepyfile(
        """
        import pytest
        from fairtrial import Criterion, Score

        def nothing(trace, case):
            return Score(None, "no tools here", applicable=False)

        @pytest.mark.fairtrial("trips.evalset.json", agent="bot:obedient", config=[Criterion("tools", nothing, 0.5)])
        def test_trips(fairtrial_case):
            fairtrial_case.check()
        """
    )
    result = session(pytester, "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*not applicable; no tools here*"])


@pytest.mark.long
def test_a_default_that_applies_to_no_case_does_not_count(pytester: pytest.Pytester) -> None:
    """The run passes as its tests do. Beside a test whose configuration asks for the criterion, it is unscored."""
    prepare(pytester)
    (pytester.path / "test_config.json").unlink()
    (pytester.path / "trips.csv").write_text("question,expected\nhi,ok\n", encoding="utf-8")
    test = MARKED.replace("trips.evalset.json", "trips.csv")
    pytester.makepyfile(test.format(more=""))
    result = session(pytester)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["note: tool_trajectory_avg_score is a default criterion*", "*PASSED*"])
    asked = ', config={"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}'
    pytester.makepyfile(test_asked=test.format(more=asked))
    session(pytester).stdout.fnmatch_lines(["*UNSCORED: tool_trajectory_avg_score has a threshold*"])


def test_a_test_that_checks_nothing_fails(pytester: pytest.Pytester) -> None:
    """It would be green whatever the agent does."""
    prepare(pytester, "fail")
    pytester.makepyfile(MARKED.format(more="").replace("fairtrial_case.check()", "pass"))
    result = session(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*did not check its case*"])


def test_recordings_are_scored_without_an_agent(pytester: pytest.Pytester) -> None:
    """A file of recordings, held against an eval set."""
    prepare(pytester, "good", "fail")
    pytester._monkeypatch.chdir(pytester.path)
    assert fairtrial("record", "trips.evalset.json", "--agent", "bot:obedient", "-o", "said.jsonl").code == 0
    pytester.makepyfile(MARKED.format(more=', recorded="said.jsonl"').replace(', agent="bot:obedient"', ""))
    session(pytester).assert_outcomes(passed=1, failed=1)


def test_junit_has_verdicts_values_and_thresholds(pytester: pytest.Pytester) -> None:
    """As properties of the test cases in pytest's own file."""
    prepare(pytester, "good")
    pytester.makepyfile(MARKED.format(more=""))
    session(pytester, "--junitxml=out.xml", "-o", "junit_family=xunit1")
    root = ET.parse(pytester.path / "out.xml").getroot()  # noqa: S314  (our own file)
    properties = {one.get("name"): one.get("value") for one in root.iter("property")}
    assert properties["fairtrial.verdict"] == "passed"
    assert properties["fairtrial.response_match_score.value"] == "1"
    assert properties["fairtrial.response_match_score.threshold"] == "0.8"


@pytest.mark.long
@pytest.mark.parametrize(
    ("mark", "problem"),
    [
        ('"nothing.json", agent="bot:obedient"', "nothing.json: no such file"),
        ('agent="bot:obedient"', "needs the path of an eval set"),
        ('"trips.evalset.json"', "needs either agent= or recorded="),
        ('"trips.evalset.json", agent="bot:obedient", attempt=3', "no argument 'attempt'; did you mean 'attempts'?"),
        ('"trips.evalset.json", agent="bot:nobody"', "nobody"),
        ('"trips.evalset.json", agent="bot:obedient", config={"nothing_v1": 0.5}', "nothing_v1"),
    ],
)
def test_a_mark_that_cannot_be_run_is_an_error(pytester: pytest.Pytester, mark: str, problem: str) -> None:
    """Before or instead of the test, with the problem in words and without a traceback of ours."""
    prepare(pytester, "good")
    text = MARKED.format(more="").replace('"trips.evalset.json", agent="bot:obedient"', mark)
    pytester.makepyfile(text)
    result = session(pytester)
    assert result.ret != 0
    output = result.stdout.str()
    assert problem in output
    assert "Traceback" not in output


@pytest.mark.long
def test_reruns_are_refused(pytester: pytest.Pytester) -> None:
    """pytest-rerunfailures would hide attempts. A test may say that it is not repeated."""
    prepare(pytester, "good")
    pytester.makepyfile(
        rerun="""
        def pytest_addoption(parser):
            parser.addoption("--reruns", type=int, default=0)

        def pytest_configure(config):
            config.pluginmanager.register(object(), "rerunfailures")
            config.addinivalue_line("markers", "flaky: of pytest-rerunfailures")
        """
    )
    pytester.makepyfile(MARKED.format(more=""))
    session(pytester, "--reruns", "2", plugins=("rerun",)).assert_outcomes(errors=1)
    session(pytester, plugins=("rerun",)).assert_outcomes(passed=1)
    pytester.makepyfile(MARKED.format(more="").replace("@pytest", "@pytest.mark.flaky(reruns=2)\n@pytest"))
    result = session(pytester, plugins=("rerun",))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*use attempts=*"])


def test_the_same_case_in_two_tests_has_two_names(pytester: pytest.Pytester) -> None:
    """A run of two agents on one eval set tells their cases apart."""
    prepare(pytester, "good")
    text = MARKED.format(more="")
    pytester.makepyfile(text + text.replace("test_trips", "test_again"))
    session(pytester).assert_outcomes(passed=2)
    names = [one.name for one in stored_run(pytester).expected]
    assert [name.rpartition("::")[2] for name in names] == ["test_again", "test_trips"]


def test_hostile_names_do_not_break_the_report(pytester: pytest.Pytester) -> None:
    """Control characters of a case are spelt out in the terminal, and the XML stays well formed."""
    prepare(pytester, case("a\x1b[31m", query="fail_\x1b[2J\x00"))
    pytester.makepyfile(MARKED.format(more=""))
    result = session(pytester, "--junitxml=out.xml")
    result.assert_outcomes(failed=1)
    assert "\x1b[2J" not in result.stdout.str()
    ET.parse(pytester.path / "out.xml")  # noqa: S314  (our own file)
