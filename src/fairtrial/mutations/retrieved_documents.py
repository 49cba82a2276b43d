"""Operators on the results of tools: a document lost, exchanged or corrupted, and a wrong value that the reply repeats.

A document is an item of a list in a result, or a long text in it. The first three operators leave the reply as it is,
so that a sound check of grounding notices that nothing supports it any more. They apply only if such a check is
configured, because the reply itself is still right. `result_wrong` changes the result and the reply alike: the agent
passes on what a tool got wrong, and only a comparison with the reference can notice it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from msgspec.structs import replace

from fairtrial.mutations.operator import Invocations, Plant, Scene, leaves, shuffle
from fairtrial.mutations.text_values import number_key, numbers, other_number, replace_value
from fairtrial.records.trace import Step, ToolResult
from fairtrial.text.facts.fact_reading import read_facts

_SHORTEST = 40
"""The width of a text from which on it is a document: a letter has 1, and a Korean, Japanese or Chinese one has 2."""
Path = tuple[str | int, ...]
Change = Callable[[Scene, Any, str, Random], Any]
"""Returns another document for one that holds a number of the reply, `_REMOVED` for none, or None to decline."""
_REMOVED = object()


def _on_document(change: Change) -> Plant:
    """Return an operator that changes the document on which a number of the reply rests."""

    def plant(scene: Scene, random: Random) -> Invocations | None:
        if not scene.rules.grounding:
            return None
        for key in shuffle(_checkable(scene), random):
            places = [place for place in _documents(scene.steps) if key in _find_numbers(place[2])]
            # The number must rest on this document alone, also if another one writes it as "1만 5천" or "三十".
            if len(places) != 1:
                continue
            step, path, document = places[0]
            changed = change(scene, document, key, random)
            if changed is not None and not _rests_elsewhere(scene, key, step, path):
                return scene.with_steps(_with_response(scene.steps, step, path, changed))
        return None

    return plant


def _drop(scene: Scene, document: Any, key: str, random: Random) -> Any:  # noqa: ARG001
    return _REMOVED


def _swap(scene: Scene, document: Any, key: str, random: Random) -> Any:
    """Return a document of the same kind from another case, or another text of the same result."""
    other_steps = [step for case in scene.other_cases for turn in case.conversation or () for step in turn.steps or ()]
    others = [item for _, _, item in (*_documents(other_steps), *_documents(scene.steps)) if item != document]
    fitting = [item for item in others if type(item) is type(document) and key not in _find_numbers(item)]
    return random.choice(fitting) if fitting else None


def _corrupt(scene: Scene, document: Any, key: str, random: Random) -> Any:  # noqa: ARG001
    """Return the document with another number in the place of the one that the reply states."""
    changed = _with_number(document, key, _other(key))
    return None if changed == document else changed


document_dropped = _on_document(_drop)
document_swapped = _on_document(_swap)
document_corrupted = _on_document(_corrupt)


def result_wrong(scene: Scene, random: Random) -> Invocations | None:
    """Change a number of the reference in the results of tools and in the reply, as if a tool had returned it."""
    expected = _numbers(scene.reference)
    in_results = {key for text in scene.result_texts for key in _numbers(text)}
    messages = "\n".join(invocation.query for invocation in scene.invocations)
    for value in shuffle(numbers(scene.reply), random):
        new = _other(value.key)
        is_known = value.key in expected & in_results and value.key not in _numbers(messages)
        if not is_known or scene.rules.allows(value.key, new) or new in _find_numbers(scene.grounds):
            continue
        written = other_number(scene.reply[value.start : value.end])
        steps = [
            replace(step, response=_with_number(step.response, value.key, new))
            if isinstance(step, ToolResult)
            else step
            for step in scene.steps
        ]
        if steps == list(scene.steps) or sum(each.key == value.key for each in numbers(scene.reply)) > 1:
            continue  # an earlier turn returned it
        changed = replace_value(scene.reply, value.start, value.end, written)
        message = scene.invocation.final_response
        assert message is not None  # noqa: S101  (a reply has a message)
        invocation = replace(scene.invocation, steps=tuple(steps), final_response=replace(message, text=changed))
        return scene.with_invocation(invocation)
    return None


def _checkable(scene: Scene) -> list[str]:
    """Return the numbers of the reply that neither the user nor the context of the case names."""
    messages = "\n".join((*(turn.query for turn in scene.invocations[: scene.index + 1]), scene.case.context))
    in_messages = _find_numbers(messages)
    return [key for key in dict.fromkeys(value.key for value in numbers(scene.reply)) if key not in in_messages]


def _documents(steps: Sequence[Step]) -> Iterator[tuple[int, Path, Any]]:
    """Yield the documents in the results among some steps: the step's place, the path in its response, the item."""
    for place, step in enumerate(steps):
        if isinstance(step, ToolResult):
            for path, item in _items(step.response):
                yield place, path, item


