"""Recognise outages in an agent's exceptions: a missing key, or a server that did not answer or refused to work."""

from __future__ import annotations

import asyncio
import dis
import os
import socket
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fairtrial.system.importing import is_library
from fairtrial.text.display import describe_error
from fairtrial.text.lazy_pattern import LazyPattern

_CLASSES = frozenset(
    (
        "NoCredentialsError",
        "PartialCredentialsError",
        "CredentialRetrievalError",
        "DefaultCredentialsError",
        "CredentialUnavailableError",
        "LocalTokenNotFoundError",
    )
)
"""Exceptions of boto3, google-auth, azure-identity and huggingface_hub."""
_NAME = r"[`'\"]?[A-Z][A-Z0-9_]*_(?:API_KEY|ADMIN_KEY|TOKEN|KEY)[`'\"]?"
_WORDS = LazyPattern(
    "|".join(
        (
            r"(?i:missing credentials\. please pass)",  # openai
            r"(?i:api_key client option must be set)",  # groq, and older versions of openai
            r"(?i:could not resolve authentication method)",  # anthropic
            r"(?i:no api key was provided|missing key inputs argument)",  # google-genai
            r"(?i:no api key (?:was )?found for)",  # LlamaIndex
            r"(?i:api key (?:is )?required (?:for|when))",  # agent-framework, langchain-google-genai
            r"(?i:you must provide an api_key)",  # huggingface_hub
            r"(?i:the client must be instantiated be either passing in token)",  # cohere
            rf"[Ss]et the {_NAME} (?:or other valid )?environment variable",  # pydantic-ai, agno
            rf"{_NAME} (?:is required|is not set|not set|must be set)",  # crewai, agno
        )
    )
)
_VARIABLE = LazyPattern(_NAME)
_OTHER_LOOP = LazyPattern(r"^Event loop is closed|(is bound|attached) to a different (event )?loop")
"""The words of asyncio about an event loop that is gone, and about two loops."""
_LONGEST = 10_000
"""So much of a message is read."""


def is_missing_key(error: BaseException) -> bool:
    """Return whether an exception says that a key is missing: in a client, or in `os.environ`."""
    if any(base.__name__ in _CLASSES for base in type(error).__mro__):
        return True
    if isinstance(error, KeyError):
        frames = traceback.extract_tb(error.__traceback__)
        is_environment = bool(frames) and frames[-1].filename in ("<frozen os>", os.__file__)
        return is_environment and _VARIABLE.fullmatch(str(error)) is not None
    try:
        return _WORDS.search(str(error)[:_LONGEST]) is not None
    except Exception:  # noqa: BLE001  (the text of a foreign exception may raise anything)
        return False


