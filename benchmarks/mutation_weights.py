"""Does a mutation score rank evaluators as natural errors do, and do weights mined from natural errors rank better?

    .venv/bin/python benchmarks/mutation_weights.py [--write]

Two sources of natural errors: EVOUNA (a right GPT-4 answer is the reference, the answers of four other systems are
judged by people) and tau-bench (the gold actions are the expected calls, the reward says whether a conversation is
right). Youden's J of an evaluator on natural answers is the truth. Mutants are planted in the references.

The weights belong to kinds of operators. They are those of a ridge regression without negative weights, of J on the
catch rates: harmful kinds count for an evaluator, harmless ones against it. Each evaluator is predicted by weights of
which no evaluator of its family was part, and which were mined from the J of the other half of the questions.
Intervals resample families. With `--write`, the weights are written to mutation_weights.txt beside this file.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from evaluator_family import call_evaluators, evaluators
from measuring import heading, line, target
from scipy.optimize import nnls
from scipy.stats import spearmanr

from fairtrial.mutations.operator import Rules
from fairtrial.mutations.planting import Planting
from fairtrial.mutations.table import OPERATORS
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import Invocation, Message, ToolCall, Trace

SHARED = Path(__file__).parents[2] / "shared" / "data"
TABLE = Path(__file__).with_suffix(".txt")
_RIDGE = 0.3
_FEWEST = 30
"""The smallest number of mutants from which on an operator counts."""
KINDS = {
    "value": ("number_changed", "number_near", "date_changed", "time_changed", "weekday_changed", "unit_changed"),
    "name": ("name_swapped",),
    "polarity": ("negated", "denied"),
    "addition": ("claim_invented", "promise_invented"),
    "omission": ("sentence_dropped", "cut_short"),
    "no answer": ("empty_reply", "refused", "asked_back", "postponed"),
    "other answer": ("other_reply", "other_language"),
    "call": ("call_dropped", "call_repeated", "call_added", "tool_swapped", "calls_swapped"),
    "argument": ("argument_changed", "argument_dropped", "argument_from_other_case", "argument_near"),
    "schema": ("argument_type_changed", "argument_renamed"),
    "layout": ("whitespace", "markdown_toggled", "number_format", "keys_reordered"),
    "courtesy": ("polite_frame", "courtesy_added", "courtesy_dropped"),
    "wording": ("reworded", "synonym", "contraction", "number_spelled", "date_format", "sentences_reordered"),
    "repetition": ("question_restated", "summed_up"),
    "free order": ("independent_calls_swapped",),
}


class Pair(NamedTuple):
    """A reference, an answer, its operator or its half of the natural errors, and whether it should fail."""

    reference: Any
    answer: Any
    group: str
    is_bad: bool


class Evaluators(NamedTuple):
    """The family of each evaluator, and the function that says whether it fails an answer."""

    families: list[str]
    fails: list[Callable[[Any, Any], bool]]


def mutants(
    cases: Sequence[EvalCase], rules: Rules, view: Callable[[Trace], Any], tools: Mapping[str, Any]
) -> list[Pair]:
    """Return the mutants of the conversations of some cases. `view` is what an evaluator sees of a conversation."""
    planting, pairs = Planting(tuple(OPERATORS.values())), []
    for place, case in enumerate(cases):
        neighbours = [cases[(place + n) % len(cases)] for n in range(1, 6)]
        baseline = Recording(case.id, Trace(case.conversation or ()))
        for mutant in planting.mutants(case, baseline, rules, tools, neighbours):
            assert mutant.mutation is not None
            is_bad = mutant.mutation.direction == "harmful"
            pairs.append(Pair(view(baseline.trace), view(mutant.trace), mutant.mutation.operator, is_bad))
    return pairs


def evouna() -> tuple[Evaluators, list[Pair], list[Pair]]:
    """Return evaluators of answers, natural answers of two halves of the questions, and mutants."""
    lines = (SHARED / "evouna" / "nq.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [question for question in map(json.loads, lines) if question["answers"]["gpt4"]["correct"]]
    natural = [
        Pair(question["answers"]["gpt4"]["text"], answer["text"], "ab"[place % 2], not answer["correct"])
        for place, question in enumerate(questions)
        for system, answer in question["answers"].items()
        if system != "gpt4"
    ]
    cases = [
        EvalCase(each["id"], (Invocation(Message(each["question"]), (), Message(each["answers"]["gpt4"]["text"])),))
        for each in questions
    ]
    family = list(evaluators())
    fails = [lambda r, a, e=each: e.scorer(r, a) < e.threshold - 1e-9 for each in family]
    planted = mutants(cases, Rules(), lambda trace: trace.invocations[0].reply, {})
    return Evaluators([each.family for each in family], fails), natural, planted


def tau_bench() -> tuple[Evaluators, list[Pair], list[Pair]]:
    """Return evaluators of calls, conversations of two halves of the tasks, and mutants of the gold actions."""
    runs = json.loads((SHARED / "tau-bench" / "gpt-4o-airline.json").read_text(encoding="utf-8"))
    natural, golds = [], {}
    for run in runs:
        actions = [(action["name"], action["kwargs"]) for action in run["info"]["task"]["actions"]]
        golds[run["task_id"]] = actions
        functions = [call["function"] for step in run["traj"] for call in step.get("tool_calls") or ()]
        made = [(function["name"], json.loads(function["arguments"])) for function in functions]
        natural.append(Pair(_calls(actions), _calls(made), "ab"[run["task_id"] % 2], run["reward"] < 1))
    tools = {name: {} for actions in golds.values() for name, _ in actions}
    cases = [
        EvalCase(str(task), (Invocation(Message("?"), tuple(ToolCall(*each) for each in actions), Message("Done.")),))
        for task, actions in golds.items()
        if actions
    ]
    family = list(call_evaluators())
    fails = [lambda r, a, s=scorer, t=threshold: s(r, a) < t - 1e-9 for _, scorer, threshold in family]
    view = lambda trace: _calls([(call.name, call.args) for call in trace.invocations[0].tool_calls])  # noqa: E731
    planted = [
        pair
        for pair in mutants(cases, Rules(order="ANY_ORDER"), view, tools)
        if OPERATORS[pair.group].family == "calls"
    ]
    return Evaluators([name for name, _, _ in family], fails), natural, planted


def _calls_of(trace: Trace) -> Any:
    return _calls([(call.name, call.args) for call in trace.invocations[0].tool_calls])


def _calls(calls: Sequence[tuple[str, Any]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, json.dumps(arguments, sort_keys=True)) for name, arguments in calls)


def failures(of: Evaluators, pairs: Sequence[Pair]) -> np.ndarray:
    """Return which evaluator fails which answer."""
    return np.array([[fails(pair.reference, pair.answer) for pair in pairs] for fails in of.fails])


def youden(failed: np.ndarray, pairs: Sequence[Pair], groups: str) -> np.ndarray:
    """Return Youden's J of each evaluator on the natural answers of some halves."""
    bad = np.array([pair.is_bad and pair.group in groups for pair in pairs])
    good = np.array([not pair.is_bad and pair.group in groups for pair in pairs])
    return failed[:, bad].mean(axis=1) - failed[:, good].mean(axis=1)


