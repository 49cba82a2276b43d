"""Writes the pages that are made from the program: commands, options, public names. `make docs` runs it."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import re
import sys
import textwrap
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import click

import fairtrial
import fairtrial.formats
from fairtrial import api, cli
from fairtrial.agents.endpoints.endpoint_template import CallPaths, EndpointTemplate, StartRequest
from fairtrial.cli.headed_command import find_heading, heading_rank
from fairtrial.cli.options.project_flags import collect_keys
from fairtrial.config.claim_options import ClaimOptions
from fairtrial.config.criterion_options import threshold_option
from fairtrial.config.custom_metric_options import (
    CodeConfig,
    CustomMetricOptions,
    Interval,
    MetricInfo,
    MetricValueInfo,
)
from fairtrial.config.option import list_options
from fairtrial.config.reference import option_table
from fairtrial.error_codes import ERROR_CODES, WITHIN_CASES
from fairtrial.formats.recognise import read
from fairtrial.judge.judge_options import JudgeOptions, PanelMember
from fairtrial.llm.endpoint_options import Price
from fairtrial.llm.known_providers import ALIASES, PROTOCOL_NAMES, PROVIDERS, KnownProvider, find_extra
from fairtrial.llm.model_settings import ModelSettings
from fairtrial.metrics.entries import CATALOG
from fairtrial.metrics.tool_rules.rule_options import (
    ArgumentOptions,
    BetweenOptions,
    CountOptions,
    ErrorOptions,
    NeverOptions,
    OrderOptions,
    SourceOptions,
    SpeechOptions,
    ToolRule,
)
from fairtrial.simulate.environment_options import (
    Chaos,
    EnvironmentOptions,
    InjectedError,
    InjectionConfig,
    SimulatedTool,
)
from fairtrial.simulate.user_options import UserOptions
from fairtrial.system.lazy_names import LazyNames

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
import renamed_keys

sys.path.append(str(Path(__file__).parent))
import terminal_picture

REFERENCE = Path(__file__).parent / "reference"
ARCHITECTURE = Path(__file__).parent / "explanation" / "architecture.md"
FILE_FORMATS = REFERENCE / "file-formats.md"
SAMPLES = Path(fairtrial.formats.__file__).parent / "samples"
_SAMPLES_BEGIN, _SAMPLES_END = "<!-- samples: `make docs` writes this table -->", "<!-- end of the samples -->"
_PROJECT = Path(__file__).parents[1] / "pyproject.toml"
_LAYERS_BEGIN, _LAYERS_END = "<!-- layers: `make docs` writes this picture -->", "<!-- end of the layers -->"
_MADE = "<!-- `make docs` writes this page. -->"
_NAMES = LazyNames(fairtrial.__spec__)


def command_line() -> str:
    """The page of all commands, from their help."""
    return "\n\n".join([_MADE, "# Command line", *_commands(cli.fairtrial, "fairtrial")]) + "\n"


def _commands(command: click.Command, name: str) -> Iterator[str]:
    """The sections of a command and of its subcommands."""
    # click keeps the help option that a context gives a command, so the settings are those of the program.
    context = click.Context(command, info_name=name, **cli.fairtrial.context_settings)
    if name != "fairtrial":
        yield f"## {name}"
        yield f"```text\n{name} {' '.join(command.collect_usage_pieces(context))}\n```"
    yield from _paragraphs(inspect.cleandoc(command.help or "").replace("\f", "\n"))
    options = [option for option in command.get_params(context) if isinstance(option, click.Option)]
    options = [option for option in options if not {"--help", "--help-all", "--version"} & {*option.opts}]
    options.sort(key=lambda option: heading_rank(find_heading(option)))
    for heading, group in itertools.groupby(options, find_heading):
        rows = [_row(option, context) for option in group]
        yield "\n".join([f"| {heading.lower()} | |", "|---|---|", *rows])
    if isinstance(command, click.Group):
        for subcommand in command.list_commands(context):
            found = command.get_command(context, subcommand)
            if found is not None:
                yield from _commands(found, f"{name} {subcommand}")


def _paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a help text; examples, which click must not wrap, become blocks of code."""
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("\b"):
            lines = paragraph.removeprefix("\b").strip("\n")
            yield f"```text\n{inspect.cleandoc(lines)}\n```"
        else:
            yield _escaped(" ".join(paragraph.split()))