_OUTAGES = frozenset((401, 402, 407, 408, 425, 429))
"""Statuses below 500 that do not speak about the request: a key, a payment, a proxy, a timeout or a limit."""
_RETRYABLE = frozenset((408, 429, 500, 502, 503, 504, 529))
"""The statuses after which `adk eval` tries a call again, and the status of an overloaded Anthropic server."""
_OVERLOADS = frozenset((429, 503, 529))
"""The statuses with which a server refuses a request before it works on it."""
_GRPC = {
    "CANCELLED": 499,
    "DEADLINE_EXCEEDED": 504,
    "RESOURCE_EXHAUSTED": 429,
    "UNAUTHENTICATED": 401,
    "UNAVAILABLE": 503,
}
_TRANSPORT_ERRORS = (
    ("httpx", "TransportError"),
    ("httpx2", "TransportError"),
    ("httpcore", "NetworkError"),
    ("requests", "ConnectionError"),
    ("requests", "Timeout"),
    ("urllib3", "HTTPError"),
    ("aiohttp", "ClientConnectionError"),
    ("openai", "APIConnectionError"),
    ("anthropic", "APIConnectionError"),
    ("botocore", "ConnectionError"),
    ("botocore", "HTTPClientError"),
    ("pydantic_ai", "ModelConnectionError"),
)
"""Exceptions of clients, by package and class, that mean that no response came."""
_STATUSES = {("strands", "ModelThrottledException"): 429}
"""Exceptions, by package and class, that stand for a status and do not carry it."""
_NAMED: dict[str, int | None] = {
    "AuthenticationError": 401,
    "RateLimitError": 429,
    "ResourceExhausted": 429,
    "TooManyRequests": 429,
    "ThrottlingException": 429,
    "ModelThrottledException": 429,
    "InternalServerError": 500,
    "ServiceUnavailable": 503,
    "ServiceUnavailableError": 503,
    "OverloadedError": 529,
    "DeadlineExceeded": 504,
    **dict.fromkeys(("APIConnectionError", "APITimeoutError", "ClientConnectorError", "EndpointConnectionError")),
    **dict.fromkeys(("ConnectError", "ConnectTimeout", "ReadError", "ReadTimeout", "RemoteProtocolError")),
    **dict.fromkeys(("ConnectionError", "ConnectionRefusedError", "ConnectionResetError", "gaierror")),
}
"""Exceptions of clients by their class, with the status of the response, or None if no response came."""
_SOCKET_TIMEOUT = LazyPattern(r"timed out|(?:_ssl\.c:\d+: )?The \w+ operation timed out")
"""The texts of the timeout of a socket, plain or of SSL."""
_RAISE = dis.opmap["RAISE_VARARGS"]
"""The instruction of a statement `raise`."""
_MCP_STDIO = "/mcp/client/stdio.py"
"""The file that starts a server of MCP as a process."""
_MCP_CLOSED = -32000
"""The code of the error of MCP if the connection ends before an answer comes."""
_LONGEST_CHAIN = 20


class Outage(NamedTuple):
    """An outage. `status` is the HTTP status, or None if no response came. `after` is the wait that the server asks."""

    status: int | None
    after: float | None = None

    @property
    def is_retryable(self) -> bool:
        """Whether the same call may succeed soon."""
        return self.status in _RETRYABLE

    @property
    def is_overload(self) -> bool:
        """Whether the server refuses because it has too much to do, or because the caller asks too often."""
        return self.status in _OVERLOADS


class ReportedOutageError(Exception):
    """An outage that a server reports by the class of its exception."""

    def __init__(self, name: str, status: int | None) -> None:
        super().__init__(name)
        self.status_code = status


def outage_named(name: object) -> Exception | None:
    """Return the cause of an error of which a server tells only the class, or None if the class is not an outage."""
    if not isinstance(name, str) or name not in _NAMED:
        return None
    status = _NAMED[name]
    return ConnectionError(name) if status is None else ReportedOutageError(name, status)


def is_outage(status: int) -> bool:
    """Return whether a status of HTTP says that the server did not work, and nothing about the request."""
    return status in _OUTAGES or status >= 500


def find_outage(error: BaseException) -> Outage | None:
    """Return the outage that caused an exception, or None if the agent is responsible for the exception.

    The outermost exception with a status decides, among the exception and its causes (`raise ... from`). For example,
    the status 400 is not an outage. A group of exceptions is an outage if each of its exceptions is an outage.
    """
    link = _find_link(error)
    return None if link is None else link[1]


def describe_failure(error: BaseException) -> str:
    """Return an exception as `Type: message`, and the outage that caused it (`raise ... from`) behind `caused by`."""
    link = _find_link(error)
    text = describe_error(error)
    return text if link is None or link[0] is error else f"{text}, caused by {describe_error(link[0])}"


def _find_link(error: BaseException, levels: int = _LONGEST_CHAIN) -> tuple[BaseException, Outage] | None:
    """Return the exception that is an outage, among an exception and its causes, and the outage.

    An exception below more than so many groups is no outage.
    """
    for link in _chain(error):
        if isinstance(link, BaseExceptionGroup):
            last = None
            for inner in link.exceptions if levels else ():
                if (last := _find_link(inner, levels - 1)) is None:
                    return None
            return last
        status = _status(link)
        if status is not None:
            return (link, Outage(status, _retry_after(link))) if is_outage(status) else None
        if _is_transport_error(link) or is_missing_key(link) or uses_other_loop(link) or _is_lost_server(link):
            return link, Outage(None)
    return None


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if link is None:
            return
        yield link
        # `urllib.error.URLError` holds its cause in `reason`, a failed node of ADK in `error`.
        causes = (link.__cause__, _attribute(link, "reason"), _attribute(link, "error"))
        link = next((cause for cause in causes if isinstance(cause, BaseException)), None)


