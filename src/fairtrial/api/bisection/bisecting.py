"""Searches for the commit that changed the outcomes of cases, although each evaluation may be wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from fairtrial.api.bisection.bisected_runs import Evaluation, read_case_id, read_command, read_outcomes
from fairtrial.api.bisection.commits import CommitRange, WorkTree, list_commits, open_work_tree
from fairtrial.api.bisection.state import EvaluationLine, SearchState, open_state
from fairtrial.api.stores import measure_stored, open_store
from fairtrial.errors import StoreError, UsageError, spell
from fairtrial.records.run_history import BisectedCase, BisectedCommit, Bisection
from fairtrial.stats.change_point import ALIKE, GAP, GOOD, ChangePoint, NextTest, Outcomes, log_odds
from fairtrial.store import DEFAULT_URL
from fairtrial.text.display import count, shorten, shorten_commit, visible_line
from fairtrial.text.languages import say_count
from fairtrial.text.redaction.redact import without_secrets

CONFIDENCE = 0.95
MOST_ATTEMPTS = 2000
_TELLING = 0.25
"""An attempt that tells so many bits is made alone, because its outcome may decide the next one."""
_ATTEMPTS = 3
"""The attempts that are made together if each of them tells little: a run costs more than its attempts."""
_LONGEST_TITLE = 120


@dataclass(frozen=True)
class BisectOptions:
    """How to search. `setup` is a command that prepares the work tree after a commit is checked out.

    The search ends when a commit has a probability of at least `confidence`, or after `max_attempts` attempts.
    """

    setup: str = ""
    confidence: float = CONFIDENCE
    max_attempts: int = MOST_ATTEMPTS
    store: str = DEFAULT_URL


def bisect(
    good: str, bad: str, command: str, options: BisectOptions | None = None, note: Callable[[str], None] = print
) -> Bisection:
    """Return the commit that changed the outcomes of cases, with its probability.

    `good` and `bad` are revisions of git, or the beginnings of ids of stored runs: then the outcomes of the runs count.
    `command` is run in a work tree of its own. If it is `fairtrial run`, the cases are chosen that tell most, and the
    outcomes of each case count. Otherwise exit code 0 is a pass, 125 says that the commit cannot be tested, and another
    one below 128 is a failure. A search that was interrupted goes on where it was. Raises UsageError.
    """
    search_options = options or BisectOptions()
    if not 0.5 <= search_options.confidence < 1:
        raise UsageError(f"{spell('confidence')}: must be at least 0.5 and below 1, got {search_options.confidence!r}")
    here = Path.cwd()
    ends = [_find_end(text, search_options.store) for text in (good, bad)]
    commits = list_commits(here, ends[0].commit, ends[1].commit)
    question = (commits.good, commits.commits[-1].id, command, search_options.setup, ends[0].run, ends[1].run)
    with ExitStack() as stack:
        state = stack.enter_context(open_state(commits.top, question))
        evaluation = read_command(command, search_options.setup, state.store)
        search = _Search(
            commits, evaluation, state, search_options, note, here.resolve().relative_to(commits.top.resolve())
        )
        if evaluation.knows_cases:
            search.add_run(GOOD, ends[0].outcomes)
            search.add_run(len(commits.commits) - 1, ends[1].outcomes)
        search.replay()
        if search.is_over():
            return search.report()
        search.tree = stack.enter_context(open_work_tree(commits.top, state.tree, commits.good))
        search.go_on()
        return search.report()


@dataclass(frozen=True)
class _End:
    """The good or the bad commit, and the run that names it, with the outcomes of its cases."""

    commit: str
    run: str = ""
    outcomes: dict[str, Outcomes] = field(default_factory=dict)


def _find_end(text: str, store: str) -> _End:
    """Return the end that a text names: a run of the store, or a revision."""
    with ExitStack() as stack:
        try:
            run_store = stack.enter_context(closing(open_store(store, create=False)))
            info = run_store.run(text)
        except (UsageError, StoreError):
            return _End(text)
        if commit := str(info.git.get("commit", "")):
            return _End(commit, info.id, read_outcomes(measure_stored(run_store, info)))
        raise UsageError(f"run {info.id} has no commit", code="unusable-run")


@dataclass
class _Search:
    """A search with what it has run."""

    commits: CommitRange
    evaluation: Evaluation
    state: SearchState
    options: BisectOptions
    note: Callable[[str], None]
    below: Path
    point: ChangePoint = field(init=False)
    tree: WorkTree | None = None
    attempts: int = 0
    checked_out: str = ""
    problems: dict[str, str] = field(default_factory=dict)
    failure: str = ""
    has_said_failure: bool = False
    _places: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.point = ChangePoint(self.commits.histories)
        self._places = {commit.id: place for place, commit in enumerate(self.commits.commits)}
        self._places[self.commits.good] = GOOD

    @property
    def _bad(self) -> int:
        return len(self.commits.commits) - 1

    def add_run(self, place: int, outcomes: dict[str, Outcomes]) -> None:
        """Add the outcomes of a stored run of the good or the bad commit."""
        for case, counts in outcomes.items():
            self.point.add(place, case, counts)

    def replay(self) -> None:
        """Add the evaluations of an earlier process."""
        lines = self.state.read()
        for line in lines:
            self._add(line)
        if lines:
            self.note(f"goes on after {count(self.attempts, 'attempt')} in {self.state.folder}")

    def is_over(self) -> bool:
        """Whether the commit is found, or nothing more can be run."""
        return not self._missing_ends() and not self._next()

    def go_on(self) -> None:
        """Run commits until the search is over."""
        for place in self._missing_ends():
            self._run(place, ())
            if place in self.point.untestable:
                name = "good" if place == GOOD else "bad"
                raise UsageError(f"the {name} commit cannot be tested: {self.problems[self._id(place)]}")
        while tests := self._next():
            for test in tests:
                attempts = 1 if test.bits > _TELLING else _ATTEMPTS
                self._run(test.place, test.cases if self.evaluation.knows_cases else (), attempts)
            self._show_progress()

    def _missing_ends(self) -> list[int]:
        run = {place for row in self.point.outcomes.values() for place in row}
        return [place for place in (GOOD, self._bad) if place not in run]

    def _next(self) -> list[NextTest]:
        if self.attempts >= self.options.max_attempts:
            return []
        return self.point.next_tests(self.point.posterior(), self.options.confidence)

    def _id(self, place: int) -> str:
        return self.commits.good if place == GOOD else self.commits.commits[place].id

    def _run(self, place: int, cases: Sequence[str], attempts: int = 1) -> None:
        """Run cases at a commit, and write their outcomes down."""
        if place in self.point.untestable or self.tree is None:
            return
        commit, problem = self._id(place), ""
        folder = self.tree.folder / self.below
        if self.checked_out != commit:
            self.tree.check_out(commit)
            self.checked_out = commit
            problem = self.evaluation.prepare(folder) if folder.is_dir() else "the commit lacks the folder"
        line = EvaluationLine(commit, problem=problem)
        if not problem:
            evaluated = self.evaluation.run(folder, cases, attempts)
            outcomes = {case: (counts.passed, counts.failed) for case, counts in evaluated.outcomes.items()}
            line = EvaluationLine(commit, outcomes, evaluated.problem, evaluated.failure)
        self.state.add(line)
        self._add(line)

    def _add(self, line: EvaluationLine) -> None:
        place = self._places[line.commit]
        if line.problem:
            self.point.untestable.add(place)
            self.problems[line.commit] = line.problem
            self.note(f"{shorten_commit(line.commit)} cannot be tested: {line.problem}")
        for case, (passed, failed) in line.outcomes.items():
            self.point.add(place, case, Outcomes(passed, failed))
            self.attempts += passed + failed
        self.failure = line.failure or self.failure

    def _show_progress(self) -> None:
        posterior = self.point.posterior()
        if self.point.log_odds_of_change(posterior) < log_odds(self.options.confidence):
            why = f"; {self.failure}" if self._all_failed and not self.has_said_failure else ""
            self.has_said_failure = True
            self.note(f"{count(self.attempts, 'attempt')}: the good and the bad commit may be alike{why}")
            return
        best = max(range(len(posterior)), key=posterior.__getitem__)
        commit = self.commits.commits[best]
        title = shorten(visible_line(commit.title), 50)
        self.note(f"{say_count(self.attempts, 'attempt')}: {shorten_commit(commit.id)} {posterior[best]:.0%} {title}")

    @property
    def _all_failed(self) -> bool:
        return not any(counts.passed for row in self.point.outcomes.values() for counts in row.values())

    def report(self) -> Bisection:
        """Return the answer."""
        posterior = self.point.posterior()
        differ = self.point.log_odds_of_change(posterior)
        rates = self.point.rates(posterior)
        totals = [self._total(place) for place in range(len(posterior))]
        commits = tuple(
            BisectedCommit(
                commit.id,
                commit.date,
                _clean(commit.author),
                _clean(commit.title),
                posterior[place],
                totals[place].passed,
                sum(totals[place]),
                self.problems.get(commit.id, ""),
            )
            for place, commit in enumerate(self.commits.commits)
        )
        best = max(range(len(posterior)), key=posterior.__getitem__)
        notes = []
        is_alike = differ < log_odds(self.options.confidence)
        is_found = posterior[best] >= self.options.confidence and not is_alike
        if not is_found:
            if self.point.are_ends_alike(posterior, self.options.confidence):
                points, sure = f"{GAP * 100:.0f}", f"{max(ALIKE, self.options.confidence) * 100:g}"
                notes.append(
                    f"the good and the bad commit are alike: no pass rate differs by {points} points or more, with a "
                    f"probability of {sure} %"
                )
            elif is_alike:
                notes.append("nothing shows that the good and the bad commit differ")
            elif self.attempts >= self.options.max_attempts:
                notes.append(f"stopped after {count(self.attempts, 'attempt')}")
            else:
                notes.append("the other commits cannot be tested")
            if is_alike and self._all_failed:
                notes.append(f"all attempts failed; {self.failure or 'check the command at the good commit'}")
        ranked = sorted(rates, key=lambda case: -rates[case].changed)
        cases = tuple(BisectedCase(read_case_id(case), *rates[case]) for case in ranked)
        answer = commits[best].commit if is_found else ""
        return Bisection(
            self.commits.good,
            commits[-1].commit,
            answer,
            posterior[best],
            self.options.confidence,
            self.attempts,
            commits,
            cases,
            tuple(notes),
        )

    def _total(self, place: int) -> Outcomes:
        rows = [row[place] for row in self.point.outcomes.values() if place in row]
        return Outcomes(sum(row.passed for row in rows), sum(row.failed for row in rows))


def _clean(text: str) -> str:
    return shorten(visible_line(without_secrets(text)), _LONGEST_TITLE)
