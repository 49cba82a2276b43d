"""A first gate: its size, from a first run, and the files that decide it in every build."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairtrial.api.decisions.auditing import audit_gate
from fairtrial.api.decisions.size_planning import plan
from fairtrial.api.plan_options import READ, RunOptions
from fairtrial.api.planning import Plan, plan_run
from fairtrial.api.project_files import find_project
from fairtrial.api.score_planning import plan_score
from fairtrial.errors import UsageError
from fairtrial.formats.toml_text import encode_value
from fairtrial.records.gate import Claim

if TYPE_CHECKING:
    from fairtrial.api.starters.first_cases import Beginning, FirstCases
    from fairtrial.api.stored_runs import Run

WORKFLOW = Path(".github/workflows/fairtrial.yml")
PROJECT = Path("fairtrial.toml")
_SAME_RECORDINGS = (
    "The gate scores {recorded}: every build has the same verdict until new recordings replace the file "
    "(fairtrial record QUESTIONS --agent MODULE:FUNCTION -o FILE, or an export of your traces)"
)
_MOST_CONVERSATIONS = 100
_LIMITS = tuple(percent / 100 for percent in range(95, 0, -5))
_UNKNOWN = "OWNER/fairtrial"
_HALF_WIDTH = 0.1
_LEAST_PASSES = 0.8
"""The share of releases in which an agent as good as now must pass the gate."""


@dataclass(frozen=True)
class GateSize:
    """The attempts of each case and the claim of a gate. `claim` is None if no claim can be shown.

    `attempts` is None if recordings are scored. `passes` is the share of builds that an agent as good as now passes.
    `needed_cases` would show the pass rate to plus or minus ten points. It is None if nobody knows.
    """

    attempts: int | None
    claim: Claim | None
    passes: float
    cases: int
    needed_cases: int | None

    @property
    def sentences(self) -> tuple[str, ...]:
        """The rule of a build, how often an agent as good as now passes, and how many cases are enough."""
        times = "once" if self.attempts == 1 else f"{self.attempts} times"
        runs = () if self.attempts is None else (f"Each case runs {times}.",)
        more = self.needed_cases is not None and self.needed_cases > self.cases
        advice = (f"{self.needed_cases:,} cases would show the pass rate to ±10 points.",) if more else ()
        if self.claim is None:
            rule = "The build is red if a case fails: so few passes show no pass rate of cases like these."
            return *runs, rule, *advice
        limit = f"{100 * self.claim.limit:.0f} %"
        stays = f"If the agent stays as good as now, about {100 * self.passes:.0f} of 100 builds are green."
        higher = f"A higher share would be shown in fewer than {100 * _LEAST_PASSES:.0f} of 100 builds."
        return (
            *runs,
            f"The build is green if the run shows that at least {limit} of cases like these pass.",
            stays,
            *((higher,) if self.claim.limit < max(_LIMITS) else ()),
            *advice,
        )


def check_gate_files() -> None:
    """Raise UsageError if a file of a first gate exists."""
    project = find_project(Path.cwd())
    for file in (project, WORKFLOW):
        if file is not None and file.exists():
            raise UsageError(
                f"{file} exists, and would be overwritten; move it, or write the gate into it by hand",
                code="would-overwrite",
            )


def plan_first_run(beginning: Beginning, cases: FirstCases, criteria: Mapping[str, Any]) -> Plan:
    """Return the run that shows how large a gate must be. Without an agent, the recordings are scored."""
    if beginning.agent is None:
        return plan_score([str(beginning.recorded)], [str(cases.path)], criteria)
    attempts = max(1, min(4, _MOST_CONVERSATIONS // max(1, len(cases.eval_set.cases))))
    return plan_run([str(cases.path)], beginning.agent, criteria, READ, RunOptions(attempts))


def size_gate(run: Run, beginning: Beginning, cases: int, store: str) -> GateSize:
    """Return the attempts that a plan chooses for a run of so many cases, and the highest claim that can be shown."""
    now = int(run.info.config.get("attempts") or 1) if beginning.agent else None
    try:
        size_plan = plan(run, half_width=_HALF_WIDTH, store=store)
    except UsageError:  # for example one case, which shows no variance
        return GateSize(now, None, 0.0, cases, None)
    needs = {row.attempts: row.cases for row in size_plan.rows if row.cases is not None}
    attempts = now
    if now is not None:
        fitting_attempts = [attempt_count for attempt_count, case_count in needs.items() if case_count <= cases]
        attempts = min(fitting_attempts, default=1 if size_plan.variance.attempt == 0 else now)
    claim, passes = _highest_claim(run, store)
    return GateSize(attempts, claim, passes, cases, needs.get(attempts or 1))


def write_gate(beginning: Beginning, cases: FirstCases, criteria: Mapping[str, Any], size: GateSize) -> list[Path]:
    """Write the project file and the workflow of a gate, and return them."""
    texts = {PROJECT: _project(beginning, cases.path, criteria, size), WORKFLOW: _workflow(beginning, cases.path, size)}
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return list(texts)


def _highest_claim(run: Run, store: str) -> tuple[Claim | None, float]:
    """Return the highest claim that an agent as good as now passes in enough releases, and their share."""
    claims = [Claim("at_least", limit) for limit in _LIMITS]
    try:
        (*audits,) = audit_gate(run, claims, store=store).claims
    except UsageError:  # fewer than two cases have a value
        return None, 0.0
    for claim, audit in zip(claims, audits, strict=True):
        if audit.passes >= _LEAST_PASSES:
            return claim, audit.passes
    return None, 0.0


def _project(beginning: Beginning, path: Path, criteria: Mapping[str, Any], size: GateSize) -> str:
    agent = f"agent = {encode_value(beginning.agent)}\n" if beginning.agent else ""
    claims = f"gate.claims = [{{ at_least = {size.claim.limit} }}]\n" if size.claim else ""
    attempts = f"attempts = {size.attempts}\n" if size.attempts else ""
    rows = "".join(f"{name} = {encode_value(value)}\n" for name, value in criteria.items())
    rules = "".join(f"# {sentence}\n" for sentence in size.sentences)
    gate = " fairtrial run --profile ci"
    if not beginning.agent:
        gate = "\n#   ".join(["", *_score_commands(beginning, path, size)])
    return (
        "# The options of `fairtrial run` and `fairtrial score`, written by `fairtrial init`.\n"
        f"eval_sets = [{encode_value(path.as_posix())}]\n{agent}\n"
        "# `fairtrial criteria` lists more, also those that ask a model.\n"
        f"[criteria]\n{rows}\n"
        f"# The gate of CI:{gate}\n{rules}"
        f'[profile.ci]\n{attempts}reports.junit = "fairtrial.xml"\n'
        f'reports.json = "fairtrial.json"\n{claims}'
    )


def _workflow(beginning: Beginning, path: Path, size: GateSize) -> str:
    commands = ["fairtrial run --profile ci"] if beginning.agent else _score_commands(beginning, path, size)
    command = f"run: {commands[0]}" if len(commands) == 1 else "\n  ".join(["run: |", *commands])
    rule = (
        "a case fails"
        if size.claim is None
        else f"the run does not show that {100 * size.claim.limit:.0f} % of cases pass"
    )
    same = "" if beginning.agent else f"# {_SAME_RECORDINGS.format(recorded=beginning.recorded)}.\n"
    repository = _repository()
    return _WORKFLOW.format(
        rule=rule,
        same=same,
        hint="  # replace OWNER with the owner of the repository of fairtrial" if repository == _UNKNOWN else "",
        repository=repository,
        requirements=_requirements(),
        command=_indent(command),
    )


def _score_commands(beginning: Beginning, path: Path, size: GateSize) -> list[str]:
    """Return the commands that decide about recordings."""
    recorded, expected = shlex.quote(str(beginning.recorded)), shlex.quote(path.as_posix())
    score = f"fairtrial score {recorded} --against {expected} --junit fairtrial.xml --json fairtrial.json"
    if size.claim is None:
        return [score]
    # The claim decides, so that a failed case does not end the step.
    return [f"{score} || [ $? -eq 1 ]", f"fairtrial gate fairtrial.json --at-least {size.claim.limit}"]


def _indent(text: str) -> str:
    return text.replace("\n", "\n        ")


def _requirements() -> str:
    """Return the command that installs the packages of the agent."""
    if Path("requirements.txt").exists():
        return "pip install -r requirements.txt"
    return "pip install ." if Path("pyproject.toml").exists() else "echo 'install here what your agent needs'"


def _repository() -> str:
    """Return the repository of this package, as an action names it."""
    try:
        urls = metadata("fairtrial").get_all("Project-URL") or []
    except PackageNotFoundError:
        urls = []
    address = next((url.partition(", ")[2] for url in urls if url.startswith("Repository,")), "")
    return "/".join(address.split("/")[-2:]) if address.startswith("https://github.com/") else _UNKNOWN


_WORKFLOW = """\
# Written by `fairtrial init`: the build is red if {rule}.
{same}name: fairtrial
on: [push, pull_request]
permissions:
  contents: read
jobs:
  gate:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - uses: actions/checkout@v4
        with:
          repository: {repository}{hint}
          path: .fairtrial-checkout
      - run: pip install ./.fairtrial-checkout
      - run: {requirements}
      - {command}
      # env: the keys of your agent, for example OPENAI_API_KEY: ${{{{ secrets.OPENAI_API_KEY }}}}
      - uses: actions/upload-artifact@v4
        if: always()
        with:
          name: fairtrial
          path: fairtrial.*
"""
