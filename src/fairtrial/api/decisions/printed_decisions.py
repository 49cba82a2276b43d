"""Print comparisons, gates, plans, histories and mutation reports in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console

from fairtrial.records.mode_history import ModeHistory
from fairtrial.records.run_history import Bisection, CaseHistory, RunHistory, WatchedTraffic
from fairtrial.reports.decisions.audit_report import gate_audit_report, suite_audit_report
from fairtrial.reports.decisions.bisection_report import bisection_report
from fairtrial.reports.decisions.comparison_table import comparison_report
from fairtrial.reports.decisions.gate_report import gate_report
from fairtrial.reports.decisions.history_report import case_history_report, history_report
from fairtrial.reports.decisions.planning_report import flaky_report, plan_report
from fairtrial.reports.decisions.watch_report import watch_report
from fairtrial.reports.failures.mode_history_report import mode_history_report
from fairtrial.reports.mutation.mutation_table import mutation_table, summary_line

if TYPE_CHECKING:
    from fairtrial.records.audit import GateAudit, SuiteAudit
    from fairtrial.records.flaky_case import Flakiness
    from fairtrial.records.gate import GateDecision
    from fairtrial.records.mutation import MutationReport
    from fairtrial.records.run_comparison import Comparison
    from fairtrial.records.size_plan import SizePlan


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Print a comparison of two runs."""
    console.print(comparison_report(comparison))


def print_gate_audit(console: Console, audit: GateAudit) -> None:
    """Print how often the claims of a gate are decided rightly."""
    console.print(gate_audit_report(audit))


def print_suite_audit(console: Console, audit: SuiteAudit) -> None:
    """Print which cases and criteria tell nothing."""
    console.print(suite_audit_report(audit))


def print_plan(console: Console, plan: SizePlan) -> None:
    """Print the designs that answer a question."""
    console.print(plan_report(plan))


def print_flaky(console: Console, flakiness: Flakiness) -> None:
    """Print the flaky cases of a run."""
    console.print(flaky_report(flakiness))


def print_bisection(console: Console, bisection: Bisection) -> None:
    """Print which commit changed the outcomes of cases."""
    console.print(bisection_report(bisection))


def print_watched(console: Console, traffic: WatchedTraffic) -> None:
    """Print whether production traffic left its reference."""
    console.print(watch_report(traffic))


def print_history(console: Console, history: RunHistory | CaseHistory | ModeHistory) -> None:
    """Print a series of runs, the attempts at a case along it, or its failure modes."""
    if isinstance(history, ModeHistory):
        console.print(mode_history_report(history))
        return
    console.print(case_history_report(history) if isinstance(history, CaseHistory) else history_report(history))


def print_gate(console: Console, decision: GateDecision, *, below_table: bool = False) -> None:
    """Print the decision about claims. `below_table` says that the intervals of the criteria stand above."""
    console.print(gate_report(decision, below_table=below_table))


def print_mutation(console: Console, report: MutationReport, *, quiet: bool = False) -> None:
    """Print a report of mutation testing, or with `quiet` the scores only."""
    console.print(summary_line(report) if quiet else mutation_table(report))
