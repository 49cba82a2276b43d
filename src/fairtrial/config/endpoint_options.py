"""At which endpoint does a model of a configuration answer? The options that every model has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from fairtrial.config.reader import OptionRecord, Problem
from fairtrial.errors import ConfigError
from fairtrial.llm.endpoint import Endpoint, url_of

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")


class EndpointOptions(OptionRecord, frozen=True, kw_only=True):
    """The options of an endpoint. They are not part of a signature, and they are never stored."""

    base_url: Annotated[
        str | None,
        Meta(
            description="where an OpenAI-compatible server, or a gateway of the model's provider, listens. Null is the "
            "provider's usual address, or `OPENAI_BASE_URL`. The keys of providers are not sent to `base_url`"
        ),
    ] = None
    api_key_env: Annotated[
        str | None, Meta(description="the environment variable that holds the key of this endpoint")
    ] = None
    headers: Annotated[dict[str, str], Meta(description="further headers of every request to this endpoint")] = {}
    query: Annotated[
        dict[str, str], Meta(description='query parameters of every request, such as `{"api-version": "2025-01-01"}`')
    ] = {}

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint that the options describe."""
        return Endpoint(self.base_url, self.api_key_env, tuple(self.headers.items()), tuple(self.query.items()))

    def conflicts(self) -> Iterator[Problem]:
        """Yield what cannot be sent. No message repeats a URL or the value of a header, which may be secret."""
        if self.base_url is not None:
            try:
                url_of(self.base_url)
            except ConfigError as error:
                yield "base_url", str(error).removeprefix("base_url ")
        if self.api_key_env is not None and not _VARIABLE.fullmatch(self.api_key_env):
            yield "api_key_env", "must be the name of an environment variable, such as MY_SERVER_KEY, not a key"
        for name, value in self.headers.items():
            if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
                yield f"headers/{name}", "must be a header: a name without spaces, and a value in ASCII on one line"
