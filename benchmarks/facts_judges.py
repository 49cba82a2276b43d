"""Facts beside recorded judges, on answers with the verdict of a person: the 301 questions of OpenQA-eval.

    .venv/bin/python benchmarks/facts_judges.py FOLDER [--alarms]

FOLDER is `data` of github.com/ehsk/OpenQA-eval (MIT): 1,490 answers of twelve systems to questions of Natural
Questions, whether people accept each, and what GPT-4, text-davinci-003 and BEM (a model for this task) say. An answer
is right for BEM if one of its references has a probability of 0.5. Intervals resample questions.

The cascade asks the recorded judge where facts contradict no reference, or not every reference.
"""

from __future__ import annotations

import argparse
import ast
import csv
from pathlib import Path

from facts_evouna import DISPUTES, Row, by_facts, interval, print_alarms, shares
from measuring import heading

from fairtrial.text.facts.fact_agreement import compare_facts
from fairtrial.text.rouge import rouge, words

JUDGES = ("gpt-4", "text-davinci-003")


def main(peer: str = "") -> None:  # noqa: ARG001  (the judges are recorded)
    """Print both shares of error, J and the agreement of facts and judges, and those of a cascade."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--alarms", action="store_true", help="print the right answers that facts_match_v1 fails")
    arguments, _ = parser.parse_known_args()
    judges = {name: read_verdicts(arguments.folder / f"NQ301_{name}.tsv") for name in JUDGES}
    disputes = set(DISPUTES.read_text(encoding="utf-8").splitlines())
    names = ("facts_match_v1", "contains", "ROUGE-1 >= 0.2", "exact match", "BEM", *JUDGES)
    rows: dict[str, list[Row]] = {name: [] for name in names}
    cascades: dict[str, list[Row]] = {name: [] for name in JUDGES}
    judged: dict[str, list[Row]] = {name: [] for name in JUDGES}
    alarms: list[tuple[str, bool, bool]] = []
    contradicted_answers = 0
    people = {row["Question"] + row["Model answer"]: row for row in read_table(arguments.folder / "NQ301_human.tsv")}
    for row in read_table(arguments.folder / "NQ301_BEM.tsv"):
        question, text = row["Question"], row["Model answer"]
        references = [repair(item.strip()) for item in row["Gold answers"].split(" | ")]
        verdicts = {name: table[question + text] for name, table in judges.items() if question + text in table}
        if len(verdicts) < len(JUDGES) or question + text not in people:
            continue
        correct = people[question + text]["Acceptable?"] == "Yes"
        is_contradicted = all(compare_facts(item, text, question=question).contradicted for item in references)
        contradicted_answers += is_contradicted
        for name, verdict in verdicts.items():
            judged[name].append((question, correct, verdict))
            cascades[name].append((question, correct, verdict and not is_contradicted))
        facts = [by_facts(item, text, question) for item in references]
        if "right" not in facts and "none" in facts:
            continue
        is_right = True if "right" in facts else None if "undecided" in facts else False
        told: dict[str, bool | None] = {
            "facts_match_v1": is_right,
            "contains": any(item.lower() in text.lower() for item in references),
            "ROUGE-1 >= 0.2": any(rouge(words(text), words(item)).f >= 0.2 for item in references),
            "exact match": text.strip().lower() in {item.lower() for item in references},
            "BEM": any(pair[1] >= 0.5 for pair in ast.literal_eval(row["BEM probs per gold answer"])),
            **verdicts,
        }
        for name, right in told.items():
            rows[name].append((question, correct, right))
        if correct:
            name = f"{question}: {text}"
            alarms.append((question, is_right is False, name in disputes))
            if arguments.alarms and is_right is False:
                print(f"  {name} {references}")
    heading("OpenQA-eval, answers whose references hold a fact: wrong that fail, right that fail, J")
    print_alarms(alarms)
    for name, each in rows.items():
        print_errors(name, each)
    heading(f"all answers: facts contradict each reference of {contradicted_answers} of {len(judged[JUDGES[0]])}")
    for name in JUDGES:
        print_errors(name, judged[name])
        print_errors(f"facts, {name}", cascades[name])


def read_table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def repair(text: str) -> str:
    """Return a text whose bytes were read in a wrong encoding, as in "Â°" for "°"."""
    try:
        return text.encode("cp1252").decode("utf-8")
    except UnicodeError:
        return text


def read_verdicts(path: Path) -> dict[str, bool]:
    """Return whether a judge accepts each answer, by the question and the answer, which one table does not divide."""
    with path.open(encoding="utf-8", newline="") as file:
        return {
            "".join(row[1:-2]): row[-1].lstrip().lower().startswith("yes") for row in csv.reader(file, delimiter="\t")
        }


def print_errors(name: str, rows: list[Row]) -> None:
    """Print the figures of a grader."""
    wrong, alarms = shares(rows)
    low, high = interval(rows)
    agreed = [(key, right is correct) for key, correct, right in rows if right is not None]
    share = sum(agree for _, agree in agreed) / len(agreed)
    least, most = interval([(key, False, not agree) for key, agree in agreed])
    print(
        f"  {name:24} {wrong:6.1%} {alarms:6.1%}  J {wrong - alarms:+.2f} [{low:+.2f}, {high:+.2f}]"
        f"  agrees {share:.1%} [{least:.1%}, {most:.1%}] of {len(agreed)}, undecided {len(rows) - len(agreed)}",
        flush=True,
    )


if __name__ == "__main__":
    main()
