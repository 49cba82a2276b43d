"""Talk to any object with `ainvoke` or `invoke`: its answer is the reply, and its context is the state."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from fairtrial.agents.function import result_in_thread
from fairtrial.agents.plain import as_text, plain
from fairtrial.records.trace import About, Message

_ANSWERS = ("answer", "output", "response", "reply", "result", "text", "content")


def make_function(thing: Any) -> Callable[[str], AsyncIterator[Message | About]] | None:
    """Return a function of the user's text around an object, or None if the object has no method to invoke.

    A method whose first parameter is annotated as a mapping gets `{"question": TEXT, "input": TEXT}`. Every other
    method gets the text. The reply is `answer`, `output`, ... of a mapping, the text of a message, or else the JSON of
    the result. The other fields of a mapping, for example `context`, are the final state.
    """
    method = next((own for name in ("ainvoke", "invoke") if callable(own := getattr(thing, name, None))), None)
    if method is None or inspect.isclass(thing):
        return None
    is_async = inspect.iscoroutinefunction(method)
    takes_mapping = _takes_mapping(method)

    async def invoke(text: str) -> AsyncIterator[Message | About]:
        argument: Any = {"question": text, "input": text} if takes_mapping else text
        result = await method(argument) if is_async else await result_in_thread(lambda: method(argument))
        if inspect.isawaitable(result):
            result = await result
        reply, state = _read_result(result)
        if state:
            yield About(final_state=state)
        yield Message(reply)

    invoke.__name__ = type(thing).__name__
    invoke.__doc__ = inspect.getdoc(type(thing))
    return invoke


def _read_result(result: Any) -> tuple[str, dict[str, Any]]:
    if isinstance(result, Mapping):
        key = next((name for name in _ANSWERS if result.get(name) is not None), None)
        if key is not None:
            others = {name: plain(value) for name, value in result.items() if name != key and isinstance(name, str)}
            return as_text(result[key]), others
    for name in ("text", "content"):
        if isinstance(own := getattr(result, name, None), str):
            return own, {}
    return as_text(result), {}


def _takes_mapping(method: Callable[..., Any]) -> bool:
    try:
        first = next(iter(inspect.signature(method).parameters.values()), None)
    except (TypeError, ValueError):
        return False
    annotation = first.annotation if first is not None else ""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return text.lower().startswith(("dict", "mapping", "typing.dict", "typing.mapping"))
