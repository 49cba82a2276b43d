"""The command `fairtrial compare`, which compares two runs."""

from __future__ import annotations

from pathlib import Path

import click

from fairtrial.cli import completion
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags, trust_flags
from fairtrial.cli.outputs.output_files import FileToWrite


@command()
@click.argument("base")
@click.argument("run", nargs=-1, required=True, shell_complete=completion.runs)
@trust_flags.about
@trust_flags.cluster
@trust_flags.by
@click.option("--pass", "pass_rates", is_flag=True, help="Compare criteria by their pass rates, not by their means.")
@click.option(
    "--margin",
    type=click.FloatRange(0, min_open=True),
    metavar="D",
    help="Call a measure equal if its 90 % interval lies within plus and minus D.",
)
@click.option("--valid-only", is_flag=True, help="Leave out attempts that say nothing about the agent.")
@trust_flags.even_so
@click.option(
    "--corrected", is_flag=True, help="Compare corrected means of the criteria that people have labelled in both runs."
)
@trust_flags.json_file
@trust_flags.markdown_file
@click.option("--html", "html_file", metavar="FILE", type=FileToWrite(), help="Write one HTML page about all the runs.")
@flags.add_store_option
@trust_flags.base_store
def compare(
    base: str,
    run: tuple[str, ...],
    about: str,
    cluster: str | None,
    by: str | None,
    pass_rates: bool,
    margin: float | None,
    valid_only: bool,
    even_so: bool,
    corrected: bool,
    json_file: Path | None,
    markdown_file: Path | None,
    html_file: Path | None,
    store: str,
    base_store: str | None,
) -> None:
    """Compare runs with a base run, case by case: every difference with its interval and its verdict.

    BASE and RUN are beginnings of ids in the store, or files that --json or `fairtrial runs export` wrote. Cases are
    paired by their id. A case whose expectation changed is left out and listed. The exit code is 0 if the runs could be
    compared, whatever the result; `fairtrial gate` decides.

    \b
    fairtrial compare 20261120 20261121
    fairtrial compare base.json candidate.json --about these-cases
    fairtrial compare 20261120 20261121 --by language
    fairtrial compare 20261120 20261121 20261122 --margin 0.05 --json compared.json
    fairtrial compare 20261120 20261121 20261122 --html compared.html
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.console import console, reader_may_leave

    options = api.CompareOptions(
        trust_flags.read_about(about),
        pass_rates,
        margin,
        valid_only,
        even_so,
        corrected,
        cluster,
        by,
        store,
        base_store,
    )
    comparisons = api.compare_all(base, run, options)
    document = comparisons[0] if len(comparisons) == 1 else comparisons
    trust_flags.write(document, json_file)
    trust_flags.write_markdown(map(api.comparison_markdown, comparisons), markdown_file)
    if html_file is not None:
        for warning in api.write_compared_page(html_file, (base, *run), comparisons, options):
            echo(f"warning: {warning}", err=True)
    if not trust_flags.is_stdout(json_file):
        for comparison in comparisons:
            with reader_may_leave():
                api.print_comparison(console(), comparison)