def _status(error: BaseException) -> int | None:
    """Return the HTTP status that an exception carries under one of the names that clients use, or in its class."""
    status = _STATUSES.get(_package_and_class(type(error)))
    if status is not None:
        return status
    response = _attribute(error, "response")
    candidates = (
        *(_attribute(error, name) for name in ("status_code", "http_status", "status", "code")),
        *(_attribute(response, name) for name in ("status_code", "status")),
        _botocore_status(response),
    )
    for candidate in candidates:
        if isinstance(candidate, int) and 400 <= candidate <= 599:
            return int(candidate)
        name = _grpc_name(candidate)
        if name in _GRPC:
            return _GRPC[name]
    return None


def _attribute(thing: Any, name: str) -> Any:
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001  (a property of a foreign exception may raise anything)
        return None


def _botocore_status(response: Any) -> Any:
    metadata = response.get("ResponseMetadata") if isinstance(response, dict) else None
    return metadata.get("HTTPStatusCode") if isinstance(metadata, dict) else None


def _grpc_name(code: Any) -> str:
    """Return the name of a gRPC status. Its exceptions have a method `code` that returns a member of an enum."""
    try:
        return str(code().name) if callable(code) else ""
    except Exception:  # noqa: BLE001  (a method of a foreign exception may raise anything)
        return ""


def _is_transport_error(error: BaseException) -> bool:
    if isinstance(error, TimeoutError):
        # Anybody can raise it, for example `asyncio.timeout` if the agent sets a limit of its own.
        return error.errno is not None or _is_of_socket(error)
    if isinstance(error, ConnectionError | socket.gaierror):
        return True
    return any(_package_and_class(base) in _TRANSPORT_ERRORS for base in type(error).__mro__)


def _package_and_class(kind: type) -> tuple[str, str]:
    return kind.__module__.partition(".")[0], kind.__name__


def uses_other_loop(error: BaseException) -> bool:
    """Whether a client of a package uses an event loop that is gone, or that is not its own.

    If the user's code uses the loop itself, the agent is wrong.
    """
    if not isinstance(error, RuntimeError) or not _OTHER_LOOP.search(str(error)):
        return False
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    callers = [file for file in files if Path(file).parent != Path(asyncio.__file__).parent]
    return bool(callers) and is_library(callers[-1])


def _is_lost_server(error: BaseException) -> bool:
    """Whether an MCP server that runs as a process cannot start, or ended before it answered."""
    if isinstance(error, OSError):
        paths = (Path(frame.filename).as_posix() for frame in traceback.extract_tb(error.__traceback__))
        return any(path.endswith(_MCP_STDIO) for path in paths)
    is_of_mcp = any(base.__module__.partition(".")[0] == "mcp" for base in type(error).__mro__)
    return is_of_mcp and _attribute(_attribute(error, "error"), "code") == _MCP_CLOSED


def _is_of_socket(error: TimeoutError) -> bool:
    """Whether a socket raised an exception.

    A socket raises it in C, below `socket.py`, `ssl.py` or its caller. If a thread runs the caller for an event loop,
    Python 3.11 passes on a copy that has the text, and not the place.
    """
    if not _SOCKET_TIMEOUT.fullmatch(str(error)):
        return False
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place is None or place.tb_frame.f_code.co_code[place.tb_lasti] != _RAISE


def _retry_after(error: BaseException) -> float | None:
    """Return the seconds in the header `Retry-After` of the response, here or in a cause."""
    for link in _chain(error):
        headers = _attribute(_attribute(link, "response"), "headers")
        try:
            seconds = float(headers["retry-after"])
        except Exception:  # noqa: BLE001, S112  (the headers are of a foreign class, and the value may be a date)
            continue
        return max(seconds, 0.0)
    return None
