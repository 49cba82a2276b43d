"""The command `fairtrial mutate` prints, writes and exits as documented."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from builders import eval_set, said
from commands import enter, fairtrial
from fairtrial.api import DEGRADATIONS, OPERATORS
from html_pages import read_page

TURN = {
    "user_content": said("Where is my order?"),
    "final_response": said("Your order 17 is <b>shipped</b> to Berlin.", "model"),
    "intermediate_data": {"tool_uses": [{"name": "find", "args": {"id": 17}}]},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an eval set."""
    enter(tmp_path, monkeypatch)
    Path("shop.evalset.json").write_text(json.dumps(eval_set(TURN)))
    return tmp_path


def test_the_table_names_operators_criteria_and_survivors(folder: Path) -> None:
    """The terminal shows the score, a line for each operator, and a survivor with its hint."""
    done = fairtrial("mutate", "shop.evalset.json")
    assert done.code == 0
    assert done.out.startswith("facts ")
    assert "survived (blind): number_changed in one, invocation 1" in done.out
    assert "+ 1 Your order 27 is" in done.out
    assert "hint: response_match_score counts common words." in done.out
    assert folder


def test_no_report_and_no_store_holds_a_secret_or_a_part_of_one(folder: Path) -> None:
    """A change that cuts a reply would leave a part of a secret, which no search finds."""
    key = "ghp_016C7s8Kd2mNq9RtLx4VbZe3WfYh5Jp1Ga06"
    turn = {
        **TURN,
        "user_content": said(f"I am {key}."),
        "final_response": said(f"Take 17 and {key} to Berlin.", "model"),
    }
    Path("shop.evalset.json").write_text(json.dumps(eval_set(turn)))
    options = ("--html", "m.html", "--markdown", "m.md", "--junit", "m.xml", "--json", "m.json")
    done = fairtrial("mutate", "shop.evalset.json", *options)
    assert "secrets in 'one' were replaced by [REDACTED]: 2 provider_key" in done.err
    report = json.loads(Path("m.json").read_text())
    assert {"cut_short", "number_changed"} <= {row["operator"] for row in report["operators"]}
    written = [path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "shop.evalset.json"]
    assert len(written) >= 5
    assert not [part for part in (done.out.encode(), *written) if key[:12].encode() in part]


def test_a_fix_keeps_what_it_promises(folder: Path) -> None:
    """The printed criterion, added to the configuration, leaves as many survivors fewer as the line says."""
    done = fairtrial("mutate", "shop.evalset.json", "--json", "before.json")
    before = json.loads(Path("before.json").read_text())
    (fix,) = (fix for fix in before["fixes"] if fix["criterion"] == "facts_match_v1")
    line = f'fix: add "facts_match_v1": 1.0 to the criteria. It catches {fix["caught"]} of {fix["survivors"]} survivors'
    assert line in " ".join(done.out.split())
    defaults = {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}
    Path("fixed.json").write_text(json.dumps({"criteria": {**defaults, fix["criterion"]: fix["threshold"]}}))
    fairtrial("mutate", "shop.evalset.json", "--config", "fixed.json", "--json", "after.json")
    after = json.loads(Path("after.json").read_text())
    left = [sum(_missed(row) for row in own["operators"]) for own in (before, after)]
    assert left == [fix["survivors"], fix["survivors"] - fix["caught"]]
    assert fix["caught"] > 0
    assert folder


def _missed(row: dict[str, Any]) -> int:
    """The survivors of a harmful operator."""
    missed: int = row["overall"]["mutants"] - row["overall"]["caught"]
    return missed if row["direction"] == "harmful" else 0


def test_few_cases_propose_no_threshold(folder: Path) -> None:
    """The report says how many cases that takes."""
    done = fairtrial("mutate", "shop.evalset.json")
    assert "no other threshold is proposed from 1 case: that takes 5" in done.out
    assert folder


