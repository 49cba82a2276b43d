"""Configurations build the criteria that they name, and report mistakes."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from builders import call, case, load, turn
from fairtrial.errors import ConfigError
from fairtrial.metrics.catalog import build
from fairtrial.metrics.entries import CATALOG, QUESTIONS, RECIPES, find_entry
from fairtrial.metrics.response import ResponseMatch
from fairtrial.metrics.signature import signature
from fairtrial.metrics.trajectory import ToolTrajectory
from fairtrial.records.result import Criterion
from fairtrial.records.score import Range
from fairtrial.records.trace import Trace

EFFICIENCY = ["tool_call_count_v1", "inference_call_count_v1", "token_usage_v1", "invocation_duration_v1"]


def built(
    criteria: dict[str, Any], *, lenient: bool = False, **more: Any
) -> tuple[tuple[Criterion, ...], tuple[str, ...]]:
    """What a configuration with these criteria builds, and its warnings."""
    config = load({"criteria": criteria, **more}).config
    assert config is not None
    return build(config, lenient=lenient)


def problem(criteria: dict[str, Any], **more: Any) -> str:
    """Why these criteria cannot be built."""
    with pytest.raises(ConfigError) as caught:
        built(criteria, **more)
    return str(caught.value)


def test_criteria_come_in_their_order_and_the_always_computed_ones_behind() -> None:
    """The efficiency criteria are part of every run, informational."""
    criteria, warnings = built({"response_match_score": 0.8, "tool_trajectory_avg_score": 1.0})
    assert [one.name for one in criteria] == ["response_match_score", "tool_trajectory_avg_score", *EFFICIENCY]
    assert [one.threshold for one in criteria] == [0.8, 1.0, None, None, None, None]
    assert warnings == ()


def test_an_efficiency_criterion_may_have_a_threshold() -> None:
    """It then gates, lower is better, and is not added a second time."""
    criteria, _ = built({"token_usage_v1": 8000})
    assert [one.name for one in criteria].count("token_usage_v1") == 1
    assert (criteria[0].threshold, criteria[0].lower_is_better, criteria[0].range) == (
        8000,
        True,
        Range(0, None, logarithmic=True),
    )


def test_options_build_the_metric() -> None:
    """Options are the fields of the metric, in either spelling."""
    (first, *_), _ = built(
        {"tool_trajectory_avg_score": {"threshold": 1, "matchType": "any order", "ignoreArgs": True}}
    )
    assert first.metric == ToolTrajectory(match_type="ANY_ORDER", ignore_args=True)


def test_a_threshold_of_null_informs() -> None:
    """The criterion is computed and decides nothing."""
    (first, *_), _ = built({"response_match_score": {"rouge_type": "rougeL", "threshold": None}})
    assert (first.metric, first.threshold) == (ResponseMatch(rouge_type="rougeL"), None)


def test_an_object_without_threshold_is_refused() -> None:
    """A threshold that was forgotten, or misspelt beyond recognition, would let every agent pass."""
    with pytest.raises(
        ConfigError, match=r"/response_match_score: must have 'threshold'; {'threshold': null} computes"
    ):
        built({"response_match_score": {"rouge_type": "rougeL"}})


@pytest.mark.parametrize(("raw", "threshold"), [(1, 1.0), (True, 1.0), ("0.5", 0.5)])
def test_thresholds_are_coerced_as_in_the_peer(raw: Any, threshold: float) -> None:
    """`1`, `true` and `"0.5"` are numbers there."""
    assert built({"response_match_score": raw})[0][0].threshold == threshold


def test_an_option_that_every_criterion_of_the_peer_accepts() -> None:
    """It is read, though few criteria use it."""
    built({"response_match_score": {"threshold": 1, "include_intermediate_responses_in_final": True}})


@pytest.mark.parametrize(
    ("criteria", "message"),
    [
        (
            {"responce_match_score": 1},
            "/criteria/responce_match_score: is not a criterion; did you mean 'response_match_score'?",
        ),
        ({"made_up": 1}, "/criteria/made_up: is not a criterion; `fairtrial criteria` lists them"),
        (
            {"tool_trajectory_avg_score": {"threshold": 1, "ignore_arg": True}},
            "/criteria/tool_trajectory_avg_score/ignore_arg: is not a known option; did you mean 'ignore",
        ),
        (
            {"response_match_score": {"threshold": 1, "x": 1}},
            "/criteria/response_match_score/x: is not a known option; allowed: threshold, rouge_type, tok",
        ),
        (
            {"token_usage_v1": {"threshold": 1, "x": 1}},
            "/criteria/token_usage_v1/x: is not a known option; allowed: threshold",
        ),
        (
            {"response_match_score": {"treshold": 1}},
            "/criteria/response_match_score/treshold: is not a known option; did you mean 'threshold'?",
        ),
        (
            {"safety_v1": {"judge_model_option": {}}},
            "/criteria/safety_v1/judge_model_option: is not a known option; did you mean 'judge_model_opt",
        ),
        (
            {"response_match_score": {"a/b": 1}},
            "/criteria/response_match_score/a~1b: is not a known option",
        ),
        (
            {"tool_trajectory_avg_score": {"matchType": "SORTED"}},
            "/criteria/tool_trajectory_avg_score/matchType: must be one of EXACT, IN_ORDER, ANY_ORDER, got 'SORTED'",
        ),
        (
            {"response_match_score": {"Threshold": 1}},
            "/criteria/response_match_score/Threshold: is not a known option",
        ),
        (
            {"safety_v1": {"judgeModelOptions": {"numSamples": 0}}},
            "/criteria/safety_v1/judgeModelOptions/numSamples: must be a whole number of at least 1, got 0",
        ),
        ({"response_match_score": 7}, "/criteria/response_match_score: must be a number from 0 to 1, or an"),
        (
            {"token_usage_v1": -1},
            "/criteria/token_usage_v1: must be a number of at least 0, or an obj",
        ),
        (
            {"response_match_score": {"threshold": -1}},
            "/criteria/response_match_score/threshold: must be a number from 0 to 1, got -1",
        ),
        (
            {"response_match_score": None},
            "/criteria/response_match_score: must be a number from 0 to 1, or an obj",
        ),
        (
            {"response_match_score": 10**400},
            "/criteria/response_match_score: must be a number from 0 to 1, or an obj",
        ),
        ({"response_match_score": "nan"}, "/criteria/response_match_score: must be a number from 0 to 1, or an"),
        (
            {"response_match_score": [1]},
            "/criteria/response_match_score: must be a number from 0 to 1, or an obj",
        ),
        (
            {"tool_trajectory_avg_score": {"threshold": 1, "match_type": "SORTED"}},
            "/criteria/tool_trajectory_avg_score/match_type: must be one of EXACT, IN_ORDER, ANY_ORDER, got 'SORTED'",
        ),
        (
            {"tool_trajectory_avg_score": {"threshold": 1, "ignore_args": "yes"}},
            "/criteria/tool_trajectory_avg_score/ignore_args: must be true or false, got 'yes'",
        ),
        (
            {"response_match_score": {"threshold": 1, "rouge_type": "rouge3"}},
            "/criteria/response_match_score/rouge_type: must be one of rouge1, rouge2, rougeL, got 'rouge3'",
        ),
        (
            {"tool_trajectory_avg_score": {"threshold": 1, "optional_tools": "f"}},
            "/criteria/tool_trajectory_avg_score/optional_tools: must be an array of strings, got 'f'",
        ),
        (
            {"tool_trajectory_avg_score": {"threshold": 1, "match": {"f": {"x": "subsett"}}}},
            "/criteria/tool_trajectory_avg_score/match/f/x: must be one of exact, ignore, subset",
        ),
        (
            {"tool_trajectory_avg_score": {"threshold": 1, "match": {"f": {"x": {"regex": "("}}}}},
            "/criteria/tool_trajectory_avg_score/match/f/x/regex: must be a regular expression, got '('",
        ),
        (
            {"tool_trajectory_avg_score": {"threshold": 1, "match": {"f": {"tolerance": -1}}}},
            "/criteria/tool_trajectory_avg_score/match/f/tolerance: must be a number of at least 0",
        ),
        (
            {"tool_trajectory_avg_score": {"threshold": 1, "match": "exact"}},
            "/criteria/tool_trajectory_avg_score/match: must be an object {TOOL: MATCHER",
        ),
    ],
)
def test_a_mistake_is_an_error_with_its_place_and_what_is_allowed(criteria: dict[str, Any], message: str) -> None:
    """In the peer most of these are ignored, and a typo is a green build."""
    assert problem(criteria).startswith(message)


def test_lenient_makes_an_unknown_option_a_warning() -> None:
    """For files newer than we are; an unknown criterion stays an error."""
    criteria, warnings = built({"response_match_score": {"threshold": 1, "newer": 1}}, lenient=True)
    assert criteria[0].metric == ResponseMatch()
    assert "/criteria/response_match_score/newer: is not a known option" in warnings[0]
    with pytest.raises(ConfigError):
        built({"made_up": 1}, lenient=True)


METRICS = """
import sys
from dataclasses import dataclass