def _row(option: click.Option, context: click.Context) -> str:
    """The row of an option: its names, its value, its help, and its default and range as click shows them."""
    names, text = option.get_help_record(context) or ("", "")
    return f"| `{names.replace('|', chr(92) + '|')}` | {_escaped(text)} |"


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([|*<\[])", r"\\\1", text)


def public_names() -> str:
    """The page of all names of `import fairtrial`, in groups, with the first sentence of each docstring."""
    sections = [f"## {heading}\n\n{_names_table(names)}" for heading, names in _NAMES.groups.items()]
    return "\n\n".join([_MADE, "# Public names", *sections]) + "\n"


def _names_table(names: list[str]) -> str:
    return "\n".join(["| name | |", "|---|---|", *(f"| `{name}` | {_escaped(_summary(name))} |" for name in names)])


def _summary(name: str) -> str:
    """The first paragraph of the docstring of a public name in one line."""
    documented = getattr(fairtrial, name)
    text = inspect.getdoc(documented) if inspect.isclass(documented) or inspect.isfunction(documented) else None
    return " ".join((text or _alias_docstring(name)).partition("\n\n")[0].split())


def _alias_docstring(name: str) -> str:
    """The string below the assignment of an alias: Python does not keep it, so it is read from the source."""
    home = importlib.import_module(_NAMES.homes[name])
    statements = ast.parse(inspect.getsource(home)).body
    for statement, below in itertools.pairwise(statements):
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
            return str(ast.literal_eval(below.value)) if isinstance(below, ast.Expr) else ""
    return ""


def criteria_options() -> str:
    """The page of all criteria: the purpose and the options of each."""
    sections = [_MADE, "# Criteria and their options", _CRITERIA_INTRODUCTION, _criteria_table()]
    for entry in CATALOG.values():
        sections += [f"## {entry.name}", f"{entry.summary} {entry.when}"]
        sections.append(option_table([threshold_option(entry.range), *entry.options], _sections_of_options()))
        if entry.name == "tool_rules_v1":
            for kind, (title, introduction) in RULE_SECTIONS.items():
                sections += [f"### {title}", introduction, option_table(list_options(kind), _sections_of_options())]
    return "\n\n".join(sections) + "\n"


RULE_SECTIONS: dict[type, tuple[str, str]] = {
    ToolRule: ("Rules about tools", "An entry of `rules`: an id, a sentence, and one of the forms."),
    NeverOptions: ("The form never", "The name of a tool alone is short for `call`."),
    OrderOptions: ("The forms of order", "The options of `before`, `after` and `immediately_after`."),
    BetweenOptions: ("The form between", "A call between two others."),
    CountOptions: ("The forms of number", "The options of `at_most`, `at_least` and `at_most_per_invocation`."),
    ArgumentOptions: ("The form argument", "A JSON Schema or comparisons."),
    SourceOptions: ("The form source", "The sources of a value."),
    SpeechOptions: ("The forms of replies", "The options of `says` and `never_says`."),
    ErrorOptions: ("The form errors", "What follows an error."),
}
"""The sections about rules below `tool_rules_v1`: the options, the title and the first sentence of each."""


_CRITERIA_INTRODUCTION = """\
An entry of `criteria` is a threshold, or an object with these options. Names may be in snake_case or camelCase.
`null` means the default if the default is null, an empty object or an empty array. Otherwise it is an error.
[Criteria](criteria.md) explains how the scores are computed."""


def _criteria_table() -> str:
    rows = [
        f"| [`{entry.name}`](#{entry.name}) "
        f"| {entry.needs} | {entry.unit} | {entry.range_words} | {entry.simulated_user} |"
        for entry in CATALOG.values()
    ]
    titles = ["| criterion | needs | unit judged | range, better | simulated user |", "|---|---|---|---|---|"]
    return "\n".join([*titles, *rows])


OPTION_SECTIONS: dict[type, tuple[str, str]] = {
    JudgeOptions: ("judge_model_options", "The judge of a criterion. See also [judges](judge.md)."),
    PanelMember: ("Members of a panel", "An entry of `judge_models` that is an object: a model with its own endpoint."),
    Price: ("prices", "The price of a model in US dollars per million tokens."),
    ModelSettings: (
        "Settings of a model",
        "The settings in `judge_model_config`, `model_configuration` and `simulation_model_configuration`.",
    ),
    UserOptions: ("user_simulator_config", "Who plays the users of scenarios. See also [simulation](simulation.md)."),
    EnvironmentOptions: (
        "environment_simulation_config",
        "Who answers the tool calls. See also [simulation](simulation.md#simulated-environments).",
    ),
    SimulatedTool: ("tool_simulation_configs", "An entry for each tool."),
    InjectionConfig: ("injection_configs", "An answer in place of the tool's, for calls that match."),
    InjectedError: ("injected_error", "An answer that reports an error."),
    Chaos: ("chaos_effects", "A change of the answers of tools, whoever gave them."),
    CustomMetricOptions: ("custom_metrics", "An entry for each of [your own metrics](../how-to/write-a-metric.md)."),
    CodeConfig: ("code_config", "The function that is the metric."),
    MetricInfo: ("metric_info", "ADK's information about a metric."),
    MetricValueInfo: ("metric_value_info", "The values of a metric."),
    Interval: ("interval", "The lowest and the highest value of a metric."),
}
"""The sections of the page of the configuration: the options, the title and the first sentence of each."""


def configuration_options() -> str:
    """The page of all options of a configuration but the criteria."""
    sections = [_MADE, "# Options of the configuration", _CONFIGURATION_INTRODUCTION]
    for kind, (title, introduction) in OPTION_SECTIONS.items():
        sections += [f"## {title}", introduction, option_table(list_options(kind), _sections_of_options())]
    return "\n\n".join(sections) + "\n"


_CONFIGURATION_INTRODUCTION = """\
The options of a [configuration](configuration.md), apart from the [options of criteria](criteria-options.md).
Names may be in snake_case or camelCase. `null` means the default if the default is null, an empty object or an empty
array. Otherwise it is an error."""


TEMPLATE_SECTIONS: dict[type, tuple[str, str]] = {
    EndpointTemplate: ("The template", "The file of `endpoint:FILE`."),
    StartRequest: ("start", "A request before the first message, for example for a session."),
    CallPaths: ("calls", "The calls of tools in a reply. The other paths begin at each call."),
}
"""The sections of the page of the template of an endpoint."""


def endpoint_template() -> str:
    """The page of all options of the template of an endpoint."""
    sections = [_MADE, "# The template of an endpoint", _TEMPLATE_INTRODUCTION]
    addresses = {kind: f"#{title.lower().replace(' ', '-')}" for kind, (title, _) in TEMPLATE_SECTIONS.items()}
    for kind, (title, introduction) in TEMPLATE_SECTIONS.items():
        sections += [f"## {title}", introduction, option_table(list_options(kind), addresses)]
    return "\n\n".join(sections) + "\n"


_TEMPLATE_INTRODUCTION = """\
[Connect an endpoint](../how-to/connect-an-endpoint.md#any-endpoint-with-json) shows a template. The options that name
a place in a reply are paths, a part of JSONPath (RFC 9535):

| path | |
|---|---|
| `$.answer.text`, `$['answer']` | a key |
| `$.steps[0]`, `$.steps[-1]` | an item, from the beginning or from the end |
| `$.steps[*].name` | every item |
| `$..text` | a key at any depth |
| `$.steps[?(@.type=='tool')]`, `$.steps[?@.tool]` | the items with a value, or with a key |"""


def claims() -> str:
    """The page of all options of a claim in a file."""
    return (
        "\n\n".join([_MADE, "# Claims in a file", _CLAIMS_INTRODUCTION, option_table(list_options(ClaimOptions), {})])
        + "\n"
    )


_CLAIMS_INTRODUCTION = """\
The options of an entry in the file of `--gates`. [Gate a build](../how-to/gate-a-build.md) shows such a file.
An entry has one of `at_least`, `at_most`, `not_worse_by` and `better_by`."""


def project_file() -> str:
    """The page of all options of a project file, from the options of `fairtrial run`."""
    return (
        "\n\n".join(
            [_MADE, "# Project file", _PROJECT_INTRODUCTION, api.project_reference(collect_keys(_run_command()))]
        )
        + "\n"
    )


def _run_command() -> click.Command:
    """The command whose options a project file holds."""
    return cli.fairtrial.resolve_command(click.Context(cli.fairtrial), ["run"])[1] or cli.fairtrial


_PROJECT_INTRODUCTION = """\
`fairtrial.toml`, or the table `tool.fairtrial` of `pyproject.toml`, holds the options of `fairtrial run`. It is
found in the current folder or in the nearest parent with one, up to the folder of the repository.

- Options of the command line win. Then comes the profile of `--profile NAME`, then the rest of the file.
- `[profile.NAME]` holds the same options again, for example `[profile.ci]`.
- Paths are relative to the folder of the file.
- `[criteria]`, `[custom_metrics]`, `[user_simulator_config]` and `[environment_simulation_config]` are those of a
  [configuration](configuration.md). `config` names a file instead.
- Secrets are set by [environment variables](environment-variables.md). A value that looks like a secret is refused.
- `fairtrial check` checks the file and the files that it names.

`record` takes the same options, `score` the map and those of criteria, judges, limits and the store, `check` the map
and `lenient`, and `gate` the claims and the store. Other commands take the store. A map of paths into JSON is of logs:
eval sets, configurations and recordings of fairtrial are read without it. Python and pytest do not read the file: their
arguments decide."""


def _sections_of_options() -> dict[type, str]:
    """The addresses of the sections, for links from options."""
    pages = {"configuration-options.md": OPTION_SECTIONS, "criteria-options.md": RULE_SECTIONS}
    return {
        kind: f"{page}#{title.lower().replace(' ', '-')}"
        for page, sections in pages.items()
        for kind, (title, _) in sections.items()
    }


def model_providers() -> str:
    """The page of all providers of models, from their table."""
    rows = [_provider_row(name, known) for name, known in PROVIDERS.items()]
    titles = ["| name | also | protocol | extra | key | another address |", "|---|---|---|---|---|---|"]
    return "\n\n".join([_MADE, "# Model providers", _PROVIDERS_INTRODUCTION, "\n".join([*titles, *rows])]) + "\n"


_PROVIDERS_INTRODUCTION = """\
Judges, simulated users and simulated tools name models as `PROVIDER/MODEL`. The names of some families need no prefix:
`gemini-…`, `gemma-…`, `gpt-…` and `claude-…`. [Judges](judge.md#models-and-keys) explains keys and endpoints.
If several variables are listed, the first that is set counts.

`vertex_ai/claude-…` is Claude at Vertex AI, in Anthropic's protocol with your cloud credentials. It needs the extras
`judge` and `anthropic`."""


def _provider_row(name: str, known: KnownProvider) -> str:
    spellings = ", ".join(f"`{alias}/`" for alias, owner in ALIASES.items() if owner == name) or "–"
    key = ", ".join(f"`{variable}`" for variable in known.keys)
    if known.has_sign_in:
        key = "your cloud credentials"
    elif not known.needs_key:
        key += " if the server needs one"
    address = ", ".join(f"`{variable}`" for variable in known.url_variables)
    needed = "" if known.url or known.protocol != "chat" else ", needed"
    cells = [
        f"`{name}/`",
        spellings,
        PROTOCOL_NAMES[known.protocol],
        f"`{find_extra(name)}`",
        key,
        f"{address}{needed}",
    ]
    return f"| {' | '.join(cells)} |"


def architecture() -> str:
    """The page about the architecture, with the layers of the import contract between two marks."""
    return _put_between(ARCHITECTURE, _LAYERS_BEGIN, _LAYERS_END, _layers())


def _put_between(page: Path, begin: str, end: str, content: str) -> str:
    """A page with other content between two marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n{content}\n{end}{after}"


def _layers() -> str:
    """A picture of the layers. A layer imports only layers below it; a bar keeps its parts apart."""
    contracts = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    (contract,) = (contract for contract in contracts if contract["type"] == "layers")
    rows = [" | ".join(part.strip().strip("()") for part in layer.split("|")) for layer in contract["layers"]]
    return "\n".join(["```text", *(textwrap.fill(row, 100, subsequent_indent="    ") for row in rows), "```"])


def file_formats() -> str:
    """The page about file formats, with the table of the samples between two marks."""
    return _put_between(FILE_FORMATS, _SAMPLES_BEGIN, _SAMPLES_END, _samples_table())


def _samples_table() -> str:
    """The sums of all samples: their kinds, their leaves, and the outcomes of their renamed keys."""
    kinds: set[str] = set()
    sums: Counter[str] = Counter()
    paths = sorted(SAMPLES.iterdir())
    for path in paths:
        kinds.add(read(path.read_bytes(), path.name).kind)
        if path.suffix in (".json", ".jsonl"):
            sums.update(leaf.status for leaf in api.explain(path).leaves)
            sums.update(renamed_keys.count_outcomes(path))
    names = ["used", "known", "unknown", *renamed_keys.OUTCOMES]
    cells = [f"{len(paths)} of {len(kinds)} kinds", *(f"{sums[name]:,}" for name in names)]
    header = ["samples", "leaves used", "known", "other", *(f"keys: {name}" for name in renamed_keys.OUTCOMES)]
    return "\n".join([f"| {' | '.join(header)} |", "|---" * len(header) + "|", f"| {' | '.join(cells)} |"])


def errors() -> str:
    """The page of all codes of errors, from their table."""
    ending = [name for name in ERROR_CODES if name not in WITHIN_CASES]
    within = [name for name in ERROR_CODES if name in WITHIN_CASES]
    return "\n\n".join([_MADE, "# Errors", _ERRORS, *map(_error, ending), _WITHIN_CASES, *map(_error, within)]) + "\n"


def _error(name: str) -> str:
    own = ERROR_CODES[name]
    parts = [f"### {name}", own.meaning, f"To repair it: {own.repair[:1].lower()}{own.repair[1:]}"]
    if own.example:
        code = "" if "  # exits with " in own.example.splitlines()[-1] else "  # exits with 2"
        parts += [f"```sh\n{own.example}{code}\n```", f"```text\n{own.output}\n```"]
    return "\n\n".join(parts)


_ERRORS = """This page is for everybody who reads an error of fairtrial, and for programs that react to one.

The message of an error names the place, the problem, the value that was found and the allowed values. Its code stands
at the end, in brackets: `fairtrial: a.json: no such file or folder [no-such-file]`. A code keeps its meaning in later
versions, while the words of a message may change and are translated. [Exit codes](exit-codes.md) say whether the input,
the store or the agent is at fault.

A program reads the code in three places:

- the last words of standard error;
- `{"error": {"code": "no-such-file", "message": ...}}` on standard output, if the command writes its `--json` there;
- the attribute `code` of each `FairtrialError` in Python.

## Codes that end a command"""
_WITHIN_CASES = """## Codes within a case

These errors do not end a run. They become a failure or an unscored outcome of one case, and the report shows them with
their [cause](../explanation/faults.md). In Python, an agent or a metric of your own may raise them."""


PAGES: dict[Path, Callable[[], str]] = {
    FILE_FORMATS: file_formats,
    REFERENCE / "project-file.md": project_file,
    ARCHITECTURE: architecture,
    REFERENCE / "model-providers.md": model_providers,
    REFERENCE / "claims.md": claims,
    REFERENCE / "command-line.md": command_line,
    REFERENCE / "criteria-options.md": criteria_options,
    REFERENCE / "configuration-options.md": configuration_options,
    REFERENCE / "endpoint-template.md": endpoint_template,
    REFERENCE / "errors.md": errors,
    terminal_picture.PICTURE: terminal_picture.draw,
    REFERENCE / "public-names.md": public_names,
}

if __name__ == "__main__":
    for path, page in PAGES.items():
        path.write_text(page(), encoding="utf-8")
