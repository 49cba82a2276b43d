"""How does a picture or a file in a user's message reach an agent?"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from fairtrial.records.trace import Part

_URL_SAFE = str.maketrans("-_", "+/")


def kind_of(part: Part) -> str:
    """Return `image`, `audio`, `video` or `file`."""
    kind = part.mime_type.partition("/")[0]
    return kind if kind in ("image", "audio", "video") else "file"


def content_of(part: Part) -> bytes:
    """Return the content of a part that is not at a URI. The alphabet of base64 may be that of URLs, as in ADK.

    Raises ValueError if the content is not base64.
    """
    text = part.data.translate(_URL_SAFE).rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"the data is not base64: {error}") from None


def base64_of(part: Part) -> str:
    """Return the content of a part in the usual alphabet of base64."""
    return base64.b64encode(content_of(part)).decode()


def data_url(part: Part) -> str:
    """Return the URI of a part, or its content as a URL."""
    return part.uri or f"data:{part.mime_type or 'application/octet-stream'};base64,{base64_of(part)}"


def file_name(part: Part) -> str:
    """Return the name of a part's file. Some providers demand a name."""
    return part.name or "file"


def problem_of(parts: Sequence[Part]) -> str:
    """Return why no agent could get the parts, or an empty text. For example, their data is not base64."""
    for part in parts:
        if not part.uri and not part.data:
            return f"a part ({part.mime_type or 'without a type'}) has neither a URI nor data"
        try:
            content_of(part)
        except ValueError as error:
            return f"a part ({part.mime_type or 'without a type'}): {error}"
    return ""
