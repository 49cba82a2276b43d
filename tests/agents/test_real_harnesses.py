"""The programs of users are what they are: Claude Code, Codex, Gemini CLI and OpenCode, with a scripted model."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from coding_model import REPORT, SKILL, act, is_own_question
from commands import Done, fairtrial, finish, start, write
from fairtrial.agents.harness.harness_table import HARNESSES, check_version, program_version
from fairtrial.agents.harness.sandbox import choose_sandbox
from loopback import Action, Loopback, Request, Say, Status

pytestmark = pytest.mark.harnesses

PROGRAMS = Path(
    os.environ.get("FAIRTRIAL_TEST_HARNESSES", Path(__file__).parents[2] / ".venv-harnesses" / "node_modules" / ".bin")
)
WORK = "Write a report of the tides at the ports in ports.txt."
MODELS = {"claude": "claude", "codex": "codex", "gemini": "gemini#gemini-2.5-pro", "opencode": "opencode"}
CONFIG_FILES = {"codex": ["~/.codex/config.toml"], "gemini": ["~/.gemini/settings.json"]}
OWN_SKILLS = (".claude/skills", ".agents/skills", ".codex/skills", ".gemini/skills", ".config/opencode/skills")
EVALS = {
    "skill_name": SKILL,
    "evals": [
        {
            "id": "ports",
            "prompt": WORK,
            "files": ["evals/files/ports.txt"],
            "checks": [
                {"type": "contains", "path": "report.md", "text": REPORT},
                {"type": "changes_only", "paths": ["report.md"]},
            ],
        }
    ],
}
QUERIES = [
    {"query": "Write a report of the tides.", "should_trigger": True},
    {"query": "Write a poem about the sea.", "should_trigger": False},
]


@dataclass
class Bench:
    """A skill, the home of a user with skills of their own, and a provider."""

    name: str
    server: Loopback
    home: Path
    behave: Callable[[Request], Action] = act
    asked: list[Request] = field(default_factory=list)

    def act(self, request: Request) -> Action:
        """Answer a request, and count it unless the program asks for itself, for example to find a title."""
        if is_own_question(request):
            return act(request)
        self.asked.append(request)
        return self.behave(request)

    @property
    def options(self) -> list[str]:
        """The options that name the program, its provider and its key."""
        names = [*variables(self.name, self.server.url), *CONFIG_FILES.get(self.name, ())]
        words = [word for name in names for word in ("--credentials", name)]
        return ["--agent", MODELS[self.name], *words, "--attempts", "1", "--json", "run.json"]

    def run(self, *more: str) -> Done:
        """Test the skill in the current folder."""
        return fairtrial("run", SKILL, *self.options, *more)


def variables(name: str, url: str) -> dict[str, str]:
    """The variables that lead a program to a provider on this machine."""
    if name == "claude":
        root = {} if choose_sandbox(None) != "none" else {"IS_SANDBOX": "1"}
        return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k", **root}
    if name == "codex":
        return {"OPENAI_API_KEY": "k"}
    if name == "gemini":
        return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "k"}
    provider = {"anthropic": {"options": {"baseURL": f"{url}/v1"}}}
    config = json.dumps({"provider": provider, "model": "anthropic/claude-sonnet-4-5"})
    return {"OPENCODE_CONFIG_CONTENT": config, "ANTHROPIC_API_KEY": "k", "OPENCODE_DISABLE_MODELS_FETCH": "1"}


@pytest.fixture(params=list(HARNESSES))
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """A program with a provider on a port of this machine, in a folder with a skill."""
    rg = next((PROGRAMS.parent / "@openai").glob("codex-*/vendor/*/codex-path"), PROGRAMS)  # OpenCode needs ripgrep
    monkeypatch.setenv("PATH", os.pathsep.join([str(PROGRAMS), str(rg), os.environ["PATH"]]))
    assert shutil.which(request.param) is not None, f"{request.param} is missing; make test-harnesses installs it"
    work, home, temporary = (tmp_path / name for name in ("work", "home", "tmp"))
    for folder in (work, home, temporary):
        folder.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.setenv("TMPDIR", str(temporary))
    _write_skill(work / SKILL)
    for place in OWN_SKILLS:
        (home / place / "mine").mkdir(parents=True)
        (home / place / "mine" / "SKILL.md").write_text("---\nname: mine\ndescription: My planted skill.\n---\n")
    with Loopback(act) as server:
        own = Bench(request.param, server, home)
        server.script = own.act
        for key, value in variables(own.name, server.url).items():
            monkeypatch.setenv(key, value)
        provider = f'[model_providers.local]\nname = "local"\nbase_url = "{server.url}/v1"\n'
        (home / ".codex" / "config.toml").write_text(
            f'model_provider = "local"\n{provider}wire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
        )
        write(home / ".gemini" / "settings.json", {"security": {"auth": {"selectedType": "gemini-api-key"}}})
        before = _files(home)
        yield own
    assert _files(home) == before
    assert not any("My planted skill" in json.dumps(asked.body) for asked in server.requests)


def _write_skill(folder: Path) -> None:
    header = f"---\nname: {SKILL}\ndescription: Writes a report of the tides. Use it for tides only.\n---\n"
    folder.mkdir()
    (folder / "SKILL.md").write_text(f"{header}Read the ports, and write report.md.\n")
    write(folder / "evals" / "evals.json", EVALS)
    write(folder / "evals" / "trigger-eval.json", QUERIES)
    (folder / "evals" / "files").mkdir()
    (folder / "evals" / "files" / "ports.txt").write_text("Ancona\n")


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def attempts() -> dict[str, dict[str, Any]]:
    """The attempts of the JSON report by variant, or by case in a run about triggers."""
    document: dict[str, Any] = json.loads(Path("run.json").read_text())
    return {f"{own['case_id']}@{own['eval_set'].rpartition('@')[2]}": own for own in document["attempts"]}


def test_a_skill_is_found_read_and_followed(bench: Bench) -> None:
    """With the skill the agent writes the report, without it nothing, and a busy provider costs one request more."""
    refused: list[int] = []

    def behave(request: Request) -> Action:
        if not refused:
            refused.append(request.number)
            return Status(529 if bench.name == "claude" else 503, {"retry-after": "1"}, "Overloaded")
        return act(request)

    bench.behave = behave
    done = bench.run()
    own = attempts()
    assert done.code == 0, done.out + done.err
    assert own["ports@with"]["verdict"] == "passed"
    assert own["ports@without"]["verdict"] == "failed"
    assert [change["path"] for change in _delta(own["ports@with"])["files"]] == ["report.md"]
    assert "files" not in _delta(own["ports@without"])
    (turn,) = own["ports@with"]["trace"]
    assert turn["reply"]["text"] == "The ports are in the file."
    assert sum(usage["input_tokens"] for usage in turn["usages"]) == 4000
    assert len(bench.asked) == 1 + 4 + 2  # the refusal, four steps with the skill, two without it
    asked = len(bench.server.requests)
    document = json.loads(Path("run.json").read_text())
    again = fairtrial("run", "--resume", document["run"]["id"], "--json", "run.json")
    assert again.code == 0, again.err
    assert len(bench.server.requests) == asked


def _delta(attempt: dict[str, Any]) -> dict[str, Any]:
    delta: dict[str, Any] = attempt["final_state"]["workspace"]
    return delta


def test_a_skill_fires_when_it_should(bench: Bench) -> None:
    """The skill is used for the tides, and not for a poem."""
    done = bench.run("--trigger")
    assert done.code == 0, done.out + done.err
    notes = json.loads(Path("run.json").read_text())["run"]["notes"]
    assert "fires on 100 % of 1 query that should" in notes[0]
    assert "stays quiet on 100 % of 1 query that should not" in notes[0]


def test_a_provider_that_hangs_is_an_outage(bench: Bench, tmp_path: Path) -> None:
    """The time limit ends the program and all that it started, the agent is not blamed, and no folder stays."""
    bench.behave = lambda _: Say(delay=600)
    done = bench.run("--reply-timeout", "8")
    assert done.code != 0
    for own in attempts().values():
        assert own["verdict"] == "error"
        assert own["failure"]["side"] == "infrastructure"
        assert "no reply within 8 seconds" in own["failure"]["cause"]
    assert _leftovers(tmp_path) == []


def test_a_run_that_is_killed_goes_on(bench: Bench, tmp_path: Path) -> None:
    """Nothing that is finished is paid twice, and no process of the agent lives on."""
    hangs = threading.Event()

    def behave(request: Request) -> Action:
        if f"{SKILL}/SKILL.md" in json.dumps(request.body) or "Use it for tides only" in json.dumps(request.body):
            return act(request)
        hangs.set()
        return Say(delay=600)

    bench.behave = behave
    process = start("run", SKILL, *bench.options, "--concurrency", "1")
    assert hangs.wait(120)
    process.kill()
    finish(process)
    paid = len(bench.asked)
    if choose_sandbox(None) != "none":  # outside of a sandbox, nothing tells the program that its parent is dead
        _wait_until(lambda: not _leftovers(tmp_path, folders=False))
    bench.behave = act
    again = fairtrial("run", "--resume", fairtrial("runs", "--quiet").out.strip(), "--json", "run.json")
    assert again.code == 0, again.err
    assert {own["verdict"] for own in attempts().values()} == {"passed", "failed"}
    assert len(bench.asked) == paid + 2


def _wait_until(is_reached: Callable[[], bool]) -> None:
    """Wait until the system has ended the processes of a killed sandbox. A failure takes ten seconds."""
    for _ in range(100):
        if is_reached():
            return
        threading.Event().wait(0.1)
    assert is_reached()


def _leftovers(folder: Path, *, folders: bool = True) -> list[str]:
    """The workspaces that stand, and the processes that work in them."""
    places = [path.name for path in (folder / "tmp").glob("fairtrial-*") if not path.name.startswith("fairtrial-skill")]
    running = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            at = str((process / "cwd").readlink())
        except OSError:
            continue
        if at.startswith(str(folder / "tmp")):
            running.append((process / "comm").read_text())
    return [*(places if folders else []), *running]


def test_the_version_is_one_that_is_tested(bench: Bench) -> None:
    """The oldest version that is named as tested is the one that these tests run, or an older one."""
    version = program_version(HARNESSES[bench.name])
    assert any(sign.isdigit() for sign in version)
    check_version(HARNESSES[bench.name], version)
