"""Redact secrets and personal data in texts, JSON values, traces and files."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec

from fairtrial.errors import UsageError, spell
from fairtrial.loading.packed_streams import detect_packing
from fairtrial.loading.text_files import TextFile, create_text, open_text
from fairtrial.records.decoding import convert
from fairtrial.text.redaction.redact import Redaction, make_finders
from fairtrial.text.redaction.redact import redact as redact_text
from fairtrial.text.redaction.redact_json import redact_json
from fairtrial.text.redaction.redact_lines import Finding, LineRedactor

if TYPE_CHECKING:
    from fairtrial.records.record import Json

T = TypeVar("T")

__all__ = ["Finding", "RedactOptions", "RedactedFiles", "Redaction", "redact", "redact_files"]


def redact(value: T, *, people: bool = False, emails: bool = True) -> tuple[T, tuple[Redaction, ...]]:
    """Return a text, a JSON value or a record such as a `Trace` without its secrets, and the removed secrets.

    `[REDACTED:kind]` stands in place of each secret. A redaction in a JSON value or a record has the JSON pointer of
    its place. With `people`, personal data is removed, too: telephone numbers, payment cards, IBANs, numbers of
    persons, IP addresses and names of home folders. With `emails` false, e-mail addresses stay. Redacting the result
    again changes nothing. Raises UsageError for `people` without the extra `people`.
    """
    if isinstance(value, str):
        return cast("tuple[T, tuple[Redaction, ...]]", redact_text(value, emails=emails, people=people))
    if not isinstance(value, msgspec.Struct):
        clean, redactions = redact_json(cast("Json", value), emails=emails, people=people)
        return cast("T", clean), redactions
    clean, redactions = redact_json(msgspec.json.decode(msgspec.json.encode(value)), emails=emails, people=people)
    return (cast("T", convert(clean, value.__class__)), redactions) if redactions else (value, ())


@dataclass(frozen=True)
class RedactOptions:
    """The options of `redact_files`, under their names on the command line."""

    output: Path | None = None
    in_place: bool = False
    check: bool = False
    people: bool = False
    emails: bool = True


@dataclass
class RedactedFiles:
    """The number of removed secrets of each kind, and the number of files that held any."""

    counts: Counter[str] = field(default_factory=Counter)
    file_count: int = 0


def redact_files(
    paths: Sequence[str], options: RedactOptions, *, on_finding: Callable[[str, Finding], object]
) -> RedactedFiles:
    """Write files without their secrets, and return how many were removed.

    The output is standard output, a file, or a folder for several files. With `check`, nothing is written.
    `on_finding` is called with each file and each removed secret. Memory does not grow with a file, unless the file is
    one JSON value over several lines. Raises UsageError before anything is written, if an output would overwrite an
    input.
    """
    make_finders(people=options.people)  # raises if the library is missing
    targets = _targets(paths, options)
    report = RedactedFiles()
    for path, target in zip(paths, targets, strict=True):
        counts: Counter[str] = Counter()

        def note(finding: Finding, path: str = path, counts: Counter[str] = counts) -> None:
            counts[finding.redaction.kind] += 1
            on_finding(path, finding)

        redactor = LineRedactor(note, emails=options.emails, people=options.people)
        with open_text(path) as source:
            _write(redactor, source, target, options)
        report.counts += counts
        report.file_count += bool(counts)
    return report


def _write(redactor: LineRedactor, source: TextFile, target: Path | None, options: RedactOptions) -> None:
    parts = redactor.redact(source.lines)
    if options.check:
        for _ in parts:
            pass
    elif target is None:
        with create_text(sys.stdout.buffer, "", source.encoding) as stream:
            stream.writelines(parts)
    elif options.in_place:
        # The file is replaced at the end and at once, so that an interruption leaves it as it was.
        temporary = target.with_name(f".{target.name}.redacted")
        try:
            with create_text(temporary, source.packing, source.encoding) as stream:
                stream.writelines(parts)
            temporary.chmod(target.stat().st_mode)
            temporary.replace(target)
        finally:
            with suppress(OSError):
                temporary.unlink()
    else:
        with create_text(target, detect_packing(target), source.encoding) as stream:
            stream.writelines(parts)


def _targets(paths: Sequence[str], options: RedactOptions) -> list[Path | None]:
    """Return the file that is written for each input, or None for standard output. Raises UsageError."""
    if options.check + options.in_place + (options.output is not None) > 1:
        raise UsageError(
            f"give only one of {spell('check')}, {spell('in_place')} and {spell('output')}", code="options-conflict"
        )
    if options.in_place:
        if "-" in paths:
            raise UsageError(f"{spell('in_place')}: standard input cannot be replaced", code="input-read-twice")
        return [Path(path) for path in paths]
    if options.output is None:
        return [None] * len(paths)
    targets = [options.output] if len(paths) == 1 else _files_in_folder(options.output, paths)
    for target in targets:
        if target.exists() and any(os.path.exists(path) and target.samefile(path) for path in paths):  # noqa: PTH110
            raise UsageError(
                f"{spell('output')}: {target} is a file that this command reads; choose another "
                f"file, or {spell('in_place')}",
                code="would-overwrite",
            )
    return list(targets)


def _files_in_folder(folder: Path, paths: Sequence[str]) -> list[Path]:
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{spell('output')}: {folder}: must be a folder, because there are {len(paths)} files")
    names = ["standard-input" if path == "-" else Path(path).name for path in paths]
    repeated = next((name for name, number in Counter(names).items() if number > 1), None)
    if repeated is not None:
        raise UsageError(f"{spell('output')}: two files have the name {repeated!r}; write them to different folders")
    folder.mkdir(parents=True, exist_ok=True)
    return [folder / name for name in names]
