"""Every file that users have is read, or refused with its kind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from builders import files_of_evaluations, load
from fairtrial.errors import FormatError
from fairtrial.formats.recognise import read

pytestmark = pytest.mark.shared

_FENCED = re.compile(r"^```json\n(.*?)^```", re.DOTALL | re.MULTILINE)
_BARE = re.compile(r"^\{\n.*?(?=^\s*$)", re.DOTALL | re.MULTILINE)


def samples(seeds: Path) -> list[str]:
    """Every JSON sample of the criteria documents, with or without a code fence."""
    texts = [file.read_text() for file in sorted(seeds.glob("00[0134]_*.txt"))]
    return [found for text in texts for found in (_FENCED.findall(text) or _BARE.findall(text))]


def test_every_sample_of_the_documents_is_read_verbatim(shared: Path) -> None:
    """Comments, trailing commas and braces too many included: 10 + 10 + 11 + 7 samples, as adk-2.13.md counts them."""
    found = samples(shared / "seeds")
    assert len(found) == 38
    for text in found:
        config = load(text, "test_config.json").config
        assert config is not None, text
        assert len(config.criteria) == 1, text


def test_rubrics_in_the_samples_are_kept_as_written(shared: Path) -> None:
    """A sample's rubrics are options of its criterion, in the language of the document."""
    text = next(one for one in samples(shared / "seeds") if "智能体的响应直接且切中要点。" in one)
    config = load(text, "test_config.json").config
    assert config is not None
    rubrics = config.criteria[0].value["rubrics"]
    assert rubrics[0]["rubric_content"]["text_property"] == "智能体的响应直接且切中要点。"


def test_every_file_is_read_or_refused_with_its_kind(shared: Path) -> None:
    """Eval sets, test files, sessions, results and configs load; what is not read yet is named."""
    files = files_of_evaluations(shared)
    assert len(files) > 50, "the folder holds the peer's fixtures"
    for file in files:
        reason = "tRPC-Agent-Go metrics"
        if not file.name.endswith(".metrics.json"):
            found = read(file.read_bytes(), file.name)
            assert found.eval_set or found.recordings or found.config or found.spans, file
        else:
            with pytest.raises(FormatError, match=re.escape(reason)):
                read(file.read_bytes(), file.name)


def test_recorded_results_hold_both_sides(shared: Path) -> None:
    """Every result file holds recordings for the cases that it expects."""
    files = sorted((shared / "data").rglob("*.evalset_result.json"))
    assert files
    for file in files:
        found = read(file.read_bytes(), file.name)
        assert found.eval_set is not None
        assert {one.case_id for one in found.recordings} == {case.id for case in found.eval_set.cases}
        assert all(one.trace.invocations for one in found.recordings)
