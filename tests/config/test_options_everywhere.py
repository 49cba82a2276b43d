"""The same mistake in options gets the same message everywhere, with the pointer of the file."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builders import load
from fairtrial.config.option import Option, list_options
from fairtrial.config.reader import OptionReader
from fairtrial.errors import ConfigError
from fairtrial.judge.judge import Judge
from fairtrial.judge.judge_options import JudgeOptions
from fairtrial.judge.judges import Judges
from fairtrial.llm.budget import Budget
from fairtrial.llm.model import NamedModel
from fairtrial.llm.model_options import BatchOptions, ModelOptions
from fairtrial.loading.criteria import join_criteria
from fairtrial.metrics.entries import CATALOG
from fairtrial.metrics.trajectory import ToolTrajectory
from fairtrial.simulate.environment_options import Chaos, InjectionConfig
from fairtrial.simulate.user_options import UserOptions

FINE = {"response_match_score": 0.5}
Json = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Place:
    """A place in a configuration where options are read.

    `option` is refused with these `words` if it is `"many"` or null; `ranged` is out of range.
    """

    pointer: str
    config: Callable[[Json], Json]
    option: str
    words: str
    ranged: tuple[str, Any, str]
    misspelt: tuple[str, str]
    known: tuple[Option, ...]
    needed: Json = dataclasses.field(default_factory=dict)


def injecting(options: Json) -> Json:
    """A configuration with one injection."""
    tool = {"tool_name": "get", "injection_configs": [options]}
    return {"criteria": FINE, "environment_simulation_config": {"tool_simulation_configs": [tool]}}


def interval(options: Json) -> Json:
    """A configuration with a metric of the user, whose values have this interval."""
    metric = {"code_config": {"name": "builders.load"}, "metric_info": {"metric_value_info": {"interval": options}}}
    return {"criteria": FINE | {"mine": 0.5}, "custom_metrics": {"mine": metric}}


PLACES = {
    "criterion": Place(
        "/criteria/tool_trajectory_avg_score",
        lambda options: {"criteria": {"tool_trajectory_avg_score": options}},
        "ignore_args",
        "true or false",
        ("threshold", 7, "must be a number from 0 to 1, got 7"),
        ("ignore_arg", "ignore_args"),
        CATALOG["tool_trajectory_avg_score"].options,
    ),
    "judge": Place(
        "/criteria/safety_v1/judge_model_options",
        lambda options: {"criteria": {"safety_v1": {"judge_model_options": options}}},
        "num_samples",
        "a whole number of at least 1",
        ("num_samples", 0, "must be a whole number of at least 1, got 0"),
        ("num_sampls", "num_samples"),
        list_options(JudgeOptions),
    ),
    "user simulator": Place(
        "/user_simulator_config",
        lambda options: {"criteria": FINE, "user_simulator_config": options},
        "max_allowed_invocations",
        "a whole number of at least -1",
        ("max_allowed_invocations", -2, "must be a whole number of at least -1, got -2"),
        ("stop_singal", "stop_signal"),
        list_options(UserOptions),
    ),
    "environment": Place(
        "/environment_simulation_config/tool_simulation_configs/0/injection_configs/0",
        injecting,
        "injection_probability",
        "a number from 0 to 1",
        ("injection_probability", 1.5, "must be a number from 0 to 1, got 1.5"),
        ("match_arg", "match_args"),
        list_options(InjectionConfig),
        {"injected_response": {}},
    ),
    "custom metric": Place(
        "/custom_metrics/mine/metric_info/metric_value_info/interval",
        interval,
        "open_at_min",
        "true or false",
        ("open_at_max", 2, "must be true or false, got 2"),
        ("min_valu", "min_value"),
        (),
    ),
}
EVERYWHERE = pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)


def problems(config: Json) -> tuple[str, ...]:
    """The problems of a configuration, without the name of the file."""
    found = load(config).config
    assert found is not None
    with pytest.raises(ConfigError) as refused:
        join_criteria(found, origin="c.json")
    return tuple(problem.removeprefix("c.json: ") for problem in refused.value.problems)


def problem(place: Place, options: Json) -> str:
    """The one problem of options at a place, whose pointer must be the place's."""
    (found,) = problems(place.config({**place.needed, **options}))
    assert found.startswith(place.pointer)
    return found.removeprefix(place.pointer)


def camel(name: str) -> str:
    """The name in camelCase."""
    head, *tail = name.split("_")
    return head + "".join(word.title() for word in tail)


