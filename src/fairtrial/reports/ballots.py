"""What judges were asked for one case, for people: every vote, whose, why, what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from fairtrial.judge.ballot_costs import ballots_of
from fairtrial.records.ballot import Ballot, Vote
from fairtrial.records.result import Outcome
from fairtrial.text.display import visible


def ballots(outcomes: Iterable[Outcome], held: Mapping[str, Ballot]) -> RenderableType:
    """Return the ballots behind outcomes, in the order of their scores; nothing where no judge was asked."""
    lines: list[RenderableType] = []
    for outcome in outcomes:
        found = [held[name] for name in ballots_of(outcome.score) if name in held]
        if found:
            lines.append(_in(4, Text(f"votes on {outcome.criterion}", "bold")))
        lines += [_in(6, _ballot(one)) for one in found]
    return Group(*lines)


def _in(indent: int, what: RenderableType) -> RenderableType:
    return Padding(what, (0, 0, 0, indent), expand=False)


def _ballot(ballot: Ballot) -> RenderableType:
    head = Text(f"{ballot.prompt}, {len(ballot.votes)} of {ballot.k} votes, {len(ballot.calls)} calls", "dim")
    return Group(head, *(_in(2, _vote(vote)) for vote in ballot.votes))


def _vote(vote: Vote) -> RenderableType:
    costs = [call.cost for call in vote.calls if call.sent]
    known = [cost for cost in costs if cost is not None]
    cost = f"${sum(known):.6f}" if known and len(known) == len(costs) else "cost unknown"
    served = ", ".join(dict.fromkeys(call.served for call in vote.calls if call.served))
    who = vote.voter if served in {"", vote.voter} else f"{vote.voter} (served by {served})"
    seconds = sum(call.seconds for call in vote.calls)
    lines = [Text(visible(f"vote {vote.draw}, {who}, wave {vote.wave}, {seconds:.2f} s, {cost}"), "dim")]
    for item, opinion in vote.opinions.items():
        marks = f" [{', '.join(opinion.marks)}]" if opinion.marks else ""
        lines.append(Text(visible(f"  {item}: {opinion.answer}{marks}  {opinion.rationale}")))
        if opinion.quote:
            lines.append(Text(visible(f"    “{opinion.quote}”"), "dim"))
    lines += [Text(visible(f"  {item}: abstained, {why}"), "yellow") for item, why in vote.problems.items()]
    return Group(*lines)