def test_cases_that_are_left_out_are_counted(folder: Path) -> None:
    """The first line counts the baselines and the cases that were left out. The next line names the case."""
    scenario = {"eval_id": "two", "conversation_scenario": {"starting_prompt": "hi", "conversation_plan": "ask"}}
    cases = eval_set(TURN)
    cases["eval_cases"].append(scenario)
    Path("shop.evalset.json").write_text(json.dumps(cases))
    done = fairtrial("mutate", "shop.evalset.json", "--operator", "refused")
    assert ", 1 baseline, 1 left out" in done.out.splitlines()[0]
    assert "left out: two: it has no fixed conversation" in done.out
    assert folder


def test_a_score_below_the_limit_fails(folder: Path) -> None:
    """Both limits decide the exit code, and the message names the limit."""
    assert fairtrial("mutate", "shop.evalset.json", "--fail-under", "0.1").code == 0
    done = fairtrial("mutate", "shop.evalset.json", "--fail-under", "0.99")
    assert (done.code, "--fail-under: facts must be at least 0.99" in done.err) == (1, True)
    assert folder


def test_the_store_shows_the_report_again(folder: Path) -> None:
    """`fairtrial show` prints the same report from the store alone."""
    done = fairtrial("mutate", "shop.evalset.json", "--json", "-")
    shown = fairtrial("show", done.json["run"])
    assert shown.code == 0
    assert shown.out.strip() == done.err.strip()
    assert folder


def test_reports_are_written(folder: Path) -> None:
    """JSON, Markdown and JUnit hold the same numbers, and markup of agents is escaped."""
    done = fairtrial(
        "mutate", "shop.evalset.json", "--json", "-", "--markdown", "m.md", "--junit", "m.xml", "--operator", "negated"
    )
    assert done.json["operators"][0]["overall"]["caught"] == 0
    text = Path("m.md").read_text()
    assert "| negated | harmful | 0 of 1 |" in text
    assert "    + 1 Your order 17 is not <b>shipped</b>" in text
    suite = ET.parse("m.xml").getroot()  # noqa: S314  (our own file)
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert folder


def test_the_page_is_plain_html_in_which_agents_write_only_text(folder: Path) -> None:
    """The page has no script, its policy allows only its own style, and markup of agents is text."""
    fairtrial("mutate", "shop.evalset.json", "--html", "m.html", "--operator", "negated")
    page = read_page(Path("m.html").read_bytes())
    style = base64.b64encode(hashlib.sha256(page.styles[0].encode()).digest()).decode()
    assert page.policy == f"default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'"
    assert page.tags.isdisjoint({"script", "a", "img", "iframe"})
    assert "- 1 Your order 17 is <b>shipped</b> to Berlin." in page.text
    assert "0 of 1" in page.text
    assert folder


def test_the_store_writes_the_files_again(folder: Path) -> None:
    """The files of `fairtrial show` are those of the run itself."""
    names = ("json", "markdown", "html", "junit")
    fairtrial("mutate", "shop.evalset.json", *(part for name in names for part in (f"--{name}", f"first.{name}")))
    run = json.loads(Path("first.json").read_text(encoding="utf-8"))["run"]
    fairtrial("show", run, *(part for name in names for part in (f"--{name}", f"again.{name}")))
    assert [Path(f"first.{name}").read_bytes() for name in names] == [
        Path(f"again.{name}").read_bytes() for name in names
    ]
    refused = fairtrial("show", run, "--adk-results", "results")
    assert (refused.code, "got --adk-results" in refused.err) == (2, True)
    assert folder


def test_an_unknown_operator_stops_before_anything_runs(folder: Path) -> None:
    """The message offers the nearest name."""
    done = fairtrial("mutate", "shop.evalset.json", "--operator", "negate")
    assert done.code == 2
    assert "'negate' is not an operator; did you mean 'negated'?" in done.err
    assert not (folder / ".fairtrial").exists()


