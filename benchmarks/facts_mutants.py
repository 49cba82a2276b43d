"""How many planted mistakes does `facts_match_v1` catch, in five languages, and how many harmless changes fail it?

    .venv/bin/python benchmarks/facts_mutants.py [--half held] [--cases 200]

The references of the corpus of facts become cases, and `fairtrial mutate` changes their replies. The held half is for
the published figures. The operators of mutation are written apart from the criterion.
"""

from __future__ import annotations

import argparse
import json

from facts_corpus import CORPUS, LANGUAGES
from measuring import heading

import fairtrial
from fairtrial import api

CRITERIA = {"facts_match_v1": {"threshold": 1.0}}


def main(peer: str = "") -> None:  # noqa: ARG001  (no peer has mutation testing)
    """Print the caught mutants of each operator and language."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("dev", "held"), default="dev")
    parser.add_argument("--cases", type=int, default=200)
    arguments, _ = parser.parse_known_args()
    heading(f"mutants of the references of the {arguments.half} half that facts_match_v1 catches")
    for language in LANGUAGES:
        report = api.mutate(eval_set(language, arguments.half, arguments.cases), CRITERIA)
        rows = [(row.operator, row.overall) for row in report.operators if row.overall.mutants]
        cells = [f"{name} {counts.caught}/{counts.mutants}" for name, counts in rows]
        print(f"  {language}: {', '.join(cells)}", flush=True)


def eval_set(language: str, half: str, cases: int) -> fairtrial.EvalSet:
    """Return a case for each different reference of a half."""
    text = (CORPUS / f"{language}.{half}.jsonl").read_text(encoding="utf-8")
    references = dict.fromkeys(json.loads(line)["reference"] for line in text.splitlines())
    question = fairtrial.Message("What can you tell me?")
    invocations = [fairtrial.Invocation(question, (), fairtrial.Message(item)) for item in references][:cases]
    return fairtrial.EvalSet("facts", tuple(fairtrial.EvalCase(str(n), (item,)) for n, item in enumerate(invocations)))


if __name__ == "__main__":
    main()
