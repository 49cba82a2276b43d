"""A better judge is found from labels: from stored replies, or with calls to a real server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from commands import enter
from fairtrial import (
    AlignOptions,
    Budget,
    ChoiceTerms,
    Judges,
    Label,
    ModelOptions,
    UsageError,
    align_judge,
    choose_recorded,
    open_run,
)
from fairtrial.api.alignment.choosing import make_aligned_config
from fairtrial.errors import ConfigError
from fairtrial.loading.criteria import criteria_in
from labelled_runs import CRITERION, RULE, STORE, AskedJudges, connect, judge_replies, label, write_config
from loopback import Loopback, Request, Say

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without a store."""
    enter(tmp_path, monkeypatch)


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """A server with judges: c is the best of a, b and c."""
    with Loopback(AskedJudges({"a": 0.3, "b": 0.25, "c": 0.02})) as own:
        connect(own, monkeypatch)
        yield own


def score_with(*models: str) -> list[str]:
    """Score the recordings with each model, and label the outcomes of the first run."""
    config = write_config(model=f"openai/m-{models[0]}")
    runs = [judge_replies(config, f"openai/m-{model}") for model in models]
    label(runs[0])
    return [run.info.id for run in runs]


def paid(calls: int, cassette: str | None = None) -> Judges:
    """Return the options of calls within a budget."""
    if cassette is None:
        return Judges(models=ModelOptions(budget=Budget(calls)))
    return Judges(models=ModelOptions(budget=Budget(calls), cassette=Path(cassette), cassette_mode="auto"))


def test_the_better_model_of_another_run_is_chosen(server: Loopback) -> None:
    """No model is called, although the runs asked each of them."""
    ids = score_with("a", "b", "c")
    before = len(server.requests)
    choice = align_judge(ids, CRITERION, "test_config.json", store=STORE)
    assert choice.after.name == "openai/m-c"
    assert choice.verdict == "better"
    assert len(server.requests) == before


def test_panels_are_made_of_stored_replies() -> None:
    """A panel of three has one vote of each model, and its replies are those of the runs."""
    choice = align_judge(score_with("a", "b", "c"), CRITERION, "test_config.json", store=STORE)
    assert "openai/m-a + openai/m-b + openai/m-c" in {own.name for own in choice.searched}
    assert not choice.notes


def test_the_chosen_configuration_loads_and_says_where_it_comes_from() -> None:
    """Its criterion has another signature, so that numbers are not mixed."""
    ids = score_with("a", "c")
    choice = align_judge(ids, CRITERION, "test_config.json", store=STORE)
    Path("better.json").write_bytes(make_aligned_config("test_config.json", choice))
    old, new = (criteria_in(Path(name)).criteria[0] for name in ("test_config.json", "better.json"))
    assert old.signature != new.signature
    provenance = json.loads(Path("better.json").read_text(encoding="utf-8"))["provenance"][CRITERION]
    assert provenance["runs"] == ids
    assert (provenance["labels_digest"], provenance["search_labels"]) == (choice.labels_digest, 45)
    assert provenance["gain"]["value"] == choice.gain.value


def test_labels_test_a_choice_once() -> None:
    """A second test is refused. With `again` it says how the error grows."""
    ids = score_with("a", "c")
    align_judge(ids, CRITERION, "test_config.json", store=STORE)
    with pytest.raises(UsageError, match="have tested 1 choice before"):
        align_judge(ids, CRITERION, "test_config.json", store=STORE)
    choice = align_judge(ids, CRITERION, "test_config.json", AlignOptions(again=True), store=STORE)
    assert choice.tests == 2
    assert "at most 10 %" in choice.notes[-1]


def test_labels_that_count_in_another_run_test_a_choice_once() -> None:
    """Labels belong to replies, so that a run of the same replies has them, too."""
    first, second = score_with("a", "c")
    align_judge([second, first], CRITERION, "test_config.json", store=STORE)
    for runs in ([first, second], [second, first]):
        with pytest.raises(UsageError, match="have tested 1 choice before"):
            align_judge(runs, CRITERION, "test_config.json", store=STORE)


