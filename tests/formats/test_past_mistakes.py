"""The mistakes that readers made without a word, and the tests that would have found them.

A mistake is repaired when a test stands that fails with it. The table must not lose its tests.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MISTAKES = {
    "a streamed answer was cut to its last piece": (
        "formats/test_unread_contents.py::test_the_pieces_of_a_stream_are_one_reply",
        "formats/test_cross_check.py::test_an_answer_that_a_later_request_repeats_in_full_is_cut",
    ),
    "messages of the GenAI conventions in Langfuse had neither texts nor calls": (
        "formats/test_platform_traces.py::test_the_same_dialogue_gives_the_same_recording",
        "formats/test_dialect_trial.py::test_a_span_is_read_by_trial",
    ),
    "a response with a tool of the provider had no reply": (
        "formats/test_chats.py::test_a_tool_of_the_provider_does_not_take_the_reply",
    ),
    "expected calls under an unlisted key were ignored": (
        "formats/test_lost_keys.py::test_calls_of_a_case_under_an_unknown_name_are_refused",
    ),
    "a second list of cases was ignored": ("formats/test_lost_keys.py::test_a_second_list_of_cases_is_refused",),
    "calls in a form that ADK refuses were ignored": (
        "formats/test_lost_keys.py::test_a_call_of_the_server_has_no_name",
        "formats/test_lost_keys.py::test_calls_beside_the_content_of_an_event_are_refused",
    ),
    "a result without its call was dropped": (
        "formats/test_orphan_results.py::test_a_result_in_a_request_of_a_span_proves_a_call",
    ),
    "each observation of mini-swe-agent was a turn of the user": (
        "formats/test_orphan_results.py::test_an_observation_of_mini_swe_agent_is_no_turn",
    ),
    "the answer beside a request was dropped": (
        "formats/test_logged_answers.py::test_the_answer_beside_a_request_is_the_reply",
        "formats/test_logged_answers.py::test_a_second_list_of_messages_is_refused",
    ),
    "rows of several conversations were one": (
        "formats/test_logged_answers.py::test_rows_of_messages_are_one_conversation_for_each_id",
    ),
    "JSON in a text was what the user wrote": (
        "formats/test_logged_answers.py::test_messages_in_the_json_texts_of_a_row_are_messages",
    ),
    "calls of version 4 of the Vercel AI SDK vanished": (
        "formats/test_logged_answers.py::test_calls_of_version_4_of_the_vercel_ai_sdk_are_read",
    ),
    "unread keys of messages were not named": (
        "formats/test_logged_answers.py::test_the_keys_of_messages_that_are_not_read_are_said",
        "formats/test_accounting.py::test_a_text_under_an_unknown_key_makes_the_recording_incomplete",
    ),
    "current files of tRPC-Agent-Go were refused": (
        "formats/test_stand_ins.py::test_current_files_of_trpc_agent_go_are_read",
    ),
    "messages that a scaffold added were turns": (
        "formats/test_agent_logs.py::test_a_message_of_a_scaffold_is_no_turn",
    ),
    "an error of the service was an empty reply": (
        "formats/test_agent_logs.py::test_an_error_of_codex_breaks_the_turn",
        "formats/test_kinds_of_logs.py::test_a_session_of_the_gemini_cli_that_ends_in_an_error_is_broken",
    ),
    "a list without calls was the fault of the agent": (
        "formats/test_logged_answers.py::test_a_list_of_texts_says_nothing_of_calls",
    ),
    "a deleted trace ended the whole download": (
        "platforms/test_pulling.py::test_a_trace_that_was_deleted_costs_only_itself",
    ),
    "lines that are lists were refused as broken JSON": (
        "formats/test_logged_answers.py::test_lines_that_are_lists_are_conversations",
    ),
    "packed files unpacked to any size": (
        "formats/test_stand_ins.py::test_a_bomb_is_refused",
        "formats/test_agent_logs.py::test_a_bomb_of_many_entries_is_refused",
    ),
    "a blank text of Claude Code was a message": (
        "formats/test_stand_ins.py::test_a_blank_text_of_claude_is_no_message",
    ),
    "a patch of LangSmith was a run without an answer": (
        "formats/test_langsmith_runs.py::test_a_run_and_its_patch_are_one_run",
    ),
    "empty cells beside references passed": (
        "formats/test_stand_ins.py::test_empty_cells_beside_references_are_counted",
    ),
    "a case had an empty id": ("formats/test_lost_keys.py::test_the_id_of_a_case_is_not_empty",),
    "pointers of Git LFS and pages of HTML were broken JSON": ("formats/test_stand_ins.py::test_a_stand_in_is_named",),
    "a foreign file resembled a session": ("formats/test_stand_ins.py::test_a_format_of_others_is_named",),
    "calls that a list of texts cannot show were missing": (
        "metrics/test_trajectory.py::test_unknown_steps_do_not_prove_that_a_call_is_missing",
        "formats/test_logged_answers.py::test_texts_before_a_reply_say_nothing_of_calls",
    ),
    "a request for each trace of Langfuse": (
        "platforms/test_pulling.py::test_all_pages_of_observations_are_read",
        "platforms/test_pulling.py::test_an_interrupted_pull_of_langfuse_goes_on_with_the_next_page",
    ),
    "a run of LangSmith without its end was called hidden": (
        "formats/test_platform_traces.py::test_hidden_contents_of_langsmith_are_withheld",
    ),
    "a completing call of Cline or OpenHands was no reply": (
        "formats/test_kinds_of_logs.py::test_the_completing_call_of_cline_is_the_reply",
        "formats/test_kinds_of_logs.py::test_the_finishing_action_of_openhands_is_the_reply",
    ),
    "warnings of a folder stood at its first file": ("cli/test_cli_check.py::test_a_warning_stands_at_its_own_file",),
    "a file that was packed to a few bytes filled the memory": (
        "formats/test_packed_bounds.py::test_a_packed_line_is_refused_before_it_is_whole",
        "formats/test_packed_bounds.py::test_names_of_files_do_not_stay_in_memory",
    ),
    "an unknown part of a span left its text scored": (
        "formats/test_unread_contents.py::test_a_reply_behind_an_unknown_part_is_withheld",
    ),
}


@pytest.mark.parametrize("names", MISTAKES.values(), ids=MISTAKES)
def test_each_mistake_has_its_tests(names: tuple[str, ...]) -> None:
    """A renamed test must be renamed here, too."""
    for name in names:
        path, _, function = name.partition("::")
        tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name