def test_code_of_a_configuration_mutates_only_if_it_is_allowed(folder: Path) -> None:
    """A custom_function catches mutants with --allow-code, and is refused without."""
    code = "def evaluate(instance):\n    return float('17' in instance['response']['parts'][0]['text'])\n"
    metrics = [{"name": "number", "custom_function": code}]
    Path("code.json").write_text(json.dumps({"metrics_to_run": ["number"], "custom_metrics": metrics}))
    criteria = ("--config", "code.json", "--threshold", "number=1")
    arguments = ("mutate", "shop.evalset.json", *criteria, "--operator", "number_changed")
    refused = fairtrial(*arguments)
    assert (refused.code, "--allow-code" in refused.err) == (2, True)
    allowed = fairtrial(*arguments, "--allow-code", "--json", "-")
    assert allowed.json["score"]["rate"] == 1.0
    assert folder


def test_a_language_that_the_operator_does_not_know_is_refused(folder: Path) -> None:
    """The message names the languages that it knows."""
    done = fairtrial("mutate", "shop.evalset.json", "--operator", "full_width", "--language", "en")
    assert done.code == 2
    assert "full_width does not know en, it knows ko, ja, zh" in done.err
    assert folder


def test_the_list_shows_every_operator_with_an_example(folder: Path) -> None:
    """`--list` needs no eval set, and names the defect that each operator stands for."""
    done = fairtrial("mutate", "--list")
    assert done.code == 0
    assert "예약할 수 있습니다. → 예약할 수 없습니다. [en ko ja zh]" in done.out
    assert len(done.out.splitlines()) == 2 * (len(OPERATORS) + 1) + len(DEGRADATIONS)
    assert "facts: Yes instead of no." in done.out
    assert folder


@pytest.mark.long
def test_a_run_to_reuse_must_exist(folder: Path) -> None:
    """`--reuse` names a stored run, for example an interrupted one, whose replies of judges are used again."""
    first = fairtrial("mutate", "shop.evalset.json", "--json", "-").json
    again = fairtrial("mutate", "shop.evalset.json", "--json", "-", "--reuse", first["run"]).json
    assert again["score"] == first["score"]
    assert fairtrial("mutate", "shop.evalset.json", "--reuse", "20000101").code == 2
    assert folder


def test_an_eval_set_and_a_run_at_once_are_refused(folder: Path) -> None:
    """Exactly one source of conversations is needed."""
    assert fairtrial("mutate").code == 2
    assert "either eval sets or a stored run" in fairtrial("mutate", "shop.evalset.json", "--from-run", "1").err
    assert folder


AGENT = """
def find(id: int) -> dict:
    return {"city": "Berlin"}


def reply(message: str, call) -> str:
    found = call(find, id=17)
    known = isinstance(found, dict) and "city" in found
    return f"Your order 17 is <b>shipped</b> to {found['city']}." if known else "I cannot tell."
"""


