"""Check that the requested model answered. Providers answer under other spellings, and routers with other models."""

from __future__ import annotations

import re

_REGION = re.compile(r"(us|eu|apac|global|jp|au|ca|us-gov)\.(?=[a-z0-9-]+\.)")
_VENDOR = re.compile(r"[a-z][a-z0-9]*\.(?=[a-z])")
"""The vendor in a name of Bedrock, such as `anthropic.`. The dot in `llama3.1` stands before a digit."""

_VARIANT = re.compile(r":(free|beta|nitro|floor|online|extended|thinking|exacto|latest)$")
"""How OpenRouter says on which terms it serves a model, and Ollama that a model has no tag."""

_BEDROCK_VERSION = re.compile(r"-v\d+(:\d+){1,2}\w*$")
_RELEASE = re.compile(r"[-@](20\d\d-\d\d-\d\d|20\d{6}|\d\d-\d\d(\d\d)?|\d{3,4}|latest|default)$")
"""A model release: a date, or three or four digits. `latest` and `default` name none."""


def is_same_model(asked: str, served: str) -> bool:
    """Whether the answering model's name is a name for the model that was asked.

    A release may be added or left out, but not changed. For example, `gpt-4o` may answer as `gpt-4o-2024-08-06`. Names
    of deployments are chosen by users and say nothing, so they fit every model.
    """
    if not served or _is_deployment(asked):
        return True
    (asked_name, asked_release), (served_name, served_release) = map(_parts, (asked, served))
    is_same_release = not asked_release or not served_release or asked_release == served_release
    return asked_name == served_name and is_same_release


def _is_deployment(asked: str) -> bool:
    name = asked.lower()
    return name.startswith(("azure/", "azure_ai/")) or "application-inference-profile/" in name


def _parts(name: str) -> tuple[str, str]:
    """Return a model name without provider and region, and its release."""
    own = name.strip().lower().rpartition("/")[2].removesuffix(".gguf")
    own = _BEDROCK_VERSION.sub("", _VARIANT.sub("", _VENDOR.sub("", _REGION.sub("", own, count=1), count=1)))
    found = _RELEASE.search(own)
    stem, release = (own[: found.start()], found[1].replace("-", "")) if found else (own, "")
    if stem.startswith("claude"):
        # Anthropic writes claude-sonnet-4-5, and OpenRouter claude-4.5-sonnet.
        stem = "-".join(sorted(stem.replace(".", "-").split("-")))
    return stem, "" if release in {"latest", "default"} else release
