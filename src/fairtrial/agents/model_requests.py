"""Notice the requests to models that are answered in this process, whoever makes them.

An agent inside a tool reports its requests. A tool may also ask a model itself, as `AdvisorTools` of Agno does, which
no framework reports. The clients of HTTP are watched for it, and the paths of the providers' protocols.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

_CLIENTS = (
    ("httpx", "Client", "send", False),
    ("httpx", "AsyncClient", "send", True),
    ("httpx2", "Client", "send", False),
    ("httpx2", "AsyncClient", "send", True),
    ("aiohttp", "ClientSession", "_request", True),
    ("requests", "Session", "send", False),
    ("botocore.httpsession", "URLLib3Session", "send", False),
)
"""Classes of clients by module, with the method that every request passes, and whether it is async."""
_MODEL = re.compile(
    r"(/completions|/responses|/v1/messages|/converse(-stream)?|/model/[^/]+/invoke[\w-]*|/api/(chat|generate)"
    r"|:(generate|streamGenerate)Content)$"
)
"""The paths of the protocols of OpenAI, Anthropic, Amazon, Ollama and Google."""


_WATCHED = "_fairtrial_watched"


def watch_requests(note: Callable[[], None]) -> None:
    """Call `note` after each request to a model that is answered, in the context of the request.

    Watches the clients of the libraries that are loaded, each once. Our own clients, which ask the models of simulated
    environments, do not count.
    """
    for module, owner, method, is_async in _CLIENTS:
        kind = getattr(sys.modules.get(module), owner, None)
        original = getattr(kind, method, None)
        if original is not None and not hasattr(original, _WATCHED):
            watched = (_watch_async if is_async else _watch)(original, note)
            setattr(watched, _WATCHED, True)
            setattr(kind, method, watched)


def _watch(original: Any, note: Callable[[], None]) -> Any:
    @functools.wraps(original)
    def send(client: Any, *args: Any, **options: Any) -> Any:
        response = original(client, *args, **options)
        if not _is_own(client) and _is_answer_of_model(response):
            note()
        return response

    return send


def _watch_async(original: Any, note: Callable[[], None]) -> Any:
    @functools.wraps(original)
    async def send(client: Any, *args: Any, **options: Any) -> Any:
        response = await original(client, *args, **options)
        if not _is_own(client) and _is_answer_of_model(response):
            note()
        return response

    return send


def _is_own(client: Any) -> bool:
    return type(getattr(client, "_transport", None)).__module__.startswith("fairtrial.")


def _is_answer_of_model(response: Any) -> bool:
    try:
        request = getattr(response, "request", response)
        status = getattr(response, "status_code", None) or getattr(response, "status", None)
        path = urlsplit(str(request.url)).path
    except (AttributeError, RuntimeError, ValueError):  # a response that a test made has no request
        return False
    return status == 200 and getattr(request, "method", "POST") == "POST" and _MODEL.search(path) is not None
