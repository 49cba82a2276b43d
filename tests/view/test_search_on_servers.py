"""The search of the viewer reads a store on a server as it reads a file."""

from __future__ import annotations

import os
import uuid
from contextlib import closing

import pytest

from fairtrial import api
from fairtrial.api.viewer.view_index import CaseQuery
from fairtrial.store import Store
from report_pages import run as report_run
from viewers import fill


@pytest.mark.postgres
@pytest.mark.parametrize("text", ["월요일", "ARRIVES ON MONDAY", '"verbose":true', "case_1", "verbose: yes"])
def test_a_search_on_postgres_finds_what_a_search_in_a_file_finds(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    """Words of other scripts, capitals, arguments of calls, names, and nothing."""
    run_id = uuid.uuid4().hex
    found = []
    for url in (f"sqlite:///{tmp_path_factory.mktemp('search')}/runs.db", os.environ["FAIRTRIAL_TEST_POSTGRES"]):
        with closing(Store(url)) as store:
            fill(store, report_run(run_id))
        with closing(api.StoreViewer(url)) as viewer:
            found.append(set(viewer.find_cases(run_id, CaseQuery(text=text)).positions))
    assert found[0] == found[1]
    assert bool(found[0]) == (text != "verbose: yes")
