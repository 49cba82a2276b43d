"""Redact secrets and personal data in spans before they are stored."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.conversation.joining import id_text
from fairtrial.formats.dialects.dialect_table import CONVERSATION_IDS
from fairtrial.formats.spans.span import Span, SpanEvent, SpanItem
from fairtrial.text.redaction.redact_json import redact_json

if TYPE_CHECKING:
    from fairtrial.records.record import Json


class SpanRedactor:
    """Puts `[REDACTED:kind]` in place of the secrets in spans and log records, and of personal data with `people`.

    The ids of traces and spans stay, and so do e-mail addresses and the names of spans without `people`. If the id of a
    conversation must go, a pseudonym takes its place, so that two conversations never become the same.
    """

    def __init__(self, *, people: bool = False, key: str = "", conversation: str = "") -> None:
        """Pseudonyms depend on `key`. `conversation` is the attribute with the id, if the user named it."""
        self._people = people
        self._key = key.encode()
        self._id_names = (conversation, *CONVERSATION_IDS) if conversation else CONVERSATION_IDS
        self._last_resource: tuple[dict[str, Json], dict[str, Json]] = ({}, {})

    def clean(self, item: SpanItem) -> SpanItem:
        """Return a span or a log record without secrets."""
        resource = self._clean_resource(item.resource)
        if not isinstance(item, Span):
            return replace(item, event=self._clean_event(item.event), resource=resource)
        attributes, failure = self._clean_attributes(item.attributes), self._clean_value(item.failure)
        name = self._clean_value(item.name) if self._people else item.name
        events = tuple(map(self._clean_event, item.events))
        if (attributes, failure, name, events, resource) == (
            item.attributes,
            item.failure,
            item.name,
            item.events,
            item.resource,
        ):
            return item
        return replace(item, attributes=attributes, failure=failure, name=name, events=events, resource=resource)

    def pseudonym(self, conversation: str) -> str:
        """Return the text in place of the id of a conversation that must go. An equal id has an equal pseudonym."""
        return f"[REDACTED]-{hmac.digest(self._key, conversation.encode(errors='surrogatepass'), 'sha256').hex()[:12]}"

    def _clean_resource(self, resource: dict[str, Json]) -> dict[str, Json]:
        """Return a resource without secrets. Most spans of a request share their resource."""
        raw, clean = self._last_resource
        if raw is not resource:
            clean = self._clean_attributes(resource)
            self._last_resource = resource, clean
        return clean

    def _clean_attributes(self, attributes: dict[str, Json]) -> dict[str, Json]:
        clean: dict[str, Json] = self._clean_value(attributes)
        if clean is not attributes:
            for name in self._id_names:
                if name in clean and clean[name] != attributes[name]:
                    clean[name] = self.pseudonym(id_text(attributes[name]))
        return clean

    def _clean_event(self, event: SpanEvent) -> SpanEvent:
        return replace(event, attributes=self._clean_attributes(event.attributes), body=self._clean_value(event.body))

    def _clean_value(self, value: Json) -> Any:
        return redact_json(value, emails=self._people, people=self._people)[0] if value else value
