"""`fairtrial label`: people judge outcomes of a run in a browser."""

from __future__ import annotations

import getpass

import click

from fairtrial.cli import completion
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags
from fairtrial.cli.options.viewer_options import ViewerPlace, viewer_options
from fairtrial.errors import UsageError


def _read_answers(ctx: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Return the values `NAME=VALUE` of an option as numbers by the names of answers."""
    answers: dict[str, float] = {}
    for text in values:
        name, _, number = text.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = None
        if value is None or not name.strip() or name in answers:
            problem = f"must be NAME=VALUE with a number VALUE, each name once, got {text!r}"
            raise click.BadParameter(problem, ctx=ctx, param=option)
        answers[name] = value
    return answers


def _user() -> str:
    """Return the name of the user of this machine."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run under a number without a name
        return "me"


@command()
@click.argument("run", shell_complete=completion.runs)
@click.option("--criterion", default="", metavar="NAME", help="The criterion to label. Default: the only judged one.")
@click.option("--as", "labeler", default=_user, metavar="NAME", help="Who labels. Default: the user of this machine.")
@click.option(
    "--sample", default=100, show_default=True, type=click.IntRange(1), help="The number of outcomes to draw."
)
@click.option(
    "--by",
    type=click.Choice(["random", "uncertain", "disagreement", "stratum"]),
    default="random",
    show_default=True,
    help="random: equal chances; uncertain: close votes of the judge, and a fifth at random; disagreement: outcomes on "
    "which people disagree; stratum: half of each verdict.",
)
@click.option(
    "--failures",
    "is_failures",
    is_flag=True,
    help="Label failed attempts, whatever criterion failed: half at random, a third spread over the failure modes, the "
    "rest from those that belong to no mode.",
)
@click.option(
    "--part",
    type=click.Choice(["invocation", "rubric", "sentence", "question", "call", "message", "check"]),
    help="Label the parts of this kind instead of whole outcomes.",
)
@click.option(
    "--overlap",
    default=0.0,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="The share of the outcomes that several people label.",
)
@click.option(
    "--labelers", default=2, show_default=True, type=click.IntRange(2, 9), help="How many people label these outcomes."
)
@click.option(
    "--answer",
    "answers",
    multiple=True,
    callback=_read_answers,
    metavar="NAME=VALUE",
    help="An answer to choose, instead of yes and no. Repeatable.",
)
@click.option("--question", default="", metavar="TEXT", help="The question that people answer.")
@click.option("--seed", default=1, show_default=True, type=int, help="Another seed draws another sample.")
@click.option("--open", "is_open", is_flag=True, help="Show the judge's verdict and the labels of others.")
@viewer_options
@flags.add_store_option
def label(
    run: str,
    criterion: str,
    labeler: str,
    sample: int,
    by: str,
    is_failures: bool,
    part: str | None,
    overlap: float,
    labelers: int,
    answers: dict[str, float],
    question: str,
    seed: int,
    is_open: bool,
    place: ViewerPlace,
    store: str,
) -> None:
    """Label outcomes of a run in a browser, without seeing the judge's verdict.

    RUN is the beginning of the id of a run. The outcomes are drawn once, and the sample is kept with its probabilities.
    The same options continue the sample, other options draw another one. Each label is stored before the next outcome
    is shown. Several people can label at once, each with a name of their own.

    \b
    fairtrial label 20260102 --criterion final_response_match_v2
    fairtrial label 20260102 --criterion safety_v1 --as ann --sample 50 --overlap 0.5
    fairtrial label 20260102 --criterion safety_v1 --as eva --by disagreement
    fairtrial label 20260102 --failures --sample 50
    fairtrial label 20260102 --criterion helpful --answer wrong=0 --answer partly=0.5 --answer right=1
    """  # noqa: D301
    from fairtrial import api

    place.check_installed()
    if is_failures and (criterion or by != "random" or part is not None):
        raise UsageError(
            "--failures labels whole attempts; leave out --criterion, --by and --part", code="options-conflict"
        )
    request = api.QueueRequest(
        criterion,
        "failures" if is_failures else by,  # type: ignore[arg-type]
        sample,
        seed,
        part,  # type: ignore[arg-type]
        overlap,
        labelers,
        not is_open,
        answers,
        question,
    )
    queue = api.open_label_queue(store, run, request)
    done = f"{queue.progress.done} of {queue.progress.total} labels given"
    echo(f"queue {queue.number} of {queue.criterion}: {done}")
    place.serve(store, run, page="label", queue=str(queue.number), **{"as": labeler})
