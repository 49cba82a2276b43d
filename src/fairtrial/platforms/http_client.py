"""Requests to a service that keeps traces, with retries. Keys are in no message."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from fairtrial.errors import UsageError
from fairtrial.llm.provider_refusals import retry_after
from fairtrial.llm.secrets import redact, without_credentials
from fairtrial.system.importing import import_extra
from fairtrial.text.display import shorten, visible_line

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_ATTEMPTS = 6
_FIRST_DELAY = 0.5
_LONGEST_DELAY = 60.0
_TIMEOUT = 60.0
_TRANSIENT = (408, 425, 429)
_LONGEST_MESSAGE = 300

Query = Sequence[tuple[str, str]]


class RefusedRequestError(UsageError):
    """A service answered with an error. `status` is the status of HTTP."""

    code = "request-refused"

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class HttpClient:
    """A client of one service. `name` is the name of the service, and `keys` are the variables of its keys."""

    def __init__(
        self,
        name: str,
        base_url: str,
        headers: Mapping[str, str],
        *,
        keys: Sequence[str] = (),
        secrets: Sequence[str] = (),
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """Prepare requests to a URL. `secrets` are never shown. Raises UsageError if the URL cannot be used."""
        self._httpx = import_extra("httpx2", "http")
        self._name = name
        self._keys = keys
        self._secrets = [secret for secret in secrets if secret]
        self._wait = wait
        self._base_url = check_url(base_url, f"the address of {name}")
        self._client = self._httpx.Client(headers=dict(headers), timeout=_TIMEOUT, follow_redirects=False)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def get(self, path: str, query: Query = ()) -> Json:
        """Return the JSON at a path. Raises UsageError."""
        return self._json(self.send("GET", path, query=query), path)

    def post(self, path: str, body: Json, query: Query = ()) -> Json:
        """Send JSON to a path, and return the JSON of the answer. Raises UsageError."""
        content = msgspec.json.encode(body)
        return self._json(
            self.send("POST", path, query=query, content=content, headers={"Content-Type": "application/json"}), path
        )

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Return the response to a request. It is sent again if the service is busy or does not answer.

        Raises RefusedRequestError if the service refuses it, and UsageError if the service cannot be reached.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            delay = min(_FIRST_DELAY * 2 ** (attempt - 1), _LONGEST_DELAY)
            try:
                response = self._client.request(
                    method, f"{self._base_url}{path}", params=list(query), content=content, headers=headers
                )
            except self._httpx.TransportError as error:
                if attempt == _ATTEMPTS:
                    raise UsageError(
                        f"{self._place(path)} does not answer: {self._show_text(str(error))}", code="no-answer"
                    ) from None
            else:
                if response.status_code < 300:
                    return response
                is_transient = response.status_code in _TRANSIENT or response.status_code >= 500
                if not is_transient or attempt == _ATTEMPTS:
                    raise self._refusal(response, path)
                wanted_delay = retry_after(response.headers)
                delay = delay if wanted_delay is None else min(wanted_delay, _LONGEST_DELAY)
            self._wait(delay)
        raise AssertionError

    def _refusal(self, response: Any, path: str) -> RefusedRequestError:
        status = response.status_code
        if status in (401, 403) and self._keys:
            hint = f"; check {' and '.join(self._keys)}"
        elif 300 <= status < 400:
            hint = f"; the service is at {self._show_text(response.headers.get('location', 'another address'))}"
        else:
            hint = f": {self._show_text(response.text)}" if response.text else ""
        return RefusedRequestError(f"{self._place(path)} answers with status {status}{hint}", status)

    def _json(self, response: Any, path: str) -> Json:
        if not response.content:
            return None
        try:
            return msgspec.json.decode(response.content)
        except (msgspec.DecodeError, RecursionError) as error:
            raise UsageError(
                f"{self._place(path)} does not answer with JSON: {self._show_text(str(error))}", code="no-answer"
            ) from None

    def _place(self, path: str) -> str:
        return f"{self._name} at {without_credentials(self._base_url + path)}"

    def _show_text(self, text: str) -> str:
        """Return a text of the service without keys, on one line."""
        return shorten(visible_line(without_credentials(redact(text, self._secrets))), _LONGEST_MESSAGE)


def check_url(url: str, subject: str) -> str:
    """Return the URL of a service without a slash at its end. Raises UsageError, which does not repeat the URL."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(f"{subject} must be a URL such as http://localhost:3000")
    return url.rstrip("/")