def test_a_search_without_another_judge_tests_nothing() -> None:
    """A current judge that stays claims nothing, so that the labels can still test a choice."""
    first, second = score_with("a", "c")
    alone = align_judge(first, CRITERION, "test_config.json", store=STORE)
    assert (alone.tests, "no other judge was measured" in alone.notes[-1]) == (0, True)
    assert align_judge([first, second], CRITERION, "test_config.json", store=STORE).tests == 1


def test_the_digest_is_that_of_the_labels() -> None:
    """Another label gives another digest, and the order of the runs does not."""
    first, second = score_with("a", "c")
    again = AlignOptions(again=True)
    digests = [
        align_judge(runs, CRITERION, "test_config.json", again, store=STORE).labels_digest
        for runs in ([first, second], [second, first])
    ]
    run = open_run(first, store=STORE)
    run.add_label(Label(list(run.expected)[1].key, 1, CRITERION, value=0.0, author="ann"))
    changed = align_judge([first, second], CRITERION, "test_config.json", again, store=STORE).labels_digest
    assert digests[0] == digests[1] != changed


@pytest.mark.parametrize("name", ["camel.json", "test_config.yaml"])
def test_a_configuration_keeps_its_format(name: str) -> None:
    """ADK reads options in camelCase, and YAML."""
    ids = score_with("a", "c")
    options = {"threshold": 0.5, "judgeModelOptions": {"judgeModel": "openai/m-a", "numSamples": 1}}
    document = {"criteria": {CRITERION: options}}
    text = json.dumps(document) if name.endswith("json") else yaml.safe_dump(document)
    Path(name).write_text(text, encoding="utf-8")
    choice = align_judge(ids, CRITERION, name, store=STORE)
    new = Path(f"new-{name}")
    new.write_bytes(make_aligned_config(name, choice))
    write_config("expected.json", "openai/m-c")
    signatures = [criteria_in(path).criteria[0].signature for path in (new, Path("expected.json"))]
    assert signatures[0] == signatures[1]
    assert new.read_bytes().startswith(b"{") is name.endswith("json")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (AlignOptions(terms=ChoiceTerms(false_pass_cost=float("nan"))), "false_pass_cost: must be a positive number"),
        (AlignOptions(terms=ChoiceTerms(false_fail_cost=float("inf"))), "false_fail_cost: must be a positive number"),
        (AlignOptions(terms=ChoiceTerms(sensitivity=float("nan"))), "sensitivity: must be from 0 to 1"),
        (AlignOptions(writer="openai/writer"), "writer: writes instructions"),
        (AlignOptions(search=("threshold",), models=("openai/m-c",)), "model: add model or panel to search"),
    ],
)
def test_options_that_cannot_have_their_effect_are_refused(options: AlignOptions, problem: str) -> None:
    """Before a store is opened."""
    with pytest.raises(UsageError, match=problem):
        align_judge("20260102", CRITERION, "test_config.json", options, store=STORE)


def test_too_few_labels_are_refused() -> None:
    """The message says how many are missing."""
    run = judge_replies(write_config(), "openai/m-a")
    label(run, 12)
    with pytest.raises(UsageError, match=r"8 cases pass and 4 fail.* Label 2 or more that pass and 6"):
        align_judge(run, CRITERION, "test_config.json", store=STORE)


def test_the_configuration_must_be_that_of_the_run() -> None:
    """Otherwise the replies of its judge are not stored."""
    ids = score_with("a", "c")
    write_config("other.json", "openai/m-a", instructions="Be strict.")
    with pytest.raises(UsageError, match="replies of its judge are not in the runs"):
        align_judge(ids, CRITERION, "other.json", store=STORE)


def test_a_criterion_that_the_configuration_lacks_is_refused() -> None:
    """With the names that it has."""
    with pytest.raises(ConfigError, match="has no criterion 'final_response_match'; did you mean"):
        align_judge(score_with("a"), "final_response_match", "test_config.json", store=STORE)


