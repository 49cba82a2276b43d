"""`fairtrial redact`: files without secrets and personal data."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairtrial.cli import exit_codes
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import trust_flags
from fairtrial.errors import UsageError
from fairtrial.text.display import count, visible_line

if TYPE_CHECKING:
    from fairtrial.api.value.redacting import Finding, RedactedFiles

_SHOWN = 100
"""The number of places that --check names. A file of traces may hold millions."""
_SHOWN_KINDS = 20
"""The kinds of a group that --measure names because fewer than 97 % of their secrets are found."""


@command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    type=click.Path(path_type=Path),
    help="The file to write, or a folder for several files.  [default: standard output]",
)
@click.option("--in-place", is_flag=True, help="Replace each file.")
@click.option("--check", is_flag=True, help="Write nothing, name the places, and exit with 1 if there are any.")
@click.option(
    "--measure",
    is_flag=True,
    help="Write nothing, plant secrets of all kinds in copies of parts of the files, and print how many are found.",
)
@click.option("--people", is_flag=True, help="Remove personal data, too: telephone numbers, cards, addresses, ...")
@click.option("--emails/--no-emails", default=True, show_default=True, help="Remove e-mail addresses.")
@trust_flags.json_file
def redact(
    files: tuple[str, ...],
    output: Path | None,
    in_place: bool,
    check: bool,
    measure: bool,
    people: bool,
    emails: bool,
    json_file: Path | None,
) -> int:
    """Write files without the secrets in them: keys, tokens, passwords and e-mail addresses.

    FILE is any text, JSON, JSON lines or trace as text, plain or packed as .gz or .zst, or - for standard input. Lines
    of JSON stay JSON. Everything except the secrets stays as it was. The numbers of secrets go to standard error.

    \b
    fairtrial redact traces.jsonl -o clean.jsonl
    fairtrial redact --check --people $(git diff --cached --name-only)
    journalctl -u agent | fairtrial redact - > agent.log
    """  # noqa: D301
    from fairtrial.api.value.redacting import RedactOptions, redact_files

    if measure:
        if check or in_place or output is not None:
            raise UsageError(
                "--measure writes nothing; leave out --check, --in-place and --output", code="options-conflict"
            )
        return _measure(files, json_file, people=people, emails=emails)
    if trust_flags.is_stdout(json_file) and not (check or in_place or output):
        raise UsageError("--json - and the files go to standard output; add --output", code="options-conflict")
    places = _Places(is_printing=check, to_stderr=trust_flags.is_stdout(json_file))
    try:
        report = redact_files(
            files,
            RedactOptions(output=output, in_place=in_place, check=check, people=people, emails=emails),
            on_finding=places.add,
        )
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"{error.filename or 'file'}: {error.strerror or error}", code="unreadable-file") from error
    if places.hidden_count:
        echo(f"… and {places.hidden_count:,} more", err=trust_flags.is_stdout(json_file))
    _print_counts(report, files)
    targets = files if in_place else () if check or output is None else (str(output),)
    trust_flags.report(json_file, "redact", files=targets, counts=dict(report.counts))
    return exit_codes.FAILED if check and report.counts else exit_codes.OK


class _Places:
    """Prints the places of the first secrets, but never the secrets."""

    def __init__(self, *, is_printing: bool, to_stderr: bool) -> None:
        self._is_printing = is_printing
        self._to_stderr = to_stderr
        self._total = 0

    @property
    def hidden_count(self) -> int:
        """The number of places that were not printed."""
        return max(0, self._total - _SHOWN) if self._is_printing else 0

    def add(self, path: str, finding: Finding) -> None:
        """Count a place, and print it if it is one of the first."""
        self._total += 1
        if self._is_printing and self._total <= _SHOWN:
            line = f":{finding.line}" if finding.line else ""
            redaction = finding.redaction
            place = f"{path}{line}{redaction.pointer}"
            echo(visible_line(f"{place}: {redaction.kind} ({redaction.detail})"), err=self._to_stderr)


def _print_counts(report: RedactedFiles, files: tuple[str, ...]) -> None:
    kinds = ", ".join(f"{number:,} {kind}" for kind, number in sorted(Counter(report.counts).items()))
    files_text = f" in {report.file_count:,} of {count(len(files), 'file')}" if len(files) > 1 and kinds else ""
    echo(f"found: {kinds or 'nothing'}{files_text}", err=True)


def _measure(files: tuple[str, ...], json_file: Path | None, *, people: bool, emails: bool) -> int:
    """Print which share of the planted secrets of each group is found."""
    from fairtrial.api.value.redaction_measure import measure_redaction

    counts: dict[str, int] = {}
    is_quiet = trust_flags.is_stdout(json_file)
    for group in measure_redaction(files, people=people, emails=emails):
        counts |= {f"{group.name}: planted": group.planted, f"{group.name}: removed": group.removed}
        if is_quiet:
            continue
        low, high = group.interval
        verb = "changed" if group.name == "look-alike" else "found"
        shares = f"{group.removed / group.planted:6.1%} [{low:.1%}, {high:.1%}]"
        echo(f"{group.name:34} {shares} {verb}: {group.removed:,} of {group.planted:,}, {count(group.kinds, 'kind')}")
        for kind in group.low_kinds[:_SHOWN_KINDS]:
            echo(visible_line(f"    {kind}"))
        if len(group.low_kinds) > _SHOWN_KINDS:
            echo(f"    … and {len(group.low_kinds) - _SHOWN_KINDS} more")
    trust_flags.report(json_file, "redact", counts=counts)
    return exit_codes.OK
