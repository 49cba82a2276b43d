"""The command `fairtrial value`, which values reasoning traces and marks those that are good enough to share."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from fairtrial.cli import exit_codes
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options.query_flags import forget_rows, query_options
from fairtrial.cli.outputs.output_files import FileToWrite
from fairtrial.errors import UsageError
from fairtrial.text.display import count, visible_line

if TYPE_CHECKING:
    from fairtrial.api.value.valuing import ValuedChunk, ValueReport

_OUTPUTS = ("output", "resume", "parquet", "keep", "keep_private", "redact", "redactions", "threshold", "fail_under")
_OPTIONS = (
    "profile",
    "novelty",
    "novelty_of",
    "index",
    "extend",
    "ttl",
    "approximate",
    "embedder",
    "confidence",
    "success",
    "jobs",
)
_DEDUP_OPTIONS = ("dedup", "dedup_similarity", "dedup_cosine")


@command()
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line to standard output.")
@click.option("--output", "-o", type=FileToWrite(), help="Write JSON lines to a file.")
@click.option("--resume", is_flag=True, help="Continue an --output (and --keep) that was interrupted.")
@click.option("--parquet", type=FileToWrite(), help="Write a Parquet file.")
@click.option("--threshold", type=float, help="The least score of a trace that is worth sharing, 0 to 1.")
@click.option(
    "--keep",
    type=FileToWrite(),
    help="Write the traces that reach --threshold to a file of JSON lines, without secrets and private traces.",
)
@click.option("--keep-private", is_flag=True, help="With --keep: keep private traces, too.")
@click.option(
    "--redact", type=click.Choice(["people"]), help="With --keep: remove personal data, too, and not only secrets."
)
@click.option("--redactions", type=FileToWrite(), help="Write the secrets that --keep removed, as JSON lines.")
@click.option("--fail-under", type=float, help="Exit with 1 if any trace scores less than this, 0 to 1.")
@click.option("--profile", default="default", help="Weights: default, finance, code, medical, customer_service.")
@click.option(
    "--novelty",
    default="sequence",
    help="Compare with the traces before (sequence), an index (corpus), or all others (leave-one-out).",
)
@click.option(
    "--novelty-of",
    default="contents",
    help="Compare the objective and the contents of the steps (contents), or everything (trace).",
)
@click.option("--index", type=FileToWrite(), help="The saved novelty index.")
@click.option("--extend", is_flag=True, help="With --novelty corpus: add these traces to the index afterwards.")
@click.option("--approximate", is_flag=True, help="Search a large index, or many vectors with --dedup, by graphs.")
@click.option("--ttl", type=float, metavar="SECONDS", help="How long a trace in the index counts. Default: forever.")
@click.option(
    "--embedder",
    help="none, minilm, multilingual, or a folder. Default: minilm if it is installed.",
)
@click.option(
    "--dedup", is_flag=True, help="Mark traces that repeat an earlier trace, and keep only the earlier trace."
)
@click.option(
    "--dedup-similarity",
    type=float,
    metavar="X",
    help="With --dedup: the share of the steps' text that duplicates have in common.  [default: 0.8]",
)
@click.option(
    "--dedup-cosine",
    type=float,
    metavar="X",
    help="With --dedup and an embedder: the cosine of duplicates that use the same tools.  [default: 0.98]",
)
@click.option("--confidence", type=float, help="The agent's confidence, 0 to 1, for traces that do not contain it.")
@click.option("--success/--no-success", default=None, help="The success of traces that do not contain it.")
@click.option("--from-run", metavar="RUN", help="Value the traces of a stored run; its verdicts are their success.")
@click.option("--store", help="The store of --from-run: a SQLAlchemy URL.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes to use. Default: one for each core.")
@query_options("files")
def value(files: tuple[str, ...], **options: Any) -> int:
    """Compute the value of reasoning traces, 0 to 1, and explain it.

    FILE holds ReasoningTraces, or any traces that fairtrial reads, plain or packed as .gz or .zst. It may be a folder,
    a glob, the URL of an object store, or - for JSON lines on standard input.

    \b
    fairtrial value traces.jsonl
    fairtrial value traces/ --threshold 0.6 --keep worth_sharing.jsonl --json
    fairtrial value --sql "SELECT id, messages FROM chats" --from duckdb:///traffic.db
    """  # noqa: D301
    try:
        return _value(files, options)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"{error.filename or 'file'}: {error.strerror or error}", code="unwritable-file") from error
    except KeyboardInterrupt:
        echo("\ninterrupted; continue an --output with --resume", err=True)
        return exit_codes.INTERRUPTED


def _value(files: tuple[str, ...], options: dict[str, Any]) -> int:
    # Processes are the parallelism; a second thread in each would only wait for the others.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from fairtrial.api.value.valuing import ValueOptions, ValueOutputs, plan_value

    stream = sys.stdout.buffer if options["as_json"] else None
    plan = plan_value(
        files,
        ValueOptions(**{name: options[name] for name in (*_OPTIONS, *_DEDUP_OPTIONS)}),
        ValueOutputs(stream, **{name: options[name] for name in _OUTPUTS}),
        from_run=options["from_run"],
        store=options["store"],
    )
    for note in plan.notes:
        click.secho(f"note: {visible_line(note)}", err=True, bold=True)
    meter = _Meter()
    report = plan.run(on_resume=_print_resumed, on_chunk=meter.add)
    meter.clear()
    forget_rows()
    _print_report(report, as_json=options["as_json"])
    return _exit_code(report)


def _print_resumed(trace_count: int) -> None:
    echo(f"resumed after {count(trace_count, 'trace')}", err=True)


class _Meter:
    """Shows the progress on standard error after two seconds: often in a terminal, ever more rarely in a file."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._started = time.monotonic()
        self._next = self._started + 2
        self._is_visible = False
        self._valued = self._report_embedded = 0

    def add(self, chunk: ValuedChunk) -> None:
        """Count a chunk, and show the progress if it is time."""
        self._valued += len(chunk.rows)
        self._report_embedded += chunk.embedded
        now = time.monotonic()
        if now < self._next:
            return
        seconds = now - self._started
        noun, count = ("traces", self._valued) if self._valued else ("traces embedded", self._report_embedded)
        text = f"{count:,} {noun}, {count / seconds:,.0f} a second"
        click.echo(f"\r\x1b[K{text}" if self._live else text, err=True, nl=not self._live)
        self._is_visible = True
        self._next = now + (0.2 if self._live else seconds)

    def clear(self) -> None:
        """Remove the line of progress from a terminal."""
        if self._live and self._is_visible:
            click.echo("\r\x1b[K", err=True, nl=False)


def _print_report(report: ValueReport, *, as_json: bool) -> None:
    from fairtrial.cli.console import console

    if as_json:
        echo(report.totals(), err=True)
    else:
        report.print_table(console())
    for line in report.examples():
        echo(line, err=True)


def _exit_code(report: ValueReport) -> int:
    if report.refused_count and not report.scored_count:
        return exit_codes.USAGE
    if report.fail_under is None:
        return exit_codes.OK
    if report.below_count:
        echo(f"{report.below_count:,} below --fail-under {report.fail_under:g}", err=True)
        return exit_codes.FAILED
    return exit_codes.UNSCORED if report.refused_count else exit_codes.OK
