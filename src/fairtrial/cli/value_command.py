"""fairtrial value: what are reasoning traces worth, and which of them are good enough to share?"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairtrial.cli import exit_codes
from fairtrial.cli.output_files import FileToWrite
from fairtrial.errors import UsageError, lacks_extra
from fairtrial.text.display import shortened, visible

if TYPE_CHECKING:
    from fairtrial.api.valuing import PlannedValuation
    from fairtrial.reports.value_report import Parquet, Totals
    from fairtrial.valuation.batch import ChunkResult, Redacted

SHOWN = 20
"""So many reasons, problems or places are told; the outputs hold all."""


@dataclass(frozen=True)
class Outputs:
    """Where the results go."""

    json: bool
    output: Path | None
    resume: bool
    parquet: Path | None
    keep: Path | None
    redactions: Path | None
    threshold: float | None
    fail_under: float | None

    def check(self, inputs: tuple[str, ...]) -> None:
        """Refuse, as UsageError, options that do not go together, and an output that is an input."""
        if self.keep is not None and self.threshold is None:
            raise UsageError("--keep needs --threshold: the least score of what is kept")
        if self.redactions is not None and self.keep is None:
            raise UsageError("--redactions needs --keep: only what is kept is redacted")
        if self.resume and self.output is None:
            raise UsageError("--resume needs --output: what is done is read from it")
        if self.resume and "-" in inputs:
            raise UsageError("--resume reads its input from the start, which standard input does not allow")
        for name, limit in (("--threshold", self.threshold), ("--fail-under", self.fail_under)):
            if limit is not None and not 0.0 <= limit <= 1.0:
                raise UsageError(f"{name}: must be a number from 0 to 1, got {limit!r}")
        targets = [one for one in (self.output, self.parquet, self.keep, self.redactions) if one is not None]
        sources = {Path(one).resolve() for one in inputs}
        seen: set[Path] = set()
        for one in targets:
            if one.resolve() in sources | seen:
                raise UsageError(f"{one}: would be written over, as an input or by another output")
            seen.add(one.resolve())


@dataclass
class _Told:
    """What is said on standard error after the results."""

    refused: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    redacted: Counter[str] = field(default_factory=Counter)
    places: list[str] = field(default_factory=list)
    below: int = 0


@click.command()
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line to standard output.")
@click.option("--output", "-o", type=FileToWrite(), help="Write JSON lines to a file.")
@click.option("--resume", is_flag=True, help="Go on where an earlier --output (and --keep) broke off.")
@click.option("--parquet", type=FileToWrite(), help="Write a Parquet file.")
@click.option("--threshold", type=float, help="The least score of a trace that is worth sharing, 0 to 1.")
@click.option(
    "--keep",
    type=FileToWrite(),
    help="Write the traces that reach --threshold to a file of JSON lines, without their secrets.",
)
@click.option("--redactions", type=FileToWrite(), help="Write what --keep took out, as JSON lines.")
@click.option("--fail-under", type=float, help="Exit with 1 if any trace scores less than this, 0 to 1.")
@click.option("--profile", default="default", help="Weights: default, finance, code, medical, customer_service.")
@click.option(
    "--novelty", default="sequence", help="Compare with those before (sequence), an index (corpus), or leave-one-out."
)
@click.option("--index", type=FileToWrite(), help="The saved novelty index.")
@click.option("--extend", is_flag=True, help="With --novelty corpus: add these traces to the index afterwards.")
@click.option("--ttl", type=float, metavar="SECONDS", help="How long a trace in the index counts. Default: for ever.")
@click.option(
    "--embedder", help="none, minilm, a folder, or sentence-transformers:NAME. Default: minilm where installed."
)
@click.option("--confidence", type=float, help="The agent's confidence, 0 to 1, of traces that do not say it.")
@click.option("--success/--no-success", default=None, help="Whether traces that do not say it reached their goal.")
@click.option("--from-run", metavar="RUN", help="Value the traces of a stored run; success is what its verdicts say.")
@click.option("--store", help="The store of --from-run: a SQLAlchemy URL.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes to use. Default: one for each core.")
def value(files: tuple[str, ...], **options: Any) -> None:
    """Say what reasoning traces are worth, 0 to 1, and why.

    FILE is JSON, JSON lines, a folder of them, or - for JSON lines on standard input: ReasoningTraces, or any trace
    that fairtrial reads.

    \b
    fairtrial value traces.jsonl
    fairtrial value traces/ --threshold 0.6 --keep worth_sharing.jsonl --json
    """  # noqa: D301
    try:
        sys.exit(_value(files, options))
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"{error.filename or 'file'}: {error.strerror or error}") from error
    except KeyboardInterrupt:
        click.echo("\ninterrupted; what --output holds can be continued with --resume", err=True)
        sys.exit(exit_codes.INTERRUPTED)


def _value(files: tuple[str, ...], options: dict[str, Any]) -> int:
    # Processes are the parallelism; a second thread in each would only wait for the others.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from fairtrial.api.valuing import KeepFilter, ValueOptions, plan_value

    asked_for = ("output", "resume", "parquet", "keep", "redactions", "threshold", "fail_under")
    outputs = Outputs(json=options["as_json"], **{name: options[name] for name in asked_for})
    outputs.check(files)
    if bool(files) == bool(options["from_run"]):
        raise UsageError("give either FILE... or --from-run RUN")
    if options["store"] and not options["from_run"]:
        raise UsageError("--store needs --from-run: only a stored run is read from it")
    if options["extend"] and options["novelty"] != "corpus":
        raise UsageError("--extend needs --novelty corpus: a sequence extends its index always, leave-one-out has none")
    gate = KeepFilter(threshold=outputs.threshold, keep=outputs.keep is not None)
    same = ("profile", "novelty", "index", "extend", "ttl", "embedder", "confidence", "success", "jobs")
    asked = ValueOptions(gate=gate, **{name: options[name] for name in same})
    valuing = plan_value(files, asked, from_run=options["from_run"], store=options["store"])
    for note in valuing.notes:
        click.secho(f"note: {visible(note)}", err=True, bold=True)
    return _run(valuing, outputs)


def _run(valuing: PlannedValuation, outputs: Outputs) -> int:
    from fairtrial.reports.value_report import Parquet, Totals

    told, totals = _Told(), Totals(outputs.threshold)
    with ExitStack() as stack:
        valuing, again = _resumed(valuing, outputs, totals, told)
        redactions = stack.enter_context(outputs.redactions.open("wb")) if outputs.redactions else None
        parquet = _parquet(outputs.parquet, stack) if outputs.parquet else None
        if redactions:
            redactions.writelines(map(_redaction, again))
        if parquet and outputs.resume and outputs.output and outputs.output.exists():
            with outputs.output.open("rb") as earlier:
                parquet.add(earlier)
        mode = "ab" if outputs.resume else "wb"
        output = stack.enter_context(outputs.output.open(mode)) if outputs.output else None
        keep = stack.enter_context(outputs.keep.open(mode)) if outputs.keep else None
        for done in _metered(valuing):
            if keep:
                keep.writelines(kept + b"\n" for kept in done.kept)
                keep.flush()  # before the output, so that what the output says is kept, is
            lines = b"".join(line + b"\n" for line in done.lines)
            if output:
                output.write(lines)
                output.flush()
            if outputs.json:
                sys.stdout.buffer.write(lines)
            if parquet:
                parquet.add(done.lines)
            if redactions:
                redactions.writelines(map(_redaction, done.redacted))
            _tell(done, outputs, totals, told)
        if isinstance(parquet, Parquet):
            parquet.close(whole=True)
    return _end(outputs, totals, told)


def _parquet(path: Path, stack: ExitStack) -> Parquet:
    from fairtrial.reports.value_report import Parquet

    try:
        parquet = Parquet(path)
    except ImportError as error:
        raise UsageError(lacks_extra("--parquet", "parquet")) from error
    stack.push(lambda kind, _error, _trace: parquet.close(whole=False) if kind else None)
    return parquet


def _resumed(
    valuing: PlannedValuation, outputs: Outputs, totals: Totals, told: _Told
) -> tuple[PlannedValuation, list[Redacted]]:
    """Cut what a crash left half written, skip what is done already, and return what was redacted in it."""
    if not outputs.resume or outputs.output is None or not outputs.output.exists():
        return valuing, []
    _keep_lines(outputs.output, None)
    with outputs.output.open("rb") as lines:
        valuing, scores = valuing.after(line for line in lines)
    passed = sum(score is not None and score >= (outputs.threshold or 0.0) for score in scores)
    if outputs.keep is not None and outputs.keep.exists():
        _keep_lines(outputs.keep, passed)
    elif outputs.keep is not None and passed:
        raise UsageError(f"--resume: {outputs.keep}: is not there, though {passed} traces were kept")
    for score in scores:
        _count(score, outputs, told)
        totals.add("", b'{"id":"(done before)","score":null}', score)
    totals.rows.clear()
    again = list(valuing.redacted(scores))
    _tell_redacted(again, told)
    click.echo(f"resumed after {len(scores):,} traces", err=True)
    return valuing, again


def _keep_lines(path: Path, count: int | None) -> None:
    """Cut a file after its first `count` whole lines, or after its last whole one."""
    end = seen = 0
    with path.open("r+b") as file:
        for line in file:
            if not line.endswith(b"\n") or seen == count:
                break
            end, seen = end + len(line), seen + 1
        if count is not None and seen < count:
            raise UsageError(f"--resume: {path}: holds {seen} of the {count} traces that were kept")
        file.truncate(end)


def _metered(valuing: PlannedValuation) -> Iterator[ChunkResult]:
    """Yield results; after two seconds say on standard error how far they are, ever more seldom where it is a file."""
    started = time.monotonic()
    next_time = started + 2
    live = sys.stderr.isatty()
    count = embedded = 0
    for done in valuing.results():
        yield done
        count += len(done.lines)
        embedded += done.embedded
        now = time.monotonic()
        if now >= next_time:
            what, many = ("traces", count) if count else ("traces embedded", embedded)
            text = f"{many:,} {what}, {many / (now - started):,.0f} a second"
            click.echo(f"\r\x1b[K{text}" if live else text, err=True, nl=not live)
            next_time = now + (0.2 if live else now - started)
    if live and next_time > started + 2:
        click.echo("\r\x1b[K", err=True, nl=False)


def _tell(done: ChunkResult, outputs: Outputs, totals: Totals, told: _Told) -> None:
    import msgspec

    for origin, line, score in zip(done.origins, done.lines, done.scores, strict=True):
        totals.add(origin, line, score)
        _count(score, outputs, told)
        if score is None and len(told.refused) < SHOWN:
            errors = msgspec.json.decode(line)["errors"]
            told.refused += [f"{origin}: {one['pointer'] or '/'}: {one['problem']}" for one in errors]
        elif score is not None and score < (outputs.threshold or 0.0) and len(told.left_out) < SHOWN:
            told.left_out.append(_why(msgspec.json.decode(line), outputs.threshold or 0.0))
    _tell_redacted(done.redacted, told)


def _tell_redacted(redacted: list[Redacted], told: _Told) -> None:
    for one in redacted:
        told.redacted[one.kind] += 1
        if len(told.places) < SHOWN:
            told.places.append(f"{one.id} {one.pointer}: {one.kind} ({one.detail})")


def _count(score: float | None, outputs: Outputs, told: _Told) -> None:
    told.below += score is not None and outputs.fail_under is not None and score < outputs.fail_under


def _why(result: dict[str, Any], threshold: float) -> str:
    names = ("complexity", "novelty", "tool_diversity", "outcome_confidence")
    parts = ", ".join(f"{name.replace('_', ' ')} {result[name]:.3f}" for name in names)
    rules = f"; {', '.join(result['overrides'])}" if result["overrides"] else ""
    return f"{result['id']}: {result['score']:.4f} < {threshold:g} ({parts}{rules})"


def _end(outputs: Outputs, totals: Totals, told: _Told) -> int:
    """Print what was found, and return the exit code."""
    from fairtrial.cli.console import console

    if outputs.json:
        sys.stdout.buffer.flush()
        click.echo(totals.sentence(), err=True)
    else:
        totals.print(console())
    left_out = totals.scored - totals.passed if outputs.threshold is not None else 0
    _list("left out", left_out, told.left_out)
    _list("refused", totals.refused, told.refused)
    total = sum(told.redacted.values())
    kinds = ", ".join(f"{count} {kind}" for kind, count in told.redacted.most_common())
    _list(f"redacted before keeping: {kinds};", total, told.places)
    if totals.refused and not totals.scored:
        return exit_codes.USAGE
    if outputs.fail_under is None:
        return exit_codes.OK
    if told.below:
        click.echo(f"{told.below:,} below --fail-under {outputs.fail_under:g}", err=True)
        return exit_codes.FAILED
    return exit_codes.UNSCORED if totals.refused else exit_codes.OK


def _list(what: str, count: int, reasons: list[str]) -> None:
    if not count:
        return
    click.echo(f"{what} {count:,}:", err=True)
    for reason in reasons[:SHOWN]:
        click.echo(f"  {visible(shortened(reason, 400))}", err=True)
    if count > SHOWN:
        click.echo("  …", err=True)


def _redaction(one: Redacted) -> bytes:
    import msgspec

    return msgspec.json.encode(one._asdict()) + b"\n"
