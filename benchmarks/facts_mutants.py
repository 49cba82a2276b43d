"""How many planted mistakes does `facts_match_v1` catch, in five languages, and how many harmless changes fail it?

    .venv/bin/python benchmarks/facts_mutants.py [--half held] [--cases 200]

The references of the corpus of facts become cases, and `fairtrial mutate` changes their replies. The held half is for
the published figures. The operators of mutation are written apart from the criterion.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence

from facts_corpus import CORPUS, LANGUAGES
from measuring import heading

import fairtrial
from fairtrial import api
from fairtrial.records.mutation import CatchRate
from fairtrial.stats.interval import wilson

LEAST = {"en": 0.9, "ko": 0.85, "ja": 0.85, "zh-Hans": 0.85, "zh-Hant": 0.85}
"""The targets of each operator, which all of a language together reach, too."""
FORM = {"asked_back", "cut_short", "empty_reply", "other_language", "other_reply", "postponed", "sentence_dropped"}
"""The harmful changes of the whole reply, which are no changes of a fact."""
CRITERIA = {"facts_match_v1": {"threshold": 1.0}}


def main(peer: str = "") -> None:  # noqa: ARG001  (no peer has mutation testing)
    """Print the caught mutants of each operator and language."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("dev", "held"), default="dev")
    parser.add_argument("--cases", type=int, default=200)
    arguments, _ = parser.parse_known_args()
    heading(f"mutants of the references of the {arguments.half} half that facts_match_v1 catches")
    totals: dict[str, list[CatchRate]] = defaultdict(list)
    for language in LANGUAGES:
        report = api.mutate(eval_set(language, arguments.half, arguments.cases), CRITERIA)
        rows = [row for row in report.operators if row.overall.mutants]
        cells = [f"{row.operator} {row.overall.caught}/{row.overall.mutants}" for row in rows]
        print(f"  {language}: {', '.join(cells)}")
        for row in rows:
            direction = (
                "a fact" if row.direction == "harmful" and row.operator.split(".")[-1] not in FORM else row.direction
            )
            totals[direction].append(row.overall)
            if direction == "a fact":
                totals[language].append(row.overall)
        add_up(f"{language}, a fact", totals[language], LEAST[language])
    add_up("all languages, a fact", totals["a fact"], 0.93)
    add_up("all languages, the whole reply", totals["harmful"], None)
    add_up("all languages, harmless (target: at most 2%)", totals["harmless"], None)


def add_up(title: str, counts: Sequence[CatchRate], least: float | None) -> None:
    """Print how many mutants of several operators are caught, with the interval of Wilson."""
    caught, mutants = sum(item.caught for item in counts), sum(item.mutants for item in counts)
    low, high = wilson(caught / mutants, mutants, 1.96)
    figures = f"{caught} of {mutants}, {caught / mutants:.2%} [{low:.2%}, {high:.2%}]"
    print(f"  {title}, all together: {figures}{f', target {least:.0%}' if least else ''}", flush=True)


def eval_set(language: str, half: str, cases: int) -> fairtrial.EvalSet:
    """Return a case for each different reference of a half."""
    text = (CORPUS / f"{language}.{half}.jsonl").read_text(encoding="utf-8")
    references = dict.fromkeys(json.loads(line)["reference"] for line in text.splitlines())
    question = fairtrial.Message("What can you tell me?")
    invocations = [fairtrial.Invocation(question, (), fairtrial.Message(item)) for item in references][:cases]
    return fairtrial.EvalSet("facts", tuple(fairtrial.EvalCase(str(n), (item,)) for n, item in enumerate(invocations)))


if __name__ == "__main__":
    main()
