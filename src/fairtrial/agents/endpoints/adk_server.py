"""Sessions with agents on ADK's own server (`adk api_server`). The server keeps the session."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fairtrial.agents.adk_events import CONFIRMATION, QUESTION, confirmations_in, items_of_event, questions_in
from fairtrial.agents.approvals import Approvals
from fairtrial.agents.endpoints.endpoint_client import (
    BODY,
    SHOWN,
    EndpointAgent,
    EndpointClient,
    connect,
    fill,
    object_in,
    parse_named_target,
)
from fairtrial.agents.plain import as_text
from fairtrial.agents.user_parts import encode_base64, refuse_parts
from fairtrial.errors import AgentError
from fairtrial.records.case import EvalCase, SessionInput
from fairtrial.records.trace import About, Approval, Message, Part, ToolCall
from fairtrial.text.display import shorten

if TYPE_CHECKING:
    from fairtrial.protocols import Environment, Item

_USER = "test_user_id"


def agent_at(target: str) -> AdkServerAgent:
    """Return the agent at `adk-server:URL#APP`. Raises UsageError."""
    url, app = parse_named_target(target, noun="app", like="adk-server:http://localhost:8000#APP")
    return AdkServerAgent(url, app, body=object_in(BODY))


@dataclass(frozen=True, slots=True)
class AdkServerAgent(EndpointAgent):
    """An app of ADK's server. The session starts with the user and the state of the case."""

    app: str

    def refuses_parts(self, parts: Sequence[Part]) -> str:  # noqa: ARG002
        """Return an empty text: ADK has a place for files and their URLs."""
        return ""

    @asynccontextmanager
    async def __call__(self, case: EvalCase, environment: Environment | None) -> AsyncIterator[AdkServerSession]:  # noqa: ARG002
        """Open a conversation. Its session is deleted at the end."""
        start = case.session_input or SessionInput()
        user = start.user_id or _USER
        sessions = f"{self.url}/apps/{quote(self.app, safe='')}/users/{quote(user, safe='')}/sessions"
        async with connect(self.url) as client:
            created = await client.post(sessions, {"state": dict(start.state)})
            session_id = created.get("id") if isinstance(created, dict) else None
            if not isinstance(session_id, str):
                raise AgentError(f"{self.url}: must reply a session with an id, got {shorten(str(created), SHOWN)}")
            ids = {"appName": self.app, "userId": user, "sessionId": session_id}
            session_url = f"{sessions}/{quote(session_id, safe='')}"
            fields = {"streaming": False, **fill(self.body, client.conversation), **ids}
            try:
                yield AdkServerSession(client, f"{self.url}/run_sse", session_url, fields, Approvals(case))
            finally:
                with suppress(AgentError):  # the server may keep its sessions
                    await client.send("DELETE", session_url)


class AdkServerSession:
    """One conversation, in a session of the server."""

    def __init__(
        self, client: EndpointClient, run_url: str, session_url: str, fields: dict[str, Any], approvals: Approvals
    ) -> None:
        self._client = client
        self._run_url = run_url
        self._session_url = session_url
        self._fields = fields
        self._approvals = approvals
        self._waiting: dict[str, ToolCall] = {}
        self._questions: dict[str, str] = {}
        self._author = str(fields["appName"])
        self.about: About | None = None

    async def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:
        """Run one invocation. If calls wait for a confirmation, the message decides."""
        if self._waiting:
            refuse_parts(parts)
        items = self._approvals.send(
            message,
            lambda: self._run([*(self._answers(message) or [{"text": message}]), *map(_encode_part, parts)]),
            self._resume,
            lambda: list(self._waiting.values()),
            lambda: self._author,
        )
        async with aclosing(items):
            async for item in items:
                yield item
        session = await self._client.send("GET", self._session_url)
        state = session.get("state") if isinstance(session, dict) else None
        self.about = About(final_state=state) if isinstance(state, dict) else None

    def _answers(self, message: str) -> list[dict[str, Any]]:
        """Return the user's message as the answers to the questions that wait, which wait no longer."""
        questions, self._questions = self._questions, {}
        return [
            {"functionResponse": {"id": request_id, "name": QUESTION, "response": {"result": message}}}
            for request_id in questions
        ]

    def _resume(self, decisions: Sequence[Approval]) -> AsyncGenerator[Item, None]:
        """Answer the requests for confirmation."""
        answers = [
            {
                "id": request_id,
                "name": CONFIRMATION,
                "response": {"confirmed": decision.decision != "reject", "payload": decision.args},
            }
            for request_id, decision in zip(self._waiting, decisions, strict=True)
        ]
        return self._run([{"functionResponse": answer} for answer in answers])

    async def _run(self, parts: list[dict[str, Any]]) -> AsyncGenerator[Item, None]:
        """Send a content of the user. Raises AgentError if the run ends in an error instead of a reply."""
        self._waiting = {}
        last: dict[str, Any] = {}
        body = {**self._fields, "newMessage": {"role": "user", "parts": parts}}
        async with aclosing(self._client.events(self._run_url, body)) as events:
            async for event in events:
                raw = event.data
                if not isinstance(raw, dict) or "author" not in raw:
                    problem = raw.get("error", raw) if isinstance(raw, dict) else raw
                    raise AgentError(f"{self._run_url}: {shorten(as_text(problem), SHOWN)}")
                if raw.get("partial") or raw["author"] == "user":
                    continue
                last = raw
                self._author = str(raw["author"])
                # A response with a call is not final, and it is not changed either.
                items = items_of_event(raw, is_final=True)
                self._waiting |= confirmations_in(items)
                for item in items:
                    yield item
                self._questions |= questions_in(items)
        if self._questions:
            yield Message("\n".join(self._questions.values()), self._author)
        content = last.get("content")
        if last.get("errorCode") and not (isinstance(content, dict) and content.get("parts")):
            raise AgentError(f"{self._author}: {last['errorCode']}: {last.get('errorMessage') or 'no message'}")


def _encode_part(part: Part) -> dict[str, Any]:
    names = {"mimeType": part.mime_type, **({"displayName": part.name} if part.name else {})}
    if part.uri:
        return {"fileData": {"fileUri": part.uri, **names}}
    return {"inlineData": {"data": encode_base64(part), **names}}