def test_a_further_model_is_asked_within_the_budget(server: Loopback) -> None:
    """Its calls are counted, and only those that the stored replies lack are made."""
    ids = score_with("a")
    before = len(server.requests)
    options = AlignOptions(search=("model",), models=("openai/m-c",), judges=paid(200))
    choice = align_judge(ids, CRITERION, "test_config.json", options, store=STORE)
    assert (choice.after.name, choice.calls) == ("openai/m-c", 90)
    assert len(server.requests) - before == 90
    assert choice.spent is None  # nobody knows the price of the model


def test_a_budget_that_ends_leaves_a_judge_out() -> None:
    """Nothing is said of it."""
    options = AlignOptions(search=("model",), models=("openai/m-c",), judges=paid(10))
    choice = align_judge(score_with("a"), CRITERION, "test_config.json", options, store=STORE)
    assert choice.after.name == "the current judge"
    assert "openai/m-c" in choice.notes[0]


def test_examples_come_from_disagreements() -> None:
    """The judge learns the rule from the note of a person in an example."""
    run = label(judge_replies(write_config(model="openai/m-x"), "openai/m-x"), note=RULE)
    options = AlignOptions(search=("examples",), judges=paid(400))
    choice = align_judge(run, CRITERION, "test_config.json", options, store=STORE)
    assert choice.verdict == "better"
    assert {own["answer"] for own in choice.changes["examples"]} <= {"valid", "invalid"}
    assert RULE in {own.get("reason") for own in choice.changes["examples"]}


def test_no_example_is_in_the_test() -> None:
    """The labels of the test have no part in the search."""
    run = label(judge_replies(write_config(model="openai/m-x"), "openai/m-x"), note=RULE)
    options = AlignOptions(search=("examples",), judges=paid(400))
    choice = align_judge(run, CRITERION, "test_config.json", options, store=STORE)
    tested = {own.key for own in choice.changed}
    assert not any(f"basket {key[1:]}?" in own["case"] for key in tested for own in choice.changes["examples"])


def test_another_split_is_said_to_flatter_the_current_judge() -> None:
    """Its examples may be among the labels of the test. With the same split they are not."""
    run = label(judge_replies(write_config(model="openai/m-x"), "openai/m-x"), note=RULE)
    options = AlignOptions(search=("examples",), judges=paid(400))
    choice = align_judge(run, CRITERION, "test_config.json", options, store=STORE)
    Path("better.json").write_bytes(make_aligned_config("test_config.json", choice))
    again = judge_replies(Path("better.json"), "openai/m-x")
    notes = {
        seed: align_judge(
            again, CRITERION, "better.json", AlignOptions(terms=ChoiceTerms(seed=seed), again=True), store=STORE
        ).notes
        for seed in (1, 2)
    }
    said = {seed: any("may look better than it is" in note for note in own) for seed, own in notes.items()}
    assert said == {1: False, 2: True}


def test_a_model_writes_instructions() -> None:
    """It sees disagreements, and what it writes is measured."""
    run = label(judge_replies(write_config(model="openai/m-x"), "openai/m-x"), note=RULE)
    options = AlignOptions(search=("instructions",), judges=paid(400), writer="openai/writer")
    choice = align_judge(run, CRITERION, "test_config.json", options, store=STORE)
    assert choice.verdict == "better"
    assert choice.changes == {"instructions": RULE}
    assert choice.calls <= 400


def test_instructions_need_more_labels() -> None:
    """The search says how many."""
    run = judge_replies(write_config(), "openai/m-a")
    label(run, 60)
    options = AlignOptions(search=("instructions",), judges=paid(400), writer="openai/writer")
    choice = align_judge(run, CRITERION, "test_config.json", options, store=STORE)
    assert "20 cases have the rarer verdict, and the search needs 30; label 10 or more" in choice.notes[0]


def test_what_asks_needs_a_budget() -> None:
    """Nothing is paid by surprise."""
    with pytest.raises(UsageError, match="new questions are asked"):
        align_judge(score_with("a"), CRITERION, "test_config.json", AlignOptions(search=("examples",)), store=STORE)


