"""`fairtrial receive`: receive spans, and score conversations when they are finished."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click

from fairtrial import api
from fairtrial.cli import exit_codes
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags
from fairtrial.cli.options.dotenv_files import read_environment
from fairtrial.cli.options.judge_flags import asking_options, make_judges
from fairtrial.cli.options.pushing_flags import push_options
from fairtrial.cli.options.trace_flags import collect_traces, trace_options
from fairtrial.cli.output import Output, announce, open_posts, report_run
from fairtrial.cli.outputs.report_files import ReportFiles, report_options
from fairtrial.errors import UsageError, lacks_extra
from fairtrial.text.display import count, visible_line

if TYPE_CHECKING:
    from fairtrial.records.result import CaseResult

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def _read_address(ctx: click.Context, option: click.Parameter, value: str) -> tuple[str, int]:
    """Return the host and the port in `HOST:PORT`."""
    host, _, port = value.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise click.BadParameter(f"must be HOST:PORT, such as 127.0.0.1:4318, got {value!r}", ctx, option)
    return host.strip("[]"), int(port)


def _read_seconds(ctx: click.Context, option: click.Parameter, value: str) -> float:
    """Return a duration such as 60, 60s or 5m as seconds."""
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    unit = units.get(value[-1:], 1.0)
    number = value[:-1] if value[-1:] in units else value
    try:
        seconds = float(number) * unit
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise click.BadParameter(f"must be a time such as 60s or 5m, got {value!r}", ctx, option)
    return seconds


@command()
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default="127.0.0.1:4318",
    show_default=True,
    callback=_read_address,
    help="The address for exporters. Another address than this machine needs a token.",
)
@click.option(
    "--token",
    envvar="FAIRTRIAL_RECEIVE_TOKEN",
    default="",
    metavar="TEXT",
    help="Exporters send it as 'Authorization: Bearer TEXT'.  [env: FAIRTRIAL_RECEIVE_TOKEN]",
)
@click.option("--against", multiple=True, metavar="EVALSET", help="An eval set with the expectations. Repeatable.")
@click.option("--config", metavar="FILE", type=click.Path(dir_okay=False), help="The criteria.")
@click.option(
    "--idle",
    metavar="TIME",
    default="60s",
    show_default=True,
    callback=_read_seconds,
    help="A conversation is finished when nothing came for so long.",
)
@click.option(
    "--sample",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    show_default=True,
    help="The share of the conversations that are scored.",
)
@click.option("--forward", metavar="URL", help="Pass every request on to this service, unchanged.")
@click.option(
    "--redact",
    type=click.Choice(["people"]),
    help="Remove personal data from spans before they are stored, too, and not only secrets.",
)
@click.option("--new", "is_new", is_flag=True, help="Start a new run, even if one with the same options exists.")
@flags.thresholds
@flags.lenient
@flags.allow_code
@flags.concurrency
@trace_options
@asking_options
@report_options
@push_options
@click.option("--store", default=api.DEFAULT_URL, show_default=True, metavar="URL", help="Any SQLAlchemy URL.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but the verdict at the end.")
def receive(
    listen: tuple[str, int],
    token: str,
    against: tuple[str, ...],
    config: str | None,
    idle: float,
    sample: float,
    forward: str | None,
    redact: str | None,
    is_new: bool,
    thresholds: dict[str, float],
    lenient: bool,
    allow_code: bool,
    concurrency: int,
    reports: ReportFiles,
    push: str | None,
    yes: bool,
    store: str,
    quiet: bool,
    **options: Any,
) -> int:
    """Receive spans from OpenTelemetry, and score conversations when they are finished.

    Exporters send OTLP over HTTP, as protobuf or JSON. Spans are stored before they are acknowledged, so that none is
    lost if this process is killed. Start it again with the same options, and it goes on with the same run. Ctrl-C
    scores what is finished, keeps the rest, and prints the report.

    \b
    fairtrial receive --against shop.evalset.json
    fairtrial receive --config production.json --sample 0.1 --max-cost 5 --idle 5m
    fairtrial receive --config production.json --forward http://collector:4318
    FAIRTRIAL_RECEIVE_TOKEN=... fairtrial receive --config production.json --listen 0.0.0.0:4318
    curl -X POST http://127.0.0.1:4318/v1/conversations/ID/end

    Set in the agent: OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
    """  # noqa: D301
    try:
        from fairtrial.view.receiver import ReceiverApp
        from fairtrial.view.server_thread import serve
    except ImportError as error:
        raise UsageError(f"{lacks_extra('receive', 'serve')} ({error})", code="missing-package") from None

    if listen[0] not in _LOOPBACK and not token:
        raise UsageError(
            f"--listen: {listen[0]} can be reached by other machines; set FAIRTRIAL_RECEIVE_TOKEN to a secret",
            code="unsafe-input",
        )
    read_environment(config=config, paths=against)
    plan = api.plan_receive(
        list(against) or None,
        config,
        api.ReadOptions((), lenient, allow_code=allow_code, thresholds=thresholds, traces=collect_traces(options)),
        api.RunOptions(concurrency=concurrency, judges=make_judges(options)),
        idle=idle,
        sample=sample,
        redact=redact,
    )
    output = Output(reports, quiet, push=push, yes=yes)
    announce(plan.plan, output)
    with ExitStack() as stack:
        receiver = api.open_receiver(plan, store, is_new=is_new)
        forwarder = stack.enter_context(api.Forwarder(forward)) if forward else None
        url = stack.enter_context(serve(ReceiverApp(receiver, token, forwarder).build(), *listen))
        stack.enter_context(_stopped_by_signals(receiver))
        if posts := open_posts(store):
            stack.enter_context(posts.while_receiving(receiver.info))
        echo(f"receiving at {url}, run {receiver.info.id}; press Ctrl-C to end", err=True)

        def on_result(result: CaseResult) -> None:
            if not quiet:
                echo(f"{result.verdict.value}: {visible_line(result.title)}", err=True)
            if posts:
                posts.note_result()

        run = receiver.score(on_result)
    _print_rest(receiver, forwarder)
    if not len(run.cases):
        echo("no conversation was scored", err=True)
        return exit_codes.OK
    return report_run(run, store, output, posts)


@contextmanager
def _stopped_by_signals(receiver: api.Receiver) -> Iterator[None]:
    """Let the first Ctrl-C, or SIGTERM, stop the receiver. The second Ctrl-C interrupts the command."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def stop(*_: object) -> None:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        receiver.stop()

    try:
        for number in handlers:
            signal.signal(number, stop)
    except ValueError:  # only the main thread gets signals
        handlers.clear()
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def _print_rest(receiver: api.Receiver, forwarder: api.Forwarder | None) -> None:
    for warning in receiver.warnings:
        echo(f"warning: {visible_line(warning)}", err=True)
    if waiting := receiver.waiting:
        stored = count(waiting, "trace")
        echo(f"stored {stored} that the run has not scored yet; the same command goes on with the rest", err=True)
    if forwarder is not None and forwarder.failures:
        echo(f"warning: {forwarder.failures} requests were not forwarded: {forwarder.problem}", err=True)
