"""The command `fairtrial plan`, which computes the number of cases and attempts that a question needs."""

from __future__ import annotations

from pathlib import Path

import click

from fairtrial.cli import completion
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags, trust_flags


@command()
@click.argument("run", shell_complete=completion.runs)
@click.argument("base", nargs=-1)
@click.option("--audit", is_flag=True, help="Say which cases and criteria of the runs tell nothing.")
@click.option("--detect", type=float, metavar="D", help="Show a difference of D.")
@click.option("--not-worse-by", type=float, metavar="D", help="Show that a run is not worse by D or more.")
@click.option("--half-width", type=float, metavar="D", help="Have an interval of plus or minus D.")
@click.option("--measure", default="cases", show_default=True, metavar="NAME", help="The measure of the question.")
@click.option("--power", default=0.8, show_default=True, help="The probability of finding a difference that is there.")
@click.option(
    "--correlation",
    default=0.5,
    show_default=True,
    help="The correlation between the case values of two runs. BASE shows it; without BASE it is a guess.",
)
@trust_flags.about
@trust_flags.cluster
@trust_flags.json_file
@flags.add_store_option
def plan(
    run: str,
    base: tuple[str, ...],
    audit: bool,
    detect: float | None,
    not_worse_by: float | None,
    half_width: float | None,
    measure: str,
    power: float,
    correlation: float,
    about: str,
    cluster: str | None,
    json_file: Path | None,
    store: str,
) -> None:
    """Plan how many cases a question needs with 1, 2, 4 and 8 attempts each, and mark the cheapest design.

    RUN shows how much cases, attempts and the votes of the judge vary. With BASE, an earlier run of the same cases, the
    noise of the difference is known. More attempts remove the noise of attempts only. For example, if each case always
    passes or always fails, only more cases help.

    \b
    fairtrial plan 20261121 --detect 0.05
    fairtrial plan 20261121 20261120 --not-worse-by 0.05
    fairtrial plan --audit 20261119 20261120 20261121
    fairtrial plan 20261121 --half-width 0.03 --measure response_match_score
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.console import console

    if audit:
        report = api.audit_suite([run, *base], cluster=cluster, store=store)
        trust_flags.write(report, json_file)
        if not trust_flags.is_stdout(json_file):
            api.print_suite_audit(console(), report)
        return
    if len(base) > 1:
        raise click.UsageError(f"takes RUN and at most one BASE, got {1 + len(base)} runs; --audit takes more")
    if sum(limit is not None for limit in (detect, not_worse_by, half_width)) != 1:
        raise click.UsageError("needs exactly one question: --detect D, --not-worse-by D, or --half-width D")
    size_plan = api.plan(
        run,
        base[0] if base else None,
        detect=detect,
        not_worse_by=not_worse_by,
        half_width=half_width,
        measure=measure,
        power=power,
        correlation=correlation,
        about=trust_flags.read_about(about),
        cluster=cluster,
        store=store,
    )
    trust_flags.write(size_plan, json_file)
    if not trust_flags.is_stdout(json_file):
        api.print_plan(console(), size_plan)
