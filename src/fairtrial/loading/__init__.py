"""Load eval sets, criteria and recordings from files."""

from fairtrial.loading.case_index import RECORDED, CaseIndex, ReadCoverage
from fairtrial.loading.cases import TOOL_MODEL, LoadedSet, plan_cases, select_cases
from fairtrial.loading.criteria import (
    DEFAULT_CONFIG,
    DEFAULTS,
    Criteria,
    criteria_for,
    criteria_in,
    find_problems,
    join_criteria,
)
from fairtrial.loading.folders import walk_files
from fairtrial.loading.found_files import RECORDED_NAMES, check_stdin, find_files, has_known_name, is_eval_set_name
from fairtrial.loading.matching import (
    CaseFinder,
    Match,
    MatchedRecordings,
    as_recording,
    collect_recordings,
    match,
    match_each,
    with_sets,
    without_reference,
)
from fairtrial.loading.sources import (
    Source,
    check_useful,
    merge_sources,
    read_file,
    read_part,
    sources,
)
from fairtrial.loading.span_files import with_conversations
from fairtrial.loading.spooled_recordings import yield_case_ids

__all__ = [
    "DEFAULTS",
    "DEFAULT_CONFIG",
    "RECORDED",
    "RECORDED_NAMES",
    "TOOL_MODEL",
    "CaseFinder",
    "CaseIndex",
    "Criteria",
    "LoadedSet",
    "Match",
    "MatchedRecordings",
    "ReadCoverage",
    "Source",
    "as_recording",
    "check_stdin",
    "check_useful",
    "collect_recordings",
    "criteria_for",
    "criteria_in",
    "find_files",
    "find_problems",
    "has_known_name",
    "is_eval_set_name",
    "join_criteria",
    "match",
    "match_each",
    "merge_sources",
    "plan_cases",
    "read_file",
    "read_part",
    "select_cases",
    "sources",
    "walk_files",
    "with_conversations",
    "with_sets",
    "without_reference",
    "yield_case_ids",
]
