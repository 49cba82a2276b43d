"""Compare contents that spans hold twice. If they contradict each other, one of them was not read in full."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fairtrial.formats.chats.smolagents_turns import drop_additions
from fairtrial.formats.dialects.usages import usage_of_span
from fairtrial.records.trace import Message, Step, ToolCall, split_reply

if TYPE_CHECKING:
    from fairtrial.formats.conversation.draft import Draft
    from fairtrial.formats.conversation.nodes import Node
    from fairtrial.formats.dialects.facts import Facts
    from fairtrial.records.record import Json


def check_repeated(draft: Draft, steps: Sequence[Step], node: Node) -> None:
    """Compare the steps of an invocation with the input of a later call, which repeats them.

    An input may shorten a message, as a summary does. A message that is longer than every answer shows that an answer
    was not read in full, for example the first pieces of a stream.
    """
    if draft.gap or any(own.facts.kind == "model" and own.facts.output is None for own in draft.nodes):
        return
    calls = {slot.call.id: slot.call for slot in draft.slots if slot.call.id}
    texts: list[str] | None = None
    for step in steps:
        if isinstance(step, ToolCall):
            own_call = calls.get(step.id)
            if own_call is not None and _contradict(own_call, step.name, step.args, step.withheld):
                draft.gap = f"{_place(draft, 'output')} and {_span(node)} input hold other arguments of {step.name}"
        elif isinstance(step, Message) and step.text and not step.withheld and step.text not in draft.repeated:
            texts = _texts(draft) if texts is None else texts
            if texts and not _holds(texts, step.text) and not _holds(texts, _drop_additions(draft, step.text)):
                draft.gap = f"{_place(draft, 'output')} and {_span(node)} input hold other texts of one answer"
            draft.repeated.add(step.text)


def check_tool(draft: Draft, call: ToolCall, facts: Facts, node: Node) -> None:
    """Compare a call in the messages with the span of its tool. A tool may add defaults to the arguments."""
    if facts.args is not None and _contradict(call, call.name, facts.args):
        draft.gap = draft.gap or f"{_place(draft, 'output')} and {_span(node)} hold other arguments of {call.name}"


def check_unasked(draft: Draft, call: ToolCall, node: Node) -> None:
    """Compare a call that only the span of its tool holds with the calls of the model that have no span.

    If one of them has the same arguments, it may be the same call under another name.
    """
    if not call.args:
        return
    for slot in draft.slots:
        if slot.node is None and slot.call.args == call.args and not slot.call.withheld:
            names = f"{slot.call.name} and {call.name}"
            draft.gap = draft.gap or f"{_place(draft, 'output')} and {_span(node)} hold one call as {names}"
            return


def find_other_reply(reply: Message | None, nodes: Iterable[Node]) -> str:
    """Return the reason if the outermost agent gave another reply than its models did. It is empty if they agree."""
    if reply is None or not reply.text:
        return ""
    agents = [node for node in nodes if node.facts.kind == "agent" and node.facts.output]
    if not agents:
        return ""
    agent = min(agents, key=lambda node: node.depth)
    _, own_reply = split_reply(agent.facts.output or ())
    if own_reply is None or own_reply.withheld or not any(map(str.isalnum, own_reply.text)):
        return ""  # a mask such as "…" is no text
    shorter, longer = sorted((_squeeze(reply.text), _squeeze(own_reply.text)), key=len)
    return "" if shorter in longer else f"{_span(agent)} output and the last answer of its model are other texts"


def count_answer_tokens(nodes: Iterable[Node]) -> int | None:
    """Return the tokens that models answered with, or None if a call does not say them."""
    tokens = [node.facts.usage.output_tokens if node.facts.usage else None for node in nodes if _is_model(node)]
    return None if None in tokens else sum(filter(None, tokens))


def find_missing_tokens(draft: Draft, nodes: Iterable[Node], total: int) -> str:
    """Return the reason if an agent counts more tokens of answers than all of its model calls. Otherwise it is empty.

    A call of a model is then missing. `total` are the tokens of the conversation until here, as some agents count over
    all turns. An agent that was called as a tool has tokens of its own.
    """
    if any(slot.measured is not None and slot.measured.inner for slot in draft.slots):
        return ""
    counted = list(nodes)
    models = list(filter(_is_model, counted))
    for node in counted:
        own = usage_of_span(node.span, "").output_tokens if node.facts.kind == "agent" else None
        if own is not None and own > total and models and _holds_all(node, models):
            return f"{_span(node)} counts {own} tokens of answers, and its model calls {total}"
    return ""


def _is_model(node: Node) -> bool:
    return node.facts.kind == "model"


def _holds_all(agent: Node, models: Iterable[Node]) -> bool:
    return all(agent in model.ancestors() for model in models)


def _contradict(call: ToolCall, name: str, args: dict[str, Json], withheld: str = "") -> bool:
    """Whether two reports of one call have other names, or other values of an argument that both have."""
    if call.withheld or withheld:
        return False
    if call.name != name or call.args == args:  # most reports are equal
        return call.name != name
    both = call.args.keys() & args.keys()
    return any(_loose(call.args[key]) != _loose(args[key]) for key in both)


def _loose(value: Json) -> str:
    """Return a value as a text in which types of numbers and spaces make no difference."""
    return _squeeze(str(value)).lower()


def _texts(draft: Draft) -> list[str]:
    """Return the texts of the answers without spaces, and all of them together. It is empty if one is withheld."""
    messages = [step for block in draft.blocks for step in block.steps if type(step) is Message]
    if any(message.withheld for message in messages):
        return []
    texts = [_squeeze(message.text) for message in messages]
    return [*texts, "".join(texts)]


def _drop_additions(draft: Draft, text: str) -> str:
    """Return a repeated text without the additions of smolagents, if the answers hold the calls that it lists."""
    messages = [step.text for block in draft.blocks for step in block.steps if type(step) is Message]
    return drop_additions(text, [slot.call for slot in draft.slots], messages)


def _holds(texts: Iterable[str], text: str) -> bool:
    squeezed = _squeeze(text)
    return any(squeezed in own for own in texts)


def _squeeze(text: str) -> str:
    return "".join(text.split())


def _place(draft: Draft, part: str) -> str:
    node = next((node for node in reversed(draft.nodes) if node.facts.kind in ("model", "agent")), None)
    return f"{_span(node)} {part}" if node is not None else "the messages"


def _span(node: Node) -> str:
    return f"span {node.span.span_id}"
