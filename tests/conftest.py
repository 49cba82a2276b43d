"""What all tests share: how much Hypothesis tries, and which tests need something that may not be there."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Several test processes share the cores: a second thread in each would only wait for the others.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# A shell that starts this in the background lets it ignore Ctrl-C, and the processes that tests start inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "fairtrial", derandomize=True, max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fairtrial")

SHARED = Path(os.environ.get("FAIRTRIAL_SHARED", Path(__file__).parents[2] / "shared"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, saying so, what needs a folder or a server that is not there."""
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


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder that only the founders have."""
    return SHARED


@pytest.fixture(scope="session")
def vectors(shared: Path) -> dict[str, Any]:
    """Inputs with the results of google-adk 2.13."""
    found: dict[str, Any] = json.loads((shared / "vectors" / "adk.json").read_bytes())
    return found
