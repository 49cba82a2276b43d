"""Everything that a front end may use: the stages composed, and the options that they take.

`api` is the only package that knows two stages. Each name is imported from its module when it is first used, so that
a command loads only the modules that it needs.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "read_project": "fairtrial.api.project_files",
    "project_reference": "fairtrial.api.project_files",
    "is_project_name": "fairtrial.api.project_files",
    "find_project": "fairtrial.api.project_files",
    "check_project": "fairtrial.api.project_files",
    "ProjectKey": "fairtrial.api.project_files",
    "Project": "fairtrial.api.project_files",
    "Prepared": "fairtrial.config.option",
    "add_labels": "fairtrial.api.labels.labelling",
    "agreement_of_labelers": "fairtrial.api.labels.label_lists",
    "attempt_argument": "fairtrial.config.attempt_options",
    "AttemptFilter": "fairtrial.api.attempt_filter",
    "AttemptOptions": "fairtrial.config.attempt_options",
    "BatchOptions": "fairtrial.llm.model_options",
    "Budget": "fairtrial.llm.budget",
    "calibrate": "fairtrial.api.judges.calibrating",
    "calibration_document": "fairtrial.reports.judges.calibration_report",
    "calibration_tables": "fairtrial.reports.judges.calibration_report",
    "case_ids": "fairtrial.api.stored_runs",
    "CaseCheck": "fairtrial.api.case_checks",
    "CATALOG": "fairtrial.metrics.entries",
    "CatalogEntry": "fairtrial.metrics.entries",
    "CaseQuery": "fairtrial.api.viewer.view_index",
    "check": "fairtrial.api.checking",
    "check_baseline": "fairtrial.api.decisions.comparing",
    "check_case": "fairtrial.api.case_checks",
    "check_trace": "fairtrial.api.suites",
    "Checked": "fairtrial.api.checking",
    "claims_in": "fairtrial.api.decisions.gating",
    "columns_in": "fairtrial.loading.shards",
    "is_object_folder": "fairtrial.loading.object_folders",
    "compare": "fairtrial.api.decisions.comparing",
    "compare_all": "fairtrial.api.decisions.comparing",
    "compare_with_baseline": "fairtrial.api.decisions.comparing",
    "comparison_markdown": "fairtrial.reports.decisions.markdown_comparison",
    "gate_markdown": "fairtrial.reports.decisions.gate_report",
    "connections": "fairtrial.api.judges.pinging",
    "convert": "fairtrial.api.eval_sets.converting",
    "Converted": "fairtrial.api.eval_sets.converting",
    "estimate_cost": "fairtrial.api.judges.pinging",
    "DatasetOptions": "fairtrial.api.datasets.dataset_options",
    "DatasetPlan": "fairtrial.api.datasets.dataset_scoring",
    "DEFAULT_MODEL": "fairtrial.llm.model",
    "DEFAULT_URL": "fairtrial.store",
    "DegradationPlan": "fairtrial.api.mutation.degrading",
    "DEGRADATIONS": "fairtrial.simulate.degradation",
    "describe_miss": "fairtrial.reports.judges.judge_check_report",
    "encode_document": "fairtrial.reports.decisions.trust_report",
    "encode_view": "fairtrial.api.viewer.viewing",
    "evaluate": "fairtrial.api.evaluation",
    "EXAMPLES": "fairtrial.api.starting",
    "execute": "fairtrial.api.execution",
    "execute_mutation": "fairtrial.api.mutation.mutating",
    "Executor": "fairtrial.batch.executors",
    "executor_for": "fairtrial.batch.executors",
    "expect": "fairtrial.api.eval_sets.expecting",
    "export_run": "fairtrial.api.stored_runs",
    "find_base_run": "fairtrial.api.decisions.comparing",
    "find_entry": "fairtrial.metrics.entries",
    "flaky": "fairtrial.api.decisions.flaky_cases",
    "gate": "fairtrial.api.decisions.gating",
    "hold_conversation": "fairtrial.api.suites",
    "import_run": "fairtrial.api.stored_runs",
    "is_eval_set_name": "fairtrial.api.suites",
    "iter_recordings": "fairtrial.api.eval_files",
    "Judges": "fairtrial.judge.judges",
    "label_file": "fairtrial.api.labels.labelling",
    "label_report": "fairtrial.api.labels.label_lists",
    "labels_as_rows": "fairtrial.api.labels.label_lists",
    "list_cases": "fairtrial.api.suites",
    "load_eval_set": "fairtrial.api.eval_files",
    "load_recordings": "fairtrial.api.eval_files",
    "Match": "fairtrial.loading",
    "merge_attempts": "fairtrial.config.attempt_options",
    "merge_parts": "fairtrial.api.suites",
    "mixed_sources": "fairtrial.llm.endpoint",
    "ModelOptions": "fairtrial.llm.model_options",
    "MOST_ATTEMPTS": "fairtrial.api.waves",
    "mutate": "fairtrial.api.mutation.mutating",
    "mutation_html": "fairtrial.reports.mutation.mutation_html",
    "mutation_junit": "fairtrial.reports.mutation.mutation_files",
    "mutation_markdown": "fairtrial.reports.mutation.mutation_files",
    "mutation_report": "fairtrial.api.mutation.mutation_reports",
    "MutationPlan": "fairtrial.api.mutation.mutating",
    "format_numbers": "fairtrial.api.run_views",
    "only_failed": "fairtrial.api.labels.run_labels",
    "Operator": "fairtrial.mutations.operator",
    "OPERATORS": "fairtrial.mutations.table",
    "Option": "fairtrial.config.option",
    "find_part": "fairtrial.api.suites",
    "ping": "fairtrial.api.judges.pinging",
    "plan": "fairtrial.api.decisions.size_planning",
    "Plan": "fairtrial.api.planning",
    "plan_dataset": "fairtrial.api.datasets.dataset_planning",
    "plan_degradation": "fairtrial.api.mutation.degrading",
    "plan_judge_check": "fairtrial.api.judges.judge_checking",
    "plan_mutation": "fairtrial.api.mutation.mutating",
    "plan_run": "fairtrial.api.planning",
    "is_skill_run": "fairtrial.api.skills.skill_planning",
    "plan_skill_run": "fairtrial.api.skills.skill_planning",
    "skill_options_in": "fairtrial.api.skills.skill_planning",
    "SkillOptions": "fairtrial.api.skills.skill_planning",
    "plan_score": "fairtrial.api.score_planning",
    "plan_waves": "fairtrial.api.waves",
    "print_cases": "fairtrial.api.reporting",
    "print_comparison": "fairtrial.api.reporting",
    "print_flaky": "fairtrial.api.reporting",
    "print_gate": "fairtrial.api.reporting",
    "print_slices": "fairtrial.api.run_slices",
    "print_gate_audit": "fairtrial.api.reporting",
    "print_suite_audit": "fairtrial.api.reporting",
    "audit_gate": "fairtrial.api.decisions.auditing",
    "audit_suite": "fairtrial.api.decisions.auditing",
    "print_invalid": "fairtrial.api.reporting",
    "print_judge_check": "fairtrial.reports.judges.judge_check_report",
    "print_mutation": "fairtrial.api.reporting",
    "print_plan": "fairtrial.api.reporting",
    "print_run": "fairtrial.api.reporting",
    "print_selection": "fairtrial.api.reporting",
    "print_traces": "fairtrial.reports.value.selection_report",
    "print_verdict": "fairtrial.api.reporting",
    "problem_places": "fairtrial.api.case_places",
    "QUESTIONS": "fairtrial.metrics.entries",
    "rate": "fairtrial.reports.numbers",
    "RECIPES": "fairtrial.metrics.entries",
    "remove_runs": "fairtrial.api.stored_runs",
    "Report": "fairtrial.reports.report_table",
    "report_card": "fairtrial.api.judges.report_cards",
    "report_card_document": "fairtrial.reports.judges.report_card_report",
    "report_card_tables": "fairtrial.reports.judges.report_card_report",
    "ReportOptions": "fairtrial.reports.report_table",
    "REPORTS": "fairtrial.reports.report_table",
    "Redacted": "fairtrial.api.traffic.exporting",
    "reread": "fairtrial.api.stored_runs",
    "resume": "fairtrial.api.planning",
    "resume_command": "fairtrial.api.stored_runs",
    "resume_mutation": "fairtrial.api.mutation.mutating",
    "Run": "fairtrial.api.stored_runs",
    "RunFilter": "fairtrial.api.stored_runs",
    "runs": "fairtrial.api.stored_runs",
    "sample_file": "fairtrial.api.labels.labelling",
    "sample_outcomes": "fairtrial.api.labels.labelling",
    "save_eval_set": "fairtrial.api.eval_files",
    "scenarios": "fairtrial.api.eval_sets.new_scenarios",
    "scenarios_file": "fairtrial.api.eval_sets.new_scenarios",
    "score": "fairtrial.api.evaluation",
    "select": "fairtrial.api.value.selecting",
    "select_files": "fairtrial.api.value.selecting",
    "selection_document": "fairtrial.reports.value.selection_report",
    "Shard": "fairtrial.loading.shards",
    "ShardReport": "fairtrial.api.datasets.shard_scoring",
    "shared_cache": "fairtrial.valuation.single",
    "store_option": "fairtrial.api.stored_runs",
    "StoreViewer": "fairtrial.api.viewer.viewing",
    "threshold_option": "fairtrial.config.criterion_options",
    "TraceOptions": "fairtrial.formats.conversation.options",
    "value": "fairtrial.valuation.single",
    "viewer_page": "fairtrial.reports.viewer_page",
    "viewer_policy": "fairtrial.reports.viewer_page",
    "with_labels": "fairtrial.api.labels.run_labels",
    "write_recordings": "fairtrial.api.conversations",
    "write_references": "fairtrial.api.labels.better_references",
    "write_project": "fairtrial.api.starting",
    "write_starter": "fairtrial.api.starting",
    "MOST_OTLP_BYTES": "fairtrial.formats.spans.otlp_requests",
    "OTLP_PROTOBUF": "fairtrial.formats.spans.otlp_requests",
    "OTLP_JSON": "fairtrial.formats.spans.otlp_requests",
    "otlp_success": "fairtrial.formats.spans.otlp_requests",
    "otlp_failure": "fairtrial.formats.spans.otlp_requests",
    "unpack_otlp": "fairtrial.formats.spans.otlp_requests",
    "TooLargeError": "fairtrial.formats.spans.otlp_requests",
    "Receiver": "fairtrial.api.traffic.receiving",
    "open_receiver": "fairtrial.api.traffic.receiving",
    "plan_receive": "fairtrial.api.traffic.reception_plan",
    "ReceptionPlan": "fairtrial.api.traffic.reception_plan",
    "Forwarder": "fairtrial.platforms.forwarding",
    "pull": "fairtrial.api.traffic.pulling",
    "PullReport": "fairtrial.api.traffic.pulling",
    "push": "fairtrial.api.traffic.pushing",
    "pull_labels": "fairtrial.api.traffic.pushing",
    "scores_to_push": "fairtrial.api.traffic.pushing",
    "export_recordings": "fairtrial.api.traffic.exporting",
    "ExportForm": "fairtrial.api.traffic.exporting",
    "QueueRequest": "fairtrial.reports.views.label_shapes",
    "WindowRequest": "fairtrial.reports.views.label_shapes",
    "LabelRequest": "fairtrial.reports.views.label_shapes",
    "ItemLostError": "fairtrial.api.labels.label_desk",
    "MOST_QUEUES": "fairtrial.api.labels.label_desk",
    "open_label_queue": "fairtrial.api.labels.label_desk",
}
__all__ = sorted(_HOMES)  # noqa: PLE0605  (names are imported when first used)

if TYPE_CHECKING:
    from fairtrial.api.attempt_filter import AttemptFilter as AttemptFilter
    from fairtrial.api.case_checks import CaseCheck as CaseCheck
    from fairtrial.api.case_checks import check_case as check_case
    from fairtrial.api.case_places import problem_places as problem_places
    from fairtrial.api.checking import Checked as Checked
    from fairtrial.api.checking import check as check
    from fairtrial.api.conversations import write_recordings as write_recordings
    from fairtrial.api.datasets.dataset_options import DatasetOptions as DatasetOptions
    from fairtrial.api.datasets.dataset_planning import plan_dataset as plan_dataset
    from fairtrial.api.datasets.dataset_scoring import DatasetPlan as DatasetPlan
    from fairtrial.api.datasets.shard_scoring import ShardReport as ShardReport
    from fairtrial.api.decisions.auditing import audit_gate as audit_gate
    from fairtrial.api.decisions.auditing import audit_suite as audit_suite
    from fairtrial.api.decisions.comparing import check_baseline as check_baseline
    from fairtrial.api.decisions.comparing import compare as compare
    from fairtrial.api.decisions.comparing import compare_all as compare_all
    from fairtrial.api.decisions.comparing import compare_with_baseline as compare_with_baseline
    from fairtrial.api.decisions.comparing import find_base_run as find_base_run
    from fairtrial.api.decisions.flaky_cases import flaky as flaky
    from fairtrial.api.decisions.gating import claims_in as claims_in
    from fairtrial.api.decisions.gating import gate as gate
    from fairtrial.api.decisions.size_planning import plan as plan
    from fairtrial.api.eval_files import iter_recordings as iter_recordings
    from fairtrial.api.eval_files import load_eval_set as load_eval_set
    from fairtrial.api.eval_files import load_recordings as load_recordings
    from fairtrial.api.eval_files import save_eval_set as save_eval_set
    from fairtrial.api.eval_sets.converting import Converted as Converted
    from fairtrial.api.eval_sets.converting import convert as convert
    from fairtrial.api.eval_sets.expecting import expect as expect
    from fairtrial.api.eval_sets.new_scenarios import scenarios as scenarios
    from fairtrial.api.eval_sets.new_scenarios import scenarios_file as scenarios_file
    from fairtrial.api.evaluation import evaluate as evaluate
    from fairtrial.api.evaluation import score as score
    from fairtrial.api.execution import execute as execute
    from fairtrial.api.judges.calibrating import calibrate as calibrate
    from fairtrial.api.judges.judge_checking import plan_judge_check as plan_judge_check
    from fairtrial.api.judges.pinging import connections as connections
    from fairtrial.api.judges.pinging import estimate_cost as estimate_cost
    from fairtrial.api.judges.pinging import ping as ping
    from fairtrial.api.judges.report_cards import report_card as report_card
    from fairtrial.api.labels.better_references import write_references as write_references
    from fairtrial.api.labels.label_desk import MOST_QUEUES as MOST_QUEUES
    from fairtrial.api.labels.label_desk import ItemLostError as ItemLostError
    from fairtrial.api.labels.label_desk import open_label_queue as open_label_queue
    from fairtrial.api.labels.label_lists import agreement_of_labelers as agreement_of_labelers
    from fairtrial.api.labels.label_lists import label_report as label_report
    from fairtrial.api.labels.label_lists import labels_as_rows as labels_as_rows
    from fairtrial.api.labels.labelling import add_labels as add_labels
    from fairtrial.api.labels.labelling import label_file as label_file
    from fairtrial.api.labels.labelling import sample_file as sample_file
    from fairtrial.api.labels.labelling import sample_outcomes as sample_outcomes
    from fairtrial.api.labels.run_labels import only_failed as only_failed
    from fairtrial.api.labels.run_labels import with_labels as with_labels
    from fairtrial.api.mutation.degrading import DegradationPlan as DegradationPlan
    from fairtrial.api.mutation.degrading import plan_degradation as plan_degradation
    from fairtrial.api.mutation.mutating import MutationPlan as MutationPlan
    from fairtrial.api.mutation.mutating import execute_mutation as execute_mutation
    from fairtrial.api.mutation.mutating import mutate as mutate
    from fairtrial.api.mutation.mutating import plan_mutation as plan_mutation
    from fairtrial.api.mutation.mutating import resume_mutation as resume_mutation
    from fairtrial.api.mutation.mutation_reports import mutation_report as mutation_report
    from fairtrial.api.planning import Plan as Plan
    from fairtrial.api.planning import plan_run as plan_run
    from fairtrial.api.planning import resume as resume
    from fairtrial.api.project_files import Project as Project
    from fairtrial.api.project_files import ProjectKey as ProjectKey
    from fairtrial.api.project_files import check_project as check_project
    from fairtrial.api.project_files import find_project as find_project
    from fairtrial.api.project_files import is_project_name as is_project_name
    from fairtrial.api.project_files import project_reference as project_reference
    from fairtrial.api.project_files import read_project as read_project
    from fairtrial.api.reporting import print_cases as print_cases
    from fairtrial.api.reporting import print_comparison as print_comparison
    from fairtrial.api.reporting import print_flaky as print_flaky
    from fairtrial.api.reporting import print_gate as print_gate
    from fairtrial.api.reporting import print_gate_audit as print_gate_audit
    from fairtrial.api.reporting import print_invalid as print_invalid
    from fairtrial.api.reporting import print_mutation as print_mutation
    from fairtrial.api.reporting import print_plan as print_plan
    from fairtrial.api.reporting import print_run as print_run
    from fairtrial.api.reporting import print_selection as print_selection
    from fairtrial.api.reporting import print_suite_audit as print_suite_audit
    from fairtrial.api.reporting import print_verdict as print_verdict
    from fairtrial.api.run_slices import print_slices as print_slices
    from fairtrial.api.run_views import format_numbers as format_numbers
    from fairtrial.api.score_planning import plan_score as plan_score
    from fairtrial.api.skills.skill_planning import SkillOptions as SkillOptions
    from fairtrial.api.skills.skill_planning import is_skill_run as is_skill_run
    from fairtrial.api.skills.skill_planning import plan_skill_run as plan_skill_run
    from fairtrial.api.skills.skill_planning import skill_options_in as skill_options_in
    from fairtrial.api.starting import EXAMPLES as EXAMPLES
    from fairtrial.api.starting import write_project as write_project
    from fairtrial.api.starting import write_starter as write_starter
    from fairtrial.api.stored_runs import Run as Run
    from fairtrial.api.stored_runs import RunFilter as RunFilter
    from fairtrial.api.stored_runs import case_ids as case_ids
    from fairtrial.api.stored_runs import export_run as export_run
    from fairtrial.api.stored_runs import import_run as import_run
    from fairtrial.api.stored_runs import remove_runs as remove_runs
    from fairtrial.api.stored_runs import reread as reread
    from fairtrial.api.stored_runs import resume_command as resume_command
    from fairtrial.api.stored_runs import runs as runs
    from fairtrial.api.stored_runs import store_option as store_option
    from fairtrial.api.suites import check_trace as check_trace
    from fairtrial.api.suites import find_part as find_part
    from fairtrial.api.suites import hold_conversation as hold_conversation
    from fairtrial.api.suites import is_eval_set_name as is_eval_set_name
    from fairtrial.api.suites import list_cases as list_cases
    from fairtrial.api.suites import merge_parts as merge_parts
    from fairtrial.api.traffic.exporting import ExportForm as ExportForm
    from fairtrial.api.traffic.exporting import Redacted as Redacted
    from fairtrial.api.traffic.exporting import export_recordings as export_recordings
    from fairtrial.api.traffic.pulling import PullReport as PullReport
    from fairtrial.api.traffic.pulling import pull as pull
    from fairtrial.api.traffic.pushing import pull_labels as pull_labels
    from fairtrial.api.traffic.pushing import push as push
    from fairtrial.api.traffic.pushing import scores_to_push as scores_to_push
    from fairtrial.api.traffic.receiving import Receiver as Receiver
    from fairtrial.api.traffic.receiving import open_receiver as open_receiver
    from fairtrial.api.traffic.reception_plan import ReceptionPlan as ReceptionPlan
    from fairtrial.api.traffic.reception_plan import plan_receive as plan_receive
    from fairtrial.api.value.selecting import select as select
    from fairtrial.api.value.selecting import select_files as select_files
    from fairtrial.api.viewer.view_index import CaseQuery as CaseQuery
    from fairtrial.api.viewer.viewing import StoreViewer as StoreViewer
    from fairtrial.api.viewer.viewing import encode_view as encode_view
    from fairtrial.api.waves import MOST_ATTEMPTS as MOST_ATTEMPTS
    from fairtrial.api.waves import plan_waves as plan_waves
    from fairtrial.batch.executors import Executor as Executor
    from fairtrial.batch.executors import executor_for as executor_for
    from fairtrial.config.attempt_options import AttemptOptions as AttemptOptions
    from fairtrial.config.attempt_options import attempt_argument as attempt_argument
    from fairtrial.config.attempt_options import merge_attempts as merge_attempts
    from fairtrial.config.criterion_options import threshold_option as threshold_option
    from fairtrial.config.option import Option as Option
    from fairtrial.config.option import Prepared as Prepared
    from fairtrial.formats.conversation.options import TraceOptions as TraceOptions
    from fairtrial.formats.spans.otlp_requests import MOST_OTLP_BYTES as MOST_OTLP_BYTES
    from fairtrial.formats.spans.otlp_requests import OTLP_JSON as OTLP_JSON
    from fairtrial.formats.spans.otlp_requests import OTLP_PROTOBUF as OTLP_PROTOBUF
    from fairtrial.formats.spans.otlp_requests import TooLargeError as TooLargeError
    from fairtrial.formats.spans.otlp_requests import otlp_failure as otlp_failure
    from fairtrial.formats.spans.otlp_requests import otlp_success as otlp_success
    from fairtrial.formats.spans.otlp_requests import unpack_otlp as unpack_otlp
    from fairtrial.judge.judges import Judges as Judges
    from fairtrial.llm.budget import Budget as Budget
    from fairtrial.llm.endpoint import mixed_sources as mixed_sources
    from fairtrial.llm.model import DEFAULT_MODEL as DEFAULT_MODEL
    from fairtrial.llm.model_options import BatchOptions as BatchOptions
    from fairtrial.llm.model_options import ModelOptions as ModelOptions
    from fairtrial.loading import Match as Match
    from fairtrial.loading.object_folders import is_object_folder as is_object_folder
    from fairtrial.loading.shards import Shard as Shard
    from fairtrial.loading.shards import columns_in as columns_in
    from fairtrial.metrics.entries import CATALOG as CATALOG
    from fairtrial.metrics.entries import QUESTIONS as QUESTIONS
    from fairtrial.metrics.entries import RECIPES as RECIPES
    from fairtrial.metrics.entries import CatalogEntry as CatalogEntry
    from fairtrial.metrics.entries import find_entry as find_entry
    from fairtrial.mutations.operator import Operator as Operator
    from fairtrial.mutations.table import OPERATORS as OPERATORS
    from fairtrial.platforms.forwarding import Forwarder as Forwarder
    from fairtrial.reports.decisions.gate_report import gate_markdown as gate_markdown
    from fairtrial.reports.decisions.markdown_comparison import comparison_markdown as comparison_markdown
    from fairtrial.reports.decisions.trust_report import encode_document as encode_document
    from fairtrial.reports.judges.calibration_report import calibration_document as calibration_document
    from fairtrial.reports.judges.calibration_report import calibration_tables as calibration_tables
    from fairtrial.reports.judges.judge_check_report import describe_miss as describe_miss
    from fairtrial.reports.judges.judge_check_report import print_judge_check as print_judge_check
    from fairtrial.reports.judges.report_card_report import report_card_document as report_card_document
    from fairtrial.reports.judges.report_card_report import report_card_tables as report_card_tables
    from fairtrial.reports.mutation.mutation_files import mutation_junit as mutation_junit
    from fairtrial.reports.mutation.mutation_files import mutation_markdown as mutation_markdown
    from fairtrial.reports.mutation.mutation_html import mutation_html as mutation_html
    from fairtrial.reports.numbers import rate as rate
    from fairtrial.reports.report_table import REPORTS as REPORTS
    from fairtrial.reports.report_table import Report as Report
    from fairtrial.reports.report_table import ReportOptions as ReportOptions
    from fairtrial.reports.value.selection_report import print_traces as print_traces
    from fairtrial.reports.value.selection_report import selection_document as selection_document
    from fairtrial.reports.viewer_page import viewer_page as viewer_page
    from fairtrial.reports.viewer_page import viewer_policy as viewer_policy
    from fairtrial.reports.views.label_shapes import LabelRequest as LabelRequest
    from fairtrial.reports.views.label_shapes import QueueRequest as QueueRequest
    from fairtrial.reports.views.label_shapes import WindowRequest as WindowRequest
    from fairtrial.simulate.degradation import DEGRADATIONS as DEGRADATIONS
    from fairtrial.store import DEFAULT_URL as DEFAULT_URL
    from fairtrial.valuation.single import shared_cache as shared_cache
    from fairtrial.valuation.single import value as value


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fairtrial.api' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
