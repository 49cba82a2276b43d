"""Upgrade older stores, with a module `to_VERSION` for each version after the first.

Each module has a function `upgrade(operations)` that changes the previous version's tables. For example, version 2
might add a column, in `to_2.py`:

    def upgrade(operations: Operations) -> None:
        operations.add_column("fairtrial_runs", sa.Column("host", sa.Text))
"""

from __future__ import annotations

from importlib import import_module

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations


def upgrade(connection: sa.Connection, version: int, target: int) -> None:
    """Change a store's tables from a version to a later version, step by step."""
    operations = Operations(MigrationContext.configure(connection))
    for step in range(version + 1, target + 1):
        import_module(f"{__name__}.to_{step}").upgrade(operations)
