"""The endpoint options that every configured model has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from msgspec import Meta

from fairtrial.config.reader import OptionReader, OptionRecord, Problem, ReadWith
from fairtrial.config.wording import format_value
from fairtrial.errors import ConfigError
from fairtrial.llm.endpoint import Endpoint, TokenPrice, read_url
from fairtrial.text.lazy_pattern import LazyPattern
from fairtrial.text.pointer import escape

_VARIABLE = LazyPattern(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER_NAME = LazyPattern(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = LazyPattern(r"[\t\x20-\x7e]*")


class Price(OptionRecord, frozen=True):
    """An entry of `prices`."""

    input: Annotated[float, Meta(ge=0, description="US dollars per million tokens of the prompt")]
    output: Annotated[float, Meta(ge=0, description="US dollars per million tokens of the reply")]


def _read_prices(raw: Any, reader: OptionReader, pointer: str) -> Any:
    if not isinstance(raw, Mapping):
        reader.note(pointer, f"must be an object with a price for each model, got {format_value(raw)}")
        return raw
    return {
        model: price if isinstance(price, Price) else reader.read(price, Price, f"{pointer}/{escape(str(model))}")
        for model, price in raw.items()
    }


class EndpointOptions(OptionRecord, frozen=True, kw_only=True):
    """The endpoint options. They are not in any signature, and they are never stored.

    Prices are among them: no verdict depends on them.
    """

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

    prices: Annotated[
        dict[str, Price],
        ReadWith(_read_prices),
        Meta(description="prices by the name of a model, for models whose price is not known, such as local models"),
    ] = {}

    def endpoint(self, model: str, *, usual: bool = False) -> Endpoint:
        """Return the endpoint that the options describe for a model, or the usual endpoint with the model's price."""
        price = self.prices.get(model)
        own = TokenPrice(price.input, price.output) if price else None
        if usual:
            return Endpoint(price=own)
        return Endpoint(self.base_url, self.api_key_env, tuple(self.headers.items()), tuple(self.query.items()), own)

    def conflicts(self) -> Iterator[Problem]:
        """Yield what cannot be sent. No message repeats a URL or a header value, which may be secret."""
        if self.base_url is not None:
            try:
                read_url(self.base_url)
            except ConfigError as error:
                yield "base_url", str(error).removeprefix("base_url ")
        if self.api_key_env is not None and not _VARIABLE.fullmatch(self.api_key_env):
            yield "api_key_env", "must be the name of an environment variable, such as MY_SERVER_KEY, not a key"
        for name, value in self.headers.items():
            if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
                yield f"headers/{name}", "must be a header: a name without spaces, and a value in ASCII on one line"
