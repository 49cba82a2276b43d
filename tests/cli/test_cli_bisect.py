"""`fairtrial bisect` finds the commit that changed an agent, in a work tree of its own."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commands import enter, fairtrial
from fairtrial.api.bisection.bisected_runs import read_command
from fairtrial.text.display import DASH

COMMITS = 8
CHECK = "import agent, sys; sys.exit(agent.main())"
SEEDED = """
import json, random
from pathlib import Path
def main():
    state = Path({state!r})
    number = int(state.read_text()) if state.exists() else 0
    state.write_text(str(number + 1))
    return int(random.Random(number).random() > {rate})
"""

pytestmark = pytest.mark.long


def git(*words: str) -> str:
    """The output of git in the working folder."""
    identity = ("-c", "user.name=Ada", "-c", "user.email=a@b")
    return subprocess.run(["git", *identity, *words], check=True, capture_output=True, text=True).stdout.strip()


def commit(title: str, source: str) -> str:
    """A commit of the agent."""
    Path("agent.py").write_text(source)
    git("add", ".")
    git("commit", "-qm", title, "--allow-empty")
    return git("rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty repository."""
    folder = tmp_path / "repository"
    folder.mkdir()
    enter(folder, monkeypatch)
    git("init", "-q", "-b", "main")


def noisy(tmp_path: Path, rate: float) -> str:
    """The source of an agent that passes at a rate. Its chance is the same in each run of the test."""
    return SEEDED.format(state=str(tmp_path / "number"), rate=rate)


def check() -> str:
    """A command that exits as the agent says."""
    return shlex.join([sys.executable, "-B", "-c", CHECK])


def work_trees() -> int:
    """The number of work trees of the repository."""
    return len(git("worktree", "list").splitlines())


def test_the_commit_that_made_an_agent_worse_is_found(tmp_path: Path) -> None:
    """The agent passes 95 % of its attempts before, and 30 % after."""
    ids = [commit(f"change {n}", noisy(tmp_path, 0.95 if n < 5 else 0.3) + f"# {n}") for n in range(COMMITS)]
    Path("agent.py").write_text("the user's own change")
    done = fairtrial("bisect", "--good", ids[0], "--bad", ids[-1], "--command", check(), "--json", "-")
    assert done.code == 0
    assert done.json["found"] == ids[5]
    assert done.json["probability"] >= 0.95
    assert sum(row["probability"] for row in done.json["commits"]) == pytest.approx(1)
    assert [row["title"] for row in done.json["commits"]] == [f"change {n}" for n in range(1, COMMITS)]
    assert Path("agent.py").read_text() == "the user's own change"
    assert git("rev-parse", "HEAD") == ids[-1]


def test_the_printed_attempts_and_commits_add_up(tmp_path: Path) -> None:
    """The good commit is no candidate and has no row. Improbable commits that ran nothing are counted."""
    ids = [commit(f"change {n}", noisy(tmp_path, 0.95 if n < 10 else 0.1) + f"# {n}") for n in range(16)]
    words = ("bisect", "--good", ids[0], "--bad", ids[-1], "--command", check())
    out = fairtrial(*words).out
    rows = [line.split() for line in out.splitlines() if re.search(r"%.* change \d+$", line.rstrip())]
    attempts = [row[row.index("%") + 2] for row in rows]
    listed = sum(int(text) for text in attempts if text != DASH)
    (total,) = re.findall(r"\((\d+) attempts\)", out)
    (elsewhere,) = re.findall(r"(\d+) attempts? ran at", out)
    (hidden,) = re.findall(r"… and (\d+) commits?,", out)
    assert listed + int(elsewhere) == int(total)
    assert len(rows) + int(hidden) == len(ids) - 1
    assert work_trees() == 1


