"""The options that mutants of conversations and degraded agents share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairtrial.mutations.operator import Operator
from fairtrial.system.paths import DEFAULT_URL
from fairtrial.text.language import Language


@dataclass(frozen=True)
class MutationOptions:
    """Which changes are planted, and in which conversations.

    `from_run` is the id of a run in `store` whose conversations are changed. `operators` are names, import paths or
    objects. `languages` restrict operators on replies. `sample` limits the number of mutants. Equal seeds make equal
    mutants.
    """

    from_run: str | None = None
    operators: Sequence[str | Operator] = ()
    languages: Sequence[Language] = ()
    seed: int = 0
    sample: int | None = None
    store: str = DEFAULT_URL

    @property
    def names(self) -> list[str]:
        """The operators that are given by their name."""
        return [operator for operator in self.operators if isinstance(operator, str)]


MUTATION = MutationOptions()
