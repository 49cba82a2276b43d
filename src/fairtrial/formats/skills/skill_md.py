"""Read the header of `SKILL.md`: the name and the description of a skill."""

from __future__ import annotations

import re

from fairtrial.errors import FormatError
from fairtrial.formats import yaml_text
from fairtrial.records.record import Record

FILE = "SKILL.md"
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_NAME, _LONGEST_DESCRIPTION = 64, 1024
_FENCE = re.compile(rb"^---[ \t]*\r?$", re.MULTILINE)


class Skill(Record, frozen=True):
    """The header of a skill. `warnings` say where it breaks the rules of agentskills.io."""

    name: str
    description: str
    warnings: tuple[str, ...] = ()


def read_skill(data: bytes, path: str, folder: str = "") -> Skill:
    """Return the header of a `SKILL.md`. Raises FormatError if there is none, or it lacks its name or description.

    `folder` is the name of the folder, which should be the name of the skill.
    """
    data = data.removeprefix(b"\xef\xbb\xbf")
    fences = list(_FENCE.finditer(data))[:2]
    if len(fences) < 2 or data[: fences[0].start()].strip():
        raise FormatError(path, ["must begin with a header between two lines ---, with the keys name and description"])
    header = yaml_text.decode(data[fences[0].end() : fences[1].start()], path)
    header = header if isinstance(header, dict) else {}
    missing = [key for key in ("name", "description") if not isinstance(header.get(key), str) or not header[key]]
    if missing:
        raise FormatError(path, [f"/{key}: must be a text that is not empty" for key in missing])
    name, description = header["name"], header["description"]
    if "/" in name or "\\" in name or name in (".", "..") or "\0" in name:
        raise FormatError(path, [f"/name: must be a name, and not a path, got {name!r:.80}"])
    warnings = []
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        warnings.append(
            f"{path}: /name: should be at most {_LONGEST_NAME} small letters, digits and hyphens, got {name!r:.80}"
        )
    if len(description) > _LONGEST_DESCRIPTION:
        warnings.append(
            f"{path}: /description: should have at most {_LONGEST_DESCRIPTION} characters, got {len(description)}"
        )
    if folder and folder != name:
        warnings.append(f"{path}: /name: should be the name of its folder, {folder!r}, got {name!r}")
    return Skill(name, description, tuple(warnings))


def with_description(data: bytes, description: str) -> bytes:
    """Return a `SKILL.md` with another description in its header."""
    fences = list(_FENCE.finditer(data))[:2]
    import yaml

    header = yaml.safe_load(data[fences[0].end() : fences[1].start()])
    header["description"] = description
    text = yaml.safe_dump(header, allow_unicode=True, sort_keys=False, width=10_000)
    return b"".join((data[: fences[0].end()], b"\n", text.encode(), data[fences[1].start() :]))
