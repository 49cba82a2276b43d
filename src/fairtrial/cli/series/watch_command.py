"""The command `fairtrial watch`, which raises an alarm if production traffic changes."""

from __future__ import annotations

import time
from pathlib import Path

import click

from fairtrial.cli import completion, exit_codes
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags, series_flags, trust_flags


@command()
@click.argument("run", required=False, default="", shell_complete=completion.runs)
@series_flags.series
@click.option("--since", default="", metavar="DATE", help="Leave out runs that started before, such as 2026-01-02.")
@click.option(
    "--reference",
    type=click.IntRange(20, 100_000),
    default=300,
    show_default=True,
    metavar="N",
    help="The first N conversations are the reference.",
)
@series_flags.false_every(100_000.0, "At most one conversation in N raises a false alarm of a measure.")
@click.option(
    "--canary",
    default="canary",
    show_default=True,
    metavar="TAG",
    help="The tag of runs that score the same recordings again.",
)
@click.option(
    "--post", "post_url", envvar="FAIRTRIAL_WATCH_URL", metavar="URL", help="Send alarms of this call there as JSON."
)
@click.option(
    "--every",
    "seconds",
    type=click.FloatRange(1),
    metavar="SECONDS",
    help="Look again and again, until there is an alarm.",
)
@trust_flags.json_file
@flags.add_store_option
def watch(
    run: str,
    series: str,
    since: str,
    reference: int,
    false_every: float,
    canary: str,
    post_url: str | None,
    seconds: float | None,
    json_file: Path | None,
    store: str,
) -> int:
    """Show whether the scores of production traffic left their reference.

    The conversations are those of `fairtrial score` and `fairtrial receive`. However often you look, the rate
    of false alarms stays as stated.

    Exit codes: 0 no alarm, 1 alarm, 2 wrong input, 130 interrupt.

    \b
    fairtrial watch
    fairtrial watch --since 2026-01-02 --false-every 1000000
    fairtrial watch --every 60 --post https://alarms.example/fairtrial
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.console import console

    fields = tuple(series_flags.split_fields(series))
    options = api.WatchOptions(fields, since, reference, false_every, canary, store)
    traffic = api.watch(run, options)
    while seconds is not None and not traffic.alarms:
        time.sleep(seconds)
        traffic = api.watch(run, options)
    trust_flags.write(traffic, json_file)
    if not trust_flags.is_stdout(json_file):
        api.print_watched(console(), traffic)
    if traffic.alarms and post_url:
        api.post_alarms(traffic, post_url)
    return exit_codes.FAILED if traffic.alarms else exit_codes.OK
