"""Shared settings of all tests: the effort of Hypothesis, and markers for tests with special needs."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Several test processes share the cores: a second thread in each would only wait for the others.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Piped output is as wide as this variable says, and a process of xdist has one.
os.environ.pop("COLUMNS", None)

# Commands print in the language of the locale, and the tests read English.
os.environ["LC_ALL"] = "C.UTF-8"

# Stores wait for the disk at every commit, and no test needs what it wrote after the machine fails.
_MEMORY = Path("/dev/shm")  # noqa: S108  (a folder in memory, on Linux)
if "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 1 << 30:
    os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)

# A shell that starts this in the background lets it ignore Ctrl-C, and the processes that tests start inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "fairtrial", derandomize=True, max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fairtrial")

SHARED = Path(os.environ.get("FAIRTRIAL_SHARED", Path(__file__).parents[2] / "shared"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the tests of agent frameworks if no test of that mark is wanted: an import of a framework is slow."""
    is_unwanted = "not agents" in config.option.markexpr and collection_path.match("agents/test_*_agent.py")
    return True if is_unwanted and "pytest.mark.agents" in collection_path.read_text(encoding="utf-8") else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, saying so, what needs a folder or a server that is not there, and group tests that share a browser."""
    lacking = {
        "shared": "" if SHARED.is_dir() else f"needs the folder {SHARED} (or FAIRTRIAL_SHARED)",
        "postgres": ""
        if os.environ.get("FAIRTRIAL_TEST_POSTGRES")
        else "needs a Postgres URL in FAIRTRIAL_TEST_POSTGRES",
    }
    for item in items:
        for marker, reason in lacking.items():
            if reason and item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))
        if item.path.parent.name == "browser" and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))  # its tests share a browser and a server


def pytest_collection_finish() -> None:
    """Keep the collector of garbage from what lives until the end, and let it collect less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_unconfigure() -> None:
    """Let the collector have everything again: what is kept from it when Python ends, a library reports as leaked."""
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def _outside_of_repositories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Start every test in an empty folder: in the folder of the project, each run would ask git for its commit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("work"))
        yield


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder that only the founders have."""
    return SHARED


@pytest.fixture(scope="session")
def vectors(shared: Path) -> dict[str, Any]:
    """Inputs with the results of google-adk 2.13."""
    found: dict[str, Any] = json.loads((shared / "vectors" / "adk.json").read_bytes())
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser that the tests of a module share. A module that needs flags of its own starts its own."""
    from browsing import launched

    with launched() as own:
        yield own
