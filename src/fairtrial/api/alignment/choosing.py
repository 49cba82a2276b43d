"""Choose the judge of a criterion by labels, and test the choice on labels that had no part in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from fairtrial.analysis.alignment.judge_selection import ChoiceTerms, check_choice, choose_judge, pick_judge
from fairtrial.analysis.alignment.label_split import LabelledOutcome, count_verdicts, split_labels
from fairtrial.api.alignment.criterion_config import CriterionConfig
from fairtrial.api.alignment.judge_candidates import FREE, ChangedJudge, Search, list_judges
from fairtrial.api.alignment.judge_search import JudgeSearch, Measurement
from fairtrial.api.alignment.judge_tables import read_recorded
from fairtrial.api.alignment.labelled_run import LabelledRun
from fairtrial.api.stored_runs import Run, reread
from fairtrial.errors import UsageError, spell
from fairtrial.llm.model import NamedModel
from fairtrial.records.judging.judge_choice import JudgeChoice, JudgeOnLabels
from fairtrial.store import DEFAULT_URL
from fairtrial.text.display import count, shorten
from fairtrial.version import __version__

if TYPE_CHECKING:
    from fairtrial.judge.judges import Judges
    from fairtrial.llm.budget import Budget
    from fairtrial.records.record import Json

FEWEST_FOR_INSTRUCTIONS = 30
"""With fewer labels of the rarer verdict, instructions are not searched: they would fit the noise."""
_PAID: tuple[Search, ...] = ("examples", "instructions")
OnJudge = Callable[[JudgeOnLabels], None]
"""Receives the numbers of each judge when it was measurements on the labels that choose."""


@dataclass(frozen=True)
class AlignOptions:
    """How a judge is chosen.

    `search` says what is searched, `terms` what a wrong verdict costs, and `models` names further models. With `judges`
    models are called within their budget, and `writer` is the model that writes instructions. `again` repeats the test
    on labels that have tested a choice before.
    """

    search: Sequence[Search] = FREE
    terms: ChoiceTerms = ChoiceTerms()
    models: Sequence[str] = ()
    judges: Judges | None = None
    writer: str = ""
    again: bool = False

    def check(self) -> None:
        """Raise UsageError for options that do not fit together."""
        self.terms.check()
        paid = [name for name in self.search if name in _PAID]
        if paid and self.judges is None:
            raise UsageError(
                f"{spell('search')} {paid[0]}: new questions are asked, so give {spell('max_calls')}",
                code="missing-option",
            )
        if "instructions" in self.search and not self.writer:
            raise UsageError(
                f"{spell('search')} instructions: give the model that writes them, {spell('writer')}",
                code="missing-option",
            )
        if self.writer and "instructions" not in self.search:
            raise UsageError(f"{spell('writer')}: writes instructions, so add instructions to {spell('search')}")
        if self.models and not {"model", "panel"} & set(self.search):
            raise UsageError(f"{spell('model')}: add model or panel to {spell('search')}, so that it is tried")


def align_judge(
    runs: str | Run | Sequence[str | Run],
    criterion: str,
    config: str | Path,
    options: AlignOptions | None = None,
    *,
    store: str = DEFAULT_URL,
    on_judge: OnJudge | None = None,
) -> JudgeChoice:
    """Return the judge that the labels of a run choose for a criterion, and its test on labels kept apart.

    The first of the `runs` has the labels. Replies of all of them are used, for example of runs that scored the same
    recordings with other models. `config` is the configuration of the first run. The labels are split once, by verdict,
    language and case: one part chooses, and the other part tests. Raises UsageError if the labels are too few, if they
    have tested a choice before, or if the configuration is not that of the run.
    """
    settings = options or AlignOptions()
    settings.check()
    sources = [runs] if isinstance(runs, str | Run) else list(runs)
    opened = [own if isinstance(own, Run) else reread(store, own) for own in sources]
    own_config = CriterionConfig.read(Path(config), criterion)
    labelled = LabelledRun.read(opened[0], criterion)
    labels = opened[0].label_runs(criterion)
    earlier = max(len([test for test in own.judge_tests if test["criterion"] == criterion]) for own in labels)
    if earlier and not settings.again:
        raise UsageError(
            f"run {opened[0].info.id}: its labels of {criterion} have tested {count(earlier, 'choice')} before; a "
            f"test is honest once. Add labels of another run, or repeat it with {spell('again')}",
            code="unusable-run",
        )
    search = JudgeSearch(own_config, opened, labelled, settings.terms, settings.judges, settings.models)
    choice = _Alignment(search, settings, on_judge or _ignore).choose()
    # A current judge that stays claims nothing, so that the labels can still test a choice.
    is_tested = bool(choice.changes or choice.floors)
    tests = earlier + is_tested
    test = {"criterion": criterion, "seed": settings.terms.seed, "labels": len(labelled.outcomes)}
    for own in labels if is_tested else ():
        own.add_judge_test(test)
    notes = (*choice.notes, *(_note_tests(tests) if is_tested else ()))
    choice = replace(
        choice, tests=tests, runs=tuple(own.info.id for own in opened), labels_digest=labelled.digest, notes=notes
    )
    ids = {own.info.id for own in (*opened, *labels)}
    return replace(choice, notes=(*notes, *_note_provenance(own_config.provenance, choice, ids)))


def choose_recorded(
    path: str | Path,
    terms: ChoiceTerms | None = None,
    *,
    current: str = "",
    columns: dict[str, str] | None = None,
    where: dict[str, str] | None = None,
) -> JudgeChoice:
    """Return the choice among the judges of a table of verdicts, and their panels of three and of five.

    The table is that of `report_card(recorded=...)`, perhaps with the column `cost`, in US dollars for an item. Its
    labels must be pass and fail. `current` is the judge in use, by default the first.
    """
    own_terms = terms or ChoiceTerms()
    own_terms.check()
    outcomes, candidates = read_recorded(Path(path), current, columns, where)
    return choose_judge(str(path), outcomes, candidates, own_terms)


def _ignore(_: JudgeOnLabels) -> None:
    """Receive numbers that nobody wants."""


def _note_provenance(provenance: Mapping[str, Json], choice: JudgeChoice, runs: set[str]) -> Iterator[str]:
    """Say that labels of another split made the options of the current judge, and may be in the test."""
    sources = provenance.get("runs")
    split = (provenance.get("seed"), provenance.get("labels_digest"))
    if isinstance(sources, list) and runs & set(map(str, sources)) and split != (choice.seed, choice.labels_digest):
        yield (
            f"labels of another split (seed {shorten(str(split[0]), 20)}) made the options of the current judge: some "
            "of them may be in this test, so that the current judge may look better than it is"
        )


def _note_tests(number: int) -> Iterator[str]:
    if number > 1:
        yield (
            f"test {number} with these labels: the chance that one of them claims a gain that does not exist is at "
            f"most {min(100, 5 * number)} %"
        )


class _Alignment:
    def __init__(self, search: JudgeSearch, options: AlignOptions, on_judge: OnJudge) -> None:
        self._search = search
        self._options = options
        self._on_judge = on_judge
        self._notes: list[str] = []
        self._kinds = set(options.search)

    def choose(self) -> JudgeChoice:
        """Search on one half of the labels, and test on the other half."""
        search, terms, outcomes = self._search, self._options.terms, self._search.labelled.outcomes
        chooses, tests = split_labels(outcomes, terms.seed)
        pool: list[LabelledOutcome] = []
        if self._kinds & set(_PAID):
            # Examples and instructions are made from one part, and compared with all other judges on the other part.
            pool, chooses = split_labels(chooses, terms.seed + 1)
        measurements = [search.measure_current(chooses)]
        for own in self._find(measurements[0], pool, chooses):
            self._on_judge(own.numbers)
            measurements.append(own)
        if len(measurements) == 1:
            self._notes.append("no other judge was measured: give further runs, or search with calls")
        best = measurements[pick_judge([own.numbers for own in measurements], terms)]
        before, after = self._on_test(measurements[0], tests), self._on_test(best, tests)
        choice = check_choice(
            search.config.name,
            [own.numbers for own in measurements],
            tests,
            before.candidate,
            after.candidate,
            terms,
        )
        budget = self._budget
        return replace(
            choice,
            calls=budget.calls if budget else 0,
            spent=budget.cost if budget and not budget.unpriced else None,
            notes=(*self._list_omissions(), *self._notes),
        )

    def _list_omissions(self) -> Iterator[str]:
        for own in self._search.omissions:
            yield f"left out: {own}"
        if self._search.omissions:
            yield f"replies that no run holds are asked for with a larger {spell('max_calls')} of `judge align`"

    def _find(
        self, current: Measurement, pool: Sequence[LabelledOutcome], chooses: Sequence[LabelledOutcome]
    ) -> Iterator[Measurement]:
        search = self._search
        is_paid = self._options.judges is not None
        listed = list(list_judges(search.voters, search.votes, self._kinds))
        candidates = [judge for judge in listed if search.find(judge.changes).signature != search.criterion.signature]
        found_judges = search.measure_each(candidates, chooses, halve=is_paid)
        yield from found_judges
        if "threshold" in self._kinds:
            for own in (current, *found_judges):
                yield from search.at_thresholds(own, chooses)
        if "examples" in self._kinds:
            yield from search.measure_each(self._list_examples(pool), chooses, halve=True)
        if "instructions" in self._kinds:
            yield from self._find_instructions(pool, chooses)

    def _list_examples(self, pool: Sequence[LabelledOutcome]) -> list[ChangedJudge]:
        from fairtrial.api.alignment.example_search import list_example_judges

        verdicts = self._search.measure_current(pool).candidate.verdicts
        return list(list_example_judges(self._search, pool, verdicts))

    def _find_instructions(
        self, pool: Sequence[LabelledOutcome], chooses: Sequence[LabelledOutcome]
    ) -> Iterator[Measurement]:
        from fairtrial.api.alignment.instruction_search import list_instructed_judges

        rarer = min(count_verdicts(self._search.labelled.outcomes))
        if rarer < FEWEST_FOR_INSTRUCTIONS:
            self._notes.append(
                f"instructions were not searched: {rarer} cases have the rarer verdict, and the search needs "
                f"{FEWEST_FOR_INSTRUCTIONS}; label {FEWEST_FOR_INSTRUCTIONS - rarer} or more of them"
            )
            return
        judges = self._options.judges
        budget = self._budget
        if judges is None or budget is None:
            return
        remaining = (budget.max_calls or 300) - budget.calls
        # The test and the last comparison of the instructions need calls, too.
        reserved = (len(self._search.labelled.outcomes) // 2 + len(chooses)) * self._search.votes
        most = (remaining - reserved) // self._search.votes
        if most < len(chooses):
            self._notes.append(
                f"instructions were not searched: {remaining} calls are left, and the search needs "
                f"{reserved + len(chooses) * self._search.votes} at least"
            )
            return
        found_judges = list_instructed_judges(
            self._search, pool, chooses, NamedModel(self._options.writer), judges.models, most
        )
        yield from self._search.measure_each(list(found_judges), chooses)

    def _on_test(self, own: Measurement, tests: Sequence[LabelledOutcome]) -> Measurement:
        measurements = self._search.measure(own.judge, tests)
        if measurements is None:
            raise UsageError(f"the test was not made: {self._search.omissions[-1]}; allow more calls")
        return measurements

    @property
    def _budget(self) -> Budget | None:
        judges = self._options.judges
        return None if judges is None else judges.models.budget


def make_aligned_config(config: str | Path, choice: JudgeChoice) -> bytes:
    """Return a configuration with the chosen judge, and with the runs, the labels and the numbers that chose it."""
    own = CriterionConfig.read(Path(config), choice.criterion)
    earlier = own.content.get("provenance")
    provenance = {**(earlier if isinstance(earlier, dict) else {}), choice.criterion: _describe(choice)}
    return own.with_changes(choice.changes).encode(provenance=provenance)


_PROVENANCE = (
    "runs",
    "labels_digest",
    "search_labels",
    "test_labels",
    "seed",
    "tests",
    "gain",
    "verdict",
    "false_pass_cost",
    "false_fail_cost",
    "calls",
    "spent",
)


def _describe(choice: JudgeChoice) -> dict[str, Json]:
    return {
        "version": __version__,
        "judge": choice.after.name,
        "searched": len(choice.searched),
        **{name: msgspec.to_builtins(getattr(choice, name)) for name in _PROVENANCE},
    }
