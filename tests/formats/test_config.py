"""EvalConfigs are read as people write them."""

from __future__ import annotations

import pytest

from builders import load
from fairtrial.config.eval_config import ConfigPart, EvalConfig
from fairtrial.errors import FormatError


def config(document: object) -> EvalConfig:
    """The configuration in a document."""
    found = load(document, "test_config.json").config
    assert found is not None
    return found


def test_a_number_is_a_threshold() -> None:
    """`name: number` is a criterion with that threshold."""
    (spec,) = config({"criteria": {"response_match_score": 0.8}}).criteria
    assert (spec.name, spec.value) == ("response_match_score", 0.8)


def test_an_object_holds_threshold_and_options() -> None:
    """Options stand beside the threshold, and keep the spelling of the file."""
    raw = {"threshold": 1.0, "matchType": "IN_ORDER", "ignore_args": True}
    (spec,) = config({"criteria": {"tool_trajectory_avg_score": raw}}).criteria
    assert spec.value == raw
    assert spec.pointer == "/criteria/tool_trajectory_avg_score"


def test_criteria_keep_their_order() -> None:
    """Criteria are reported in the order of the file."""
    names = ["safety_v1", "response_match_score", "hallucinations_v1"]
    assert [spec.name for spec in config({"criteria": dict.fromkeys(names, 0.5)}).criteria] == names


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"criteria": {"safety_v1": 1, "safety_v1": 0.1}}', "/criteria/safety_v1"),
        ('{"criteria": {"m": {"threshold": 1, "threshold": 0}}}', "/criteria/m/threshold"),
        ('{"criteria": {"m": 1}, "criteria": {"m": 0}}', "/criteria"),
        ('{"criteria": {"m": {"rubrics": [{"a": 1}, {"a": 1, "a": 1}]}}}', "/criteria/m/rubrics/1/a"),
        ('{// two\n"criteria": {"a/b": 1, "a/b": 0,}}}', "/criteria/a~1b"),
    ],
)
def test_a_key_that_stands_there_twice_is_refused(text: str, place: str) -> None:
    """JSON readers take the last one in silence, and a threshold is not what the file seems to say."""
    with pytest.raises(FormatError, match=f"{place}: stands there twice; keep one"):
        load(text, "test_config.json")


def test_a_config_pasted_with_its_code_fence_is_read() -> None:
    """The fence of a document's sample is no JSON, and is said to be left out."""
    found = load('```json\n{"criteria": {"safety_v1": 0.8}}\n```\n', "test_config.json")
    assert found.config is not None
    assert [warning.partition(": ")[2] for warning in found.warnings] == [
        "line 1, column 1: a code fence is not JSON; read without it",
        "line 3, column 1: a code fence is not JSON; read without it",
    ]


def test_parts_keep_the_pointer_of_the_file() -> None:
    """A message about an option names the key as the file spells it."""
    raw = {"codeConfig": {"name": "pkg.mod.metric"}}
    found = config({"criteria": {"m": 2}, "customMetrics": {"m": raw}, "userSimulatorConfig": {"model": "m"}})
    assert found.custom_metrics == (ConfigPart("m", raw, "/customMetrics/m"),)
    assert found.user_simulator == ConfigPart("user_simulator_config", {"model": "m"}, "/userSimulatorConfig")


def test_simulator_and_live_configs_are_read() -> None:
    """What is said about simulated users and live mode is kept."""
    found = config(
        {
            "criteria": {"safety_v1": 1},
            "userSimulatorConfig": {"model": "m"},
            "live_model_config": {"timeout_seconds": 5},
        }
    )
    assert found.user_simulator is not None
    assert found.extra == {"live_model_config": {"timeout_seconds": 5}}


def test_comments_are_read_with_a_warning_that_names_the_place() -> None:
    """Line 3 of this file has a comment from column 33 on, line 5 one from column 1."""
    text = '{\n  "criteria": {\n    "response_match_score": 0.8 // why\n  }\n/* so */ }'
    found = load(text, "test_config.json")
    assert found.config is not None
    assert found.config.criteria[0].value == 0.8
    assert [warning.partition(": a comment")[0] for warning in found.warnings] == [
        "test_config.json: line 3, column 33",
        "test_config.json: line 5, column 1",
    ]


def test_trailing_commas_are_read_with_a_warning_that_names_the_place() -> None:
    """A comma before a closing bracket stands at line 1, column 38."""
    (warning,) = load('{"criteria": {"response_match_score": 1,}}').warnings
    assert warning == "trips.evalset.json: line 1, column 40: a trailing comma is not JSON; read without it"


def test_a_trailing_comma_before_a_comment_is_read() -> None:
    """A comment may stand between the comma and the bracket, as in the documents' own samples."""
    found = load('{"criteria": {"response_match_score": 0.5, // why\n }}')
    assert found.config is not None
    assert found.config.criteria[0].value == 0.5
    assert [warning.split(": ")[2][:10] for warning in found.warnings] == ["a comment ", "a trailing"]


def test_surplus_braces_are_read_with_a_warning_that_names_the_place() -> None:
    """A closing brace too many at the end stands at line 2, column 2."""
    (warning,) = load('{"criteria": {"response_match_score": 1}}\n }\n').warnings
    assert warning == "trips.evalset.json: line 2, column 2: a surplus '}'; read without it"


def test_what_looks_like_a_comment_in_a_string_is_text() -> None:
    """Neither `//` nor `,]` means anything inside a string."""
    found = load('{"criteria": {"a//b": 1, "c,]": 2, "/*": 3,}}').config
    assert found is not None
    assert [spec.name for spec in found.criteria] == ["a//b", "c,]", "/*"]


def test_a_brace_too_few_is_refused_at_its_place() -> None:
    """Only what is too much at the end can be left out."""
    with pytest.raises(FormatError, match=r"line 1, column 41: is not JSON: .*, got the end of the file"):
        load('{"criteria": {"response_match_score": 1}')


def test_a_misspelt_section_names_the_right_one() -> None:
    """A key that is nearly a known one is a mistake."""
    with pytest.raises(FormatError, match="did you mean 'custom_metrics'"):
        config({"criteria": {"safety_v1": 1}, "custom_metrcs": {}})
