"""Does a mutation score rank evaluators as natural errors do, and do weights mined from natural errors rank better?

    .venv/bin/python benchmarks/mutation_weights.py [--write]

Three sources of natural errors: EVOUNA (a right GPT-4 answer is the reference, the answers of four other systems are
judged by people), tau-bench (the gold actions are the expected calls, the reward says whether a conversation is
right). Youden's J of an evaluator on natural answers is the truth. Mutants are planted in the references, by the
operators of the package alone, and together with those of domain_operators.py.

The model is that of signal detection: the z of the sensitivity, and the z of the false alarm rate, on natural answers
are linear in the z of the catch rates of the operators. The z is the quantile of the normal distribution. Each of the
two is a Bayesian linear regression, whose ridge is that of the largest marginal likelihood of the evaluators that the
weights are mined from. Each evaluator is predicted by weights of which no evaluator of its family was part, and which
were mined from the natural answers to the other half of the questions. Intervals resample families. With `--write`, the
weights are written to mutation_weights.txt beside this file.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from domain_operators import answer_operators, call_operators
from evaluator_family import call_evaluators, evaluators
from measuring import heading, line, target
from scipy.optimize import minimize
from scipy.stats import norm, spearmanr

from fairtrial.mutations.operator import Operator, Rules
from fairtrial.mutations.planting import Planting
from fairtrial.mutations.table import OPERATORS
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import Invocation, Message, ToolCall, Trace

SHARED = Path(__file__).parents[2] / "shared" / "data"
TABLE = Path(__file__).with_suffix(".txt")
_FEWEST = 15
"""The smallest number of mutants from which on an operator counts."""
_EDGE = 0.005
"""A rate of 0 or 1 counts as this share, or as 1 less it, because its z would be infinite."""
_WRITES = re.compile("book|cancel|update|send")
"""The tools of tau-bench that change data, which alone decide over the reward."""
_SPLITS = 10
"""The number of further random halves of the questions."""


class Pair(NamedTuple):
    """A reference, an answer, its operator or its half of the natural errors, and whether it should fail."""

    reference: Any
    answer: Any
    group: str
    is_bad: bool
    question: str = ""


class Evaluators(NamedTuple):
    """The family of each evaluator, and the function that says whether it fails an answer."""

    families: list[str]
    fails: list[Callable[[Any, Any], bool]]


class Source(NamedTuple):
    """Evaluators, natural answers of two halves of the questions, and mutants by operators of the package.

    `with_domain` has those by operators of the domain, too. It is empty if the domain has none.
    """

    of: Evaluators
    natural: list[Pair]
    planted: list[Pair]
    with_domain: list[Pair]


def mutants(
    cases: Sequence[EvalCase],
    rules: Rules,
    view: Callable[[Trace], Any],
    tools: Mapping[str, Any],
    operators: Sequence[Operator] = (),
) -> list[Pair]:
    """Return the mutants of the conversations of some cases, by the package's operators if no others are named.

    `view` is what an evaluator sees of a conversation.
    """
    planting, pairs = Planting(tuple(operators or OPERATORS.values())), []
    for place, case in enumerate(cases):
        neighbours = [cases[(place + n) % len(cases)] for n in range(1, 6)]
        baseline = Recording(case.id, Trace(case.conversation or ()))
        for mutant in planting.mutants(case, baseline, rules, tools, neighbours):
            assert mutant.mutation is not None
            is_bad = mutant.mutation.direction == "harmful"
            pairs.append(Pair(view(baseline.trace), view(mutant.trace), mutant.mutation.operator, is_bad))
    return pairs


def evouna() -> Source:
    """Return evaluators of answers."""
    lines = (SHARED / "evouna" / "nq.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [question for question in map(json.loads, lines) if question["answers"]["gpt4"]["correct"]]
    natural = [
        Pair(each["answers"]["gpt4"]["text"], answer["text"], "ab"[place % 2], not answer["correct"], each["id"])
        for place, each in enumerate(questions)
        for system, answer in each["answers"].items()
        if system != "gpt4"
    ]
    cases = [
        EvalCase(each["id"], (Invocation(Message(each["question"]), (), Message(each["answers"]["gpt4"]["text"])),))
        for each in questions
    ]
    family = list(evaluators())
    fails = [lambda r, a, e=each: e.scorer(r, a) < e.threshold - 1e-9 for each in family]
    view = lambda trace: trace.invocations[0].reply  # noqa: E731
    planted = mutants(cases, Rules(), view, {})
    short = answer_operators({each["id"]: each["references"][0] for each in questions})
    with_domain = planted + mutants(cases, Rules(), view, {}, short)
    return Source(Evaluators([each.family for each in family], fails), natural, planted, with_domain)


def tau_bench() -> Source:
    """Return evaluators of calls. The mutants are those of the gold actions."""
    runs = json.loads((SHARED / "tau-bench" / "gpt-4o-airline.json").read_text(encoding="utf-8"))
    natural, golds = [], {}
    for run in runs:
        actions = [(action["name"], action["kwargs"]) for action in run["info"]["task"]["actions"]]
        golds[run["task_id"]] = actions
        functions = [call["function"] for step in run["traj"] for call in step.get("tool_calls") or ()]
        made = [(function["name"], json.loads(function["arguments"])) for function in functions]
        half, task = "ab"[run["task_id"] % 2], str(run["task_id"])
        natural.append(Pair(_calls(actions), _calls(made), half, run["reward"] < 1, task))
    tools = {name: {} for actions in golds.values() for name, _ in actions}
    cases = [
        EvalCase(str(task), (Invocation(Message("?"), tuple(ToolCall(*each) for each in actions), Message("Done.")),))
        for task, actions in golds.items()
        if actions
    ]
    family = list(call_evaluators())
    fails = [lambda r, a, s=scorer, t=threshold: s(r, a) < t - 1e-9 for _, scorer, threshold in family]
    view = lambda trace: _calls([(call.name, call.args) for call in trace.invocations[0].tool_calls])  # noqa: E731
    reading = frozenset(name for name in tools if not _WRITES.match(name))
    calls = [operator for operator in OPERATORS.values() if operator.family == "calls"]
    planted = mutants(cases, Rules(order="ANY_ORDER"), view, tools, calls)
    rules = Rules(order="ANY_ORDER", optional_tools=reading)
    with_domain = mutants(cases, rules, view, tools, [*calls, *call_operators(reading)])
    return Source(Evaluators([name for name, _, _ in family], fails), natural, planted, with_domain)


def llmbar() -> Source:
    """Return evaluators that compare a reply with its instruction, because LLMBar has no second right reply."""
    lines = (SHARED / "llmbar" / "items.jsonl").read_text(encoding="utf-8").splitlines()
    items = list(map(json.loads, lines))
    natural = [
        Pair(item["input"], item[f"output_{n}"], "ab"[place % 2], n != item["label"], str(place))
        for place, item in enumerate(items)
        for n in (1, 2)
    ]
    conversations = [
        (Invocation(Message(item["input"]), (), Message(item[f"output_{item['label']}"])),) for item in items
    ]
    cases = [EvalCase(str(place), conversation) for place, conversation in enumerate(conversations)]
    family = list(evaluators())
    fails = [lambda r, a, e=each: e.scorer(r, a) < e.threshold - 1e-9 for each in family]
    view = lambda trace: (trace.invocations[0].query, trace.invocations[0].reply)  # noqa: E731
    planted = [Pair(*pair.answer, pair.group, pair.is_bad) for pair in mutants(cases, Rules(), view, {})]
    return Source(Evaluators([each.family for each in family], fails), natural, planted, [])


def _calls(calls: Sequence[tuple[str, Any]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, json.dumps(arguments, sort_keys=True)) for name, arguments in calls)


def failures(of: Evaluators, pairs: Sequence[Pair]) -> np.ndarray:
    """Return which evaluator fails which answer."""
    return np.array([[fails(pair.reference, pair.answer) for pair in pairs] for fails in of.fails])


class Rates(NamedTuple):
    """The share of bad, and of good, natural answers that each evaluator fails."""

    bad: np.ndarray
    good: np.ndarray

    @property
    def youden(self) -> np.ndarray:
        """Youden's J of each evaluator."""
        return self.bad - self.good


