"""The results of a pytest session: one run in the store, its reports, and its numbers in the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fairtrial.errors import FairtrialError
from fairtrial.pytest_plugin.plugin_options import option_value
from fairtrial.pytest_plugin.suite import get_suite
from fairtrial.text.display import visible_line

_REPORTS = ("html", "json", "markdown")
_SHOWN_WARNINGS = 20


def finish_session(config: pytest.Config) -> Iterator[str]:
    """Store the run of a session, write its reports, and yield the lines for the terminal."""
    from fairtrial import api

    try:
        run = get_suite(config).merged()
    except FairtrialError as error:
        yield f"the run is not stored: {visible_line(str(error))}"
        return
    if run is None:
        return
    warnings = run.info.config["warnings"]
    yield from (visible_line(f"warning: {warning}") for warning in warnings[:_SHOWN_WARNINGS])
    store = option_value(config, "store") or api.DEFAULT_URL
    show = "" if store == "none" else f"fairtrial show {run.info.id}{api.store_option(store)}"
    options = api.ReportOptions(bool(option_value(config, "allow-unscored")), show=show)
    for report in api.REPORTS:
        path = option_value(config, report.name) if report.name in _REPORTS else None
        if path is not None:
            try:
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                report.write(Path(path), run, options)
            except OSError as error:
                yield f"--fairtrial-{report.name}: cannot write {path}: {error.strerror or error}"
    yield from api.format_numbers(run).splitlines()
    if show:
        yield show
