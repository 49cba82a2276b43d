"""The options that plans share: how files are read, and how a run goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fairtrial.formats.conversation.options import DEFAULTS, TraceOptions
from fairtrial.judge.judges import Judges
from fairtrial.recording.holding import DIRECT, Holding

if TYPE_CHECKING:
    from fairtrial.api.attempt_planning import Attempts
    from fairtrial.api.criterion_thresholds import Thresholds
    from fairtrial.loading import Match
    from fairtrial.planned_case import Environments, Users

RecordSource = Literal["messages", "spans"]
"""The source of a recording: the report of the adapter of the agent alone, or the spans of the agent beside it."""


@dataclass(frozen=True)
class ReadOptions:
    """How eval sets, recordings and their configurations are read.

    `only` are the ids of the cases to take. With `lenient`, unknown keys become warnings. `columns` names the columns
    of a table. `allow_code` lets code run that stands in a configuration. `thresholds` replace those of the
    configurations. `match` is the property that a recording shares with its case, and `traces` says how traces of other
    tools become conversations. `max_incomplete` is the largest share of recordings that may not be read in full.
    """

    only: Sequence[str] = ()
    lenient: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    allow_code: bool = False
    thresholds: Thresholds = field(default_factory=dict)
    match: Match = "id"
    traces: TraceOptions = DEFAULTS
    max_incomplete: float | None = None

    @property
    def case_ids(self) -> list[str]:
        """The ids of the cases to take. A caller may give one id alone."""
        return [self.only] if isinstance(self.only, str) else list(self.only)

    def manifest(self, criteria: Any) -> dict[str, Any]:
        """Return what the manifest of a run says about reading. `criteria` are those of the caller."""
        return {
            "config": str(criteria) if isinstance(criteria, str | Path) else None,
            "thresholds": dict(self.thresholds),
            "lenient": self.lenient,
            **({"columns": dict(self.columns)} if self.columns else {}),
            "allow_code": self.allow_code,
            **({} if self.max_incomplete is None else {"max_incomplete": self.max_incomplete}),
        }


@dataclass(frozen=True)
class RunOptions:
    """How a run goes.

    `attempts` is the number of conversations of each case. `concurrency` is the largest number of cases at once, and
    `jobs` the number of processes that score. `reply_timeout` is in seconds. `users` and `environment` replace those
    of the configuration. If nothing `is_scored`, a configuration of criteria may stay unused. With
    `record` "spans", the spans that the agent writes are read beside its messages. `holding` says in which processes
    and in which order conversations are held, how fast and how long. `diagnose`
    is the number of repetitions of each failed case, with each suspect and without it.
    """

    attempts: Attempts = None
    concurrency: int = 8
    jobs: int = 1
    reply_timeout: float | None = None
    judges: Judges = field(default_factory=Judges)
    users: Users | None = None
    environment: Environments | Mapping[str, Any] | None = None
    is_scored: bool = True
    record: RecordSource = "messages"
    holding: Holding = DIRECT
    diagnose: int = 0


READ = ReadOptions()
RUN = RunOptions()
