"""Loading finds the criteria of a file or of a configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairtrial.errors import ConfigError, FormatError
from fairtrial.loading import criteria_for, criteria_in, sources
from loading import SET, config, written


def test_the_nearest_config_counts(tmp_path: Path) -> None:
    """The `test_config.json` beside the file, else the next one upwards, up to the folder that was given."""
    written(tmp_path, "test_config.json", config(response_match_score=0.1))
    written(tmp_path, "set/test_config.json", config(response_match_score=0.2))
    written(tmp_path, "set/near/test_config.json", config(response_match_score=0.3))
    for name in ("set/near/a.test.json", "set/far/b.test.json", "set/c.test.json"):
        written(tmp_path, name, SET)
    found = sources([tmp_path / "set"])
    assert [criteria_for(one).criteria[0].threshold for one in found] == [0.2, 0.2, 0.3]


def test_a_config_above_the_folder_that_was_given_is_refused(tmp_path: Path) -> None:
    """Of a single file only the config beside it counts, and the config of the folder above is meant for the file."""
    written(tmp_path, "test_config.json", config(response_match_score=0.1))
    (alone,) = sources([written(tmp_path, "near/a.test.json", SET)])
    with pytest.raises(ConfigError, match=r"the folder above holds .*; name the criteria with criteria"):
        criteria_for(alone)


def test_other_files_beside_an_eval_set_are_not_taken_for_configs(tmp_path: Path) -> None:
    """A configuration of another tool may stand there."""
    for name, document in (("tsconfig.json", {"include": []}), ("metrics.json", [1]), ("config.yaml", {})):
        written(tmp_path, name, document)
    (alone,) = sources([written(tmp_path, "a.test.json", SET)])
    assert criteria_for(alone).origin == "defaults"


def test_without_config_adks_defaults_count(tmp_path: Path) -> None:
    """And it is said that they did."""
    (found,) = sources([written(tmp_path, "a.test.json", SET)])
    made = criteria_for(found)
    assert made.origin == "defaults"
    assert [(one.name, one.threshold) for one in made.criteria[:2]] == [
        ("tool_trajectory_avg_score", 1.0),
        ("response_match_score", 0.8),
    ]


def test_a_missing_config_is_an_error(tmp_path: Path) -> None:
    """The peer takes its defaults, and the run is green."""
    with pytest.raises(ConfigError, match="no such configuration file"):
        criteria_in(tmp_path / "missing.json")


def test_empty_criteria_are_an_error_at_their_place(tmp_path: Path) -> None:
    """Nothing would be tested."""
    with pytest.raises(ConfigError, match=r"c\.json: /criteria: must name at least one criterion"):
        criteria_in(written(tmp_path, "c.json", {"criteria": {}}))


def test_a_config_error_names_its_file(tmp_path: Path) -> None:
    """There may be several."""
    file = written(tmp_path, "c.json", config(made_up=1))
    with pytest.raises(ConfigError) as caught:
        criteria_in(file)
    assert str(caught.value).startswith(f"{file}: /criteria/made_up: ")


def test_an_eval_set_is_no_config(tmp_path: Path) -> None:
    """The message says what the file holds."""
    with pytest.raises(FormatError, match=r"must hold an EvalConfig .*, got eval set"):
        criteria_in(written(tmp_path, "c.json", SET))


def test_warnings_of_a_config_are_kept(tmp_path: Path) -> None:
    """Repairs, and options that are newer than we are."""
    file = written(tmp_path, "c.json", '{"criteria": {"response_match_score": {"threshold": 1, "newer": 1,}}}')
    warnings = criteria_in(file, lenient=True).warnings
    assert len(warnings) == 2
    assert all(str(file) in warning for warning in warnings)