def natural_rates(failed: np.ndarray, pairs: Sequence[Pair], chosen: np.ndarray) -> Rates:
    """Return the rates of each evaluator on the chosen natural answers."""
    is_bad = np.array([pair.is_bad for pair in pairs])
    return Rates(failed[:, is_bad & chosen].mean(axis=1), failed[:, ~is_bad & chosen].mean(axis=1))


def catch_rates(failed: np.ndarray, pairs: Sequence[Pair]) -> tuple[list[str], np.ndarray]:
    """Return the operators with enough mutants, and the catch rate of each by each evaluator."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, pair in enumerate(pairs):
        places[pair.group].append(place)
    names = [name for name in dict.fromkeys((*OPERATORS, *places)) if len(places[name]) >= _FEWEST]
    return names, np.stack([failed[:, places[name]].mean(axis=1) for name in names], axis=1)


def z(rates: np.ndarray) -> np.ndarray:
    """Return the quantiles of the normal distribution."""
    return np.asarray(norm.ppf(np.clip(rates, _EDGE, 1 - _EDGE)))


def mine(features: np.ndarray, target_z: np.ndarray) -> np.ndarray:
    """Return the weights of a Bayesian linear regression of centred values, with its ridge by marginal likelihood."""
    number = len(target_z)
    scaled = features / np.sqrt(features.shape[1])
    spread = target_z.std() or 1.0

    def loss(logs: np.ndarray) -> float:
        covariance = np.exp(2 * logs[0]) * scaled @ scaled.T + (np.exp(2 * logs[1]) + 1e-8) * np.eye(number)
        root = np.linalg.cholesky(covariance)
        white = np.linalg.solve(root, target_z / spread)
        return float(white @ white / 2 + np.log(np.diag(root)).sum() + 0.02 * (logs @ logs))

    best = minimize(loss, np.array([0.0, -1.5]), method="L-BFGS-B", bounds=[(-4, 3), (-3, 1)]).x
    ridge = np.exp(2 * (best[1] - best[0])) * features.shape[1]
    normal = features.T @ features + ridge * np.eye(features.shape[1])
    return np.asarray(np.linalg.solve(normal, features.T @ target_z))


def predict(features: np.ndarray, seen: Rates, families: Sequence[str]) -> np.ndarray:
    """Return a prediction of J from weights that did not see the family of the evaluator."""
    values, predicted = z(features), np.zeros(len(families))
    for name in dict.fromkeys(families):
        own = np.array([family == name for family in families])
        middle, shares = values[~own].mean(axis=0), []
        for target_z in map(z, seen):
            weights = mine(values[~own] - middle, target_z[~own] - target_z[~own].mean())
            shares.append(norm.cdf((values[own] - middle) @ weights + target_z[~own].mean()))
        predicted[own] = shares[0] - shares[1]
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


def measure(name: str, source: Source) -> list[str]:
    """Print the rank correlations of a source, and return the rows of its table of weights."""
    of, natural = source.of, source.natural
    heading(f"{name}: {len(of.fails)} evaluators of {len(set(of.families))} families")
    wrong = sum(pair.is_bad for pair in natural)
    line("natural answers, wrong / right", f"{wrong} / {len(natural) - wrong}")
    failed = failures(of, natural)
    in_a = np.array([pair.group == "a" for pair in natural])
    first, second = natural_rates(failed, natural, in_a), natural_rates(failed, natural, ~in_a)
    line("J of one half against J of the other", f"{rank(first.youden, second.youden):.2f}")
    rows: list[str] = []
    for title, planted in {"operators of the package": source.planted, "and of the domain": source.with_domain}.items():
        if not planted:
            continue
        operators, rates = catch_rates(failures(of, planted), planted)
        bad = {pair.group for pair in planted if pair.is_bad}
        is_harmful = np.array([operator in bad for operator in operators])
        harmful, harmless = rates[:, is_harmful].mean(axis=1), rates[:, ~is_harmful].mean(axis=1)
        whole = natural_rates(failed, natural, in_a | ~in_a)
        _print_rank(f"{title}: score", harmful, whole.youden, of)
        _print_rank(f"{title}: score minus false alarms", harmful - harmless, whole.youden, of)
        _print_rank(f"{title}: mined, unseen families", predict(rates, whole, of.families), whole.youden, of)
        unseen = []
        for seen, own, half in ((second, first, "a"), (first, second, "b")):
            predicted = predict(rates, seen, of.families)
            unseen.append(_print_rank(f"{title}: and unseen half {half}", predicted, own.youden, of))
            line("  unweighted there", f"{rank(harmful - harmless, own.youden):.2f}")
        ranks = list(_rank_splits(source, failed, rates))
        line(f"{title}: {_SPLITS} random halves", f"mean {np.mean(ranks):.2f}, {min(ranks):.2f} to {max(ranks):.2f}")
        weights = [mine(z(rates) - z(rates).mean(axis=0), each - each.mean()) for each in map(z, whole)]
        pairs = zip(operators, *weights, strict=True)
        rows = [f"# {name}: rank correlation on unseen evaluators and halves {unseen[0]:.2f} and {unseen[1]:.2f}"]
        rows += [f"{name} {operator} {bad:.3f} {good:.3f}" for operator, bad, good in pairs]
    target(f"rank correlation on unseen evaluators of {name}", min(unseen), "", at_least=0.6)
    return rows


def _print_rank(title: str, predicted: np.ndarray, natural: np.ndarray, of: Evaluators) -> float:
    low, high = interval(predicted, natural, of.families)
    line(title, f"{rank(predicted, natural):.2f} [{low:.2f}, {high:.2f}]")
    return rank(predicted, natural)


def _rank_splits(source: Source, failed: np.ndarray, rates: np.ndarray) -> Iterator[float]:
    """Yield the rank correlation on unseen families and the unseen half of further splits of the questions."""
    of, natural = source.of, source.natural
    numbers = {question: n for n, question in enumerate(dict.fromkeys(pair.question for pair in natural))}
    places = np.array([numbers[pair.question] for pair in natural])
    for seed in range(_SPLITS):
        order = list(range(len(numbers)))
        random.Random(seed).shuffle(order)
        is_seen = np.isin(places, order[::2])
        predicted = predict(rates, natural_rates(failed, natural, is_seen), of.families)
        yield rank(predicted, natural_rates(failed, natural, ~is_seen).youden)


def main(peer: str = "") -> None:  # noqa: ARG001  (each evaluator runs here)
    """Print the rank correlations of scores with the natural J, and the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the table of weights")
    arguments, _ = parser.parse_known_args()
    rows = measure("evouna", evouna()) + measure("tau-bench", tau_bench()) + measure("llmbar", llmbar())
    if arguments.write:
        head = (
            "# Weights of operators for the z of the sensitivity, and for the z of the false alarm rate, mined by",
            "# mutation_weights.py on",
            f"# {datetime.now(UTC).date()} from EVOUNA (arXiv 2305.12421), tau-bench (airline) and LLMBar",
            "# (arXiv 2310.07641).",
        )
        TABLE.write_text("\n".join((*head, *rows, "")), encoding="utf-8")


if __name__ == "__main__":
    main()
