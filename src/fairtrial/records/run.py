"""The manifest of a run."""

from __future__ import annotations

from datetime import UTC, datetime

from fairtrial.records.attempt_rule import AttemptRules, rules_in
from fairtrial.records.record import Json, Record
from fairtrial.records.result import Verdict


class AgentVersion(Record, frozen=True):
    """The instructions and the tools of an agent in a run, each as the first 16 hexadecimal digits of a SHA-256.

    They are empty if no conversation shows them, or if they differ between conversations.
    """

    name: str
    instructions: str = ""
    tools: str = ""


class RunInfo(Record, frozen=True):
    """The manifest of a run. It suffices to repeat the run, and to refuse a resume with other options.

    `started` and `finished` are in ISO 8601. `finished` is None if the run was interrupted. `pass_rate` is the share of
    the cases that passed, without cases that only inform. `models` are the models of the agent, as its recordings name
    them, and `agents` the versions of the agents that its recordings describe.
    """

    id: str
    started: str
    version: str
    kind: str
    config: dict[str, Json] = {}
    signatures: dict[str, Json] = {}
    finished: str | None = None
    seconds: float | None = None
    verdict: Verdict | None = None
    pass_rate: float | None = None
    models: tuple[str, ...] = ()
    agents: tuple[AgentVersion, ...] = ()

    @property
    def attempt_rules(self) -> AttemptRules:
        """The rules by which the attempts at a case decide its verdict."""
        return rules_in(self.config)

    @property
    def name(self) -> str:
        """The name that somebody gave to the run, or an empty text."""
        return str(self.config.get("name") or "")

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that somebody gave to the run."""
        return tuple(map(str, self.config.get("tags") or ()))

    @property
    def git(self) -> dict[str, Json]:
        """The `commit`, its author `date`, its `branch`, and whether files are `dirty`. Empty without a repository."""
        git = self.config.get("git")
        return git if isinstance(git, dict) else {}

    @property
    def ci(self) -> dict[str, str]:
        """The `job` of continuous integration, its `system` and the `url` of its page. Empty outside of a job."""
        ci = self.config.get("ci")
        return {str(key): str(value) for key, value in ci.items()} if isinstance(ci, dict) else {}

    @property
    def chosen_by(self) -> tuple[str, ...]:
        """The runs whose failures chose the cases of this run, the latest first."""
        runs = self.config.get("chosen_by") or [self.config.get("failed_from")]
        return tuple(str(run) for run in runs if run) if isinstance(runs, list) else ()

    def find_cluster(self, eval_set: str, case_id: str) -> str:
        """Return the cluster of cases to which a case belongs, or an empty text for a case by itself."""
        return str(self.config.get("clusters", {}).get(eval_set, {}).get(case_id, ""))

    @property
    def informs(self) -> bool:
        """Whether its configuration is of a kind that cannot state thresholds."""
        return bool(self.config.get("informs"))

    @property
    def defaults(self) -> tuple[str, ...]:
        """The names of the criteria that nobody asked for: those that count if no configuration names any."""
        return tuple(self.config.get("defaults") or ())


def now() -> str:
    """Return the time as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
