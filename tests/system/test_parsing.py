"""Two threads may read source at the same time."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from fairtrial import Run
from fairtrial.metrics.signature import signature
from fairtrial.system.parsing import parse_source, read_source


@pytest.fixture
def switching() -> Iterator[None]:
    """Let threads take turns often, also in the middle of a parse: there, the collector calls Python."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()

    def give_way(*_: object) -> None:
        os.sched_yield()

    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    gc.callbacks.append(give_way)
    yield
    gc.callbacks.remove(give_way)
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(interval)


@pytest.mark.long
@pytest.mark.usefixtures("switching")
def test_threads_parse_one_after_the_other() -> None:
    """Python 3.11.7 raises SystemError if two threads parse at the same time."""
    with ThreadPoolExecutor(4) as threads:
        sources = set(threads.map(read_source, [Run] * 60))
    assert len(sources) == 1


def test_a_class_has_the_digest_of_its_source() -> None:
    """The signature reads it."""
    assert len(signature(Run.__init__)["metric"]) > 0
    assert read_source(Run).startswith(("@dataclass", "class Run"))


def test_a_module_is_parsed() -> None:
    """As the standard library does."""
    assert [type(node).__name__ for node in parse_source(b"x = 1\ndef f(): ...").body] == ["Assign", "FunctionDef"]
