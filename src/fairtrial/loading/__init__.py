"""Files -> eval sets, criteria, recordings."""

from fairtrial.loading.cases import LoadedSet, plan_cases, select_cases
from fairtrial.loading.criteria import DEFAULT_CONFIG, Criteria, criteria_for, criteria_in, criteria_of
from fairtrial.loading.documents import TraceDefaults, document_files, documents_of_recordings, iter_documents
from fairtrial.loading.matching import (
    Match,
    MatchedRecordings,
    as_recording,
    match,
    match_each,
    recordings_of,
    with_sets,
    without_reference,
)
from fairtrial.loading.sources import Source, merge_sources, read_file, sources

__all__ = [
    "DEFAULT_CONFIG",
    "Criteria",
    "LoadedSet",
    "Match",
    "MatchedRecordings",
    "Source",
    "TraceDefaults",
    "as_recording",
    "criteria_for",
    "criteria_in",
    "criteria_of",
    "document_files",
    "documents_of_recordings",
    "iter_documents",
    "match",
    "match_each",
    "merge_sources",
    "plan_cases",
    "read_file",
    "recordings_of",
    "select_cases",
    "sources",
    "with_sets",
    "without_reference",
]
