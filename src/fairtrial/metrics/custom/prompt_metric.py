"""The criterion of a user's own judge prompt, like `prompt_template` of agents-cli."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from fairtrial.config.option import NOT_BLANK, Keys
from fairtrial.config.reader import OptionRecord, Problem
from fairtrial.errors import nearest
from fairtrial.judge.judge_options import JudgeOptions
from fairtrial.judge.question import Question, score_schema
from fairtrial.judge.voting import median_number
from fairtrial.llm.model import DEFAULT_MODEL
from fairtrial.llm.model_settings import ModelSettings
from fairtrial.metrics.asking import unfit
from fairtrial.metrics.custom.instance_metric import make_instance
from fairtrial.metrics.judged_metric import TEMPLATES, JudgedMetric, Scale
from fairtrial.records.contents import COMPARABLE, DIALOGUE
from fairtrial.records.record import Json
from fairtrial.records.score import Score
from fairtrial.text.display import compact
from fairtrial.text.language import detect_language

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.trace import Trace

_PLACEHOLDER = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")
_CONTEXT = ("prompt", "reference", "context")
_JUDGED = ("response", "agent_data")
PLACEHOLDERS = (*_CONTEXT, *_JUDGED)


class PromptMetricOptions(OptionRecord, frozen=True):
    """A metric of agents-cli that asks a judge with a prompt of its own."""

    prompt_template: Annotated[
        str,
        Meta(
            pattern=NOT_BLANK,
            description="the question, with the placeholders `{prompt}`, `{response}`, `{agent_data}`, `{reference}` "
            "and `{context}`",
        ),
    ]
    judge_model: Annotated[str, Meta(description="the model that judges")] = DEFAULT_MODEL
    judge_model_sampling_count: Annotated[int, Meta(ge=1, le=32, description="the number of votes")] = 5
    judge_model_system_instruction: Annotated[str, Meta(description="further standards for the judge")] = ""
    judge_model_generation_config: Annotated[
        dict[str, Json] | None, Keys(ModelSettings), Meta(description="the settings of the model")
    ] = None

    def conflicts(self) -> Iterator[Problem]:
        """Yield each placeholder that does not exist."""
        for name in dict.fromkeys(_PLACEHOLDER.findall(self.prompt_template)):
            if name not in PLACEHOLDERS:
                known = ", ".join(f"{{{known}}}" for known in PLACEHOLDERS)
                yield (
                    "prompt_template",
                    f"{{{name}}} is not a placeholder{nearest(name, PLACEHOLDERS)}; known are {known}",
                )

    @property
    def judge_options(self) -> JudgeOptions:
        """The same options as `judge_model_options`."""
        return JudgeOptions(
            judge_model=self.judge_model,
            judge_model_config=self.judge_model_generation_config,
            num_samples=self.judge_model_sampling_count,
        )


@dataclass(frozen=True)
class PromptMetric(JudgedMetric):
    """The median of the scores that a judge gives when it is asked a template.

    The template is a stranger's text. It is never filled in: the judge gets it in a fence, beside a fence for each text
    that a placeholder names.
    """

    template: str

    scale = Scale({}, (), median_number)
    templates = ("prompt_template",)

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Ask about the whole conversation. A placeholder whose text the case lacks makes the metric inapplicable."""
        names = dict.fromkeys(_PLACEHOLDER.findall(self.template))
        unfit_score = unfit(trace, reads=COMPARABLE if "agent_data" in names else DIALOGUE)
        if unfit_score is not None:
            return unfit_score
        texts = {name: text for name, text in _texts(trace, case).items() if name in names}
        missing = [name for name in ("reference", "context") if name in names and not texts[name]]
        if missing:
            return Score(applicable=False, reason=f"the case has no {' and no '.join(missing)}")
        ballot = await self.judge(self.ask_about(texts))
        value = ballot.decisions["score"].result.value
        if value is None:
            return Score(None, ballot.why_unscored("score"), ballots=(ballot.id,), side="judge")
        votes = ballot.opinions("score")
        nearest_vote = min(votes, key=lambda vote: abs(float(vote.answer) - value))
        reason = f"the median of {', '.join(vote.answer for vote in votes)}"
        return Score(
            value, f"{reason}: {nearest_vote.rationale}" if nearest_vote.rationale else reason, ballots=(ballot.id,)
        )

    def ask_about(self, texts: dict[str, str]) -> Question:
        """Return the question of the template about texts."""
        standing = {"template": self.template, **self.standards()}
        prompt = TEMPLATES.render(
            "prompt_template",
            texts,
            language=detect_language(texts.get("response", self.template)),
            standing=standing,
            schema=score_schema(),
            standing_names=list(standing),
            context_names=[name for name in _CONTEXT if name in texts],
            judged_names=[name for name in _JUDGED if name in texts],
        )
        return Question(prompt, ("score",), (), median_number)


def _texts(trace: Trace, case: EvalCase) -> dict[str, str]:
    """Return the text of each placeholder. A content that holds more than texts is JSON."""
    instance = make_instance(trace, case)
    reference: Any = instance.get("reference")
    return {
        "prompt": _text(instance.get("prompt")),
        "response": _text(instance.get("response")),
        "agent_data": compact(instance.get("agent_data")),
        "reference": _text(reference.get("response") if isinstance(reference, dict) else reference),
        "context": _text(instance.get("context")),
    }


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    parts = content.get("parts") if isinstance(content, dict) else None
    if isinstance(parts, list) and all(isinstance(part, dict) and set(part) == {"text"} for part in parts):
        return "".join(str(part["text"]) for part in parts)
    return compact(content)
