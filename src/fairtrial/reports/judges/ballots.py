"""The votes of judges on one case, for people: each with its model, its reasons and its cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from fairtrial.judge.ballot_costs import collect_ballot_ids, pick
from fairtrial.records.model_usage import ModelUsage
from fairtrial.reports.numbers import dollars
from fairtrial.text.display import visible, visible_line

if TYPE_CHECKING:
    from fairtrial.records.ballot import Ballot, SentPrompt, Vote
    from fairtrial.records.reply import Reply
    from fairtrial.records.result import Outcome


def ballots(
    outcomes: Iterable[Outcome], ballots_by_id: Mapping[str, Ballot], replies: Mapping[str, Reply] | None = None
) -> RenderableType:
    """Return the ballots behind the outcomes, in the order of their scores. If no judge was asked, it is empty.

    With `replies`, the ballots are whole: each has its prompts, and each vote has the raw replies of its calls.
    """
    lines: list[RenderableType] = []
    for outcome in outcomes:
        # A ballot can be missing from the stored run; then the other ballots are still worth showing.
        stored = pick(ballots_by_id, collect_ballot_ids(outcome.score)).values()
        if stored:
            lines.append(_indent_block(4, Text(f"votes on {outcome.criterion}", "bold")))
        lines += [_indent_block(6, _ballot(ballot, replies)) for ballot in stored]
    return Group(*lines)


def _indent_block(indent: int, content: RenderableType) -> RenderableType:
    return Padding(content, (0, 0, 0, indent), expand=False)


def _ballot(ballot: Ballot, replies: Mapping[str, Reply] | None) -> RenderableType:
    head = Text(f"{ballot.prompt}, {len(ballot.votes)} of {ballot.k} votes, {len(ballot.calls)} calls", "dim")
    shown_prompts = () if replies is None else ballot.prompts
    prompts = [_prompt(number, prompt) for number, prompt in enumerate(shown_prompts, 1)]
    votes = (Group(_vote(vote), *_raw(vote, replies)) for vote in ballot.votes)
    return Group(head, *(_indent_block(2, part) for part in (*prompts, *votes)))


def _prompt(number: int, prompt: SentPrompt) -> RenderableType:
    system = [_indent_block(2, Text(visible(prompt.system), "dim"))] if prompt.system else []
    return Group(Text(f"prompt {number}", "bold"), *system, _indent_block(2, Text(visible(prompt.text))))


def _raw(vote: Vote, replies: Mapping[str, Reply] | None) -> Iterator[RenderableType]:
    if replies is None:
        return
    for call in vote.calls:
        reply = replies.get(call.key)
        yield Text(f"  {'no reply' if reply is None else 'reply'} to prompt {call.prompt + 1}", "bold")
        if reply is not None:
            yield _indent_block(4, Text(visible(reply.text)))
            if reply.interruption:
                yield _indent_block(4, Text(visible_line(reply.interruption), "yellow"))


def _vote(vote: Vote) -> RenderableType:
    usage = sum((ModelUsage(1, cost=call.cost) for call in vote.calls if call.sent), ModelUsage())
    cost = dollars(usage.cost, usage.unpriced_calls, 6) if usage.calls and usage.cost is not None else "cost unknown"
    models = ", ".join(dict.fromkeys(call.served for call in vote.calls if call.served))
    voter = vote.voter if models in {"", vote.voter} else f"{vote.voter} (served by {models})"
    seconds = sum(call.seconds for call in vote.calls)
    lines = [Text(visible_line(f"vote {vote.draw}, {voter}, wave {vote.wave}, {seconds:.2f} s, {cost}"), "dim")]
    for item, answer in vote.opinions.items():
        marks = f" [{', '.join(answer.marks)}]" if answer.marks else ""
        lines.append(Text(visible(f"  {item}: {answer.answer}{marks}  {answer.rationale}")))
        if answer.quote:
            lines.append(Text(visible(f"    “{answer.quote}”"), "dim"))
    lines += [Text(visible_line(f"  {item}: abstained, {reason}"), "yellow") for item, reason in vote.problems.items()]
    return Group(*lines)
