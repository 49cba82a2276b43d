"""The store's database schema.

Runs and criteria are numbers in the tables that refer to them. Their names would be most of a million-row store.
`fairtrial_criteria` holds the name and the threshold for a criterion, once per run. The long table
`fairtrial_scores` answers queries without decoding a body. For example, failed attempts for a criterion are

    SELECT position, attempt FROM fairtrial_scores WHERE run = 7 AND criterion = 0 AND verdict = 'failed'
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

SCHEMA_VERSION = 6
"""The version of these tables and bodies. Whoever changes them adds a module `to_VERSION` to the migrations."""

METADATA = sa.MetaData()
_BODY = sa.LargeBinary(2**31 - 1)  # the size matters to MySQL, whose smallest kind holds 64 KiB
_VERDICT = sa.String(16)

META = sa.Table(
    "fairtrial_meta",
    METADATA,
    sa.Column("schema_version", sa.Integer, primary_key=True, autoincrement=False),
)
RUNS = sa.Table(
    "fairtrial_runs",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("id", sa.String(64), nullable=False, unique=True),
    sa.Column("started", sa.String(40), nullable=False),
    sa.Column("summary", _BODY),
    sa.Column("body", _BODY, nullable=False),
    sqlite_autoincrement=True,  # the number of a removed run must not come back: its writer may still be alive
)


def _key(name: str, kind: type[sa.Integer] | sa.String = sa.Integer) -> sa.Column[Any]:
    return sa.Column(name, kind, primary_key=True, autoincrement=False)


CRITERIA = sa.Table(
    "fairtrial_criteria",
    METADATA,
    _key("run"),
    _key("number"),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("body", _BODY, nullable=False),
    sqlite_with_rowid=False,  # SQLite then keeps a small row once, in its primary key
)
CASES = sa.Table(
    "fairtrial_cases",
    METADATA,
    _key("run"),
    _key("position"),
    sa.Column("eval_set", sa.Text, nullable=False),
    sa.Column("case_id", sa.Text, nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("body", _BODY, nullable=False),
)
RECORDINGS = sa.Table(
    "fairtrial_recordings",
    METADATA,
    _key("run"),
    _key("position"),
    _key("attempt"),
    sa.Column("body", _BODY, nullable=False),
)
RESULTS = sa.Table(
    "fairtrial_results",
    METADATA,
    _key("run"),
    _key("position"),
    _key("attempt"),
    sa.Column("verdict", _VERDICT, nullable=False),
    sa.Column("fault_side", sa.String(16)),
    sa.Column("valid", sa.Boolean),
    sa.Column("body", _BODY, nullable=False),
    sa.Column("changed", sa.BigInteger, nullable=False, server_default="0"),
    # A viewer reads new results by their change, and the marks of all attempts from the index alone.
    sa.Index("fairtrial_results_by_change", "run", "changed", "position", "attempt", "verdict", "fault_side", "valid"),
)
"""`changed` counts the results that were written to the run. A result that replaces another gets a new number."""

SCORES = sa.Table(
    "fairtrial_scores",
    METADATA,
    _key("run"),
    _key("position"),
    _key("attempt"),
    _key("criterion"),
    sa.Column("value", sa.Double),
    sa.Column("verdict", _VERDICT, nullable=False),
    sa.Index("fairtrial_scores_by_verdict", "run", "criterion", "verdict"),
    sqlite_with_rowid=False,  # SQLite then keeps a small row once, in its primary key
)
REPLIES = sa.Table(
    "fairtrial_replies",
    METADATA,
    _key("run"),
    _key("key", sa.String(128)),
    sa.Column("body", _BODY, nullable=False),
)
BALLOTS = sa.Table(
    "fairtrial_ballots",
    METADATA,
    _key("run"),
    _key("key", sa.String(128)),
    sa.Column("body", _BODY, nullable=False),
)
LABELS = sa.Table(
    "fairtrial_labels",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("run", sa.Integer, nullable=False, index=True),
    sa.Column("eval_set", sa.Text, nullable=False),
    sa.Column("case_id", sa.Text, nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("criterion", sa.Text, nullable=False),
    sa.Column("part", sa.Text, nullable=False),
    sa.Column("value", sa.Double),
    sa.Column("author", sa.Text, nullable=False),
    sa.Column("at", sa.String(40), nullable=False),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("key", sa.String(16), nullable=False, index=True),
    sa.Column("weight", sa.Double, nullable=False),
    sa.Column("seconds", sa.Double),
    sa.Column("blind", sa.Boolean),
    sa.Column("probability", sa.Double),
    sa.Column("source", sa.Text, nullable=False, server_default=""),
    sa.Column("side", sa.String(16), nullable=False, server_default=""),
    sa.Column("reference", sa.Text, nullable=False, server_default=""),
)
LABEL_QUEUES = sa.Table(
    "fairtrial_label_queues",
    METADATA,
    _key("run"),
    _key("queue"),
    sa.Column("criterion", sa.Text, nullable=False),
    sa.Column("body", _BODY, nullable=False),
)
"""A run sample that people label. Its body says how the sample was drawn."""
LABEL_ITEMS = sa.Table(
    "fairtrial_label_items",
    METADATA,
    _key("run"),
    _key("queue"),
    _key("number"),
    _key("copy"),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("part", sa.Text, nullable=False),
    sa.Column("probability", sa.Double, nullable=False),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("held", sa.Double, nullable=False),
    sa.Column("done", sa.Boolean, nullable=False),
)
"""A queue item. An item that several people label has a copy for each of them, with its holder."""

BOARD_EVENTS = sa.Table(
    "fairtrial_board_events",
    METADATA,
    _key("run"),
    _key("number"),
    sa.Column("body", _BODY, nullable=False),
)
"""The changes of the board on which people sort failures. `number` counts the changes of a run from 1."""

SPANS = sa.Table(
    "fairtrial_spans",
    METADATA,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("run", sa.Integer, nullable=False),
    sa.Column("trace_id", sa.String(64), nullable=False),
    sa.Column("conversation", sa.String(64), nullable=False),
    sa.Column("body", _BODY, nullable=False),
    sa.Index("fairtrial_spans_by_trace", "run", "trace_id"),
    sa.Index("fairtrial_spans_by_conversation", "run", "conversation"),
)
"""Trace spans that a receiver got in one request. `conversation` is empty until they are scored."""

HISTORIES = sa.Table(
    "fairtrial_histories",
    METADATA,
    _key("key", sa.String(64)),
    sa.Column("body", _BODY, nullable=False),
    sqlite_with_rowid=False,  # an empty table with a rowid takes two pages
)
"""Series of runs as `fairtrial history` followed them. They can be computed again from the runs."""

LEASES = sa.Table(
    "fairtrial_leases",
    METADATA,
    _key("run_id", sa.String(64)),
    sa.Column("token", sa.String(32), nullable=False),
    sa.Column("machine", sa.String(128), nullable=False),
    sa.Column("host", sa.String(255), nullable=False),
    sa.Column("pid", sa.Integer, nullable=False),
    sa.Column("since", sa.String(40), nullable=False),
    sa.Column("seen", sa.Double, nullable=False),
)

OF_RUNS = (
    CRITERIA,
    CASES,
    RECORDINGS,
    RESULTS,
    SCORES,
    REPLIES,
    BALLOTS,
    LABELS,
    LABEL_QUEUES,
    LABEL_ITEMS,
    BOARD_EVENTS,
    SPANS,
)
"""The tables whose rows belong to a run."""
