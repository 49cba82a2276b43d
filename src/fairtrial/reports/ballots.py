"""The votes of judges on one case, for people: each with its model, its reasons and its cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from fairtrial.judge.ballot_costs import ballots_of
from fairtrial.records.ballot import Ballot, Vote
from fairtrial.records.result import Outcome
from fairtrial.text.display import visible, visible_line


def ballots(outcomes: Iterable[Outcome], ballots_by_id: Mapping[str, Ballot]) -> RenderableType:
    """Return the ballots behind the outcomes, in the order of their scores. If no judge was asked, it is empty."""
    lines: list[RenderableType] = []
    for outcome in outcomes:
        # A ballot can be missing from the stored run; then the other ballots are still worth showing.
        stored = [ballots_by_id[name] for name in ballots_of(outcome.score) if name in ballots_by_id]
        if stored:
            lines.append(_indented(4, Text(f"votes on {outcome.criterion}", "bold")))
        lines += [_indented(6, _ballot(ballot)) for ballot in stored]
    return Group(*lines)


def _indented(indent: int, content: RenderableType) -> RenderableType:
    return Padding(content, (0, 0, 0, indent), expand=False)


def _ballot(ballot: Ballot) -> RenderableType:
    head = Text(f"{ballot.prompt}, {len(ballot.votes)} of {ballot.k} votes, {len(ballot.calls)} calls", "dim")
    return Group(head, *(_indented(2, _vote(vote)) for vote in ballot.votes))


def _vote(vote: Vote) -> RenderableType:
    costs = [call.cost for call in vote.calls if call.sent]
    prices = [cost for cost in costs if cost is not None]
    # A sum without the unknown prices would look like the cost of the whole vote.
    cost = f"${sum(prices):.6f}" if prices and len(prices) == len(costs) else "cost unknown"
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