def test_an_agent_is_run_in_degraded_environments(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The score counts the degradations that the criteria notice, and a survivor names the tool."""
    (folder / "degraded_shop.py").write_text(AGENT)
    monkeypatch.syspath_prepend(folder)
    done = fairtrial("mutate", "shop.evalset.json", "--agent", "degraded_shop:reply", "--json", "-")
    assert done.code == 0, done.err
    rates = {row["operator"]: row["overall"]["caught"] for row in done.json["operators"]}
    assert rates == {"tool_removed": 1, "tool_fails": 1, "results_truncated": 1}
    assert "1 inert mutant not in the score" in done.err


@pytest.mark.long
def test_degraded_conversations_have_a_process_each(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So does the conversation in which nothing is degraded. None is in the process of the command."""
    log = folder / "processes.log"
    noting = f"import os\n{AGENT}".replace(
        "    found = call", f"    print(os.getpid(), file=open({str(log)!r}, 'a'))\n    found = call"
    )
    (folder / "degraded_shop.py").write_text(noting)
    monkeypatch.syspath_prepend(folder)
    options = ("mutate", "shop.evalset.json", "--agent", "degraded_shop:reply", "--json", "-")
    done = fairtrial(*options, "--isolation", "process")
    assert {row["operator"]: row["overall"]["caught"] for row in done.json["operators"]} == {
        "tool_removed": 1,
        "tool_fails": 1,
        "results_truncated": 1,
    }
    found = log.read_text().split()
    assert len(set(found)) == len(found) > 3
    assert str(os.getpid()) not in found


def test_options_that_do_not_fit_an_agent_are_refused(folder: Path) -> None:
    """An agent makes its own conversations, and only an agent has a time limit."""
    assert "takes neither --from-run" in fairtrial("mutate", "--agent", "a:b", "--from-run", "1").err
    assert "needs --agent TARGET" in fairtrial("mutate", "shop.evalset.json", "--reply-timeout", "1").err
    done = fairtrial("mutate", "shop.evalset.json", "--isolation", "case", "--requests-per-second", "3")
    assert (done.code, done.out) == (2, "")
    assert "--isolation, --requests-per-second: is about an agent, and needs --agent TARGET" in done.err
    assert folder


SCORES = """
from pathlib import Path

SCORED = []


def equal(trace, case):
    if len(SCORED) == 5 and not Path("go_on").exists():
        raise KeyboardInterrupt
    SCORED.append(trace)
    return trace.invocations == case.conversation
"""


@pytest.mark.long
def test_an_interrupted_run_goes_on_where_it_stopped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the command, and no mutant with a verdict is scored a second time."""
    (folder / "interrupting.py").write_text(SCORES)
    monkeypatch.syspath_prepend(folder)
    metric = {"equal": {"code_config": {"name": "interrupting.equal"}}}
    config = {"criteria": {"equal": 1.0}, "custom_metrics": metric}
    Path("test_config.json").write_text(json.dumps(config))
    stopped = fairtrial("mutate", "shop.evalset.json", "--concurrency", "1", "--seed", "3")
    assert stopped.code == 130
    command = stopped.err.splitlines()[-1].split("continue with: fairtrial ")[1].split()
    Path("go_on").touch()
    done = fairtrial(*command, "--json", "-")
    assert done.code == 0, done.err
    assert (command[:2], done.json["run"], done.json["seed"]) == (["mutate", "--resume"], command[2], 3)
    from interrupting import SCORED  # type: ignore[import-not-found]

    rates = [done.json["score"], done.json["false_alarm_rate"]]
    assert len(SCORED) == 1 + sum(rate["mutants"] for rate in rates)


def test_a_resumed_run_keeps_its_arguments(folder: Path) -> None:
    """Another argument, and a run of another command, are refused with the reason."""
    run = fairtrial("mutate", "shop.evalset.json", "--operator", "negated", "--json", "-").json["run"]
    assert fairtrial("mutate", "--resume", run).code == 0
    other = fairtrial("mutate", "--resume", run, "--operator", "refused")
    assert (other.code, "named_operators must be ['negated'] as in the run" in other.err) == (2, True)
    assert "is a run of `fairtrial mutate`" in fairtrial("run", "--resume", run).err
    changed = Path("shop.evalset.json").read_text().replace("Berlin", "Bonn")
    Path("shop.evalset.json").write_text(changed)
    assert "is not the same as in the run" in fairtrial("mutate", "--resume", run).err
    assert folder


def test_mutants_need_no_store(folder: Path) -> None:
    """Without a store nothing is kept, and what needs an earlier run is refused."""
    done = fairtrial("mutate", "shop.evalset.json", "--store", "none")
    assert (done.code, done.out.startswith("facts ")) == (0, True), done.err
    assert not (folder / ".fairtrial").exists()
    for arguments in (("--from-run", "2026"), ("shop.evalset.json", "--reuse", "2026"), ("--resume", "2026")):
        refused = fairtrial("mutate", *arguments, "--store", "none")
        assert (refused.code, "got --store none" in refused.err) == (2, True), refused.err
