"""google-adk's imports warn, and it is not installed everywhere: both are met here, before its modules are needed."""

from __future__ import annotations

import importlib
import importlib.util
import warnings

import pytest

INSTALLED = importlib.util.find_spec("google") is not None and importlib.util.find_spec("google.adk") is not None
collect_ignore_glob = [] if INSTALLED else ["test_*.py"]

if INSTALLED:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in ("eval_set", "eval_result", "eval_config", "metric_evaluator_registry"):
            importlib.import_module(f"google.adk.evaluation.{module}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let google-adk say that its parts are experimental; every other warning is an error, as everywhere."""
    for item in items:
        if item.get_closest_marker("peer"):
            item.add_marker(pytest.mark.filterwarnings(r"ignore:.*EXPERIMENTAL.*:UserWarning"))
