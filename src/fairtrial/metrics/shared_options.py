"""Options that several criteria share: their judge, their backend, and an option of ADK."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from msgspec import Meta

from fairtrial.config.option import Option, list_options
from fairtrial.judge.judge_options import JudgeOptions
from fairtrial.records.record import Record


class SharedOptions(Record, frozen=True):
    """Options that belong to a criterion and not to its metric."""

    judge_model_options: Annotated[
        JudgeOptions | None, Meta(description="the judge: its models, their settings and the votes")
    ] = None
    backend: Annotated[
        Literal["judge", "vertex"] | None,
        Meta(
            description="`vertex` is Vertex AI's evaluation service (extra `vertex`). By default it is used if "
            "GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION are set and the extra is installed"
        ),
    ] = None
    include_intermediate_responses_in_final: Annotated[
        bool, Meta(description="ADK has this option in every criterion. It is not used here")
    ] = False


JUDGE, BACKEND, _INTERIM = list_options(SharedOptions)
INTERIM = replace(_INTERIM, tolerated=True)
"""ADK may write this option into every criterion."""


def shared_options(own: tuple[Option, ...], *, judged: bool, served: bool) -> tuple[Option, ...]:
    """Return the options of a criterion: the shared options that apply, and those of its metric."""
    return (*([JUDGE] if judged else []), *([BACKEND] if served else []), *own)
