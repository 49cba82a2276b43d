"""The states of the facts of a reference in a reply."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairtrial.text.facts.fact import Fact
    from fairtrial.text.facts.polarity import Opposition
    from fairtrial.text.facts.promises import Promise

State = Literal["found", "missing", "contradicted", "undecided"]
"""How a reply treats a fact of its reference."""


class Finding(NamedTuple):
    """A fact of the reference, its state, and the fact of the reply that states or contradicts it."""

    fact: Fact
    state: State
    counterpart: Fact | None = None
    why: str = ""


new_finding: Callable[[tuple[Fact, State, Fact | None, str]], Finding] = partial(tuple.__new__, Finding)
"""Returns a finding of its fields, and takes a third of the time of the class."""


class Agreement(NamedTuple):
    """The state of each fact of a reference, and the clauses that the reply turns round."""

    findings: tuple[Finding, ...]
    oppositions: tuple[Opposition, ...]
    extra: tuple[Fact, ...]
    agreed: bool = False
    """Whether the reply repeats a clause of the reference with the same polarity. It is known if the reference states nothing else."""
    unread: str = ""
    """Why the texts were not compared, if they are too long."""
    promises: tuple[Promise, ...] = ()
    """The promises of the reply that no other text names."""

    @property
    def contradicted(self) -> bool:
        """Whether the reply contradicts the reference, or promises something more."""
        return bool(self.oppositions or self.promises) or any(item.state == "contradicted" for item in self.findings)
