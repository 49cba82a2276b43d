"""Draw a stratified sample of conversations: those with the smallest hashes of each stratum."""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from fairtrial.errors import UsageError, spell
from fairtrial.loading.shard_reading import FILE, read_shard
from fairtrial.records.attempt import Recording
from fairtrial.records.record import Record

if TYPE_CHECKING:
    from fairtrial.loading.shards import Shard


class Sample(Record, frozen=True):
    """The conversations for which `compute_share` is below their stratum's bound: with the same seed, the same ones.

    `stratify` is the field whose value is the stratum. If it is empty, there is one stratum, whose name is empty.
    """

    bounds: dict[str, float]
    seed: int = 0
    stratify: str = ""

    def holds(self, case_id: str, stratum: str) -> bool:
        """Whether a conversation belongs to the sample."""
        return compute_share(case_id, self.seed) < self.bounds.get(stratum, 0.0)


def compute_share(case_id: str, seed: int) -> float:
    """Return a number from 0 to 1 that a conversation's id and a seed determine."""
    hashed = hashlib.blake2b(f"{seed}:{case_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(hashed, "big") / 2**64


MOST_STRATA = 1000
_LEAST = 2
"""The smallest sample of a stratum: without two conversations, nothing is known of how they vary."""
_SHOWN_STRATA = 10

Shares = dict[str, tuple[int, "array[float]"]]
"""For each stratum, how many conversations it has and the smallest values of `compute_share`."""


def draw_sample(
    wanted: float,
    seed: int,
    stratify: str,
    shards: Sequence[Shard],
    each: Callable[..., Iterable[Shares]],
    *,
    lenient: bool,
) -> Sample:
    """Return the sample of a number of conversations, or of a share below 1.

    `each` applies a function to all shards. A share without strata needs no look at the conversations. Otherwise they
    are read once for it, and each stratum is sampled in proportion to its size, with at least two conversations.
    Memory grows by 8 bytes for each conversation of the sample and stratum, or of the data set if a stratified share
    is wanted. Raises UsageError if there are too many strata, or if no conversation has the field.
    """
    if wanted < 1 and not stratify:
        return Sample({"": wanted}, seed)
    most = int(wanted) if wanted >= 1 else None
    strata = _Strata(most)
    for shares in each(partial(_shares_in, most=most, seed=seed, stratify=stratify, lenient=lenient), shards):
        strata.add(shares, stratify)
    if not stratify:
        return Sample({name: strata.bound(name, int(wanted)) for name in strata.sizes}, seed)
    if stratify != FILE and not any(strata.sizes):
        raise UsageError(
            f"{spell('stratify')} {stratify}: no conversation has this field; it must be a field "
            "of the records of JSON lines, "
            f"a column of Parquet, or `{FILE}`"
        )
    number = int(wanted) if most else math.ceil(wanted * sum(strata.sizes.values()))
    sizes = allocate(strata.sizes, number)
    return Sample({name: strata.bound(name, size) for name, size in sizes.items()}, seed, stratify)


def allocate(sizes: Mapping[str, int], number: int) -> dict[str, int]:
    """Divide a sample over strata in proportion to their sizes, with at least two conversations of each.

    Proportional allocation: Cochran (1977), "Sampling Techniques", section 5.5. Remainders go to the strata with the
    largest ones. Raises UsageError if the sample is too small.
    """
    number = min(number, sum(sizes.values()))
    sample = {name: min(_LEAST, size) for name, size in sizes.items()}
    if sum(sample.values()) > number:
        raise UsageError(
            f"{spell('sample')}: {number:,} conversations are too few for the {len(sizes):,} "
            f"strata of {spell('stratify')}, "
            f"which need at least {_LEAST} each; give at least {sum(sample.values()):,}",
            code="too-little-data",
        )
    # The strata whose proportional part is below the least keep the least, and the others share the rest.
    proportional = dict(sizes)
    while True:
        rest = number - sum(size for name, size in sample.items() if name not in proportional)
        total = sum(proportional.values())
        small = [name for name, size in proportional.items() if size * rest < sample[name] * total]
        if not small:
            break
        for name in small:
            del proportional[name]
    for name, size in proportional.items():
        sample[name] = size * rest // total
    remainders = sorted(proportional, key=lambda name: (-(proportional[name] * rest % total), name))
    for name in remainders[: number - sum(sample.values())]:
        sample[name] += 1
    return sample


def describe_strata(population: Mapping[str, int], drawn: Mapping[str, int]) -> str:
    """Return how many conversations of each stratum were sampled, in words. The largest strata come first."""
    names = sorted(population, key=lambda name: (-population[name], name))
    parts = [f"{name or '(none)'} {drawn.get(name, 0):,} of {population[name]:,}" for name in names[:_SHOWN_STRATA]]
    if len(names) > _SHOWN_STRATA:
        parts.append(f"and {len(names) - _SHOWN_STRATA:,} more strata")
    return f"strata: {', '.join(parts)}"


@dataclass
class _Strata:
    """The sizes of strata so far, and the smallest shares of each."""

    most: int | None
    sizes: dict[str, int] = field(default_factory=dict)
    _shares: dict[str, array[float]] = field(default_factory=dict)

    def add(self, shares: Shares, stratify: str) -> None:
        """Add the strata of a shard."""
        for name, (size, smallest) in shares.items():
            self.sizes[name] = self.sizes.get(name, 0) + size
            own = self._shares.setdefault(name, array("d"))
            own.extend(smallest)
            if self.most is not None and len(own) > 2 * self.most + 1000:
                self._shares[name] = array("d", sorted(own)[: self.most])
        if len(self.sizes) > MOST_STRATA:
            raise UsageError(
                f"{spell('stratify')} {stratify}: has more than {MOST_STRATA:,} values; give a field with fewer",
                code="too-large",
            )

    def bound(self, name: str, number: int) -> float:
        """Return the bound below which so many shares of a stratum are, and those that equal the last of them."""
        shares = sorted(self._shares[name])
        return math.nextafter(shares[min(number, len(shares)) - 1], math.inf)


def _shares_in(shard: Shard, *, most: int | None, seed: int, stratify: str, lenient: bool) -> Shares:
    shares: dict[str, array[float]] = {}
    for name, share in _iter_shares(shard, seed, stratify, lenient=lenient):
        shares.setdefault(name, array("d")).append(share)
    return {
        name: (len(of_stratum), of_stratum if most is None else array("d", sorted(of_stratum)[:most]))
        for name, of_stratum in shares.items()
    }


def _iter_shares(shard: Shard, seed: int, stratify: str, *, lenient: bool) -> Iterator[tuple[str, float]]:
    for item in read_shard(shard, lenient=lenient, stratify=stratify):
        if isinstance(item.content, Recording):
            yield item.stratum, compute_share(item.content.case_id, seed)