@EVERYWHERE
@pytest.mark.parametrize(("raw", "got"), [("many", "'many'"), (None, "null"), ([1, 2], "an array of 2")])
def test_a_value_of_the_wrong_type(place: Place, raw: Any, got: str) -> None:
    """The message says what is allowed and what was given; null is a value like others."""
    assert problem(place, {place.option: raw}) == f"/{place.option}: must be {place.words}, got {got}"


@EVERYWHERE
def test_the_pointer_has_the_spelling_of_the_file(place: Place) -> None:
    """A file in camelCase gets a pointer in camelCase."""
    assert problem(place, {camel(place.option): "many"}).startswith(f"/{camel(place.option)}: must be {place.words}")


@pytest.mark.parametrize(
    ("options", "place", "problem"),
    [
        (
            {"promptTemplate": "{response}", "judgeModelSamplingCount": 0},
            "/judgeModelSamplingCount",
            "must be a whole number from 1 to 32, got 0",
        ),
        ({"customFunction": "def evaluate(i): return 1"}, "/customFunction", "is code in a configuration, which runs"),
        ({"customFunctionFile": "gone.py"}, "/customFunctionFile", "gone.py: no such file"),
    ],
)
def test_the_pointer_of_a_metric_of_agents_cli_has_the_spelling_of_the_file(
    options: Json, place: str, problem: str
) -> None:
    """The keys around the option keep their spelling, too."""
    metric = {"name": "m", **options}
    (found,) = problems({"metricsToRun": ["m"], "customMetrics": [metric]})
    assert found.startswith(f"/customMetrics/0{place}: {problem}")


@EVERYWHERE
def test_a_value_out_of_range(place: Place) -> None:
    """The message says the range."""
    name, value, words = place.ranged
    assert problem(place, {name: value}) == f"/{name}: {words}"


@EVERYWHERE
def test_an_unknown_option(place: Place) -> None:
    """The message lists the options that there are."""
    found = problem(place, {"zzzzzz": 1})
    assert found.startswith("/zzzzzz: is not a known option; allowed: ")
    assert all(option.name in found for option in place.known)


@EVERYWHERE
def test_a_misspelt_option(place: Place) -> None:
    """The message has the nearest name."""
    misspelt, right = place.misspelt
    assert problem(place, {misspelt: 1}) == f"/{misspelt}: is not a known option; did you mean {right!r}?"


@EVERYWHERE
def test_an_option_in_two_spellings(place: Place) -> None:
    """Neither value can be meant more than the other, even if they are equal."""
    first, second = place.option, camel(place.option)
    value = {"true or false": True}.get(place.words, 1)
    assert problem(place, {first: value, second: value}) == (
        f"/{second}: stands there twice, as {first!r} and as {second!r}; keep one"
    )


@EVERYWHERE
def test_a_value_that_is_not_an_object(place: Place) -> None:
    """Options stand in an object."""
    (found,) = problems(place.config([1]))  # type: ignore[arg-type]
    assert found.startswith(f"{place.pointer}: must be ")
    assert found.endswith(", got an array of 1")


@EVERYWHERE
def test_lenient_makes_an_unknown_option_a_warning(place: Place) -> None:
    """The file may be newer than this version."""
    config = load(place.config({**place.needed, "zzzzzz": 1})).config
    assert config is not None
    found = join_criteria(config, origin="c.json", lenient=True)
    assert any(f"{place.pointer}/zzzzzz: is not a known option" in warning for warning in found.warnings)


def test_all_problems_are_found_at_once() -> None:
    """A configuration is corrected in one go, whatever its parts are."""
    config = {
        "criteria": {
            "tool_trajectory_avg_score": {"ignore_args": 1, "partial": "f2"},
            "safety_v1": {"judgeModelOptions": {"numSamples": 0, "judge_model_config": {"temprature": 1}}},
            "mine": 0.5,
        },
        "custom_metrics": {"mine": {"description": "no code"}},
        "userSimulatorConfig": {"stopSignal": " "},
        "environment_simulation_config": {"chaosEffects": [{"effect": "stal"}]},
    }
    assert [problem.partition(": ")[0] for problem in problems(config)] == [
        "/custom_metrics/mine",
        "/criteria/tool_trajectory_avg_score/ignore_args",
        "/criteria/tool_trajectory_avg_score/partial",
        "/criteria/safety_v1/judgeModelOptions/numSamples",
        "/criteria/safety_v1/judgeModelOptions/judge_model_config/temprature",
        "/userSimulatorConfig/stopSignal",
        "/environment_simulation_config/chaosEffects/0/effect",
    ]


