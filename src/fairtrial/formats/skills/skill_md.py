"""Read the header of `SKILL.md`: the name and the description of a skill."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from fairtrial.errors import FormatError
from fairtrial.formats import yaml_text
from fairtrial.records.record import Record
from fairtrial.text.display import shorten

FILE = "SKILL.md"
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_NAME, _LONGEST_DESCRIPTION = 64, 1024
_HEADING = re.compile(rb"#{1,6}[ \t]")
_SENTENCE_END = re.compile(rb"(?<=[.!?][ \t])|(?<=\xe3\x80\x82)")
_LONGEST_TITLE = 60
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


class SkillPart(Record, frozen=True):
    """A part of the text of a skill that can be left out: its first words, and its place in the file in bytes."""

    title: str
    start: int
    end: int


def skill_parts(data: bytes, kind: Literal["sections", "sentences"]) -> list[SkillPart]:
    """Return the sections of a `SKILL.md`, each with its own text, or its sentences. Blocks of code stay whole.

    A section without a text of its own, such as a title, is no part. A sentence is a sentence, or an item of a list.
    """
    fences = list(_FENCE.finditer(data))[:2]
    start = fences[1].end() if len(fences) == 2 else 0
    lines, at, in_code = [], start, False
    for line in data[start:].splitlines(keepends=True):
        is_mark = line.lstrip().startswith((b"```", b"~~~"))
        is_code = in_code or is_mark
        in_code = in_code != is_mark
        lines.append((at, line, is_code))
        at += len(line)
    parts = _sections(lines, at) if kind == "sections" else [part for line in lines for part in _sentences(*line)]
    return [part for part in parts if part.title]


def _sections(lines: Sequence[tuple[int, bytes, bool]], end: int) -> Iterator[SkillPart]:
    heads = [(at, line) for at, line, is_code in lines if not is_code and _HEADING.match(line)]
    if lines and (not heads or heads[0][0] > lines[0][0]):
        heads.insert(0, (lines[0][0], b""))
    for (at, head), stop in zip(heads, [*(place for place, _ in heads[1:]), end], strict=True):
        own = b"".join(line for place, line, _ in lines if at + len(head) <= place < stop).strip()
        title = (head.strip() or own.splitlines()[0] if own else b"").decode(errors="replace")
        yield SkillPart(shorten(title.lstrip("# "), _LONGEST_TITLE), at, stop)


def _sentences(at: int, line: bytes, is_code: bool) -> Iterator[SkillPart]:
    if is_code or _HEADING.match(line):
        return
    start = place = at
    for piece in _SENTENCE_END.split(line):
        place += len(piece)
        text = line[start - at : place - at]
        if any(character.isalpha() for character in text.decode(errors="replace")):  # a number belongs to its item
            title = text.decode(errors="replace").strip().lstrip("-*+ ")
            yield SkillPart(shorten(title, _LONGEST_TITLE), start, start + len(text.rstrip(b"\r\n")))
            start = place


def without_part(data: bytes, part: SkillPart) -> bytes:
    """Return a `SKILL.md` without one of its parts."""
    return data[: part.start] + data[part.end :]


def with_description(data: bytes, description: str) -> bytes:
    """Return a `SKILL.md` with another description in its header."""
    fences = list(_FENCE.finditer(data))[:2]
    import yaml

    header = yaml.safe_load(data[fences[0].end() : fences[1].start()])
    header["description"] = description
    text = yaml.safe_dump(header, allow_unicode=True, sort_keys=False, width=10_000)
    return b"".join((data[: fences[0].end()], b"\n", text.encode(), data[fences[1].start() :]))
