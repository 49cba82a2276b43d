"""Batch interfaces of OpenAI, Anthropic and Gemini behind one protocol.

Sources: OpenAI's guide "Batch API" (/v1/files, /v1/batches), Anthropic's "Message Batches" (/v1/messages/batches) and
Google's "Batch API" (batchGenerateContent with inlined requests). Each bills half the usual price.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Protocol

from fairtrial.llm.batch_client import BatchClient
from fairtrial.records.record import Json, Record

DISCOUNT = 0.5
"""A batch call's price, as a share of its usual price."""
_PAGE = 100
_MOST_PAGES = 20
_CLOCK_SKEW = 300.0
"""Seconds by which a provider's clock may be behind ours."""


class BatchState(Record, frozen=True):
    """A batch state at its provider. `problem` is why the provider did not take it."""

    is_finished: bool
    replies: int = 0
    is_cancelled: bool = False
    problem: str = ""


class BatchResult(Record, frozen=True):
    """The response to one batch request. A `status` of 0 means that the batch ended before the request."""

    id: str
    status: int
    content: bytes = b""


class BatchService(Protocol):
    """A provider's batch interface. At most `most_requests` of together `most_bytes` go into a batch.

    `has_tags` says whether the provider keeps a batch's tag.
    """

    most_requests: ClassVar[int]
    most_bytes: ClassVar[int]
    has_tags: ClassVar[bool]

    def entry(self, name: str, body: Json) -> bytes:
        """Return a request with its name, as a batch entry."""
        ...

    async def submit(self, tag: str, entries: Sequence[bytes]) -> str:
        """Submit a batch, and return its id."""
        ...

    def find(self, tag: str, since: float, number: int) -> AsyncGenerator[str]:
        """Yield the ids of batches that may have been submitted with a tag, and with a number of requests."""
        ...

    async def state(self, batch: str) -> BatchState:
        """Return a batch's state."""
        ...

    def results(self, batch: str) -> AsyncGenerator[BatchResult]:
        """Yield a finished batch's results, in any order."""
        ...


@dataclass(frozen=True)
class OpenAIBatches:
    """OpenAI's batches: a file of requests, and files of results."""

    client: BatchClient
    most_requests: ClassVar[int] = 50_000
    most_bytes: ClassVar[int] = 100 << 20
    has_tags: ClassVar[bool] = True

    def entry(self, name: str, body: Json) -> bytes:
        """Return an input line."""
        return _encode({"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body})

    async def submit(self, tag: str, entries: Sequence[bytes]) -> str:
        """Upload the requests, and submit them."""
        file = await self.client.upload("/files", f"{tag}.jsonl", b"".join(line + b"\n" for line in entries))
        batch = {
            "input_file_id": file["id"],
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"fairtrial": tag},
        }
        return str((await self.client.post("/batches", _encode(batch)))["id"])

    async def find(self, tag: str, since: float, number: int) -> AsyncGenerator[str]:  # noqa: ARG002
        """Yield the batch whose metadata hold the tag."""
        async for batch in _pages(self.client, "/batches", "after", "id"):
            if batch.get("created_at", since) < since - _CLOCK_SKEW:
                return
            if (batch.get("metadata") or {}).get("fairtrial") == tag:
                yield str(batch["id"])

    async def state(self, batch: str) -> BatchState:
        """Return a batch's state. One that failed was refused as a whole."""
        document = await self.client.get(f"/batches/{batch}")
        status, counts = document["status"], document.get("request_counts") or {}
        errors = (document.get("errors") or {}).get("data") or []
        problem = "; ".join(f"{error.get('code')}: {error.get('message')}" for error in errors[:3])
        return BatchState(
            status in {"completed", "failed", "expired", "cancelled"},
            (counts.get("completed") or 0) + (counts.get("failed") or 0),
            status == "cancelled",
            (problem or "no reason given") if status == "failed" else "",
        )

    async def results(self, batch: str) -> AsyncGenerator[BatchResult]:
        """Yield the output lines, then the error lines."""
        document = await self.client.get(f"/batches/{batch}")
        for file in filter(None, (document.get("output_file_id"), document.get("error_file_id"))):
            async for line in self.client.lines(f"/files/{file}/content"):
                response = line.get("response") or {}
                yield BatchResult(
                    str(line["custom_id"]), int(response.get("status_code") or 0), _encode(response.get("body"))
                )


_ANTHROPIC_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 403,
    "billing_error": 403,
    "permission_error": 403,
    "not_found_error": 400,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}


