"""Language model settings. Their names are those of ADK's `GenerateContentConfig`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from fairtrial.records.record import Json, Record


class ModelSettings(Record, frozen=True):
    """Model settings: `judge_model_config`, `model_configuration` and `simulation_model_configuration`."""

    temperature: Annotated[
        Annotated[float, Meta(ge=0, le=2)] | None, Meta(description="how random the replies are. 0 is the least random")
    ] = None
    top_p: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        Meta(description="samples from the tokens that hold this share of the probability"),
    ] = None
    top_k: Annotated[
        Annotated[float, Meta(ge=0)] | None, Meta(description="samples from this many of the most probable tokens")
    ] = None
    seed: Annotated[int | None, Meta(description="makes sampling repeatable if the provider supports it")] = None
    max_output_tokens: Annotated[Annotated[int, Meta(ge=1)] | None, Meta(description="the most tokens of a reply")] = (
        None
    )
    max_tokens: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="another name of `max_output_tokens`")
    ] = None
    stop_sequences: Annotated[tuple[str, ...] | None, Meta(description="texts at which the model stops its reply")] = (
        None
    )
    presence_penalty: Annotated[
        Annotated[float, Meta(ge=-2, le=2)] | None,
        Meta(description="lowers the probability of tokens that occur already"),
    ] = None
    frequency_penalty: Annotated[
        Annotated[float, Meta(ge=-2, le=2)] | None,
        Meta(description="lowers the probability of tokens the more often they occur"),
    ] = None
    thinking: Annotated[
        bool | str | None, Meta(description="whether, or how much, the model thinks: `low`, `medium`, `high`")
    ] = None
    thinking_budget: Annotated[
        Annotated[int, Meta(ge=-1)] | None,
        Meta(description="the most tokens of thoughts. -1 lets the model decide. Google, Anthropic"),
    ] = None
    thinking_config: Annotated[
        dict[str, Json] | None, Meta(description="ADK's form of `thinking_budget`: `{thinking_budget: 1024}`")
    ] = None
    safety_settings: Annotated[
        tuple[dict[str, Json], ...] | None, Meta(description="Google's thresholds for harmful content")
    ] = None