def test_a_finished_search_answers_at_once(tmp_path: Path) -> None:
    """Nothing runs again."""
    ids = [commit(f"change {n}", noisy(tmp_path, 0.95 if n < 2 else 0.05) + f"# {n}") for n in range(4)]
    command = ("bisect", "--good", ids[0], "--bad", ids[-1], "--command", check())
    first = fairtrial(*command, "--json", "-").json
    runs = (tmp_path / "number").read_text()
    done = fairtrial(*command)
    assert (tmp_path / "number").read_text() == runs
    assert "is the first commit with the change" in done.out
    assert f"'change {ids.index(first['found'])}' by Ada" in done.out


def test_an_interrupted_search_goes_on_where_it_was(tmp_path: Path) -> None:
    """A limit stops it, and a later call uses what it ran."""
    ids = [commit(f"change {n}", noisy(tmp_path, 0.9 if n < 3 else 0.1) + f"# {n}") for n in range(COMMITS)]
    command = ("bisect", "--good", ids[0], "--bad", ids[-1], "--command", check(), "--json", "-")
    stopped = fairtrial(*command, "--max-attempts", "4")
    assert stopped.code == 3
    assert stopped.json["found"] == ""
    done = fairtrial(*command)
    assert done.json["found"] == ids[3]
    assert done.json["attempts"] == int((tmp_path / "number").read_text())
    assert "goes on after 4 attempts" in done.err


def test_commits_that_do_not_build_are_skipped(tmp_path: Path) -> None:
    """Their neighbours may still be told apart."""
    broken = "import sys\nsys.exit(125)\n"
    sources = [noisy(tmp_path, 1.0), broken, noisy(tmp_path, 1.0), noisy(tmp_path, 0.0), broken, noisy(tmp_path, 0.0)]
    ids = [commit(f"change {n}", source + f"# {n}") for n, source in enumerate(sources)]
    done = fairtrial("bisect", "--good", ids[0], "--bad", ids[-1], "--command", check(), "--json", "-")
    assert done.json["found"] == ids[3]
    assert {row["title"] for row in done.json["commits"] if row["problem"]} <= {"change 1", "change 4"}


def test_commits_that_cannot_be_told_apart_are_no_answer(tmp_path: Path) -> None:
    """The commit before the first bad one cannot be tested, so that either may be the one."""
    sources = [noisy(tmp_path, 1.0), "import sys\nsys.exit(125)\n", noisy(tmp_path, 0.0)]
    ids = [commit(f"change {n}", source) for n, source in enumerate(sources)]
    done = fairtrial("bisect", "--good", ids[0], "--bad", ids[-1], "--command", check(), "--json", "-")
    assert (done.code, done.json["found"]) == (3, "")
    assert [row["probability"] for row in done.json["commits"]] == pytest.approx([0.5, 0.5])
    assert done.json["notes"] == ["the other commits cannot be tested"]


def test_a_change_on_a_merged_branch_is_found_there(tmp_path: Path) -> None:
    """Not in the merge, whose first parent is good."""
    good = commit("good", noisy(tmp_path, 1.0))
    git("checkout", "-q", "-b", "side")
    Path("other.txt").write_text("1")
    commit("side 1", noisy(tmp_path, 1.0))
    culprit = commit("side 2", noisy(tmp_path, 0.0))
    git("checkout", "-q", "main")
    for number in range(2):
        Path(f"main-{number}.txt").write_text("1")
        commit(f"main {number}", noisy(tmp_path, 1.0))
    git("merge", "-q", "--no-ff", "-m", "merge", "side")
    done = fairtrial("bisect", "--good", good, "--bad", "HEAD", "--command", check(), "--json", "-")
    assert done.json["found"] == culprit


def test_commits_that_are_alike_are_no_answer(tmp_path: Path) -> None:
    """The report says that nothing shows a difference."""
    ids = [commit(f"change {n}", noisy(tmp_path, 0.8) + f"# {n}") for n in range(4)]
    command = ("bisect", "--good", ids[0], "--bad", ids[-1], "--command", check(), "--max-attempts", "30")
    done = fairtrial(*command)
    assert done.code == 3
    assert "nothing shows that the good and the bad commit differ" in done.out


