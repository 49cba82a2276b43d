"""The command `fairtrial judge check` measures judges whose verdicts are recorded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from commands import enter, fairtrial
from schema_checks import check_shape


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder."""
    enter(tmp_path, monkeypatch)


def recorded(*rows: str, header: str = "item,label,verdict") -> str:
    """Write a file of recorded verdicts, and return its name."""
    Path("verdicts.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return "verdicts.csv"


def pairs(*counts: tuple[int, str, str]) -> list[str]:
    """Rows of (number, label, verdict)."""
    cells = [(label, verdict) for number, label, verdict in counts for _ in range(number)]
    return [f"{item},{label},{verdict}" for item, (label, verdict) in enumerate(cells)]


def test_accuracy_and_kappa_of_pass_and_fail() -> None:
    """18 of 20 verdicts are right: kappa 0.8. Words of pass and fail may differ between the columns."""
    file = recorded(*pairs((9, "pass", "valid"), (1, "pass", "invalid"), (1, "fail", "YES"), (9, "fail", "no")))
    done = fairtrial("judge", "check", "--recorded", file, "--json", "-")
    assert done.code == 0, done.err
    check_shape(done.json, "JudgeCheckShape")
    assert done.json["kind"] == "check"
    (judge,) = done.json["judges"]
    assert judge["accuracy"]["value"] == pytest.approx(0.9)
    assert judge["kappa"]["value"] == pytest.approx(0.8)
    assert judge["agreement"]["sensitivity"]["value"] == pytest.approx(0.9)


@pytest.mark.parametrize(("share", "code"), [("0.9", 0), ("0.95", 1)])
def test_recorded_verdicts_have_a_least_accuracy(share: str, code: int) -> None:
    """18 of 20 verdicts are right."""
    file = recorded(*pairs((9, "pass", "pass"), (1, "pass", "fail"), (1, "fail", "pass"), (9, "fail", "fail")))
    assert fairtrial("judge", "check", "--recorded", file, "--fail-under", share).code == code


def test_a_judge_that_guesses_ends_with_1() -> None:
    """Its kappa is not shown to be above 0."""
    file = recorded(*pairs((10, "1", "1"), (10, "1", "2"), (10, "2", "1"), (10, "2", "2")))
    done = fairtrial("judge", "check", "--recorded", file)
    assert done.code == 1
    assert "not shown to be better than guessing" in done.out


def test_both_orders_show_a_preference_for_the_first_place() -> None:
    """A judge that always takes the reply that is shown first is right in half of all verdicts, and never agrees."""
    file = recorded(*(f"{n},{1 + n % 2},1,2" for n in range(30)), header="item,label,verdict,verdict_swapped")
    (judge,) = fairtrial("judge", "check", "--recorded", file, "--json", "-").json["judges"]
    assert judge["accuracy"]["value"] == pytest.approx(0.5)
    assert judge["orders_agree"]["value"] == 0
    assert judge["first_place"]["value"] == 1


def test_columns_and_rows_are_chosen() -> None:
    """--columns gives our names to theirs, and --where takes the rows with these values."""
    rows = [f"{n},{n % 2},{n % 2},{'a' if n % 2 else 'b'},x" for n in range(40)]
    file = recorded(*rows, header="id,gold,said,who,kind")
    columns = "item=id,label=gold,verdict=said,judge=who"
    done = fairtrial("judge", "check", "--recorded", file, "--columns", columns, "--where", "kind=x,who=a")
    assert "a         20" in done.out
    done = fairtrial("judge", "check", "--recorded", file, "--columns", columns, "--where", "kind=y")
    assert done.code == 2
    assert "has no row with kind=y" in done.err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "line 3: verdict: a verdict must be one of the labels (1, 2), got 'tie'"),
        (["--columns", "lable=x"], "'lable'"),
        (["--columns", "label"], "must be NAME=VALUE"),
        (["--columns", "label=gold"], "lacks the column 'gold'"),
    ],
)
def test_mistakes_are_named(arguments: list[str], problem: str) -> None:
    """A verdict that is not a label, an unknown name, and a column that does not exist."""
    file = recorded("1,1,1", "2,2,tie")
    done = fairtrial("judge", "check", "--recorded", file, *arguments)
    assert done.code == 2
    assert (
        problem if arguments else "line 3: verdict: a verdict must be one of the labels (1, 2), got 'tie'"
    ) in done.err


