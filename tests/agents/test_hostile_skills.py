"""A hostile skill, and a hostile agent, harm nothing outside of the workspace and are shown safely."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import Done, fairtrial, write

pytestmark = pytest.mark.long

HEADER = "---\nname: tides\ndescription: Tells the tides.\n---\nTell.\n"


@pytest.fixture
def skill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A skill in a folder, beside a secret that it must not reach."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.txt").write_text("the secret")
    folder = tmp_path / "tides"
    folder.mkdir()
    (folder / "SKILL.md").write_text(HEADER)
    evals([{"id": "a", "prompt": "Go", "checks": [{"type": "contains", "text": "done"}]}])
    return folder


def evals(cases: list[dict[str, Any]]) -> None:
    """Write the eval file."""
    write("tides/evals/evals.json", {"skill_name": "tides", "evals": cases})


def run(script: str = "echo done", *more: str) -> Done:
    """Run the cases with an agent that is a shell script."""
    write("agent.json", {"command": ["sh", "-c", script], "skills": ".claude/skills", "log": "text"})
    options = ("--agent", "harness:agent.json", "--attempts", "1", "--json", "run.json", "--sandbox", "none")
    return fairtrial("run", "tides", *options, *more)


@pytest.mark.usefixtures("skill")
@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", "evals/../../secret.txt", "~/x", "..\\secret.txt"])
def test_files_of_a_case_stay_in_the_skill(path: str) -> None:
    """A case cannot give files of the machine to the agent."""
    evals([{"id": "a", "prompt": "Go", "files": [path]}])
    done = run()
    assert (done.code, "must stay inside of the folder of the skill" in done.err) == (2, True)


@pytest.mark.usefixtures("skill")
@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd"])
def test_checks_look_into_the_workspace_only(path: str) -> None:
    """A check cannot ask whether a file of the machine exists."""
    evals([{"id": "a", "prompt": "Go", "checks": [{"type": "exists", "path": path}]}])
    assert "must stay inside of the workspace" in run().err


@pytest.mark.parametrize("place", ["data.txt", "SKILL.md"])
def test_a_link_out_of_a_skill_is_refused(skill: Path, place: str) -> None:
    """The link would copy a file of the machine into the workspace, or into the prompt."""
    (skill / place).unlink(missing_ok=True)
    if place == "SKILL.md":
        (skill.parent / "other.md").write_text(HEADER)
        (skill / place).symlink_to(skill.parent / "other.md")
    else:
        (skill / place).symlink_to(skill.parent / "secret.txt")
    done = run()
    assert (done.code, "leads out of" in done.err) == (2, True)


def test_a_name_that_is_a_path_is_refused(skill: Path) -> None:
    """The name is a folder in the workspace."""
    (skill / "SKILL.md").write_text(HEADER.replace("name: tides", "name: ../../up"))
    assert "must be a name, and not a path" in run().err


@pytest.mark.usefixtures("skill")
def test_files_named_like_options_are_files() -> None:
    """Nothing takes the name of a file for an option."""
    done = run("echo x > ./-rf; echo x > ./--help; mkdir -p ./--version; echo done")
    assert done.code == 0, done.err
    paths = [change["path"] for change in attempt()["final_state"]["workspace"]["files"]]
    assert paths == ["--help", "-rf"]


def attempt() -> dict[str, Any]:
    """The attempt with the skill in the JSON report."""
    document: dict[str, Any] = json.loads(Path("run.json").read_text())
    return next(own for own in document["attempts"] if own["eval_set"].endswith("@with"))


@pytest.mark.usefixtures("skill")
def test_a_prompt_that_looks_like_an_option_is_a_prompt() -> None:
    """The prompt goes to standard input, so that no program reads it as an option."""
    evals([{"id": "a", "prompt": "--help", "checks": [{"type": "contains", "text": "--help"}]}])
    assert run("cat").code == 0


@pytest.mark.usefixtures("skill")
def test_control_characters_never_reach_the_terminal() -> None:
    """A reply and the name of a file cannot take over the terminal."""
    done = run(r"printf 'done \033[2J\033]0;title\007'; touch $(printf 'a\033[31mb')", "--verbose")
    assert "\x1b" not in done.out + done.err
    assert "\x07" not in done.out + done.err


@pytest.mark.usefixtures("skill")
def test_a_gigabyte_of_output_is_cut() -> None:
    """The program is stopped, its attempt has an error, and the run ends."""
    done = run("head -c 1000000000 /dev/zero")
    assert done.code != 0
    assert attempt()["failure"]["cause"] == "the program wrote more than 4,194,304 bytes"


@pytest.mark.usefixtures("skill")
def test_a_gigabyte_of_errors_is_not_kept() -> None:
    """Only the end of the errors is of use."""
    assert run("head -c 1000000000 /dev/zero >&2; echo done").code == 0


@pytest.mark.usefixtures("skill")
def test_a_gigabyte_in_a_file_is_seen_by_its_size() -> None:
    """A large file is listed, and its content is not read."""
    done = run("truncate -s 1G large.bin; echo done")
    assert done.code == 0, done.err
    (change,) = attempt()["final_state"]["workspace"]["files"]
    assert (change["path"], change["size"]) == ("large.bin", 2**30)


def test_a_link_out_of_the_workspace_is_not_followed(skill: Path) -> None:
    """What a link leads to is neither shown nor removed with the workspace."""
    outside = skill.parent / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("kept text")
    done = run(f"ln -s {outside} out; ln -s {outside}/kept.txt link; echo done")
    assert done.code == 0, done.err
    assert "kept text" not in Path("run.json").read_text()
    assert (outside / "kept.txt").exists()


def test_a_workspace_that_resists_is_removed(skill: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders without rights and thousands of levels do not stay behind."""
    temporary = skill.parent / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    deep = "i=0; while [ $i -lt 1500 ]; do mkdir d && cd d || break; i=$((i+1)); done"
    done = run(f"mkdir -p a/b && touch a/b/c && chmod 0 a/b a; ({deep}); echo done")
    assert done.code == 0, done.err
    assert [path for path in temporary.iterdir() if not path.name.startswith("fairtrial-skill-")] == []


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.usefixtures("skill")
def test_processes_that_leave_their_group_hold_nothing_up() -> None:
    """A process with a session of its own keeps the output open, and is ended at the time limit."""
    done = run("setsid sleep 31.4 & echo done", "--reply-timeout", "2")
    assert done.code != 0
    assert "no reply within 2 seconds" in attempt()["failure"]["cause"]
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(b"31.4" in words for words in commands)
