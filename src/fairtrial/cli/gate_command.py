"""`fairtrial gate`: may this build go out?"""

from __future__ import annotations

from pathlib import Path

import click

from fairtrial.cli import completion, exit_codes, flags, trust_flags
from fairtrial.records.gate import Claim

_EXIT = {"passed": exit_codes.OK, "failed": exit_codes.FAILED, "undecided": exit_codes.UNSCORED}


@click.command()
@click.argument("run", shell_complete=completion.runs)
@trust_flags.claim_options
@trust_flags.about
@click.option("--valid-only", is_flag=True, help="Count attempts that say nothing about the agent as missing.")
@click.option("--allow-undecided", is_flag=True, help="Exit with 0 instead of 3 if a claim is undecided.")
@trust_flags.json_file
@flags.stored
@trust_flags.base_store
def gate(
    run: str,
    claims: list[Claim],
    against: str | None,
    about: str,
    valid_only: bool,
    allow_undecided: bool,
    json_file: Path | None,
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
    fairtrial gate 20261121 --gates gates.json --against 20261120
    """  # noqa: D301
    from fairtrial import api
    from fairtrial.cli.console import console, reader_may_leave

    if not claims:
        raise click.UsageError("needs a claim: --at-least X, --not-worse-by D, --better-by D, or --gates FILE")
    decision = api.gate(
        run,
        claims,
        against=against,
        about=trust_flags.about_of(about),
        valid_only=valid_only,
        store=store,
        base_store=base_store,
    )
    trust_flags.write(decision, json_file)
    if not trust_flags.is_stdout(json_file):
        with reader_may_leave():
            api.print_gate(console(), decision)
    code = _EXIT[decision.verdict]
    if code == exit_codes.UNSCORED and allow_undecided:
        click.echo("undecided, which --allow-undecided allows: exit code 0", err=True)
        code = exit_codes.OK
    return code
