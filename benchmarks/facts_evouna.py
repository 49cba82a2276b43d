"""Facts of answers as a grader without a model: agreement with people on the answers of EVOUNA.

    .venv/bin/python benchmarks/facts_evouna.py [--half held] [--data more.jsonl] [--alarms]

The data are `../shared/data/evouna/nq.jsonl`: 1,007 questions of Natural Questions, the answers of five systems, and
the verdict of a person for each. An answer is right for a criterion if it is right against one of the references.
Answers whose references hold no fact are left out, because `facts_match_v1` does not apply to them. An answer that a
criterion leaves undecided, for example the year of a date, neither passes nor fails. The dev half has
the questions at even places. The authors of the detector have read the alarms of both halves, so that `--data` names
more questions in the same form, for example those of QA-Eval's NQ.json and TQ.json. Intervals resample questions.

`--disputes` names the right answers that contradict every reference by a person's reading, or give no answer: a line
each, `nq-0860 gpt4`. The share of right answers that fail is printed with them and without them.

The data hold no verdicts of a model, so that the judge behind the criterion is simulated: it is wrong about a stated
share of the answers, whatever they are. The shares are expectations, and no dice are thrown.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from measuring import heading

from fairtrial.text.facts.fact_agreement import compare_facts
from fairtrial.text.rouge import rouge, words

DATA = Path(__file__).parents[2] / "shared" / "data" / "evouna" / "nq.jsonl"
DISPUTES = Path(__file__).with_name("facts_disputes.txt")
Row = tuple[str, bool, bool | None]
"""The question, whether people say that the answer is right, and whether the criterion does. None: undecided."""


def main(peer: str = "") -> None:  # noqa: ARG001  (each criterion runs here)
    """Print the shares of both errors and Youden's J of each criterion."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("dev", "held", "both"), default="dev")
    parser.add_argument("--data", type=Path, default=DATA, help="questions in the form of nq.jsonl")
    parser.add_argument("--disputes", type=Path, default=DISPUTES, help="right answers that contradict every reference")
    parser.add_argument("--alarms", action="store_true", help="print the right answers that facts_match_v1 fails")
    arguments, _ = parser.parse_known_args()
    # Some answers hold signs that end a line elsewhere.
    questions = [json.loads(line) for line in arguments.data.read_text(encoding="utf-8").split("\n") if line]
    disputes = {line for line in arguments.disputes.read_text(encoding="utf-8").splitlines() if line[:1] != "#"}
    right_answers: list[tuple[str, bool, bool]] = []
    if arguments.half != "both":
        questions = questions[arguments.half == "held" :: 2]
    heading(f"EVOUNA, {arguments.half} half: wrong answers that fail, right answers that fail, J")
    rows: dict[str, list[Row]] = {"facts_match_v1": [], "ROUGE-1 >= 0.2": [], "exact match": [], "contains": []}
    for question in questions:
        for system, answer in question["answers"].items():
            text, references = answer["text"], question["references"]
            facts = [by_facts(reference, text, question["question"]) for reference in references]
            if "right" not in facts and "none" in facts:
                continue
            by_all = True if "right" in facts else None if "undecided" in facts else False
            told: dict[str, bool | None] = {
                "facts_match_v1": by_all,
                "ROUGE-1 >= 0.2": any(rouge(words(text), words(each)).f >= 0.2 for each in references),
                "exact match": text.strip() in references,
                "contains": any(each in text for each in references),
            }
            if answer["correct"]:
                right_answers.append((question["id"], by_all is False, f"{question['id']} {system}" in disputes))
            if arguments.alarms and answer["correct"] and by_all is False:
                print(f"  {question['id']} {system}: {question['question']} {references} {text[:300]!r}")
            for name, right in told.items():
                rows[name].append((question["id"], answer["correct"], right))
    answers = [(each, answer) for each in questions for answer in each["answers"].values()]
    failed = [
        a["correct"]
        for q, a in answers
        if compare_facts(q["references"][0], a["text"], question=q["question"]).contradicted
    ]
    print(f"  as the first criterion of a cascade: fails {len(failed)} of {len(answers)}, {sum(failed)} of them right")
    for error in (0.0, 0.05, 0.1, 0.2):
        kept = (len(failed) - sum(failed) + (len(answers) - len(failed)) * (1 - error)) / len(answers)
        print(f"  a judge that is wrong about {error:.0%} of all answers agrees with people in {1 - error:.1%}, "
              f"and behind this criterion in {kept:.1%}")  # fmt: skip
    print_alarms(right_answers)
    for name, each in rows.items():
        low, high = interval(each)
        wrong, alarms = shares(each)
        agreed = [right is correct for _, correct, right in each if right is not None]
        print(
            f"  {name:16} {wrong:6.1%} {alarms:6.1%}  J {wrong - alarms:+.2f} [{low:+.2f}, {high:+.2f}]"
            f"  agrees with people {sum(agreed) / len(agreed):.1%}, undecided {len(each) - len(agreed)} of {len(each)}"
        )


def print_alarms(answers: Sequence[tuple[str, bool, bool]]) -> None:
    """Print the shares of right answers that fail, and of those that fail and contradict no reference."""
    failed = sum(fails for _, fails, _ in answers)
    disputed = sum(fails and dispute for _, fails, dispute in answers)
    for title, count, is_alarm in (
        ("right answers that fail", failed, [(name, fails) for name, fails, _ in answers]),
        ("without those that contradict every reference", failed - disputed,
         [(name, fails and not dispute) for name, fails, dispute in answers]),
    ):  # fmt: skip
        # The interval of a share is that of the "wrong answers that fail" of rows that are all wrong.
        low, high = interval([(name, False, not alarm) for name, alarm in is_alarm])
        share = count / max(1, len(answers))
        print(f"  {title}: {count} of {len(answers)}, {share:.1%} [{low:.1%}, {high:.1%}]")


def by_facts(reference: str, reply: str, question: str = "") -> Literal["none", "right", "wrong", "undecided"]:
    """Return whether a reply states the facts of a reference, and "none" if the reference has none."""
    agreement = compare_facts(reference, reply, question=question)
    states = {finding.state for finding in agreement.findings}
    if not states and not agreement.contradicted:
        return "none"
    if agreement.contradicted or "missing" in states:
        return "wrong"
    return "undecided" if "undecided" in states else "right"


def shares(rows: Sequence[Row]) -> tuple[float, float]:
    """Return the shares of wrong answers and of right answers that fail."""
    wrong = [right is False for _, correct, right in rows if not correct]
    alarms = [right is False for _, correct, right in rows if correct]
    return sum(wrong) / max(1, len(wrong)), sum(alarms) / max(1, len(alarms))


def interval(rows: Sequence[Row], *, resamples: int = 500) -> tuple[float, float]:
    """Return the 95 % interval of J over resampled questions."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[0], []).append(row)
    names, chance = list(groups), random.Random(0)
    values = []
    for _ in range(resamples):
        wrong, alarms = shares([row for name in chance.choices(names, k=len(names)) for row in groups[name]])
        values.append(wrong - alarms)
    values.sort()
    return values[int(0.025 * resamples)], values[int(0.975 * resamples)]


if __name__ == "__main__":
    main()
