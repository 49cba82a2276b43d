"""Files -> eval sets, criteria, recordings."""

from assay.load.cases import Wanted, chosen, works
from assay.load.criteria import DEFAULT_CONFIG, Criteria, criteria_for, criteria_in, criteria_of
from assay.load.files import Source, read_file, sources, together
from assay.load.matching import (
    Match,
    Recorded,
    as_recording,
    heard_in,
    match,
    match_each,
    told_apart,
    without_reference,
)

__all__ = [
    "DEFAULT_CONFIG",
    "Criteria",
    "Match",
    "Recorded",
    "Source",
    "Wanted",
    "as_recording",
    "chosen",
    "criteria_for",
    "criteria_in",
    "criteria_of",
    "heard_in",
    "match",
    "match_each",
    "read_file",
    "sources",
    "together",
    "told_apart",
    "without_reference",
    "works",
]