def catch_rates(failed: np.ndarray, pairs: Sequence[Pair]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the kinds, their signs, and the mean catch rate of their operators by each evaluator."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, pair in enumerate(pairs):
        places[pair.group].append(place)
    names, signs, rates = [], [], []
    for kind, operators in KINDS.items():
        known = [name for name in operators if len(places[name]) >= _FEWEST]
        if known:
            names.append(kind)
            signs.append(1.0 if OPERATORS[known[0]].direction == "harmful" else -1.0)
            rates.append(np.mean([failed[:, places[name]].mean(axis=1) for name in known], axis=0))
    return names, np.array(signs), np.stack(rates, axis=1)


def mine(features: np.ndarray, natural: np.ndarray) -> np.ndarray:
    """Return weights of at least 0 that predict J from signed catch rates."""
    ridge = np.sqrt(_RIDGE) * np.eye(features.shape[1])
    weights, _ = nnls(np.vstack([features, ridge]), np.concatenate([natural, np.zeros(len(ridge))]))
    return np.asarray(weights)


def predict(features: np.ndarray, halves: Mapping[str, np.ndarray], families: Sequence[str], half: str) -> np.ndarray:
    """Return a prediction of J on a half, from weights that saw neither that half nor the family of the evaluator."""
    seen = halves["b" if half == "a" else "a"]
    predicted = np.zeros(len(families))
    for name in dict.fromkeys(families):
        own = np.array([family == name for family in families])
        predicted[own] = features[own] @ mine(features[~own], seen[~own])
    return predicted


def rank(predicted: np.ndarray, natural: np.ndarray) -> float:
    """Return Spearman's rank correlation, 0 if a side is constant."""
    if len(set(predicted)) < 2 or len(set(natural)) < 2:
        return 0.0
    return float(spearmanr(predicted, natural).statistic)


def interval(predicted: np.ndarray, natural: np.ndarray, families: Sequence[str]) -> tuple[float, float]:
    """Return the 95 % interval of the rank correlation over resampled families."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(families):
        places[name].append(place)
    names, chance, values = list(places), random.Random(0), []
    for _ in range(1000):
        chosen = [place for name in chance.choices(names, k=len(names)) for place in places[name]]
        values.append(rank(predicted[chosen], natural[chosen]))
    values.sort()
    return values[25], values[974]


def measure(source: str, of: Evaluators, natural: Sequence[Pair], planted: Sequence[Pair]) -> list[str]:
    """Print the rank correlations of a source, and return the rows of its table of weights."""
    heading(f"{source}: {len(of.fails)} evaluators of {len(set(of.families))} families")
    wrong = sum(pair.is_bad for pair in natural)
    line("natural answers, wrong / right; mutants", f"{wrong} / {len(natural) - wrong}; {len(planted)}")
    failed = failures(of, natural)
    halves = {half: youden(failed, natural, half) for half in "ab"}
    truth = youden(failed, natural, "ab")
    line("J of one half against J of the other", f"{rank(halves['a'], halves['b']):.2f}")
    kinds, signs, rates = catch_rates(failures(of, planted), planted)
    harmful = rates[:, signs > 0].mean(axis=1)
    harmless = rates[:, signs < 0].mean(axis=1) if (signs < 0).any() else np.zeros(len(rates))
    for name, score in {"score": harmful, "score minus false alarms": harmful - harmless}.items():
        low, high = interval(score, truth, of.families)
        line(f"{name}, both halves", f"{rank(score, truth):.2f} [{low:.2f}, {high:.2f}]")
    unseen = []
    for half in "ab":
        predicted = predict(rates * signs, halves, of.families, half)
        plain = rank(harmful - harmless, halves[half])
        low, high = interval(predicted, halves[half], of.families)
        unseen.append(rank(predicted, halves[half]))
        line(
            f"mined weights, unseen families and half {half}",
            f"{unseen[-1]:.2f} [{low:.2f}, {high:.2f}], plain {plain:.2f}",
        )
    target(f"rank correlation on unseen evaluators of {source}", min(unseen), "", at_least=0.6)
    weights = mine(rates * signs, truth)
    table = [f"{source} {kind.replace(' ', '_')} {weight:.3f}" for kind, weight in zip(kinds, weights, strict=True)]
    print("  " + ", ".join(row.split(" ", 1)[1] for row in table))
    return [f"# {source}: rank correlation on unseen evaluators and halves {unseen[0]:.2f} and {unseen[1]:.2f}", *table]


def main(peer: str = "") -> None:  # noqa: ARG001  (each evaluator runs here)
    """Print the rank correlations of scores with the natural J, and the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the table of weights")
    arguments, _ = parser.parse_known_args()
    rows = measure("evouna", *evouna()) + measure("tau-bench", *tau_bench())
    if arguments.write:
        head = (
            "# Weights of kinds of operators, mined by mutation_weights.py on",
            f"# {datetime.now(UTC).date()} from EVOUNA (Wang et al. 2023, arXiv 2305.12421) and tau-bench (airline).",
        )
        TABLE.write_text("\n".join((*head, *rows, "")), encoding="utf-8")


if __name__ == "__main__":
    main()
