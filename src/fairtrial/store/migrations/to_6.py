"""Version 6 has a table for series of runs that were followed before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations


def upgrade(operations: Operations) -> None:
    """Add the table."""
    operations.create_table(
        "fairtrial_histories",
        sa.Column("key", sa.String(64), primary_key=True, autoincrement=False),
        sa.Column("body", sa.LargeBinary(2**31 - 1), nullable=False),
        sqlite_with_rowid=False,
    )
