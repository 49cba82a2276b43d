"""Which judge does a criterion ask for? The options of `judge_model_options`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from fairtrial.config.option import Keys
from fairtrial.config.reader import OptionRecord
from fairtrial.llm.model import DEFAULT_MODEL
from fairtrial.llm.model_settings import ModelSettings
from fairtrial.records.record import Json


class JudgeOptions(OptionRecord, frozen=True):
    """`judge_model_options`: one model or a panel, its settings, and the number of votes."""

    judge_model: Annotated[
        str,
        Meta(
            description="the model that judges: `gemini-...`, `openai/...`, `anthropic/...`, `ollama/...`, or any "
            "name with `base_url`"
        ),
    ] = DEFAULT_MODEL
    judge_models: Annotated[
        tuple[str, ...], Meta(description="a panel of models in place of `judge_model`. Vote i goes to model i mod m")
    ] = ()
    judge_model_config: Annotated[
        dict[str, Json] | None, Keys(ModelSettings), Meta(description="the settings of the model")
    ] = None
    num_samples: Annotated[int, Meta(ge=1, description="how many votes on each question")] = 5
    parallelism_limit: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="the most calls of this criterion at once. Null leaves the pace to the whole run"),
    ] = None
    base_url: Annotated[
        str | None,
        Meta(
            description="where an OpenAI-compatible server listens. Null is the provider's usual address, or "
            "`OPENAI_BASE_URL`"
        ),
    ] = None
    structured_output: Annotated[
        bool, Meta(description="false for a server that does not support JSON schemas. The prompt then asks for JSON")
    ] = True