def test_an_interrupted_search_pays_for_no_call_twice(server: Loopback) -> None:
    """The cassette holds the replies until then."""
    run = label(judge_replies(write_config(model="openai/m-x"), "openai/m-x"), note=RULE)
    started = len(server.requests)
    stopped = AlignOptions(search=("examples",), judges=paid(25, "calls.jsonl"))
    align_judge(run, CRITERION, "test_config.json", stopped, store=STORE)
    middle = len(server.requests)
    options = AlignOptions(search=("examples",), judges=paid(400, "calls.jsonl"), again=True)
    choice = align_judge(run, CRITERION, "test_config.json", options, store=STORE)
    assert middle - started == 25
    assert len(server.requests) - middle == choice.calls
    fresh = AlignOptions(search=("examples",), judges=paid(400), again=True)
    whole = align_judge(run, CRITERION, "test_config.json", fresh, store=STORE)
    assert whole.calls - choice.calls == 25
    assert whole.gain == choice.gain


def test_the_judges_of_a_table_are_compared() -> None:
    """With their prices, and panels of three."""
    lines = ["item,label,verdict,judge,cost"]
    for item in range(120):
        people = item % 2 == 0
        for judge, period, cost in (("dear", 40, 0.01), ("cheap", 30, 0.001), ("bad", 3, 0.001)):
            verdict = people != (item % period == 0)
            lines.append(f"{item},{'pass' if people else 'fail'},{'pass' if verdict else 'fail'},{judge},{cost}")
    Path("verdicts.csv").write_text("\n".join(lines), encoding="utf-8")
    choice = choose_recorded("verdicts.csv", ChoiceTerms(sensitivity=0.9, specificity=0.9), current="dear")
    assert (choice.before.name, choice.after.name) == ("dear", "cheap")
    assert choice.after.cost == pytest.approx(0.001)
    assert "dear + cheap + bad" in {own.name for own in choice.searched}
    with pytest.raises(UsageError, match=r"must be a judge of verdicts\.csv, got 'gone'"):
        choose_recorded("verdicts.csv", current="gone")


def test_the_run_keeps_its_numbers() -> None:
    """Only the note of the test is added to it."""
    ids = score_with("a", "c")
    before = open_run(ids[0], store=STORE)
    align_judge(ids, CRITERION, "test_config.json", store=STORE)
    after = open_run(ids[0], store=STORE)
    assert after.summary == before.summary
    assert after.judge_tests == [{"criterion": CRITERION, "seed": 1, "labels": 90}]


def _grade(request: Request) -> Say:
    """Say yes to as many of four rubrics as the number of the basket says."""
    basket = int(re.findall(r"basket (\d+)", request.text)[-1])
    entries = [
        {"id": item, "rationale": "because", "quote": "", "answer": "yes" if place < basket % 5 else "no"}
        for place, item in enumerate(request.items)
    ]
    return Say(json.dumps({"answers": entries}))


def test_another_threshold_needs_no_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    """People pass replies with three of four rubrics, and the judge passes those with two."""
    name = "rubric_based_final_response_quality_v1"
    rubrics = [{"rubric_id": f"r{n}", "rubric_content": {"text_property": f"Property {n}."}} for n in range(4)]
    options = {"judge_model": "openai/m-a", "num_samples": 1}
    criterion = {"threshold": 0.5, "rubrics": rubrics, "judge_model_options": options}
    Path("rubrics.json").write_text(json.dumps({"criteria": {name: criterion}}), encoding="utf-8")
    with Loopback(_grade) as grader:
        connect(grader, monkeypatch)
        run = judge_replies(Path("rubrics.json"), "openai/m-a")
    for case in run.expected:
        run.add_label(Label(case.key, 1, name, value=float(int(case.case.id[1:]) % 5 >= 3), author="ann"))
    choice = align_judge(open_run(run.info.id, store=STORE), name, "rubrics.json", store=STORE)
    assert (choice.verdict, choice.changes) == ("better", {"threshold": 0.75})
    assert choice.after.accuracy.value == 1.0
