"""A real daemon of docker keeps an agent in its workspace. Without a daemon, these tests are skipped.

The image holds a shell and a few programs of this machine, with the libraries that they need. Nothing is downloaded.
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import tarfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import Done, fairtrial, write
from fairtrial.agents.harness.sandbox import choose_sandbox
from fairtrial.errors import UsageError

pytestmark = pytest.mark.long

PROGRAMS = ("sh", "cat", "grep", "sleep", "touch", "id")


def docker(*words: str, data: bytes | None = None) -> str:
    """Run docker, and return what it writes."""
    return subprocess.run(["docker", *words], input=data, capture_output=True, check=True).stdout.decode()


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    """An image whose own command fails, so that it has to be replaced."""
    if (
        shutil.which("docker") is None
        or subprocess.run(["docker", "version"], capture_output=True, check=False).returncode
    ):
        pytest.skip("no daemon of docker runs here")
    name = f"fairtrial-test/agent:{uuid.uuid4().hex[:12]}"
    docker("import", "--change", 'ENTRYPOINT ["/bin/grep", "nothing"]', "-", name, data=_programs())
    yield name
    docker("image", "rm", "--force", name)


def _programs() -> bytes:
    """A file system with a few programs, as a tar archive."""
    files: dict[str, Path] = {}
    for program in PROGRAMS:
        path = shutil.which(program)
        assert path is not None
        files[f"bin/{program}"] = Path(path).resolve()
        libraries = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
        files |= {name.lstrip("/"): Path(name).resolve() for name in re.findall(r"(/\S+) \(0x", libraries)}
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, file in files.items():
            tar.add(file, name)
    return archive.getvalue()


@pytest.fixture(autouse=True)
def skill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A skill with a case whose checks run in the image, too, beside a file that the agent must not see."""
    monkeypatch.chdir(tmp_path)
    Path("secret.txt").write_text("the secret")
    Path("tides").mkdir()
    Path("tides/SKILL.md").write_text("---\nname: tides\ndescription: Tells the tides.\n---\n")
    checks = [
        {"type": "command", "command": ["grep", "-q", "Go", "out.txt"]},
        {"type": "changes_only", "paths": ["out.txt"]},
        {"type": "contains", "text": "done"},
    ]
    write("tides/evals/evals.json", {"skill_name": "tides", "evals": [{"id": "a", "prompt": "Go", "checks": checks}]})


def run(image: str, script: str, *more: str) -> Done:
    """Run the case with a script in the image."""
    write("agent.json", {"command": ["sh", "-c", script], "skills": ".claude/skills", "log": "text"})
    words = ("--agent", "harness:agent.json", "--attempts", "1", "--sandbox", f"docker:{image}")
    return fairtrial("run", "tides", *words, *more)


def containers(image: str) -> str:
    """The containers of the image that are left."""
    return docker("ps", "--all", "--quiet", "--filter", f"ancestor={image}")


def test_an_agent_in_a_container_works_in_its_workspace(image: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads the prompt, the credentials and the skill, and the check of its file runs in the image."""
    monkeypatch.setenv("MY_KEY", "the key")
    script = 'cat > out.txt; test "$MY_KEY" = "the key" && echo done'
    done = run(image, script, "--credentials", "MY_KEY")
    assert done.code == 0, done.out + done.err
    assert containers(image) == ""


def test_a_container_sees_nothing_of_the_machine(image: str, tmp_path: Path) -> None:
    """Neither the folder of the user, nor the rights of root over what is not its own."""
    script = f"cat > out.txt; touch {tmp_path}/left.txt; test -e {tmp_path}/secret.txt || echo done"
    done = run(image, script)
    assert done.code == 0, done.out + done.err
    assert not Path("left.txt").exists()


def test_a_container_has_no_capabilities(image: str) -> None:
    """What runs in it can gain no rights."""
    none = "grep -q 'CapEff:.0*$' /proc/self/status && grep -q 'NoNewPrivs:.1' /proc/self/status"
    done = run(image, f"cat > out.txt; {none} && echo done")
    assert done.code == 0, done.out + done.err


def test_a_container_is_removed_at_the_time_limit(image: str) -> None:
    """The end of the client does not end the container."""
    done = run(image, "sleep 600", "--reply-timeout", "3")
    assert done.code != 0
    assert "no reply within 3 seconds" in done.out + done.err
    assert containers(image) == ""


@pytest.mark.usefixtures("image")
def test_an_image_that_is_not_there_is_refused_before_anything_runs() -> None:
    """A download would count as time of the first attempts."""
    with pytest.raises(UsageError, match="docker has no image 'fairtrial-test/absent'; build it, or run 'docker pull"):
        choose_sandbox("docker:fairtrial-test/absent")