def polite(trace, case):
    return True

@dataclass(frozen=True)
class Long:
    words: int = 5
    def __call__(self, trace, case):
        return 1.0

class Needy:
    def __init__(self, key):
        pass

def three(a, b, c):
    return 1.0

def strict(trace, case, strictness=1):
    return 1.0

def keyword(trace, case, *, key):
    return 1.0

number = 5
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A module in the current folder, with metrics of a user."""
    name = f"metrics_of_{abs(hash(request.node.name))}"
    (tmp_path / f"{name}.py").write_text(METRICS)
    (tmp_path / f"exits_{name}.py").write_text("raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def custom(path: str, **more: Any) -> dict[str, Any]:
    """The custom metric `mine` at an import path."""
    return {"custom_metrics": {"mine": {"code_config": {"name": path}, **more}}}


@pytest.mark.parametrize("name", ["polite", "strict", "Long"])
def test_a_users_metric_is_imported_from_the_current_folder(here: str, name: str) -> None:
    """A function that can be called with two arguments, or a class that is made without any."""
    (first, *_), _ = built({"mine": 0.5}, **custom(f"{here}.{name}"))
    assert (first.name, first.threshold, first.aggregation) == ("mine", 0.5, "value")
    assert first.signature["metric"] == f"{here}:{name}"


def test_a_users_metric_has_its_own_range(here: str) -> None:
    """`metric_info` says which values it can have, and a threshold outside is an error."""
    info = {"metric_info": {"metric_value_info": {"interval": {"min_value": 1, "max_value": 5}}}}
    (first, *_), _ = built({"mine": 4}, **custom(f"{here}.polite", **info))
    assert first.range == Range(1, 5)
    assert problem({"mine": 0.5}, **custom(f"{here}.polite", **info)).startswith(
        "/criteria/mine: must be a number from 1 to 5, or an object with options, got 0.5"
    )


def test_an_open_end_of_a_range_is_no_threshold(here: str) -> None:
    """No value could be it."""
    interval = {"min_value": 0, "max_value": 1, "openAtMax": True}
    found = problem({"mine": 1}, **custom(f"{here}.polite", metric_info={"metric_value_info": {"interval": interval}}))
    assert found.startswith("/criteria/mine: must be a number of at least 0 and below 1, or an object")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("{here}.polit", "has no 'polit'; did you mean 'polite'?"),
        ("{here}.number", "must be callable"),
        ("{here}.three", "must take 2 arguments (trace, case)"),
        ("{here}.keyword", "got (trace, case, *, key)"),
        ("{here}.Needy", "cannot be made without arguments"),
        ("nowhere_at_all.f", "cannot import 'nowhere_at_all'"),
        ("exits_{here}.f", "SystemExit"),
        ("f", "must be an import path"),
    ],
)
def test_a_users_metric_that_cannot_be_used_is_an_error(here: str, path: str, message: str) -> None:
    """The message starts with the place of the import path."""
    found = problem({"mine": 1}, **custom(path.format(here=here)))
    assert found.startswith("/custom_metrics/mine/code_config/name: ")
    assert message in found


def test_a_users_metric_without_options_refuses_them(here: str) -> None:
    """An option that nothing reads would be a silent mistake."""
    assert problem({"mine": {"threshold": 1, "strict": True}}, **custom(f"{here}.polite")) == (
        "/criteria/mine/strict: is not a known option; allowed: threshold"
    )


def test_a_users_metric_that_no_criterion_names_is_refused(here: str) -> None:
    """It was meant to be used."""
    with pytest.raises(ConfigError, match="/custom_metrics/mine: not in criteria, so not used"):
        built({"response_match_score": 1}, **custom(f"{here}.polite"))


def test_every_sample_of_the_catalog_is_a_config() -> None:
    """What `fairtrial criteria NAME` prints can be pasted."""
    for name, known in CATALOG.items():
        config = load({"criteria": {name: known.sample}}).config
        assert config is not None
        if known.metric is not None:
            build(config)


def test_every_recipe_and_question_leads_to_criteria_that_there_are() -> None:
    """The nine questions of the decision guide."""
    assert all(name in CATALOG for names in RECIPES.values() for name in names)
    assert all(name in CATALOG and situation in RECIPES for _, name, situation in QUESTIONS)
    assert len(QUESTIONS) == 9


def test_an_unknown_entry_names_the_nearest() -> None:
    """As everywhere."""
    with pytest.raises(ConfigError, match="did you mean 'safety_v1'"):
        find_entry("safty_v1")


JUDGE_OPTIONS = "/criteria/safety_v1/judge_model_options"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"num_sample": 3}, "/num_sample: is not a known option; did you mean 'num_samples'?"),
        (
            {"judgeModelConfig": {"temprature": 1}},
            "/judgeModelConfig/temprature: is not a known option; did you mean",
        ),
        ({"num_samples": 0}, "/num_samples: must be a whole number of at least 1, got 0"),
        ({"parallelism_limit": 2.5}, "/parallelism_limit: must be a whole number of at least 1, or null, got 2.5"),
        ({"judge_model": "opanai/x"}, ": model 'opanai/x' names no provider"),
        ([], ": must be an object, got an empty array"),
    ],
)
def test_options_of_a_judge_are_refused_with_their_place(options: Any, said: str) -> None:
    """In both spellings, and the settings of its model too."""
    assert f"{JUDGE_OPTIONS}{said}" in problem({"safety_v1": {"threshold": 1, "judge_model_options": options}})


def test_lenient_makes_unknown_options_of_a_judge_warnings() -> None:
    """Those that are known count."""
    options = {"newer": 1, "num_samples": 3, "judge_model_config": {"seed": 7, "newest": 2}}
    criteria, warnings = built({"safety_v1": {"judge_model_options": options}}, lenient=True)
    places = [warning.partition(":")[0] for warning in warnings]
    assert places == [f"{JUDGE_OPTIONS}/newer", f"{JUDGE_OPTIONS}/judge_model_config/newest"]
    judge = criteria[0].metric.judge  # type: ignore[attr-defined]
    assert (judge.votes, judge.panel[0].settings) == (3, {"seed": 7})


@pytest.mark.parametrize("name", CATALOG)
def test_a_built_criterion_can_be_pickled(name: str) -> None:
    """A worker process gets it, and its numbers have the same signature there."""
    (first, *_), _ = built({name: CATALOG[name].sample})
    again = pickle.loads(pickle.dumps(first))  # noqa: S301 - our own bytes
    assert (type(again.metric), again.signature) == (type(first.metric), first.signature)
    assert signature(again.metric) == signature(first.metric)


def test_matchers_of_arguments_can_be_pickled() -> None:
    """Every kind of matcher decides in another process as it does here."""
    rules = {
        "a": {"text": {"regex": "[0-9]+"}, "number": {"tolerance": 0.1}, "word": "case_insensitive"},
        "b": {"function": "operator.eq"},
    }
    metric = ToolTrajectory(match=rules)
    again = pickle.loads(pickle.dumps(metric))  # noqa: S301 - our own bytes
    assert again == metric
    matching = case(turn(call("a", text="12", number=1.05, word="X"), call("b", x=1)))
    other = case(turn(call("a", text="x2", number=1.05, word="X"), call("b", x=1)))
    expected = case(turn(call("a", text="", number=1.0, word="x"), call("b", x=1)))
    assert [again(Trace(one.conversation or ()), expected).value for one in (matching, other)] == [1.0, 0.0]
