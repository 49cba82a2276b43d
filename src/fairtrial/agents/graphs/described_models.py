"""Let an environment describe the tools in the requests of LangChain's chat models, which graphs hold in closures."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from fairtrial.agents.graphs.tool_nodes import EXTRA
from fairtrial.agents.routing import describe_declaration
from fairtrial.system.importing import import_extra
from fairtrial.system.replaced_methods import replace_method

if TYPE_CHECKING:
    from fairtrial.protocols import Environment

ENVIRONMENT = "fairtrial_environment"
"""The attribute of a callback handler that holds the environment of a conversation."""


def describe_requests() -> None:
    """Let chat models ask the environment of a conversation for the descriptions of the tools that they declare.

    The callbacks of the conversation reach every model of a graph, and name the environment.
    """
    owner: type = import_extra("langchain_core.language_models.chat_models", EXTRA).BaseChatModel
    for name in ("generate", "agenerate"):
        replace_method(owner, name, _describe_generation)
    for name in ("stream", "astream"):
        replace_method(owner, name, _describe_stream)


def _describe_generation(original: Any) -> Any:
    @functools.wraps(original)
    def generate(model: Any, messages: Any, stop: Any = None, callbacks: Any = None, **options: Any) -> Any:
        return original(model, messages, stop, callbacks, **_describe(options, callbacks))

    return generate


def _describe_stream(original: Any) -> Any:
    ensure_config = import_extra("langchain_core.runnables.config", EXTRA).ensure_config

    @functools.wraps(original)
    def stream(model: Any, input: Any, config: Any = None, **options: Any) -> Any:  # noqa: A002
        return original(model, input, config, **_describe(options, ensure_config(config).get("callbacks")))

    return stream


def _describe(options: dict[str, Any], callbacks: Any) -> dict[str, Any]:
    """Return the options of a request with the descriptions of the environment that the callbacks name."""
    handlers = getattr(callbacks, "handlers", callbacks) or ()
    environment: Environment | None = next(
        (own for handler in handlers if (own := getattr(handler, ENVIRONMENT, None)) is not None), None
    )
    tools = options.get("tools")
    if environment is None or not isinstance(tools, list | tuple):
        return options
    return {**options, "tools": [describe_declaration(environment, tool) for tool in tools]}
