"""How many pairs of answers that people call equal fail `facts_match_v1`, in either direction?

    .venv/bin/python benchmarks/facts_equal_answers.py FOLDER [--half even]

FOLDER holds `SQuAD_SAS.csv` and `GermanQuAD_SAS.csv` of the Semantic Answer Similarity data (Risch and others 2021,
github.com/deepset-ai/semantic-answer-similarity): pairs of answers that two people gave to one question, with the
verdict of people from 0 (different) to 2 (equal). A pair counts if one of its answers holds a fact. The authors of
the detector have read the failing pairs at even places.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from facts_evouna import by_facts
from measuring import heading

from fairtrial.stats.interval import wilson

_EQUAL = 2.0


def main(peer: str = "") -> None:  # noqa: ARG001  (no peer runs here)
    """Print the share of equal pairs that fail, and that of different pairs, with the intervals of Wilson."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=("even", "odd", "both"), default="both")
    arguments, _ = parser.parse_known_args()
    heading(f"pairs of answers by two people that fail, {arguments.half} places")
    for name in ("SQuAD_SAS.csv", "GermanQuAD_SAS.csv"):
        with (arguments.folder / name).open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        if arguments.half != "both":
            rows = rows[arguments.half == "odd" :: 2]
        for title, chosen in (
            ("equal", [row for row in rows if float(row["label"] or 0) == _EQUAL]),
            ("different", [row for row in rows if float(row["label"] or 0) == 0]),
        ):
            states = [
                {by_facts(row[a], row[b]) for a, b in (("answer1", "answer2"), ("answer2", "answer1"))}
                for row in chosen
            ]
            fails = ["wrong" in both for both in states if both != {"none"}]
            share = sum(fails) / max(1, len(fails))
            low, high = wilson(share, max(1, len(fails)), 1.96)
            print(f"  {name:20} {title:10} {sum(fails)} of {len(fails)} fail, {share:.1%} [{low:.1%}, {high:.1%}]")


if __name__ == "__main__":
    main()
