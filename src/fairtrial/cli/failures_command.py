"""`fairtrial failures`: where the attempts of a run went wrong, and what kinds of failures there are."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from fairtrial.cli import completion
from fairtrial.cli.headed_command import command, under
from fairtrial.cli.options import flags, trust_flags
from fairtrial.cli.options.judge_flags import asking_options, make_judges
from fairtrial.cli.outputs.output_files import FileToWrite
from fairtrial.errors import UsageError

if TYPE_CHECKING:
    from fairtrial.api import ChosenMode, Run

_HTML = click.option("--html", "html_file", metavar="FILE", type=FileToWrite(), help="Write the report as a page.")
_LARGEST_DISTANCE = click.option(
    "--largest-distance",
    type=click.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    metavar="X",
    help="The largest distance, 0 to 1, at which a rare kind of failure joins another. With 0, none does.",
)


@command()
@click.argument("run", shell_complete=completion.runs)
@click.option(
    "--mode", metavar="N|NAME", help="List the attempts of this mode, or those to which people gave this name."
)
@click.option(
    "--against", metavar="EARLIER", help="Show which modes are new, gone, more or less frequent than in EARLIER."
)
@click.option(
    "--to-criterion",
    "criterion_file",
    metavar="FILE",
    type=FileToWrite(),
    help="Write a configuration whose criterion notices the mode. Needs --mode.",
)
@click.option(
    "--to-cases",
    "cases_file",
    metavar="FILE",
    type=FileToWrite(),
    help="Write the cases of the mode as an eval set. Needs --mode.",
)
@click.option(
    "--notes",
    "notes_file",
    metavar="FILE",
    type=FileToWrite(),
    help="Write the notes and names that people gave to failures: CSV, or JSON lines if FILE ends with .jsonl.",
)
@under("Reports", trust_flags.json_file, _HTML, trust_flags.markdown_file)
@under("Limits", _LARGEST_DISTANCE, rare=True)
@click.option(
    "--judge", is_flag=True, help="Let a judge assign the failures that belong to no mode, by vote and quote."
)
@asking_options
@flags.add_store_option
def failures(
    run: str,
    mode: str | None,
    against: str | None,
    criterion_file: Path | None,
    cases_file: Path | None,
    notes_file: Path | None,
    json_file: Path | None,
    html_file: Path | None,
    markdown_file: Path | None,
    largest_distance: float,
    judge: bool,
    store: str,
    **judge_options: Any,
) -> None:
    """List the failure modes of a run, those first whose repair would let most cases pass.

    RUN is the beginning of an id in the store, or a folder that `score --out` wrote. For every failed attempt, the
    decisive step is found: the step where it left what was expected, or what attempts that passed have in common, or
    the first symptom. Attempts that went wrong in the same way are one mode. Without --judge, no model is asked.

    \b
    fairtrial failures 20260102
    fairtrial failures 20260102 --mode 1
    fairtrial failures 20260102 --mode "promises a refund" --to-criterion guard.json
    fairtrial failures 20260102 --mode 1 --to-criterion guard.json --to-cases regression.evalset.json
    fairtrial failures 20260102 --against 20260101 --markdown comment.md
    fairtrial failures 20260102 --notes notes.csv
    fairtrial failures 20260102 --json failures.json --html failures.html
    fairtrial failures 20260102 --judge --judge-model openai/gpt-4o-mini --max-cost 1
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.console import console

    if against is not None and (mode is not None or html_file is not None):
        raise UsageError(
            "--against compares all modes of two runs; leave out --mode and --html", code="options-conflict"
        )
    if mode is None and (criterion_file is not None or cases_file is not None):
        raise UsageError("--to-criterion and --to-cases are about one mode; it needs --mode", code="missing-option")
    is_folder = api.is_folder_of_results(run)
    if is_folder and notes_file is not None:
        raise UsageError(
            f"{run}: the notes of people are in the store; give the id of the run for --notes", code="unusable-run"
        )
    own = run if is_folder else api.find_run(run, store)
    modes = api.failures(own, largest_distance=largest_distance)
    if judge:
        modes = api.judge_failures(own, modes, make_judges(judge_options))
    choice = None if mode is None else api.choose_mode(own, modes, mode)
    changes = None if against is None else api.failure_changes(own, against, store=store)
    trust_flags.write(modes if changes is None else changes, json_file)
    _write_notes(own, store, notes_file, is_quiet=trust_flags.is_stdout(json_file))
    if html_file is not None:
        html_file.write_text(api.failures_html(modes), encoding="utf-8", errors="backslashreplace")
    markdown = api.failures_markdown(modes) if changes is None else api.changes_markdown(changes, modes)
    trust_flags.write_markdown([markdown], markdown_file)
    if not trust_flags.is_stdout(json_file):
        document = changes if changes is not None else modes if choice is None else choice.failures
        show = f"fairtrial failures {quote(run)}"
        if not isinstance(own, str):
            show = flags.show_command(own.info.id, store).replace("fairtrial show", "fairtrial failures", 1)
        api.print_failures(console(), document, mode=None if choice is None else choice.mode.number, show=show)
    if choice is not None:
        _write_guards(own, choice, criterion_file, cases_file, is_quiet=trust_flags.is_stdout(json_file))


def _write_notes(run: Run | str, store: str, path: Path | None, *, is_quiet: bool) -> None:
    """Write the notes of a run to a file, if one is given."""
    from fairtrial import api
    from fairtrial.cli.console import console

    if path is not None and not isinstance(run, str):
        console(stderr=is_quiet).print(f"{path}: {api.write_notes(run, store, path)} notes", markup=False)


def _write_guards(
    run: Run | str,
    choice: ChosenMode,
    criterion_file: Path | None,
    cases_file: Path | None,
    *,
    is_quiet: bool,
) -> None:
    """Write the criterion and the cases of a mode, and print what they hold."""
    from fairtrial import api
    from fairtrial.cli.console import console

    modes, mode = choice
    terminal = console(stderr=is_quiet)
    if criterion_file is not None:
        api.print_guard(terminal, api.write_guard(run, modes, mode, criterion_file), criterion_file)
    if cases_file is not None:
        cases = api.write_cases(run, modes, mode, cases_file)
        terminal.print(f"{cases_file}: {cases} {'case' if cases == 1 else 'cases'}", markup=False, highlight=False)