def _items(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _items(item, (*path, key))
    elif isinstance(value, list):
        texts = [sum(_count_columns(text) for _, text in leaves(item)) for item in value]
        if value and all(isinstance(item, dict | str) for item in value) and max(texts) >= _SHORTEST:
            yield from (((*path, n), item) for n, item in enumerate(value))
        else:
            for n, item in enumerate(value):
                yield from _items(item, (*path, n))
    elif isinstance(value, str) and _count_columns(value) >= _SHORTEST:
        yield path, value


def _count_columns(text: str) -> int:
    return len(text) + sum(letter >= "ᄀ" for letter in text)


def _rests_elsewhere(scene: Scene, key: str, step: int, path: Path) -> bool:
    """Return whether a number also stands in the results outside of a document."""
    rest = _with_response(scene.steps, step, path, _REMOVED)
    earlier = [each for turn in scene.invocations[: scene.index] for each in turn.steps or ()]
    results = [each for each in (*earlier, *rest) if isinstance(each, ToolResult)]
    return any(key in _find_numbers(text) for result in results for _, text in leaves(result.response))


def _with_response(steps: Sequence[Step], place: int, path: Path, item: Any) -> list[Step]:
    changed = list(steps)
    step = changed[place]
    assert isinstance(step, ToolResult)  # noqa: S101  (the place comes from `_documents`)
    changed[place] = replace(step, response=_with_item(step.response, path, item))
    return changed


def _with_item(value: Any, path: Path, item: Any) -> Any:
    """Return a JSON value with another item at a path, or without it."""
    if not path:
        return "" if item is _REMOVED else item
    first, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {key: _with_item(inner, rest, item) if key == first else inner for key, inner in value.items()}
    if item is _REMOVED and not rest:
        return [inner for n, inner in enumerate(value) if n != first]
    return [_with_item(inner, rest, item) if n == first else inner for n, inner in enumerate(value)]


def _with_number(value: Any, key: str, new: str) -> Any:
    """Return a JSON value with another number in each place of a number."""
    if isinstance(value, dict):
        return {name: _with_number(item, key, new) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_number(item, key, new) for item in value]
    if isinstance(value, str):
        for found in reversed(numbers(value)):
            if found.key == key:
                value = replace_value(value, found.start, found.end, other_number(value[found.start : found.end]))
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and number_key(str(value)) == key:
        return type(value)(float(new))
    return value


def _other(key: str) -> str:
    return number_key(other_number(key))


def _numbers(value: Any) -> set[str]:
    """Return the numbers in a text, or in the texts of a JSON value."""
    return {found.key for _, text in leaves(value) for found in numbers(text)}


def _find_numbers(value: Any) -> set[str]:
    """Return the numbers in a text, or in the texts of a JSON value, also those that are written in words or in 만."""
    texts = [text for _, text in leaves(value)]
    in_words = {
        number_key(f"{reading.as_written:f}")
        for text in texts
        for fact in read_facts(text)
        for reading in fact.readings
        if reading.as_written is not None
    }
    return in_words | _numbers(value)
