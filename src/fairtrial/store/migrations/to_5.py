"""Version 5 has a table for the boards on which people sort failures."""

from __future__ import annotations

import sqlalchemy as sa
from alembic.operations import Operations


def upgrade(operations: Operations) -> None:
    """Add the table."""
    operations.create_table(
        "fairtrial_board_events",
        sa.Column("run", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("body", sa.LargeBinary(2**31 - 1), nullable=False),
    )
