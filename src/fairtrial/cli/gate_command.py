"""The command `fairtrial gate`, which decides whether a build may go out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairtrial.cli import completion, exit_codes
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags, trust_flags
from fairtrial.cli.options.project_flags import project_options

if TYPE_CHECKING:
    from fairtrial.records.gate import Claim

_EXIT = {"passed": exit_codes.OK, "failed": exit_codes.FAILED, "undecided": exit_codes.UNSCORED}


@command()
@click.argument("run", shell_complete=completion.runs)
@project_options
@trust_flags.claim_options
@trust_flags.about
@trust_flags.cluster
@click.option("--valid-only", is_flag=True, help="Count attempts that say nothing about the agent as missing.")
@trust_flags.even_so
@click.option("--allow-undecided", is_flag=True, help="Exit with 0 instead of 3 if a claim is undecided.")
@click.option(
    "--audit", is_flag=True, help="Decide nothing: say how often these claims are decided rightly with so many cases."
)
@click.option(
    "--drop",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    metavar="D",
    help="With --audit, how far below a limit an agent is that should be noticed, as a share of the range.",
)
@trust_flags.json_file
@trust_flags.markdown_file
@flags.add_store_option
@trust_flags.base_store
def gate(
    run: str,
    claims: list[Claim],
    against: str | None,
    about: str,
    cluster: str | None,
    valid_only: bool,
    even_so: bool,
    allow_undecided: bool,
    audit: bool,
    drop: float,
    json_file: Path | None,
    markdown_file: Path | None,
    store: str,
    base_store: str | None,
) -> int:
    """Decide whether claims about a run hold: passed, failed or undecided.

    A claim that is false passes with a probability of at most alpha. Attempts without a value are given the worst and
    then the best value; the verdict holds for both. For example, a judge that breaks on hard cases
    cannot open a gate. If you look at growing data twice, the error is spent twice: use
    `fairtrial run --until-decided` instead.

    Exit codes: 0 passed, 1 failed, 3 undecided, 2 wrong input.

    \b
    fairtrial gate 20261121 --at-least 0.8
    fairtrial gate 20261121 --not-worse-by 0.05 --against 20261120
    fairtrial gate candidate.json --better-by 0 --against base.json --measure response_match_score
    fairtrial gate 20261121 --claim "attack_success<=0.05"
    fairtrial gate 20261121 --gates gates.json --against 20261120
    fairtrial gate 20261121 --gates gates.json --against 20261120 --audit
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.console import console, reader_may_leave

    if not claims:
        raise click.UsageError(
            "needs a claim: --at-least X, --claim TEXT, --not-worse-by D, --better-by D, or --gates FILE"
        )
    if audit:
        if about == "these-cases":
            raise click.UsageError("--audit says how often a claim about cases like these is decided rightly")
        report = api.audit_gate(
            run, claims, against=against, drop=drop, cluster=cluster, store=store, base_store=base_store
        )
        trust_flags.write(report, json_file)
        if not trust_flags.is_stdout(json_file):
            api.print_gate_audit(console(), report)
        return exit_codes.OK
    decision = api.gate(
        run,
        claims,
        against=against,
        about=trust_flags.read_about(about),
        cluster=cluster,
        valid_only=valid_only,
        even_so=even_so,
        store=store,
        base_store=base_store,
    )
    trust_flags.write(decision, json_file)
    trust_flags.write_markdown([api.gate_markdown(decision)], markdown_file)
    if not trust_flags.is_stdout(json_file):
        with reader_may_leave():
            api.print_gate(console(), decision)
    code = _EXIT[decision.verdict]
    if code == exit_codes.UNSCORED and allow_undecided:
        echo("undecided, which --allow-undecided allows: exit code 0", err=True)
        code = exit_codes.OK
    return code
