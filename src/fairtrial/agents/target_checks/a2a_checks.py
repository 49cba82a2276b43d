"""Checks of an A2A card against the protocol: required fields, skills, media types and interfaces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from fairtrial.agents.a2a import EXTRA, read_card
from fairtrial.agents.target_checks.target_findings import TargetFinding
from fairtrial.system.importing import import_extra

_REQUIRED = (
    "name",
    "description",
    "version",
    "supportedInterfaces",
    "defaultInputModes",
    "defaultOutputModes",
    "skills",
)
_REQUIRED_OF_SKILLS = ("id", "name", "description", "tags")
_BINDINGS = ("JSONRPC", "GRPC", "HTTP+JSON")
_LOCAL = ("localhost", "127.0.0.1", "::1")


async def check_a2a_card(url: str) -> list[TargetFinding]:
    """Return the findings about the card of an agent. No message is sent to the agent."""
    card = await read_card(url)
    convert = import_extra("google.protobuf.json_format", EXTRA).MessageToDict
    return list(card_findings(convert(card)))


def card_findings(card: dict[str, Any]) -> Iterator[TargetFinding]:
    """Yield the findings about a card as JSON."""
    name = str(card.get("name") or "card")
    absent = [field for field in _REQUIRED if not card.get(field)]
    yield TargetFinding(
        name, f"lacks {', '.join(absent)}" if absent else "", "" if absent else "has the required fields"
    )
    for mode in (*card.get("defaultInputModes", ()), *card.get("defaultOutputModes", ())):
        if "/" not in mode:
            yield TargetFinding(name, f"{mode!r} is not a media type, such as text/plain")
    for interface in card.get("supportedInterfaces", ()):
        yield _interface_finding(interface)
    skills = card.get("skills", ())
    for skill in skills:
        lacking = [field for field in _REQUIRED_OF_SKILLS if not skill.get(field)]
        problem = f"lacks {', '.join(lacking)}" if lacking else ""
        yield TargetFinding(f"skill {skill.get('id') or '?'}", problem, "" if problem else "is described")
    for skill_id, number in Counter(skill.get("id") for skill in skills).items():
        if number > 1:
            yield TargetFinding(f"skill {skill_id}", f"is the id of {number} skills")
    schemes = card.get("securitySchemes") or {}
    for requirement in card.get("securityRequirements", ()):
        for scheme in requirement.get("schemes") or {}:
            if scheme not in schemes:
                yield TargetFinding(name, f"requires the security scheme {scheme!r}, which it does not define")


def _interface_finding(interface: dict[str, Any]) -> TargetFinding:
    url, binding = str(interface.get("url") or ""), str(interface.get("protocolBinding") or "")
    parts = urlsplit(url)
    problems = []
    if not url or (binding != "GRPC" and parts.scheme not in ("http", "https")):
        problems.append("has no absolute URL")
    elif parts.scheme == "http" and parts.hostname not in _LOCAL:
        problems.append("is not encrypted; use https")
    if binding not in _BINDINGS and not urlsplit(binding).scheme:
        problems.append(f"has the binding {binding!r}; known are {', '.join(_BINDINGS)}")
    if not interface.get("protocolVersion"):
        problems.append("names no version of the protocol")
    return TargetFinding(f"interface {url or '?'}", "; ".join(problems), "" if problems else binding)
