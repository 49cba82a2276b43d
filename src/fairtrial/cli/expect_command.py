"""`fairtrial expect`: an eval set from recordings."""

from __future__ import annotations

from pathlib import Path

import click

from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.options import flags, trust_flags
from fairtrial.cli.options.query_flags import needs_files, query_options
from fairtrial.cli.outputs.output_files import FileToWrite, refuse_overwriting
from fairtrial.text.display import count, visible_line


@command()
@click.argument("recorded", nargs=-1)
@click.option("-o", "--output", metavar="FILE", required=True, type=FileToWrite(), help="The eval set to write.")
@trust_flags.json_file
@flags.lenient
@query_options("recorded")
def expect(recorded: tuple[str, ...], output: Path, json_file: Path | None, lenient: bool) -> None:
    """Write an eval set that expects what recordings show: their messages, calls and replies.

    RECORDED is a file or a folder that `fairtrial score` reads. Read the eval set before you use it: whatever the agent
    did in the recording becomes right. A case with several recordings gets the first.

    \b
    fairtrial record shop.evalset.json --agent shop.agent:reply -o shop.jsonl
    fairtrial expect shop.jsonl -o expected.evalset.json
    """  # noqa: D301
    from fairtrial import api

    needs_files(recorded, "RECORDED")
    refuse_overwriting("--output", output, map(Path, recorded))
    eval_set, warnings = api.expect(recorded, output.name.partition(".")[0], lenient=lenient)
    for warning in warnings:
        echo(f"warning: {visible_line(warning)}", err=True)
    api.save_eval_set(eval_set, output)
    written = api.WrittenEvalSet(str(output), tuple(case.id for case in eval_set.cases), tuple(warnings))
    trust_flags.write(written, json_file)
    if not trust_flags.is_stdout(json_file):
        echo(f"{output}: {count(len(eval_set.cases), 'case')}; read it, and correct what the agent did wrong")
