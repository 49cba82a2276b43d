"""`fairtrial init`: write the files that an evaluation starts from."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from fairtrial import api
from fairtrial.cli import exit_codes
from fairtrial.cli.console import echo
from fairtrial.cli.headed_command import command
from fairtrial.cli.option_names import name_option
from fairtrial.cli.options import trust_flags
from fairtrial.cli.output import stdout_as_stderr
from fairtrial.errors import spelling
from fairtrial.text.display import count, visible, visible_line
from fairtrial.text.languages import say

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording
    from fairtrial.records.result import CaseResult, Verdict

_SHOWN_WARNINGS = 3
_READABLE = click.Path(exists=True, dir_okay=False, path_type=Path)


@command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--agent", metavar="TARGET", help="Run this agent, and write a gate; see `fairtrial run --help`.")
@click.option("--csv", "questions", metavar="FILE", type=_READABLE, help="A table or an eval set with the questions.")
@click.option("--recorded", metavar="FILE", type=_READABLE, help="Conversations that show what is right.")
@click.option(
    "--example",
    metavar="NAME",
    help="Copy an example: the agent `shop`, or one dialogue as a tool writes it, for example langfuse.",
)
@click.option(
    "--for",
    "coding_agent",
    metavar="PROGRAM",
    help="Install the skill about fairtrial for claude, codex, gemini or opencode in this folder.",
)
@click.option("--skill", is_flag=True, help="FOLDER holds SKILL.md: write its prompts and trigger queries.")
@trust_flags.json_file
def init(
    folder: Path | None,
    agent: str | None,
    questions: Path | None,
    recorded: Path | None,
    example: str | None,
    coding_agent: str | None,
    skill: bool,
    json_file: Path | None,
) -> int:
    """Write a project file, an eval set, and an agent or a gate to start from.

    FOLDER is `evals` by default. Without options, the files of an example are written. In a terminal, up to three
    questions ask for your agent and your questions first. Files that exist are never overwritten.

    With --agent, --csv or --recorded, everything up to a gate is made from them: expectations, criteria that need no
    model, a first run, fairtrial.toml, and a workflow for GitHub. If the questions have no expected replies, the first
    replies of the agent become the expectations.

    \b
    fairtrial init
    fairtrial init --agent shop.agent:reply --csv questions.csv
    fairtrial init --recorded traces.jsonl
    fairtrial init --example langfuse
    fairtrial init --for claude
    fairtrial init my-skill --skill
    """  # noqa: D301
    if sum(map(bool, (skill, example, coding_agent, agent or questions or recorded))) > 1:
        raise click.UsageError("takes --skill, --example, --for, or --agent with its files, and only one of them")
    if questions and recorded:
        raise click.UsageError("takes --csv or --recorded, and only one of them")
    own_output = stdout_as_stderr() if trust_flags.is_stdout(json_file) else nullcontext()
    with own_output, spelling(_name_option):
        if coding_agent:
            start = _Start([api.write_agent_skill(coding_agent)])
        elif example:
            start = _Start(*api.write_example(example, folder))
        elif skill:
            folder = folder or Path()
            files = api.write_skill_evals(folder)
            start = _Start(files, f"replace each TODO, then fairtrial run {shlex.quote(str(folder))} --agent claude")
        else:
            beginning = _ask(api.Beginning(agent, questions, recorded), asks_first=folder is None)
            write = _write_starter if beginning == api.Beginning() else partial(_write_gate, beginning)
            start = write(folder or Path("evals"))
        for file in start.files:
            echo(visible(f"wrote {file}"))
        for remark in start.remarks:
            echo(visible(remark))
        if start.following:
            echo(visible(f"next: {start.following}"))
    notes = (*start.remarks, *([f"next: {start.following}"] if start.following else []))
    trust_flags.report(json_file, "init", files=tuple(map(str, start.files)), ids=start.run_ids, notes=notes)
    return exit_codes.OK


class _Start(NamedTuple):
    """The files that were written, the step that follows, remarks before it, and the id of a run."""

    files: Sequence[Path]
    following: str = ""
    remarks: tuple[str, ...] = ()
    run_ids: tuple[str, ...] = ()


def _write_starter(folder: Path) -> _Start:
    files = [*api.write_starter(folder)]
    if (project := api.write_project(folder)) is not None:
        return _Start([*files, project], "fairtrial run")
    target = f"{folder / 'agent.py'}:reply"
    return _Start(files, f"fairtrial run {shlex.quote(str(folder))} --agent {shlex.quote(target)}")


def _ask(material: api.Beginning, *, asks_first: bool) -> api.Beginning:
    """Return what the user has. In a terminal, at most three questions ask for what the options leave out."""
    has_material = bool(material.questions or material.recorded)
    if (material == api.Beginning() and not asks_first) or (material.agent and has_material) or material.recorded:
        return material
    if not sys.stdin.isatty():
        if material.agent:
            raise click.UsageError("--agent needs --csv FILE with questions, or --recorded FILE")
        return material
    agent = material.agent or _prompt("Your agent, for example shop.agent:reply (Enter: none)")
    if material.questions or not agent:
        return api.Beginning(agent or None, material.questions)
    text = _prompt("A file with questions, or the first message to the agent")
    if Path(text).is_file():
        return api.Beginning(agent, Path(text))
    second = _prompt("A second message (Enter: none)") if text else ""
    return api.Beginning(agent, messages=tuple(filter(None, (text, second))))


def _prompt(question: str) -> str:
    return str(click.prompt(say(question), default="", show_default=False)).strip()


def _write_gate(beginning: api.Beginning, folder: Path) -> _Start:
    """Make the cases, run them, and write the files of a gate of the size that the run allows."""
    from fairtrial.cli.console import console, reader_may_leave
    from fairtrial.cli.options.dotenv_files import read_environment
    from fairtrial.cli.progress import Progress

    api.check_gate_files()
    read_environment(agent=beginning.agent, paths=[str(folder)])
    target = api.name_cases(beginning, folder)

    @contextmanager
    def watch(total: int) -> Iterator[api.OnRecording]:
        with Progress(total, quiet=False, activity="recording", problem="broken") as progress:

            def show(recording: Recording, _: Sequence[str]) -> None:
                progress.advance(good=recording.failure is None)

            yield show

    cases = api.first_cases(beginning, target, watch)
    for warning in cases.warnings[:_SHOWN_WARNINGS]:
        echo(f"warning: {visible_line(warning)}", err=True)
    if len(cases.warnings) > _SHOWN_WARNINGS:
        echo(f"… and {count(len(cases.warnings) - _SHOWN_WARNINGS, 'more warning')}", err=True)
    criteria = api.choose_criteria(cases)
    plan = api.plan_first_run(beginning, cases, criteria)
    with Progress(plan.total, quiet=False, activity="talking to the agent") as progress:

        def on_result(result: CaseResult, verdict: Verdict) -> None:
            progress.advance(good=verdict == "passed", name=result.title)

        run = api.execute(plan, store=api.DEFAULT_URL, on_result=on_result)
    with reader_may_leave():
        api.print_run(console(), run)
    size = api.size_gate(run, beginning, len(cases.eval_set.cases), api.DEFAULT_URL)
    gate_files = api.write_gate(beginning, cases, criteria, size)
    files = [*([] if cases.path == beginning.questions else [cases.path]), *gate_files]
    remarks = [f"criteria: {', '.join(criteria)}; `fairtrial criteria` lists more", "gate:"]
    remarks += [f"  {sentence}" for sentence in size.sentences]
    if cases.expects_recorded:
        remarks.append(f"read {cases.path}: the replies in it are expected from now on; correct those that are wrong")
    if beginning.agent is None:
        remarks.append(f"the gate has the same verdict until new recordings replace the file {beginning.recorded}")
    recorded, expected = shlex.quote(str(beginning.recorded)), shlex.quote(cases.path.as_posix())
    score = f"fairtrial score {recorded} --against {expected}"
    following = "fairtrial run --profile ci" if beginning.agent else score
    return _Start(files, following, tuple(remarks), (run.info.id,))


def _name_option(argument: str) -> str:
    """Return the option of an argument. `init` has none for the columns of a table."""
    return "" if argument == "columns" else name_option(argument)
