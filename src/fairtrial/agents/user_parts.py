"""Convert pictures and files of user messages into the form that an agent takes."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairtrial.errors import UnfitCaseError
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.records.trace import Part

_URL_SAFE = str.maketrans("-_", "+/")


def detect_kind(part: Part) -> str:
    """Return `image`, `audio`, `video` or `file`."""
    kind = part.mime_type.partition("/")[0]
    return kind if kind in ("image", "audio", "video") else "file"


def read_content(part: Part) -> bytes:
    """Return the content of a part that is not at a URI. The alphabet of base64 may be that of URLs, as in ADK.

    Raises ValueError if the content is not base64.
    """
    text = part.data.translate(_URL_SAFE).rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"the data is not base64: {error}") from None


def encode_base64(part: Part) -> str:
    """Return the content of a part in the usual alphabet of base64."""
    return base64.b64encode(read_content(part)).decode()


def data_url(part: Part) -> str:
    """Return the URI of a part, or its content as a URL."""
    return part.uri or f"data:{part.mime_type or 'application/octet-stream'};base64,{encode_base64(part)}"


def file_name(part: Part) -> str:
    """Return the name of a part's file. Some providers demand a name."""
    return part.name or "file"


def refuse_parts(parts: Sequence[Part], place: str = "a question of the agent") -> None:
    """Raise UnfitCaseError for parts of a message that answers or fills a place which takes only a text."""
    if parts:
        raise UnfitCaseError(f"the message is for {place}, and cannot hold {count(len(parts), 'part')}")


def find_problem(parts: Sequence[Part]) -> str:
    """Return why no agent could get the parts, or an empty text. For example, their data is not base64."""
    for part in parts:
        if not part.uri and not part.data:
            return f"a part ({part.mime_type or 'without a type'}) has neither a URI nor data"
        try:
            read_content(part)
        except ValueError as error:
            return f"a part ({part.mime_type or 'without a type'}): {error}"
    return ""


def responses_content(message: str, parts: Sequence[Part]) -> str | list[dict[str, Any]]:
    """Return the content of a message in OpenAI's Responses API: its text, or its text and its parts."""
    if not parts:
        return message
    return [{"type": "input_text", "text": message}, *map(_responses_part, parts)]


def _responses_part(part: Part) -> dict[str, Any]:
    kind = detect_kind(part)
    if kind == "image":
        return {"type": "input_image", "image_url": data_url(part), "detail": "auto"}
    if part.uri:
        return {"type": "input_file", "file_url": part.uri}
    if kind == "audio":
        sound = {"data": encode_base64(part), "format": part.mime_type.partition("/")[2]}
        return {"type": "input_audio", "input_audio": sound}
    return {"type": "input_file", "filename": file_name(part), "file_data": data_url(part)}


def langchain_content(message: str, parts: Sequence[Part]) -> str | list[dict[str, Any]]:
    """Return the content of a message: its text, or its text and its parts as LangChain's standard blocks."""
    if not parts:
        return message
    return [{"type": "text", "text": message}, *map(_langchain_part, parts)]


def _langchain_part(part: Part) -> dict[str, Any]:
    content = {"url": part.uri} if part.uri else {"base64": encode_base64(part)}
    # OpenAI's models demand the name of a file.
    extras = {"extras": {"filename": file_name(part)}} if detect_kind(part) == "file" else {}
    return {"type": detect_kind(part), **content, "mime_type": part.mime_type, **extras}
