"""Send the requests about batches, with the address and the key that a model's own requests have."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairtrial.errors import UsageError

if TYPE_CHECKING:
    import httpx2

_ATTEMPTS = 6
_TRANSIENT = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529))
_BOUNDARY = "fairtrial-batch-6f1d0c4e9b"
_SECONDS = 300.0
"""The longest time of one request. A file of 100 MB may take a while."""


class LostBatchError(Exception):
    """A batch may have been submitted, but nobody knows its id."""


@dataclass(frozen=True)
class BatchClient:
    """Requests to a provider's batch interface. `clean` removes secrets from error texts."""

    http: httpx2.AsyncClient
    base: str
    headers: Mapping[str, str]
    clean: Callable[[str], str]

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        """Return a document. A failure that may pass is tried again, with growing waits."""
        return _json(await self._retry_call("GET", path, query), path)

    async def lines(self, path: str) -> AsyncIterator[Any]:
        """Yield documents from JSON lines."""
        response = await self._retry_call("GET", path, None)
        for line in response.content.split(b"\n"):
            if line.strip():
                yield json.loads(line)

    async def upload(self, path: str, name: str, content: bytes) -> Any:
        """Return the description for an uploaded request file. A lost upload costs nothing, so it is repeated."""
        body = b"".join(
            (
                f'--{_BOUNDARY}\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'.encode(),
                f'--{_BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="{name}"\r\n'.encode(),
                b"content-type: application/jsonl\r\n\r\n",
                content,
                f"\r\n--{_BOUNDARY}--\r\n".encode(),
            )
        )
        kind = f"multipart/form-data; boundary={_BOUNDARY}"
        return _json(await self._retry_call("POST", path, None, body, kind), path)

    async def post(self, path: str, body: bytes) -> Any:
        """Submit a batch. Raises `LostBatchError` if it is not known whether the provider has taken it."""
        for attempt in range(_ATTEMPTS):
            try:
                response = await self._send("POST", path, None, body, "application/json")
            except Exception as error:
                raise LostBatchError(self.clean(f"{type(error).__name__}: {error}")) from error
            if response.status_code == 429 and attempt < _ATTEMPTS - 1:
                await _wait(attempt, response)  # the provider has not taken it
                continue
            if response.status_code in _TRANSIENT - {429}:
                raise LostBatchError(self._describe(response))
            return _json(self._ensure_valid(response), path)
        raise AssertionError("unreachable")

    async def _retry_call(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None = None, kind: str = ""
    ) -> httpx2.Response:
        for attempt in range(_ATTEMPTS):
            is_last = attempt == _ATTEMPTS - 1
            try:
                response = await self._send(method, path, query, body, kind)
            except Exception as error:  # noqa: BLE001  (any exception of a connection means that there is no response)
                if is_last:
                    raise UsageError(
                        self.clean(f"{self.base}{path}: {type(error).__name__}: {error}"), code="unusable-model"
                    ) from None
                await _wait(attempt, None)
                continue
            if response.status_code not in _TRANSIENT or is_last:
                return self._ensure_valid(response)
            await _wait(attempt, response)
        raise AssertionError("unreachable")

    async def _send(
        self, method: str, path: str, query: Mapping[str, str] | None, body: bytes | None, kind: str
    ) -> httpx2.Response:
        headers = {**self.headers, **({"content-type": kind} if kind else {})}
        return await self.http.request(
            method,
            self.base + path,
            params=dict(query) if query else None,
            headers=headers,
            content=body,
            timeout=_SECONDS,
        )

    def _ensure_valid(self, response: httpx2.Response) -> httpx2.Response:
        if response.status_code >= 400:
            raise UsageError(self._describe(response), code="unusable-model")
        return response

    def _describe(self, response: httpx2.Response) -> str:
        text = f"{response.request.url}: HTTP {response.status_code}: {response.text[:500]}"
        return self.clean(f"the batch interface: {text}")


def _json(response: httpx2.Response, path: str) -> Any:
    try:
        document = json.loads(response.content)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise UsageError(f"the batch interface: {path}: the response is not a JSON object", code="unusable-model")
    return document


async def _wait(attempt: int, response: httpx2.Response | None) -> None:
    """Wait as long as the server asks, up to a minute, or longer and longer."""
    delay = "" if response is None else response.headers.get("retry-after", "")
    await asyncio.sleep(min(60.0, float(delay)) if delay.replace(".", "", 1).isdigit() else 0.5 * 2**attempt)
