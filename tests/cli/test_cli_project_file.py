"""A project file holds the options of `fairtrial run`, and the command line wins over it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import case, enter, eval_set, fairtrial, write

PROJECT = """\
eval_sets = ["trips.evalset.json"]
agent = "commands:obedient"
attempts = 2
tag = "nightly"

[criteria]
response_match_score = 0.8

[reports]
json = "out/results.json"

[[gate.claims]]
at_least = 0.9

[profile.ci]
attempts = 3
gate.claims = [{ at_least = 0.2 }]
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository with an eval set of one good and one failing case."""
    enter(tmp_path, monkeypatch)
    Path(".git").mkdir()
    write("trips.evalset.json", eval_set("good", case("crash")))


def project(text: str, name: str = "fairtrial.toml") -> None:
    """Write a project file."""
    Path(name).write_text(text, encoding="utf-8")


def attempts(file: str = "out/results.json") -> int:
    """The number of attempts in a report."""
    return len(json.loads(Path(file).read_text(encoding="utf-8"))["attempts"])


def test_run_needs_no_arguments() -> None:
    """Eval sets, agent, criteria, attempts, reports and tags come from the file, and its claims decide."""
    project(PROJECT)
    done = fairtrial("run")
    assert done.code in (1, 3), done.err
    assert "cases at least 90 %" in done.out
    assert attempts() == 4
    assert fairtrial("runs", "--quiet", "--tag", "nightly").out.strip()


def test_a_profile_replaces_options() -> None:
    """The claims of the profile are other claims, and the rest of the file stays."""
    project(PROJECT)
    done = fairtrial("run", "--profile", "ci")
    assert "cases at least 20 %" in done.out
    assert "90 %" not in done.out.partition("cases at least")[2]
    assert attempts() == 6


def test_the_command_line_wins() -> None:
    """An option of the command line replaces that of the file and of the profile, also a claim."""
    project(PROJECT)
    arguments = ("--attempts", "1", "--json", "own.json", "--at-least", "0.1", "--only", "good")
    done = fairtrial("run", "--profile", "ci", *arguments)
    assert "cases at least 10 %" in done.out
    assert attempts("own.json") == 1
    assert not Path("out").exists()


def test_pyproject_holds_the_same_options() -> None:
    """Its table is `tool.fairtrial`."""
    project('[project]\nname = "x"\n[tool.fairtrial]\neval_sets = ["trips.evalset.json"]\n', "pyproject.toml")
    assert fairtrial("run", "--agent", "commands:obedient", "--json", "r.json").code == 1
    assert attempts("r.json") == 2


def test_a_pyproject_of_other_tools_is_left_alone() -> None:
    """Not even its mistakes are noted."""
    project("[tool.other\n", "pyproject.toml")
    done = fairtrial("run", "trips.evalset.json", "--agent", "commands:obedient")
    assert (done.code, "pyproject" in done.err) == (1, False)


def test_two_project_files_are_refused() -> None:
    """Nobody could say which of them counts."""
    project(PROJECT)
    project("[tool.fairtrial]\nattempts = 5\n", "pyproject.toml")
    done = fairtrial("run")
    assert (done.code, "holds two project files" in done.err) == (2, True)


def test_a_parent_is_searched_up_to_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths, reports and the store belong to the folder of the file, and another repository does not see it."""
    project(PROJECT)
    Path("deep/own/.git").mkdir(parents=True)
    monkeypatch.chdir("deep")
    assert fairtrial("run").code in (1, 3)
    assert (Path("../out/results.json").is_file(), Path("../.fairtrial").is_dir()) == (True, True)
    assert not Path(".fairtrial").exists()
    assert fairtrial("runs", "--quiet").out.strip()
    monkeypatch.chdir("own")
    assert "needs at least one EVALSET" in fairtrial("run").err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("atempts = 2\n", "fairtrial.toml: atempts: is not a known option; did you mean 'attempts'?"),
        ("[judge]\nmodl = 'x'\n", "fairtrial.toml: judge.modl: is not a known option; did you mean 'model'?"),
        ("[judge]\nvotes = 0\n", "fairtrial.toml: judge.votes: must be a whole number of at least 1, got 0"),
        ("[profile.ci.limits]\nmax_cost = -1\n", "fairtrial.toml: profile.ci.limits.max_cost: must be a number"),
        ("lenient = 'yes'\n", "fairtrial.toml: lenient: must be true or false, got 'yes'"),
        ("agent = 3\n", "fairtrial.toml: agent: must be a string, got 3"),
        ("agent = \n", "fairtrial.toml: line 1, column 9: is not TOML"),
        ("[[gate.claims]]\nalpha = 0.1\n", "fairtrial.toml: gate.claims.0: must have one of at_least"),
        ("config = 'a.json'\n[criteria]\nresponse_match_score = 1\n", "config: names a file, but the table criteria"),
        ("store = 'postgresql://me:x9Kq2Lm8Zt4v@db/runs'\n", "fairtrial.toml: store: looks like a secret"),
        (
            "[judge]\nmodel = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEF'\n",
            "judge.model: looks like",
        ),
    ],
)
def test_mistakes_are_named_with_their_keys(text: str, problem: str) -> None:
    """Both `run` and `check` refuse the file."""
    project(text)
    for done in (fairtrial("run"), fairtrial("check")):
        assert done.code == 2
        assert problem.removeprefix("fairtrial.toml: ") in done.err + done.out
    assert "x9Kq2Lm8Zt4v" not in done.err + done.out


def test_check_without_arguments_checks_what_the_project_names() -> None:
    """Its eval sets and its criteria are checked, too."""
    project(PROJECT.replace("response_match_score", "respons_match_score"))
    done = fairtrial("check")
    assert done.code == 2
    assert "respons_match_score" in done.out
    assert "trips.evalset.json: eval set, 2 cases" in done.out


def test_a_profile_that_does_not_exist_is_refused() -> None:
    """The nearest name is offered, and without a project file there is no profile."""
    project(PROJECT)
    assert "has no profile 'cii'; did you mean 'ci'?" in fairtrial("run", "--profile", "cii").err
    Path("fairtrial.toml").unlink()
    assert "needs a project file" in fairtrial("run", "--profile", "ci").err


def test_gate_takes_the_claims_of_the_project() -> None:
    """A claim of the command line replaces them."""
    project(PROJECT)
    fairtrial("run")
    run_id = fairtrial("runs", "--quiet", "--limit", "1").out.strip()
    assert "cases at least 90 %" in fairtrial("gate", run_id).out
    assert "cases at least 10 %" in fairtrial("gate", run_id, "--at-least", "0.1").out


def test_score_takes_criteria_and_no_reports() -> None:
    """The reports of the file are those of `run`."""
    project(PROJECT)
    assert fairtrial("record", "-o", "recorded.jsonl").code in (0, 1)
    done = fairtrial("score", "recorded.jsonl", "--against", "trips.evalset.json")
    assert "criteria: fairtrial.toml" in done.out
    assert not Path("out").exists()


def test_a_resumed_run_keeps_its_own_options() -> None:
    """The agent and the attempts of the file do not count then."""
    assert fairtrial("run", "trips.evalset.json", "--agent", "commands:obedient").code == 1
    run_id = fairtrial("runs", "--quiet").out.strip()
    project(PROJECT)
    done = fairtrial("run", "--resume", run_id)
    assert "must be" not in done.err, done.err
