"""Judges score a `prompt_template` of agents-cli, and the template is never filled in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fairtrial import Judges, api
from fairtrial.errors import UsageError
from fairtrial.llm.model_options import ModelOptions
from fairtrial.records.result import Outcome
from fairtrial.testing import ScriptedModel
from judged import fence

CASE = {
    "eval_case_id": "a",
    "prompt": {"role": "user", "parts": [{"text": "Which is the capital of France?"}]},
    "responses": [{"response": {"role": "model", "parts": [{"text": "Paris. {reference} is a trap."}]}}],
    "reference": {"response": {"role": "model", "parts": [{"text": "It is Paris."}]}},
}
TEMPLATE = 'Grade {response} against {reference} from 1 to 5. {prompt!r} Answer {"score": 1}.'


def said(*scores: Any) -> ScriptedModel:
    """A judge that gives these scores, one vote each."""
    return ScriptedModel([json.dumps({"explanation": f"why {score}", "score": score}) for score in scores])


def planned(folder: Path, model: ScriptedModel, *, case: dict[str, Any] | None = None, **metric: Any) -> api.Plan:
    """The plan of scoring one reply with a metric that asks the judge."""
    (folder / "basic-dataset.json").write_text(json.dumps({"eval_cases": [case or CASE]}), encoding="utf-8")
    options = {"name": "grade", "prompt_template": TEMPLATE, "judge_model": "judge", **metric}
    (folder / "eval_config.json").write_text(json.dumps({"custom_metrics": [options]}), encoding="utf-8")
    models = ModelOptions(custom_models={"judge": model})
    return api.plan_score([folder / "basic-dataset.json"], run=api.RunOptions(judges=Judges(models=models)))


def outcome(folder: Path, model: ScriptedModel, **metric: Any) -> Outcome:
    """The outcome of the metric."""
    (result,) = api.execute(planned(folder, model, **metric)).cases
    return next(each for each in result.outcomes if each.criterion == "grade")


@pytest.mark.parametrize(("scores", "median"), [([4], 4.0), ([1, 5, 4], 4.0), ([2, 3], 2.5), ([-7.5], -7.5)])
def test_the_score_is_the_median_of_the_votes(scores: Sequence[float], median: float, tmp_path: Path) -> None:
    """On any scale, with the explanation of a vote that is nearest to it. Every vote is asked for."""
    model = said(*scores)
    found = outcome(tmp_path, model, judge_model_sampling_count=len(scores))
    assert found.score.value == median
    assert "why" in found.score.reason
    assert len(model.prompts) == len(scores)
    assert found.verdict == "informational"


def test_the_template_is_never_filled_in(tmp_path: Path) -> None:
    """The template and the texts that it names stand in fences, byte for byte; other texts are not sent."""
    model = said(4)
    outcome(tmp_path, model, judge_model_sampling_count=1, judge_model_system_instruction="Be strict.")
    (prompt,) = model.prompts
    assert fence(prompt, "template")[::2] == ("STANDARD", TEMPLATE)
    assert fence(prompt, "response")[::2] == ("JUDGED", "Paris. {reference} is a trap.")
    assert fence(prompt, "reference")[::2] == ("CONTEXT", "It is Paris.")
    assert fence(prompt, "instructions")[::2] == ("STANDARD", "Be strict.")
    assert "capital of France" not in prompt.text


@pytest.mark.parametrize(
    "reply", ['{"score": "4"}', '{"score": true}', '{"score": 1e999}', '{"score": null}', "4", "[]"]
)
def test_a_reply_without_a_number_is_unscored(reply: str, tmp_path: Path) -> None:
    """A judge that cannot be read never gives a zero. It may try again."""
    found = outcome(tmp_path, ScriptedModel([reply, reply]), judge_model_sampling_count=1)
    assert found.score.value is None
    assert "1 of 1 votes are abstentions" in found.score.reason


def test_a_text_that_the_case_lacks_makes_the_metric_inapplicable(tmp_path: Path) -> None:
    """The judge is not asked about a reference or a context that does not exist."""
    model = said()
    case = {key: value for key, value in CASE.items() if key != "reference"}
    found = outcome(tmp_path, model, case=case)
    assert (found.verdict, found.score.reason) == ("not_applicable", "the case has no reference")
    assert model.prompts == []


def test_the_signature_holds_the_template(tmp_path: Path) -> None:
    """A changed template, instruction or number of votes is another metric."""
    signatures = [
        planned(tmp_path, said(), **change).info.signatures["grade"]
        for change in (
            {},
            {"prompt_template": "{response}?"},
            {"judge_model_system_instruction": "strict"},
            {"judge_model_sampling_count": 3},
        )
    ]
    assert isinstance(signatures[0], dict)
    assert signatures[0]["options"]["template"] == TEMPLATE
    assert len({json.dumps(each) for each in signatures}) == 4


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"prompt_template": "{respons}"},
            "/custom_metrics/0/prompt_template: {respons} is not a placeholder; did you mean 'response'?",
        ),
        ({"prompt_template": " "}, "/custom_metrics/0/prompt_template: "),
        ({"judge_model_sampling_count": 33}, "/custom_metrics/0/judge_model_sampling_count: "),
        ({"judge_model_sampling_count": 0}, "/custom_metrics/0/judge_model_sampling_count: "),
        ({"judge_model_generation_config": 1}, "/custom_metrics/0/judge_model_generation_config: "),
        ({"judge_model": "no-such-model"}, "/custom_metrics/0/judge_model: "),
    ],
)
def test_wrong_options_are_refused_at_their_place(change: dict[str, Any], problem: str, tmp_path: Path) -> None:
    """Before any judge is asked."""
    with pytest.raises(UsageError) as refused:
        planned(tmp_path, said(), **change)
    assert problem in str(refused.value)
