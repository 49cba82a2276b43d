"""How well do criteria without a model tell a wrong reply from a right paraphrase, on the corpus of facts?

    .venv/bin/python benchmarks/facts_corpus.py [--half dev] [--claims] [--criteria criteria.json] [--kinds]

A pair that a criterion cannot score counts as unscored, and as no alarm. J is Youden's: the share of wrong replies that
fail minus the share of right paraphrases that fail. Its 95 % interval resamples references. Pairs with the verdict
"cannot tell" are left out. The held half is for the published figures.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import heading

import fairtrial

CORPUS = Path(__file__).parents[1] / "tests" / "facts" / "corpus"
LANGUAGES = ("en", "ko", "ja", "zh-Hans", "zh-Hant")
CRITERIA = {
    "facts_match_v1": {"threshold": 1.0},
    "exact_match": {"threshold": 1.0},
    "contains": {"threshold": 1.0},
    "response_match_score": {"threshold": 0.8},
}
_RESAMPLES = 1000


@dataclass(frozen=True)
class Pair:
    """A pair of the corpus and what a criterion says: whether the reply fails, or None if it is unscored."""

    reference: str
    kind: str
    same: bool
    fails: bool | None


def main(peer: str = "") -> None:  # noqa: ARG001  (each criterion runs here)
    """Print the shares of both kinds of error for each language and criterion."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("dev", "held"), default="dev")
    parser.add_argument("--claims", action="store_true", help="the lists, names, promises and quotations instead")
    parser.add_argument("--criteria", type=Path, help="a JSON object of criteria, instead of the project's own")
    parser.add_argument("--kinds", action="store_true", help="also each kind of fact")
    arguments, _ = parser.parse_known_args()
    criteria = json.loads(arguments.criteria.read_text()) if arguments.criteria else CRITERIA
    part = f"claims.{arguments.half}" if arguments.claims else arguments.half
    heading(f"facts corpus, {part} half: wrong replies that fail, right paraphrases that fail, J")
    for language in LANGUAGES:
        text = (CORPUS / f"{language}.{part}.jsonl").read_text(encoding="utf-8")
        rows = [row for row in map(json.loads, text.splitlines()) if row["same"] is not None]
        for name, pairs in judge_pairs(rows, criteria).items():
            print(f"  {language} {name:28} {summarise(pairs)}", flush=True)
            if arguments.kinds:
                print_kinds(pairs)


def judge_pairs(rows: Sequence[dict[str, Any]], criteria: dict[str, Any]) -> dict[str, list[Pair]]:
    """Return the pairs of each criterion, in the order of the rows."""
    cases, recordings = [], []
    for row in rows:
        question = fairtrial.Message(row.get("question", "What can you tell me?"))
        expected, actual = (
            fairtrial.Invocation(question, (), fairtrial.Message(row[k])) for k in ("reference", "reply")
        )
        cases.append(fairtrial.EvalCase(row["id"], (expected,)))
        recordings.append(fairtrial.Recording(row["id"], fairtrial.Trace((actual,))))
    run = fairtrial.score(recordings, fairtrial.EvalSet("facts", tuple(cases)), criteria)
    judged: dict[str, list[Pair]] = {name: [] for name in criteria}
    by_id = {row["id"]: row for row in rows}
    for case in run.cases:
        row = by_id[case.case_id]
        for outcome in case.outcomes:
            if outcome.criterion not in judged:  # counted in every run
                continue
            decided = outcome.verdict in (fairtrial.Verdict.PASSED, fairtrial.Verdict.FAILED)
            fails = outcome.verdict is fairtrial.Verdict.FAILED if decided else None
            reference = f"{row.get('question', '')} {row['reference']}"
            judged[outcome.criterion].append(Pair(reference, row["kind"], row["same"], fails))
    return judged


def summarise(pairs: Sequence[Pair]) -> str:
    """Return both shares, J with its interval, and the number of unscored pairs, as text."""
    groups = defaultdict(list)
    for pair in pairs:
        groups[pair.reference].append(pair)
    generator, clusters = random.Random(31), list(groups.values())
    resampled = sorted(
        youden([pair for cluster in generator.choices(clusters, k=len(clusters)) for pair in cluster])
        for _ in range(_RESAMPLES)
    )
    low, high = resampled[_RESAMPLES // 40], resampled[-_RESAMPLES // 40]
    unscored = sum(pair.fails is None for pair in pairs)
    shares = f"{share(pairs, same=False):6.1%} {share(pairs, same=True):6.1%}"
    return f"{shares}  J {youden(pairs):+.2f} [{low:+.2f}, {high:+.2f}]  unscored {unscored}"


def share(pairs: Iterable[Pair], *, same: bool) -> float:
    """Return the share of the pairs with this verdict that fail, 0 if there are none."""
    fails = [pair.fails is True for pair in pairs if pair.same is same]
    return sum(fails) / len(fails) if fails else 0.0


def youden(pairs: Sequence[Pair]) -> float:
    """Return Youden's J, sensitivity + specificity - 1, from -1 to 1."""
    return share(pairs, same=False) - share(pairs, same=True)


def print_kinds(pairs: Sequence[Pair]) -> None:
    """Print both shares of each kind."""
    kinds = defaultdict(list)
    for pair in pairs:
        kinds[pair.kind].append(pair)
    for kind, members in sorted(kinds.items()):
        wrong = sum(not pair.same for pair in members)
        counts = f"of {wrong} and {len(members) - wrong}"
        print(f"    {kind:30} {share(members, same=False):6.1%} {share(members, same=True):6.1%}  {counts}")


if __name__ == "__main__":
    main()
