"""Notice the requests to models that are answered in this process, and those that fail, whoever makes them.

An agent inside a tool reports its requests. A tool may also ask a model itself, as `AdvisorTools` of Agno does, which
no framework reports. The clients of HTTP are watched for it, and the paths of the providers' protocols.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from fairtrial.agents.outages import ReportedOutageError, find_outage, is_outage
from fairtrial.system.replaced_methods import replace_method, replacing
from fairtrial.text.display import describe_error, shorten

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
    r"/(completions|responses|v1/messages|api/(chat|generate))$"
    r"|(?P<named>/deployments/[^/]+/.*completions|/model/.+/(converse(-stream)?|invoke[\w-]*)"
    r"|:(generate|streamGenerate)Content)$"
)
"""The paths of the protocols of OpenAI, Anthropic, Ollama, Amazon and Google.

Other services have such paths, too. A path that has not `named` the model needs a body that does, and that asks.
"""
_MODEL_KEY = re.compile(r'"model"\s*:\s*"([^"]*)"')
_QUESTIONS = ("messages", "input", "prompt")
_QUESTION_KEY = re.compile(rf'"({"|".join(_QUESTIONS)})"\s*:')
_FORMS = ("multipart/", "application/x-www-form-urlencoded")
"""The types of bodies that no protocol of a model has."""
_NOTE = "_fairtrial_note"
"""The attribute of a watched method that holds what is called after each answered request."""
_INNER: ContextVar[list[str] | None] = ContextVar("_INNER", default=None)
"""The paths of the requests to models that the client sends by other clients, while it sends one."""
_FAILED: ContextVar[FailedRequests | None] = ContextVar("_FAILED", default=None)
"""The requests to models that failed in this conversation."""


class ModelDownError(ReportedOutageError):
    """A model did not answer, as the client of HTTP saw it."""


class FailedRequests(dict[tuple[str, str], Exception]):
    """The requests to models that failed, by URL and name of the model. An answer to a later one takes it away.

    `is_latest` says that no other model has answered since the latest failure, as the second of two providers does.
    """

    is_latest = False

    @property
    def first(self) -> tuple[str, str]:
        """The URL of the first one, and the cause."""
        (url, _), error = next(iter(self.items()))
        return url, str(error) if isinstance(error, ModelDownError) else shorten(describe_error(error), 200)


@contextmanager
def failed_requests() -> Iterator[FailedRequests]:
    """Yield the requests to models that fail in the block.

    An agent may catch the error of its client, so that nobody else hears of it.
    """
    failed = FailedRequests()
    with replacing():
        watch_requests(None)
        token = _FAILED.set(failed)
        try:
            yield failed
        finally:
            _FAILED.reset(token)


def watch_requests(note: Callable[[], None] | None) -> None:
    """Call `note` after each request to a model that is answered, in the context of the request.

    Watches the clients of the libraries that are loaded, each once. Our own clients, which ask the models of simulated
    environments, do not count. A client that sends by another one, as LiteLLM does by aiohttp, counts once.
    """
    for module, owner, method, is_async in _CLIENTS:
        kind = getattr(sys.modules.get(module), owner, None)
        if kind is not None:
            replace_method(kind, method, _watch_async if is_async else _watch)
            watched = vars(kind)[method]
            if note is not None and hasattr(watched, _NOTE):
                setattr(watched, _NOTE, note)


def _watch(original: Any) -> Any:
    @functools.wraps(original)
    def send(client: Any, *args: Any, **options: Any) -> Any:
        if _is_own(client):
            return original(client, *args, **options)
        request = _find_request(client, args, options)
        with _sending(request) as inner:
            response = original(client, *args, **options)
        _count(request, response, inner, getattr(send, _NOTE))
        return response

    setattr(send, _NOTE, None)
    return send


def _watch_async(original: Any) -> Any:
    @functools.wraps(original)
    async def send(client: Any, *args: Any, **options: Any) -> Any:
        if _is_own(client):
            return await original(client, *args, **options)
        request = _find_request(client, args, options)
        with _sending(request) as inner:
            response = await original(client, *args, **options)
        _count(request, response, inner, getattr(send, _NOTE))
        return response

    setattr(send, _NOTE, None)
    return send


def _is_own(client: Any) -> bool:
    return type(getattr(client, "_transport", None)).__module__.startswith("fairtrial.")


class _Request(NamedTuple):
    """A request: its URL, and the path and the name of the model, both empty if it asks no model."""

    url: str
    path: str = ""
    model: str = ""


@contextmanager
def _sending(request: _Request) -> Iterator[list[str]]:
    """Yield a list that gets the paths of the requests to models in the block. Note one that gets no response."""
    outer, inner = _INNER.get(), list[str]()
    _INNER.set(inner)
    try:
        yield inner
    except Exception as error:
        if request.path and find_outage(error) is not None:
            _note_failure(request, error)
        raise
    finally:
        _INNER.set(outer)


def _count(request: _Request, response: Any, inner: list[str], note: Callable[[], None] | None) -> None:
    status = getattr(response, "status_code", None) or getattr(response, "status", None)
    outer, failed = _INNER.get(), _FAILED.get()
    if request.path and failed is not None and isinstance(status, int):
        if is_outage(status):
            _note_failure(request, ModelDownError(f"HTTP {status}", status))
        else:
            failed.pop((request.url, request.model), None)
            failed.is_latest = False
    path = request.path if status == 200 else ""
    if path and outer is not None:
        outer.append(path)
    if path and path not in inner and note is not None:
        note()


def _note_failure(request: _Request, error: Exception) -> None:
    failed = _FAILED.get()
    if failed is not None:
        failed[request.url, request.model] = error
        failed.is_latest = True


def note_reported(url: str, cause: str, status: int | None, *, is_latest: bool) -> None:
    """Note a request that failed in another process, as it reports it. Without a status, no response came."""
    failed, error = _FAILED.get(), ModelDownError(cause, status)
    if status is None:
        error.__cause__ = ConnectionError(cause)
    if failed is not None:
        failed[url, ""], failed.is_latest = error, is_latest


def describe_failed(failed: FailedRequests) -> str:
    """Return the first request to a model that failed in words."""
    url, cause = failed.first
    return f"a request to the model at {url} failed ({cause})"


def _find_request(client: Any, args: tuple[Any, ...], options: Mapping[str, Any]) -> _Request:
    """Return the request that a client sends. The client of aiohttp gets a method and a URL, below its own URL."""
    argument: Any = args[0] if args else options.get("request")
    try:
        if hasattr(argument, "url"):
            method, url = getattr(argument, "method", "POST"), str(argument.url)
        else:
            method, url = argument, urljoin(str(getattr(client, "_base_url", None) or ""), str(args[1]))
        parts = urlsplit(url)
    except (AttributeError, IndexError, ValueError):
        return _Request("")
    # a password, or a query that holds a key, is left out
    address, path = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}", unquote(parts.path)
    match = _MODEL.search(path)
    if match is None or str(method).upper() != "POST":
        return _Request(address)
    model = "" if match["named"] else _find_model(argument, options)
    return _Request(address) if model is None else _Request(address, path, model)


def _find_model(request: Any, options: Mapping[str, Any]) -> str | None:
    """Return the model that the body of a request asks, an empty text if nobody can read it twice, or None."""
    try:
        bodies = [options.get("json"), options.get("data"), getattr(request, "content", getattr(request, "body", None))]
    except RuntimeError:  # httpx streams it
        bodies = []
    body = next((body for body in bodies if isinstance(body, Mapping | str | bytes)), None)
    if isinstance(body, Mapping):
        is_asked = "model" in body and not body.keys().isdisjoint(_QUESTIONS)
        return str(body["model"]) if is_asked else None
    if body is None:
        headers = getattr(request, "headers", None) or {}
        is_form = str(headers.get("content-type", "")).startswith(_FORMS) or hasattr(options.get("data"), "add_field")
        return None if is_form else ""
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    model = _MODEL_KEY.search(text)
    return model[1] if model and _QUESTION_KEY.search(text) else None
