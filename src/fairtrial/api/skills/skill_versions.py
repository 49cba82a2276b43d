"""Find another version of a skill: a folder, or a revision of git."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

from fairtrial.errors import UsageError
from fairtrial.formats.skills.skill_md import FILE
from fairtrial.loading.skill_folders import find_skill

_SECONDS = 60
_LARGEST = 500 * 2**20


def version_at(name: str, folder: Path, target: Path) -> Path:
    """Return the folder of another version of the skill in `folder`. A revision of git is written below `target`.

    Raises UsageError if the name is neither a folder with a skill nor a revision that holds one.
    """
    if Path(name).is_dir():
        return find_skill(Path(name))
    home = folder.resolve()
    if name.startswith("-"):
        raise UsageError(f"versus: {name!r}: must be a folder or a revision of git")
    top = Path(
        _git(home, "rev-parse", "--show-toplevel", problem=f"versus: {name!r}: is no folder, and").decode().strip()
    )
    place = home.relative_to(top).as_posix()
    _git(home, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", problem=f"versus: {name!r}: is no revision:")
    paths = [] if place == "." else [place]
    archive = _git(top, "archive", "--format=tar", name, *paths, problem=f"versus: {name!r}: holds no {place}:")
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        packed.extractall(target, filter="data")
    old = target / place
    if not (old / FILE).is_file():
        raise UsageError(f"versus: {name!r}: holds no {FILE} in {place}")
    return old


def _git(folder: Path, *words: str, problem: str) -> bytes:
    try:
        process = subprocess.run(  # noqa: S603  (git, with a revision that begins with no dash)
            ["git", "-C", str(folder), *words],  # noqa: S607
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{problem} git does not start: {error}") from None
    if process.returncode != 0:
        lines = process.stderr.decode(errors="replace").strip().splitlines()
        raise UsageError(f"{problem} {lines[-1] if lines else 'git does not know it'}")
    if len(process.stdout) > _LARGEST:
        raise UsageError(f"{problem} it is larger than {_LARGEST:,} bytes")
    return process.stdout
