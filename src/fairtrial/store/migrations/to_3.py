"""The version in which results have the number of their change, and people label samples that are stored."""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations


def upgrade(operations: Operations) -> None:
    """Add columns with their defaults, an index and two tables. Results of earlier versions all have change 0."""
    operations.add_column("fairtrial_results", sa.Column("changed", sa.BigInteger, nullable=False, server_default="0"))
    operations.create_index(
        "fairtrial_results_by_change",
        "fairtrial_results",
        ["run", "changed", "position", "attempt", "verdict", "fault_side", "valid"],
    )
    for column in (
        sa.Column("seconds", sa.Double),
        sa.Column("blind", sa.Boolean),
        sa.Column("probability", sa.Double),
        sa.Column("source", sa.Text, nullable=False, server_default=""),
        sa.Column("side", sa.String(16), nullable=False, server_default=""),
        sa.Column("reference", sa.Text, nullable=False, server_default=""),
    ):
        operations.add_column("fairtrial_labels", column)
    operations.create_table(
        "fairtrial_label_queues",
        *_key("run", "queue"),
        sa.Column("criterion", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary(2**31 - 1), nullable=False),
    )
    operations.create_table(
        "fairtrial_label_items",
        *_key("run", "queue", "number", "copy"),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("part", sa.Text, nullable=False),
        sa.Column("probability", sa.Double, nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("held", sa.Double, nullable=False),
        sa.Column("done", sa.Boolean, nullable=False),
    )


def _key(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.Integer, primary_key=True, autoincrement=False) for name in names]
