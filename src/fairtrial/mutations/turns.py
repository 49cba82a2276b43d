"""Operators that change which turns a conversation has, and their order."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from fairtrial.mutations.operator import Invocations, Scene


def turn_lost(scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    """Leave out one invocation that is not the last."""
    if scene.expected is None or scene.index >= len(scene.invocations) - 1:
        return None
    return (*scene.invocations[: scene.index], *scene.invocations[scene.index + 1 :])


def stopped_early(scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    """Leave out the last invocation of several."""
    is_last = scene.index == len(scene.invocations) - 1
    return scene.invocations[:-1] if is_last and scene.index > 0 and scene.expected is not None else None


def turns_swapped(scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    """Exchange the replies and steps of two neighbouring invocations. The messages of the user stay."""
    if scene.index >= len(scene.invocations) - 1 or scene.expected is None:
        return None
    first, second = scene.invocations[scene.index], scene.invocations[scene.index + 1]
    if first.reply.split() == second.reply.split():
        return None
    swapped = replace(second, user=first.user, id=first.id), replace(first, user=second.user, id=second.id)
    return (*scene.invocations[: scene.index], *swapped, *scene.invocations[scene.index + 2 :])
