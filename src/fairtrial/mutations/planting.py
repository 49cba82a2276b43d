"""Plant mutants in conversations, at most one for each operator and invocation, and sample them by a seed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.mutations.operator import Invocations, Operator, Rules, Scene
from fairtrial.records.mutation import Mutation

if TYPE_CHECKING:
    from fairtrial.planned_case import Pair
    from fairtrial.records.attempt import Recording
    from fairtrial.records.case import EvalCase
    from fairtrial.text.language import Language


@dataclass(frozen=True)
class Planting:
    """How mutants are made: by which operators, in which languages, and with which seed."""

    operators: tuple[Operator, ...]
    languages: tuple[Language, ...] = ()
    seed: int = 0

    def mutants(
        self,
        case: EvalCase,
        baseline: Recording,
        rules: Rules,
        tools: Mapping[str, Mapping[str, Any]],
        other_cases: Sequence[EvalCase],
    ) -> Iterator[Recording]:
        """Yield the mutants of a recording, each text once. The recording is attempt 1, mutants count from 2."""
        attempt = 1
        invocations = baseline.trace.invocations
        for index in range(len(invocations)):
            scene = Scene(case, invocations, index, rules, tools, other_cases)
            planted: list[Invocations] = []
            for operator in self.operators:
                if operator.languages and self.languages and scene.language not in self.languages:
                    continue
                mutant = operator.mutate(scene, f"{self.seed}:{case.id}:{index}")
                # Two operators may make the same text: the first one counts it.
                is_new = operator.keeps_twins or not any(mutant == earlier for earlier in planted)
                if mutant is not None and is_new:
                    planted.append(mutant)
                    attempt += 1
                    language = scene.variety if operator.languages else ""
                    mutation = Mutation(
                        operator.name, operator.direction, index + 1, language, operator.weight, family=operator.family
                    )
                    trace = replace(baseline.trace, invocations=mutant)
                    yield replace(baseline, trace=trace, attempt=attempt, mutation=mutation)


def sample(mutants: Iterable[Pair], size: int, seed: int) -> list[Pair]:
    """Return at most `size` mutants in their order, about equally many of each operator. Equal seeds choose equally."""
    strata: dict[str, list[Pair]] = {}
    for pair in mutants:
        mutation = pair[1].mutation
        strata.setdefault(mutation.operator if mutation else "", []).append(pair)
    random = Random(seed)  # noqa: S311  (choices that can be repeated, no secret)
    for stratum in strata.values():
        random.shuffle(stratum)
    chosen: list[Pair] = []
    while len(chosen) < size and any(strata.values()):
        for stratum in strata.values():
            if stratum and len(chosen) < size:
                chosen.append(stratum.pop())
    return sorted(chosen, key=lambda pair: (pair[0].position, pair[1].attempt))