def test_a_verdict_that_could_not_be_read_is_counted() -> None:
    """With one order it is left out of the accuracy."""
    file = recorded(*pairs((20, "1", "1"), (20, "2", "2"), (2, "1", "")))
    (judge,) = fairtrial("judge", "check", "--recorded", file, "--json", "-").json["judges"]
    assert (judge["unreadable"], judge["accuracy"]["value"]) == (2, 1.0)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--recorded", "v.csv", "--criterion", "safety_v1"], "--criterion does not go with --recorded"),
        (["--gold", "g.jsonl", "--quick"], "--quick does not go with --gold and --criterion"),
        (["--where", "a=b"], "--where does not go with a check without --recorded, --gold or --criterion"),
        (["--quick", "--prompt", "safety"], "--quick has questions of its own, so that it does not go with --prompt"),
    ],
)
def test_an_option_without_effect_is_a_usage_error(arguments: list[str], problem: str) -> None:
    """It would otherwise be ignored in silence."""
    done = fairtrial("judge", "check", *arguments)
    assert done.code == 2
    assert problem in " ".join(done.err.split())


def test_a_panel_is_measured_with_weights_from_labels() -> None:
    """Two of three judges are always wrong together: the majority too, and the weights make the best of it."""
    verdicts = [
        (n, label, judge) for n in range(40) for label in [str(1 + n % 2)] for judge in ("good", "bad", "worse")
    ]
    rows = [f"{n},{label},{judge},{label if judge == 'good' else 3 - int(label)}" for n, label, judge in verdicts]
    file = recorded(*rows, header="item,label,judge,verdict")
    (panel,) = fairtrial("judge", "check", "--recorded", file, "--json", "-").json["panels"]
    assert (panel["items"], panel["majority"]["value"], panel["weighted"]["value"]) == (40, 0, 1)
    assert panel["gain"]["low"] > 0
    done = fairtrial("judge", "check", "--recorded", file)
    assert "weights from labels 100.0 %" in " ".join(done.out.split())


@pytest.mark.parametrize(("items", "small"), [(40, True), (2000, False)])
def test_a_small_panel_says_how_little_its_items_show(items: int, small: bool) -> None:
    """The sentence names the widest of the four intervals, and a panel of many items has none."""
    verdicts = [(n, 1 + n % 2, judge) for n in range(items) for judge in range(3)]
    rows = [f"{n},{label},j{judge},{label if (n + judge) % 4 else 3 - label}" for n, label, judge in verdicts]
    file = recorded(*rows, header="item,label,judge,verdict")
    (panel,) = fairtrial("judge", "check", "--recorded", file, "--json", "-").json["panels"]
    names = {
        "majority": "the accuracy by majority",
        "weighted": "the accuracy with weights from labels",
        "best": "the accuracy of the best judge by labels",
        "gain": "the gain of the weights",
    }
    width, name = max((panel[own]["high"] - panel[own]["low"], own) for own in names)
    assert (width > 0.2) is small
    shown = " ".join(fairtrial("judge", "check", "--recorded", file).out.partition("weights less majority")[2].split())
    low, high = (f"{100 * panel[name][end]:.0f}" for end in ("low", "high"))
    text = f"With {items} items, {names[name]} can be anywhere from {low} to {high} %: this is too little to say more."
    assert (text in shown) is small
    assert ("can be anywhere" in shown) is small


def test_a_single_judge_has_no_panel() -> None:
    """Votes have weights only if labels of three judges or more give them."""
    file = recorded(*pairs((20, "1", "1"), (20, "2", "2")))
    assert fairtrial("judge", "check", "--recorded", file, "--json", "-").json["panels"] == []


@pytest.mark.parametrize("package", ["jinja2", "pydantic_ai"])
@pytest.mark.parametrize(("model", "extra"), [("openai/my-model", "openai"), ("gemini-2.5-flash", "judge")])
def test_a_judge_whose_library_is_missing_names_the_extra_of_its_provider(
    package: str, model: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever package of the extra is missing, and before any question is written."""
    monkeypatch.setitem(sys.modules, package, None)
    done = fairtrial("judge", "check", "--quick", "--judge-model", model)
    assert (done.code, f"model {model}" in done.err.replace("google/", "")) == (2, True), done.err
    assert f"needs the extra {extra!r}: pip install 'jinja2" in done.err
    assert ("[google]" in done.err) == (extra == "judge")