def test_a_command_that_fails_everywhere_ends_early() -> None:
    """The report says how it fails. A later call answers at once, and says the same."""
    ids = [commit(f"change {n}", f"# {n}") for n in range(COMMITS)]
    words = ("bisect", "--good", ids[0], "--bad", ids[-1], "--command", shlex.join([sys.executable, "no_such.py"]))
    for _ in range(2):
        done = fairtrial(*words, "--json", "-")
        assert (done.code, done.json["found"]) == (3, "")
        assert done.json["attempts"] <= 60
        alike, failure = done.json["notes"]
        assert "the good and the bad commit are alike" in alike
        assert "no_such.py" in failure
    out = fairtrial(*words).out
    assert "No commit is found" in out
    assert "The most probable is" not in out  # all commits are equally probable


@pytest.mark.parametrize(
    ("good", "bad", "problem"),
    [
        ("HEAD", "HEAD~1", "does not come after"),
        ("nothing", "HEAD", "nothing is no revision"),
        ("HEAD", "HEAD", "after"),
    ],
)
def test_ends_that_name_no_range_are_refused(good: str, bad: str, problem: str) -> None:
    """The bad commit comes after the good one."""
    for number in range(2):
        commit(f"change {number}", f"# {number}")
    done = fairtrial("bisect", "--good", good, "--bad", bad, "--command", "true")
    assert done.code == 2
    assert problem in done.err


def test_a_command_that_does_not_start_is_refused() -> None:
    """And the work tree is removed."""
    ids = [commit(f"change {n}", f"# {n}") for n in range(3)]
    done = fairtrial("bisect", "--good", ids[0], "--bad", ids[-1], "--command", "no-such-program --x")
    assert done.code == 2
    assert "no-such-program does not start" in done.err
    assert work_trees() == 1


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_an_interrupt_removes_the_work_tree(name: str, code: int) -> None:
    """Ctrl-C or SIGTERM during the command leaves the repository as it was."""
    ids = [commit(f"change {n}", f"# {n}") for n in range(3)]
    # The command interrupts the process that runs it.
    interrupt = f"import os, signal; os.kill(os.getppid(), signal.{name})"
    words = [sys.executable, "-m", "fairtrial", "bisect", "--good", ids[0], "--bad", ids[-1], "--command"]
    done = subprocess.run(
        [*words, shlex.join([sys.executable, "-c", interrupt])], check=False, capture_output=True, text=True
    )
    assert done.returncode == code
    assert work_trees() == 1
    assert not list(Path(".fairtrial/bisect").glob("*/tree"))


def eval_set(folder: Path, names: str = "abcd") -> Path:
    """Cases outside of the repository: each wants its own name as the reply."""
    cases = [
        {
            "eval_id": name,
            "conversation": [
                {
                    "user_content": {"role": "user", "parts": [{"text": name}]},
                    "final_response": {"role": "model", "parts": [{"text": name}]},
                }
            ],
        }
        for name in names
    ]
    path = folder / "letters.evalset.json"
    path.write_text(json.dumps({"eval_set_id": "letters", "eval_cases": cases}))
    (folder / "test_config.json").write_text(json.dumps({"criteria": {"exact_match": 1.0}}))
    return path


@pytest.mark.long
def test_the_cases_that_changed_are_run_at_the_commits_between(tmp_path: Path) -> None:
    """Only `c` breaks."""
    path = eval_set(tmp_path)
    source = "def reply(message: str) -> str:\n    return {}\n"
    ids = [commit(f"change {n}", source.format("message") + f"# {n}") for n in range(3)]
    ids += [commit(f"change {n}", source.format("'x' if message == 'c' else message") + f"# {n}") for n in range(3, 6)]
    run = shlex.join([sys.executable, "-m", "fairtrial", "run", str(path), "--agent", "agent:reply"])
    done = fairtrial("bisect", "--good", ids[0], "--bad", ids[-1], "--command", run, "--json", "-")
    assert done.json["found"] == ids[3]
    assert done.json["cases"][0]["case"] == "c"
    between = [row for row in done.json["commits"][:-1] if row["attempts"]]
    assert between
    assert all(row["passed"] in (0, row["attempts"]) for row in between)


