"""`fairtrial scenarios`: new scenarios for an agent, written by a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fairtrial.api import DEFAULT_MODEL
from fairtrial.cli import exit_codes
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options.dotenv_files import read_environment
from fairtrial.cli.options.judge_flags import call_options, find_models
from fairtrial.cli.outputs.output_files import FileToWrite
from fairtrial.errors import CaseError, UsageError


@command()
@click.argument("agent")
@click.option("--count", type=click.IntRange(1), default=10, show_default=True, help="The number of scenarios.")
@click.option("--instruction", default="", metavar="TEXT", help="The topic of the scenarios.")
@click.option("--model", default=DEFAULT_MODEL, show_default=True, metavar="NAME", help="The model that writes them.")
@click.option("-o", "--output", metavar="FILE", type=FileToWrite(), help="The file to write.  [default: stdout]")
@call_options
def scenarios(agent: str, count: int, instruction: str, model: str, output: Path | None, **calls: Any) -> int:
    """Write new scenarios for an agent with a language model, varied and without repetitions.

    AGENT is a target as for `fairtrial run`. The model sees its instructions, tools and documentation. `fairtrial run`
    reads the file.

    \b
    fairtrial scenarios adk:shop_agent --count 20 -o shop.scenarios.json
    fairtrial scenarios shop.agent:reply --instruction "Refunds, in Korean"

    Exit codes: 0 as many as asked for, 1 fewer, because the model repeated itself, 2 wrong input or usage.
    """  # noqa: D301
    import json

    from fairtrial import api
    from fairtrial.cli.output import stdout_as_stderr

    read_environment(agent=agent, paths=["."])
    try:
        with stdout_as_stderr():
            new_scenarios = api.scenarios(
                agent, count=count, instruction=instruction, model=model, models=find_models(calls)
            )
    except CaseError as error:
        raise UsageError(f"{model}: {error}", code="unusable-model") from None
    text = json.dumps(api.scenarios_file(new_scenarios), ensure_ascii=False, indent=2)
    if output is None:
        click.echo(text)
    else:
        try:
            output.write_text(f"{text}\n", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{output}: {error.strerror}", code="unwritable-file") from None
    if len(new_scenarios) < count:
        echo(f"{len(new_scenarios)} of {count}: the model repeated itself", err=True)
    return exit_codes.OK if len(new_scenarios) == count else exit_codes.FAILED
