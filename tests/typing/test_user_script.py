"""Scripts with every public name run. Type checkers read this one in their strict modes (`make types`)."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
from pathlib import Path

import fairtrial

SCRIPT = Path(__file__).with_name("user_script.py")
EXTRAS = ("numpy", "safetensors", "tokenizers", "pyarrow", "jinja2", "pydantic_ai", "icu4py", "pg8000", "httpx2")


def test_the_script_uses_every_public_name() -> None:
    """A new public name is checked only if the script uses it."""
    imported = {
        alias.name
        for node in ast.walk(ast.parse(SCRIPT.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "fairtrial"
        for alias in node.names
    }
    assert imported == set(fairtrial.__all__)


def test_the_script_runs(tmp_path: Path) -> None:
    """What the type checkers accept also works."""
    lines = runpy.run_path(str(SCRIPT))["main"](tmp_path)
    assert "valid: passed" in lines or "final_response_match_v2: passed" in lines
    assert sum("polite: " in line for line in lines) == 5


def test_every_name_can_be_imported_without_extras() -> None:
    """`from fairtrial import *` works in a base install: importing an extra's package fails here as it does there."""
    block = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS}))"
    code = f"{block}; from fairtrial import *; print(evaluate, VectorCache)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
