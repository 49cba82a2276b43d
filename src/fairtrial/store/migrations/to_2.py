"""Version 2 has a table for the spans that `fairtrial receive` got."""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations


def upgrade(operations: Operations) -> None:
    """Add the table."""
    operations.create_table(
        "fairtrial_spans",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("run", sa.Integer, nullable=False),
        sa.Column("trace_id", sa.String(64), nullable=False),
        sa.Column("conversation", sa.String(64), nullable=False),
        sa.Column("body", sa.LargeBinary(2**31 - 1), nullable=False),
    )
    operations.create_index("fairtrial_spans_by_trace", "fairtrial_spans", ["run", "trace_id"])
    operations.create_index("fairtrial_spans_by_conversation", "fairtrial_spans", ["run", "conversation"])