def test_null_is_the_default_of_an_option_that_is_empty_by_default() -> None:
    """ADK writes null for the objects and arrays that nobody gave."""
    config = load(
        {
            "criteria": {"safety_v1": {"threshold": 1, "judge_model_options": None}},
            "user_simulator_config": {"model_configuration": None, "type": None},
            "environment_simulation_config": {
                "tool_simulation_configs": None,
                "chaos_effects": [{"effect": "empty", "match_args": None}],
            },
        }
    ).config
    assert config is not None
    found = join_criteria(config, origin="c.json")
    assert found.user_simulator == UserOptions()
    assert found.environment is not None
    assert found.environment.chaos_effects == (Chaos("empty"),)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: JudgeOptions(num_samples=0), "num_samples: must be a whole number of at least 1, got 0"),
        (lambda: JudgeOptions(judge_models="m"), "judge_models: must be an array of strings or objects, got 'm'"),  # type: ignore[arg-type]
        (
            lambda: UserOptions(max_allowed_invocations=-2),
            "max_allowed_invocations: must be a whole number of at least -1, got -2",
        ),
        (lambda: UserOptions(model_configuration={"top_p": 2}), "model_configuration/top_p: must be a number from 0"),
        (lambda: Judges(votes=0), "votes: must be a whole number of at least 1, or null, got 0"),
        (lambda: Judges(model=5), "model: must be a string, or null, got 5"),  # type: ignore[arg-type]
        (lambda: Judges(canaries=-1), "canaries: must be a whole number of at least 0, got -1"),
        (lambda: Judge((NamedModel("m"),), votes=0), "votes: must be a whole number of at least 1, got 0"),
        (lambda: ModelOptions(concurrency=0), "concurrency: must be a whole number of at least 1, or null, got 0"),
        (lambda: ModelOptions(timeout=0), "timeout: must be a number above 0, or null, got 0"),
        (lambda: ModelOptions(cassette=5, cassette_mode="auto"), "cassette: must be a path, got 5"),  # type: ignore[arg-type]
        (
            lambda: ModelOptions(cassette=Path("c"), cassette_mode="tape"),  # type: ignore[arg-type]
            "cassette_mode: must be one of record, replay, auto, or null, got 'tape'",
        ),
        (lambda: BatchOptions(poll=-1), "poll: must be a number of at least 0, or null, got -1"),
        (lambda: Budget(max_calls=-1), "max_calls: must be a whole number of at least 0, or null, got -1"),
        (lambda: Budget(max_cost="2"), "max_cost: must be a number of at least 0, or null, got '2'"),  # type: ignore[arg-type]
        (lambda: Chaos("empty", probability=1.5), "probability: must be a number from 0 to 1, got 1.5"),
        (InjectionConfig, "must have exactly one of injected_error, injected_response and planted"),
        (lambda: ToolTrajectory(ignore_args=None), "ignore_args: must be true or false, got null"),  # type: ignore[arg-type]
        (lambda: ToolTrajectory(match={"f": {"x": "subsett"}}), "match/f/x: must be one of exact, ignore, subset"),
    ],
)
def test_python_gets_the_message_of_a_file(make: Callable[[], object], message: str) -> None:
    """The name of the parameter stands in place of the pointer."""
    with pytest.raises(ConfigError) as refused:
        make()
    assert str(refused.value).startswith(message)


OPTIONS = [(name, option.name) for name, entry in CATALOG.items() for option in list_options(entry.metric)]


@pytest.mark.parametrize(("criterion", "name"), OPTIONS)
def test_every_criterion_checks_its_options_in_python(criterion: str, name: str) -> None:
    """A metric that does not call the helper would take any value."""
    entry = CATALOG[criterion]
    needed = {"judge": Judges().judge()} if entry.judged else {}
    with pytest.raises(ConfigError, match=f"^{name}: must be "):
        entry.metric(**needed, **{name: object()})


def test_a_list_given_in_python_becomes_a_tuple() -> None:
    """A metric is frozen, and so are its options."""
    assert ToolTrajectory(optional_tools=["f"]).optional_tools == ("f",)  # type: ignore[arg-type]


def test_a_float_must_be_finite() -> None:
    """Infinity is not JSON, but Python may hand it in."""
    reader = OptionReader()
    reader.values({"probability": float("inf")}, list_options(Chaos), "")
    assert ("/probability", "must be a number from 0 to 1, got inf") in reader.misfits
