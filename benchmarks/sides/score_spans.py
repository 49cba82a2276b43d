"""Scores a file of spans with one criterion, and prints how many conversations it holds."""

from __future__ import annotations

import sys

from fairtrial import api

if __name__ == "__main__":
    run = api.score(sys.argv[1], None, {"criteria": {"tool_call_count_v1": {"threshold": 100}}})
    print(len(run.cases))
