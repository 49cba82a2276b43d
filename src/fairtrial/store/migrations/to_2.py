"""Version 2 adds leases: which process is holding the conversations of a run?"""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations


def upgrade(operations: Operations) -> None:
    """Add the table of leases."""
    operations.create_table(
        "fairtrial_leases",
        sa.Column("run_id", sa.String(64), primary_key=True, autoincrement=False),
        sa.Column("token", sa.String(32), nullable=False),
        sa.Column("machine", sa.String(128), nullable=False),
        sa.Column("host", sa.String(255), nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("since", sa.String(40), nullable=False),
        sa.Column("seen", sa.Double, nullable=False),
    )