def test_the_report_counts_all_cases(tmp_path: Path) -> None:
    """Of twelve cases, one breaks. The other eleven are counted."""
    path = eval_set(tmp_path, "abcdefghijkl")
    source = "def reply(message: str) -> str:\n    return {}\n"
    commit("good", source.format("message"))
    commit("bad", source.format("'x' if message == 'c' else message"))
    run = shlex.join([sys.executable, "-m", "fairtrial", "run", str(path), "--agent", "agent:reply"])
    words = ("bisect", "--good", "HEAD~1", "--bad", "HEAD", "--command", run)
    assert "… and 11 cases, each changed with a probability below 50 %" in fairtrial(*words).out
    assert len(fairtrial(*words, "--json", "-").json["cases"]) == 12


def test_a_command_of_an_environment_that_is_not_active_is_the_running_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """PATH has no `fairtrial` there. Its runs still count case by case."""
    monkeypatch.setenv("PATH", "")
    evaluation = read_command("fairtrial run evals", "", "sqlite:///runs.db")
    assert evaluation.words == (sys.executable, "-P", "-m", "fairtrial", "run", "evals")
    assert evaluation.knows_cases


@pytest.mark.long
def test_a_module_of_the_same_name_in_the_tree_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent of the tree does."""
    monkeypatch.setenv("PATH", str(Path(shutil.which("git") or "").parent))
    assert shutil.which("fairtrial") is None
    path = eval_set(tmp_path)
    Path("fairtrial.py").write_text("raise SystemExit('the module of the tree ran')")
    source = "def reply(message: str) -> str:\n    return {}\n"
    ids = [commit(f"change {n}", source.format("message" if n < 2 else "'x'") + f"# {n}") for n in range(4)]
    command = f"fairtrial run {shlex.quote(str(path))} --agent agent:reply"
    done = fairtrial("bisect", "--good", ids[0], "--bad", ids[-1], "--command", command, "--json", "-")
    assert done.json["found"] == ids[2]


def test_stored_runs_name_the_ends(tmp_path: Path) -> None:
    """Their outcomes count, so that the ends run less."""
    path = eval_set(tmp_path)
    source = "def reply(message: str) -> str:\n    return {}\n"
    ids, runs = [], []
    for number, text in enumerate(("message", "message", "'x'", "'x'")):
        ids.append(commit(f"change {number}", source.format(text) + f"# {number}"))
        if number in (0, 3):
            words = ("run", str(path), "--agent", "agent:reply", "--attempts", "3", "--name", f"run {number}")
            subprocess.run([sys.executable, "-m", "fairtrial", *words], check=False, capture_output=True)
            runs.append(fairtrial("runs", "--limit", "1", "--quiet").out.strip())
    run = shlex.join([sys.executable, "-m", "fairtrial", "run", str(path), "--agent", "agent:reply"])
    done = fairtrial("bisect", "--good", runs[0], "--bad", runs[1], "--command", run, "--json", "-")
    assert done.json["found"] == ids[2]
    assert done.json["attempts"] < 12


@pytest.mark.parametrize("option", ["--only", "--store=x", "--attempts"])
def test_options_that_the_search_sets_are_refused(option: str) -> None:
    """The command must not set them, too."""
    ids = [commit(f"change {n}", f"# {n}") for n in range(2)]
    done = fairtrial("bisect", "--good", ids[0], "--bad", ids[1], "--command", f"fairtrial run x {option} 1")
    assert done.code == 2
    assert option.split("=", maxsplit=1)[0] in done.err
