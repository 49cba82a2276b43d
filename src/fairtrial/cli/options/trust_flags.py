"""Options about confidence and claims that the commands share."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from fairtrial.cli.headed_command import under
from fairtrial.cli.options.project_flags import project_claims
from fairtrial.cli.outputs.output_files import FileToWrite

if TYPE_CHECKING:
    from fairtrial.records.gate import Claim, ClaimKind
    from fairtrial.records.run_comparison import About

about = click.option(
    "--about",
    type=click.Choice(["cases-like-these", "these-cases"]),
    default="cases-like-these",
    show_default=True,
    help="Whether the cases are a sample, or fixed. Fixed cases need 2 or more attempts each.",
)
json_file = click.option(
    "--json",
    "json_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the result as JSON; - is stdout.",
)
markdown_file = click.option(
    "--markdown", "markdown_file", metavar="FILE", type=FileToWrite(), help="Write Markdown for a comment."
)
cluster = click.option(
    "--cluster",
    metavar="FIELD",
    help="Take cases with the same FIELD for one unit: a key of their groups, language, persona, or tool.",
)
by = click.option(
    "--by", metavar="FIELD", help="Divide the cases by FIELD, too: a key of their groups, language, persona, or tool."
)
_at_least = click.option("--at-least", type=float, metavar="X", help="Claim: the measure is at least X.")
_claim = click.option(
    "--claim",
    "claim_texts",
    multiple=True,
    metavar="TEXT",
    help="A claim, such as cases>=0.8 or attack_success<=0.05. Repeatable.",
)
_not_worse_by = click.option(
    "--not-worse-by", type=float, metavar="D", help="Claim: it is not worse than in BASE by D or more."
)
_better_by = click.option(
    "--better-by", type=float, metavar="D", help="Claim: it is better than in BASE by more than D."
)
_against = click.option("--against", metavar="BASE", help="The base run of claims about a difference.")
_measure = click.option(
    "--measure",
    metavar="NAME",
    help="The measure of a claim. It is cases, cases:pass, a criterion, or CRITERION:pass.  [default: cases]",
)
_alpha = click.option("--alpha", type=float, help="The largest probability that a false claim passes.  [default: 0.05]")
_shared_cases = click.option(
    "--shared-cases", is_flag=True, help="Claims are about the cases that both runs hold unchanged, and about no other."
)
even_so = click.option("--even-so", is_flag=True, help="Compare measures although criteria or options differ.")
_gates = click.option(
    "--gates",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help='Claims in a JSON list, such as [{"measure": "cases", "at_least": 0.8}].',
)


def _read_claim(text: str, alpha: float) -> Claim:
    from fairtrial import api

    try:
        return api.read_claim(text, alpha)
    except ValueError as error:
        raise click.UsageError(f"--claim {error}") from None


def claim_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that make a claim. The command receives `claims` and `against`."""

    @functools.wraps(command)
    def call_with_claims(
        *args: Any,
        at_least: float | None,
        claim_texts: tuple[str, ...],
        not_worse_by: float | None,
        better_by: float | None,
        measure: str | None,
        alpha: float | None,
        shared_cases: bool,
        gates: Path | None,
        **options: Any,
    ) -> Any:
        from fairtrial.records.gate import Claim

        limits: dict[ClaimKind, float | None] = {
            "at_least": at_least,
            "not_worse_by": not_worse_by,
            "better_by": better_by,
        }
        claims = [
            Claim(kind, limit, measure or "cases", 0.05 if alpha is None else alpha, shared_cases)
            for kind, limit in limits.items()
            if limit is not None
        ]
        claims += [_read_claim(text, 0.05 if alpha is None else alpha) for text in claim_texts]
        if gates is not None:
            from fairtrial import api

            if claims or measure is not None or alpha is not None or shared_cases:
                raise click.UsageError("--gates holds the claims, their measures and alphas; leave the options out")
            claims = api.claims_in(gates)
        return command(*args, claims=claims or list(project_claims()), **options)

    frequent = under("Claims", _at_least, _claim, _not_worse_by, _better_by, _against)
    return frequent(under("Claims", _measure, _alpha, _shared_cases, _gates, rare=True)(call_with_claims))


base_store = click.option("--base-store", metavar="URL", help="The store of the base run.  [default: the same store]")


def read_about(text: str) -> About:
    """Return the value of --about, which click has checked."""
    return cast("About", text)


def is_stdout(path: Path | None) -> bool:
    """Whether the JSON goes to stdout, so that nothing else may."""
    return path == Path("-")


def write(document: Any, path: Path | None) -> None:
    """Write a document as JSON, if a file is asked for."""
    from fairtrial import api

    if path is None:
        return
    encoded = api.encode_document(document)
    if is_stdout(path):
        sys.stdout.buffer.write(encoded)
        sys.stdout.buffer.flush()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded)


def report(path: Path | None, command: str, **parts: Any) -> None:
    """Write the result of a command as JSON, if a file is asked for. `parts` are fields of `CommandResult`."""
    from fairtrial import api

    if path is not None:
        write(api.CommandResult(command, **parts), path)


def write_markdown(texts: Iterable[str], path: Path | None) -> None:
    """Write texts of Markdown one after the other, if a file is asked for."""
    if path is not None:
        path.write_text("\n".join(texts), encoding="utf-8", errors="backslashreplace")
