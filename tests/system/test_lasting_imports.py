"""Modules that live as long as the process, and the garbage collector."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairtrial.system.lasting_imports import import_lastingly, lasting_names
from fairtrial.system.lazy_names import LazyNames

_STATES = """
import gc, json
from fairtrial.system.lasting_imports import import_lastingly
before = gc.get_freeze_count()
import_lastingly("fairtrial.cli")
first = gc.get_freeze_count(), gc.isenabled()
import_lastingly("fairtrial.cli")
print(json.dumps({"before": before, "after": first, "again": [gc.get_freeze_count(), gc.isenabled()]}))
"""


@pytest.mark.long
def test_the_collector_ignores_an_imported_module_and_goes_on() -> None:
    """An import freezes what it made. A module that is already there freezes nothing. The collector stays enabled."""
    output = subprocess.run([sys.executable, "-c", _STATES], capture_output=True, check=True, text=True).stdout
    states = json.loads(output)
    assert states["before"] == 0
    assert states["after"][0] > 1000
    assert states["after"][1] is True
    assert states["again"] == states["after"]


@pytest.mark.long
def test_a_test_session_ends_with_the_line_of_pytest(tmp_path: Path) -> None:
    """DuckDB's binding reports whatever the collector cannot have when Python ends, forty lines of it."""
    (tmp_path / "test_tables.py").write_text("import duckdb\n\ndef test_nothing():\n    pass\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "--quiet", "-p", "conftest", "-p", "no:cacheprovider", str(tmp_path)]
    folders = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "support")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run(command, capture_output=True, check=False, text=True, cwd=tmp_path, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1].startswith("1 passed")


def test_names_of_packages_last_in_the_command_line_only() -> None:
    """Users of Python get what they imported collected like everything else."""
    before = LazyNames.find_module
    with lasting_names():
        assert LazyNames.find_module is import_lastingly
    assert LazyNames.find_module is before is importlib.import_module