@dataclass(frozen=True)
class AnthropicBatches:
    """Anthropic's message batches. They have no metadata, so a lost batch is found by its time and its size."""

    client: BatchClient
    most_requests: ClassVar[int] = 100_000
    most_bytes: ClassVar[int] = 100 << 20
    has_tags: ClassVar[bool] = False

    def entry(self, name: str, body: Json) -> bytes:
        """Return a request with its parameters."""
        return _encode({"custom_id": name, "params": body})

    async def submit(self, tag: str, entries: Sequence[bytes]) -> str:  # noqa: ARG002
        """Submit the requests."""
        batch = await self.client.post("/v1/messages/batches", b'{"requests":[' + b",".join(entries) + b"]}")
        return str(batch["id"])

    async def find(self, tag: str, since: float, number: int) -> AsyncGenerator[str]:  # noqa: ARG002
        """Yield batches of that size that were made since then."""
        async for batch in _pages(self.client, "/v1/messages/batches", "after_id", "id"):
            if _time(batch["created_at"]) < since - _CLOCK_SKEW:
                return
            if sum(batch["request_counts"].values()) == number:
                yield str(batch["id"])

    async def state(self, batch: str) -> BatchState:
        """Return a batch's state. Its requests are counted when it has ended."""
        document = await self.client.get(f"/v1/messages/batches/{batch}")
        counts = document["request_counts"]
        replies = sum(number for name, number in counts.items() if name != "processing")
        is_finished = document["processing_status"] == "ended"
        return BatchState(is_finished, replies, is_finished and bool(counts.get("canceled")))

    async def results(self, batch: str) -> AsyncGenerator[BatchResult]:
        """Yield result lines."""
        async for line in self.client.lines(f"/v1/messages/batches/{batch}/results"):
            name, result = str(line["custom_id"]), line["result"]
            if result["type"] == "succeeded":
                yield BatchResult(name, 200, _encode(result["message"]))
            elif result["type"] == "errored":
                error = result.get("error") or {}
                kind = str((error.get("error") or {}).get("type"))
                yield BatchResult(name, _ANTHROPIC_STATUS.get(kind, 500), _encode(error))
            else:
                yield BatchResult(name, 0)


_RPC_STATUS = {3: 400, 5: 400, 7: 403, 8: 429, 9: 400, 11: 400, 16: 403}
"""The HTTP status for a Google code. Other codes are server failures."""


@dataclass(frozen=True)
class GeminiBatches:
    """Gemini's batches, with the requests and the responses in the messages themselves, which limits their size."""

    client: BatchClient
    model: str
    most_requests: ClassVar[int] = 10_000
    most_bytes: ClassVar[int] = 18 << 20
    has_tags: ClassVar[bool] = True

    def entry(self, name: str, body: Json) -> bytes:
        """Return a request with its metadata."""
        return _encode({"request": body, "metadata": {"key": name}})

    async def submit(self, tag: str, entries: Sequence[bytes]) -> str:
        """Submit the requests. The tag is the batch name."""
        head = b'{"batch":{"displayName":' + _encode(tag) + b',"inputConfig":{"requests":{"requests":['
        job = await self.client.post(f"/models/{self.model}:batchGenerateContent", head + b",".join(entries) + b"]}}}}")
        return str(job["name"])

    async def find(self, tag: str, since: float, number: int) -> AsyncGenerator[str]:  # noqa: ARG002
        """Yield the batch whose name is the tag."""
        token = ""
        for _ in range(_MOST_PAGES):
            page = await self.client.get(
                "/batches", {"pageSize": str(_PAGE), **({"pageToken": token} if token else {})}
            )
            for job in page.get("operations") or ():
                if (job.get("metadata") or {}).get("displayName") == tag:
                    yield str(job["name"])
            token = page.get("nextPageToken") or ""
            if not token:
                return

    async def state(self, batch: str) -> BatchState:
        """Return a batch's state."""
        job = await self.client.get(f"/{batch}")
        metadata = job.get("metadata") or {}
        state = str(metadata.get("state", "")).removeprefix("BATCH_STATE_").removeprefix("JOB_STATE_")
        counts = metadata.get("batchStats") or {}
        replies = sum(int(counts.get(name) or 0) for name in ("successfulRequestCount", "failedRequestCount"))
        is_finished = state in {"SUCCEEDED", "PARTIALLY_SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"}
        error = job.get("error") or metadata.get("error") or {}
        problem = f"{error.get('code')}: {error.get('message')}" if error else "no reason given"
        return BatchState(is_finished, replies, state == "CANCELLED", problem if state == "FAILED" else "")

    async def results(self, batch: str) -> AsyncGenerator[BatchResult]:
        """Yield the inlined responses."""
        job = await self.client.get(f"/{batch}")
        output = (job.get("metadata") or {}).get("output") or job.get("response") or {}
        for entry in (output.get("inlinedResponses") or {}).get("inlinedResponses") or ():
            name = str((entry.get("metadata") or {}).get("key", ""))
            if (error := entry.get("error")) is not None:
                yield BatchResult(name, _RPC_STATUS.get(error.get("code"), 500), _encode({"error": error}))
            else:
                yield BatchResult(name, 200, _encode(entry.get("response")))


_PATHS: Mapping[str, str] = {"chat": "/chat/completions", "messages": "/v1/messages", "gemini": "/models/"}
"""How the paths of requests begin after the provider's address, for each protocol that has batches."""

_HEADERS = frozenset(
    ("authorization", "x-api-key", "x-goog-api-key", "anthropic-version", "anthropic-beta", "user-agent")
)


def batch_service(protocol: str, model: str, http: Any, request: Any, clean: Callable[[str], str]) -> BatchService:
    """Return the batch interface at a usual request's address, with its key. `clean` removes secrets in a text."""
    url = str(request.url)
    base = url[: url.rindex(_PATHS[protocol])]
    headers = {name: value for name, value in request.headers.items() if name in _HEADERS}
    client = BatchClient(http, base, headers, clean)
    if protocol == "chat":
        return OpenAIBatches(client)
    return AnthropicBatches(client) if protocol == "messages" else GeminiBatches(client, model)


async def _pages(client: BatchClient, path: str, cursor: str, key: str) -> AsyncGenerator[Any]:
    """Yield listed batches, the newest first, page by page."""
    after = ""
    for _ in range(_MOST_PAGES):
        page = await client.get(path, {"limit": str(_PAGE), **({cursor: after} if after else {})})
        batches: Iterable[Any] = page.get("data") or ()
        for batch in batches:
            after = str(batch[key])
            yield batch
        if not page.get("has_more"):
            return


def _time(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _encode(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
