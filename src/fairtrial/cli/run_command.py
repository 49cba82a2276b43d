"""`fairtrial run`: run an agent on eval sets, and score its conversations."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from fairtrial import api
from fairtrial.cli import completion
from fairtrial.cli.headed_command import command, under
from fairtrial.cli.options import flags, trust_flags
from fairtrial.cli.options.dotenv_files import read_environment
from fairtrial.cli.options.holding_flags import holding_options
from fairtrial.cli.options.judge_flags import judge_options, make_judges
from fairtrial.cli.options.project_flags import project_options
from fairtrial.cli.options.resumption import earlier_run, read_arguments
from fairtrial.cli.options.skill_flags import skill_options
from fairtrial.cli.output import Common, RunGate, common_options, run_and_report
from fairtrial.errors import UsageError

if TYPE_CHECKING:
    from fairtrial.records.gate import Claim
    from fairtrial.records.run import RunInfo

_AGENT = click.option(
    "--agent",
    metavar="TARGET",
    help="module:function, claude, adk:FOLDER or http://HOST/v1. See docs/how-to/connect-an-agent.md.",
)
_RESUME = click.option(
    "--resume",
    metavar="RUN",
    is_eager=True,
    shell_complete=completion.runs,
    help="Continue an interrupted run with its own arguments.",
)
_UNTIL_DECIDED = click.option(
    "--until-decided",
    is_flag=True,
    help="Make attempts until the claims are decided. Every case has one attempt after the other, at most "
    "--attempts (10).",
)

_DIAGNOSE = click.option(
    "--diagnose",
    type=click.IntRange(1),
    metavar="N",
    help="Repeat failed cases N times with and without a suspect, such as an injection, and name the side at fault.",
)


@command()
@click.argument("evalset", nargs=-1)
@project_options
@under("Agent", _AGENT, flags.attempts)
@under("Agent", flags.reply_timeout, flags.record, rare=True)
@under("Agent", _DIAGNOSE, rare=True)
@holding_options
@skill_options
@under("Input", flags.columns)
@under("Store", _RESUME)
@under("Claims", _UNTIL_DECIDED)
@trust_flags.claim_options
@under("Claims", trust_flags.even_so, rare=True)
@judge_options
@common_options
@click.pass_context
def run(
    ctx: click.Context,
    /,
    evalset: tuple[str, ...],
    agent: str | None,
    columns: dict[str, str],
    attempts: api.AttemptOptions | None,
    reply_timeout: float | None,
    record: api.RecordSource | None,
    resume: str | None,
    until_decided: bool,
    claims: list[Claim],
    against: str | None,
    even_so: bool,
    holding: api.Holding,
    diagnose: int | None,
    skill: api.SkillOptions,
    common: Common,
    **judge: Any,
) -> int:
    """Run an agent on eval sets, and score its conversations.

    EVALSET is a file, a folder, a table, FILE:case1,case2, or - for stdin.

    \b
    fairtrial run evals/ --agent shop.agent:reply
    fairtrial run questions.csv --agent shop.agent:reply --map input=question,expected=answer
    fairtrial run path/to/skill --agent claude

    Options that are left out come from fairtrial.toml. With claims, the exit code is about them: 0 if all hold, 1 if
    one does not, 3 if one is undecided.
    \f
    Of a folder, the files *.test.json, *.evalset.json, ... are taken. A table of CSV, JSON lines, Parquet or YAML is an
    eval set, too. A line says which column was taken for what.

    The agent is a function, sync or async. It receives the conversation so far (a fairtrial.Trace whose last
    invocation holds the user's message) and returns a reply, or yields steps: strings, fairtrial.ToolCall,
    fairtrial.ToolResult, ... Other targets are http://HOST/v1#MODEL, responses:URL, adk-server:URL,
    langgraph-server:URL, a2a:URL, mcp:COMMAND, endpoint:FILE, process:COMMAND, harness:FILE, adk:FOLDER, and
    KIND:MODULE:NAME for an agent of a framework: agent-framework, agno, claude, crewai, google-genai, langgraph,
    llama-index, openai-agents, pydantic-ai, smolagents, strands.

    A folder with SKILL.md and evals/evals.json is a skill. With claude, codex, gemini, opencode or harness:FILE, each
    case runs with the skill and without it, in a clean workspace, 3 attempts each.

    \b
    fairtrial run shop.evalset.json --agent shop.agent:reply --attempts 4 --json results.json
    fairtrial run evals/ --agent shop.agent:reply --until-decided --at-least 0.8 --attempts 20
    fairtrial run --resume 20260102-030405-a1b2c3
    """  # noqa: D301
    arguments = common.run_arguments(evalset, agent, columns, reply_timeout) | {"record": record}
    arguments |= {"holding": holding.arguments or None, "diagnose": diagnose}
    earlier = earlier_run(common.store, resume, "run") if resume else None
    if earlier:
        arguments = read_arguments(earlier, arguments)
        if not evalset and "-" in arguments["paths"]:
            problem = "the eval set came from standard input, and is not stored; give it again"
            raise UsageError(
                f"--resume {earlier.id}: {problem}: fairtrial run - --resume {earlier.id} < FILE", code="cannot-resume"
            )
    else:
        arguments |= {"only": list(common.only), "thresholds": common.thresholds}
        arguments |= {"lenient": common.lenient, "columns": columns or None, "allow_code": common.allow_code}
    if not arguments["paths"]:
        raise click.UsageError("needs at least one EVALSET and --agent TARGET", ctx)
    if not arguments["agent"]:
        sets = shlex.join(map(str, arguments["paths"]))
        recorded = f"recordings need no agent: fairtrial score RECORDED --against {sets}"
        raise click.UsageError(f"needs --agent TARGET; {recorded}", ctx)
    environment_files = read_environment(agent=arguments["agent"], config=arguments["config"], paths=arguments["paths"])
    if earlier and (decided := earlier.config.get("until_decided")):
        until_decided, against, even_so = True, decided["against"], bool(decided.get("even_so"))
        claims = _earlier_claims(decided["claims"])
    if until_decided and not claims:
        raise click.UsageError("--until-decided needs a claim, such as --at-least 0.8", ctx)
    count = _attempts(attempts, earlier, api.MOST_ATTEMPTS if until_decided else None)
    judges = make_judges(judge, earlier.config.get("judge") or {} if earlier else None)
    with common.output.only_report_on_stdout():
        plan = _plan(arguments, skill, earlier, count, common.concurrency, judges)
    plan = common.choose(plan)
    if until_decided:
        url = api.DEFAULT_URL if common.store == "none" else common.store
        plan = api.plan_waves(plan, claims, against, url, even_so=even_so)
    if earlier:
        plan = api.resume(plan, earlier)
    return run_and_report(
        plan,
        common.store,
        common.output,
        environment_files=environment_files,
        resumed=earlier is not None,
        reuse=judge["reuse"],
        gate=None if until_decided or not claims else RunGate(tuple(claims), against, even_so),
    )


def _plan(
    arguments: dict[str, Any],
    skill: api.SkillOptions,
    earlier: RunInfo | None,
    attempts: api.AttemptOptions,
    concurrency: int,
    judges: api.Judges,
) -> api.Plan:
    """Return the plan of a run: of a skill with its variants, or of any other eval sets."""
    paths, agent, config = arguments["paths"], arguments["agent"], arguments["config"]
    names = ("only", "lenient", "allow_code", "thresholds")
    reading = api.ReadOptions(columns=arguments["columns"] or {}, **{name: arguments[name] for name in names})
    source: api.RecordSource = arguments.get("record") or "messages"
    timeout = arguments["reply_timeout"]
    holding = api.Holding(**(arguments.get("holding") or {}))
    running = api.RunOptions(
        attempts,
        concurrency,
        reply_timeout=timeout,
        judges=judges,
        record=source,
        holding=holding,
        diagnose=arguments.get("diagnose") or 0,
    )
    stored = None if earlier is None else api.skill_options_in(earlier.config)
    if stored is not None or api.is_skill_run(paths, agent):
        options = stored if stored is not None and skill == api.SkillOptions() else skill
        return api.plan_skill_run(paths, agent, options, config, reading, running)
    if skill != api.SkillOptions():
        options_of_skills = "--versus, --trigger, --description, --drop, --credentials and --sandbox"
        raise UsageError(
            f"{options_of_skills} need a folder with SKILL.md, and claude, codex, gemini, opencode or harness:FILE",
            code="options-conflict",
        )
    return api.plan_run(paths, agent, config, reading, running)


def _earlier_claims(stored: Any) -> list[Claim]:
    from fairtrial.records.decoding import convert
    from fairtrial.records.gate import Claim

    return convert(stored, list[Claim])


def _attempts(given: api.AttemptOptions | None, earlier: RunInfo | None, default: int | None) -> api.AttemptOptions:
    """Return the options of attempts: those of the command line, of the run that goes on, or the default."""
    from msgspec.structs import replace

    from fairtrial.records.decoding import convert

    options = given
    if options is None and earlier is not None:
        options = convert(earlier.config.get("attempt_options") or {}, api.AttemptOptions)
    options = options or api.AttemptOptions()
    return options if options.count or default is None else replace(options, count=default)
