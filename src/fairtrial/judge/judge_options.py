"""The options of `judge_model_options`, which configure the judge of a criterion."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from fairtrial.config.option import Keys
from fairtrial.config.reader import OptionReader, ReadWith
from fairtrial.llm.endpoint_options import EndpointOptions
from fairtrial.llm.model import DEFAULT_MODEL
from fairtrial.llm.model_settings import ModelSettings
from fairtrial.records.record import Json


class PanelMember(EndpointOptions, frozen=True):
    """One model of a panel with an endpoint of its own. The settings are added to `judge_model_config`."""

    model: Annotated[str, Meta(description="the name of the model, as in `judge_model`")]
    settings: Annotated[dict[str, Json] | None, Keys(ModelSettings), Meta(description="the settings of this model")] = (
        None
    )
    structured_output: Annotated[bool | None, Meta(description="as for the whole judge, which is the default")] = None


def _read_member(raw: Any, reader: OptionReader, pointer: str) -> Any:
    if isinstance(raw, str | PanelMember):
        return raw
    if not isinstance(raw, dict):
        reader.note(pointer, f"must be the name of a model, or an object with a model, got {type(raw).__name__}")
        return raw
    return reader.read(raw, PanelMember, pointer)


class JudgeOptions(EndpointOptions, frozen=True):
    """`judge_model_options`: one model or a panel, its settings, and the number of votes."""

    judge_model: Annotated[
        str,
        Meta(
            description="the model that judges: `gemini-...`, `openai/...`, `anthropic/...`, `ollama/...`, or any "
            "name with `base_url`"
        ),
    ] = DEFAULT_MODEL
    judge_models: Annotated[
        tuple[Annotated[str | PanelMember, ReadWith(_read_member)], ...],
        Meta(
            description="a panel of models in place of `judge_model`: names, or objects with an endpoint of their own. "
            "Vote i goes to model i mod m"
        ),
    ] = ()
    judge_model_config: Annotated[
        dict[str, Json] | None, Keys(ModelSettings), Meta(description="the settings of the model")
    ] = None
    num_samples: Annotated[int, Meta(ge=1, description="how many votes on each question")] = 5
    parallelism_limit: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="the most calls of this criterion at once. Null leaves the pace to the whole run"),
    ] = None
    judge_timeout: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(
            description="the seconds after which a call without a reply is made again. Null is 120. A server that "
            "still replies to other calls gets more time"
        ),
    ] = None
    structured_output: Annotated[
        bool, Meta(description="false for a server that does not support JSON schemas. The prompt then asks for JSON")
    ] = True
