"""The eval files of Agent Skills are read, and everything that is not read is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builders import load
from fairtrial import api
from fairtrial.errors import FormatError, OtherContentError
from fairtrial.formats.loaded import Loaded
from fairtrial.formats.skills.proposals import propose_check
from fairtrial.formats.skills.skill_md import read_skill, with_description
from fairtrial.loading import sources
from fairtrial.records.case import EvalCase
from fairtrial.records.workspace import CaseFile, Workspace, WorkspaceCheck

SKILL = b"---\nname: tides\ndescription: Tells the tides.\n---\n# Tides\n"


def evals(*cases: dict[str, Any], **top: Any) -> dict[str, Any]:
    """An `evals.json` of a skill."""
    return {"skill_name": "tides", "evals": list(cases), **top}


def read(*cases: dict[str, Any], **top: Any) -> Loaded:
    """The content of an `evals.json`."""
    return load(evals(*cases, **top), "evals.json")


def only(*cases: dict[str, Any]) -> EvalCase:
    """The only case of an `evals.json`."""
    loaded = read(*cases)
    assert loaded.eval_set is not None
    (case,) = loaded.eval_set.cases
    return case


def workspace(case: EvalCase) -> Workspace:
    """The workspace of a case."""
    assert case.workspace is not None
    return case.workspace


def problems(*cases: dict[str, Any]) -> str:
    """The problems of an `evals.json`, as one text."""
    with pytest.raises(FormatError) as error:
        read(*cases)
    return str(error.value)


@pytest.mark.parametrize("key", ["assertions", "expectations"])
@pytest.mark.parametrize(
    "assertion", ["It names the port.", {"text": "It names the port."}, {"check": "It names the port."}]
)
def test_assertions_of_every_dialect_are_rubrics(key: str, assertion: Any) -> None:
    """Texts, and objects with `text` or `check`, under both keys, are rubrics."""
    case = only({"id": 1, "prompt": "When is high tide?", key: [assertion]})
    assert [rubric.text for rubric in case.rubrics] == ["It names the port."]


def test_an_expected_output_is_a_rubric() -> None:
    """A description of the result is judged, also beside assertions."""
    case = only({"id": 1, "prompt": "Hi", "expected_output": "A table.", "assertions": ["It has a header."]})
    assert [rubric.text for rubric in case.rubrics] == ["The result is as described: A table.", "It has a header."]


def test_checks_alone_need_no_judge() -> None:
    """With checks and without assertions, the expected output is a note for people."""
    case = only({"prompt": "Hi", "expected_output": "A table.", "checks": [{"type": "exists", "path": "tides.md"}]})
    assert case.rubrics == ()
    assert workspace(case).checks == (WorkspaceCheck("exists", path="tides.md"),)


def test_must_have_lists_are_rubrics_of_both_signs() -> None:
    """What must be there, and what must not, are two kinds of rubrics."""
    case = only({"prompt": "Hi", "must_have": ["a port"], "must_not_have": "an apology"})
    texts = [rubric.text for rubric in case.rubrics]
    assert texts == ["The result has: a port", "The result does not have: an apology"]


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"id": "ebb"}, "ebb"),
        ({"id": 3, "name": "ebb"}, "ebb"),
        ({"id": 0}, "eval-0"),
        ({}, "eval-1"),
    ],
)
def test_a_case_is_named_by_words_if_it_has_some(fields: dict[str, Any], name: str) -> None:
    """A text as id comes first, then the name, then the number."""
    assert only({"prompt": "Hi", "expected_output": "x", **fields}).id == name


def test_two_cases_of_one_name_are_refused() -> None:
    """Names tell cases apart, so that they must differ."""
    assert "/evals/1: has the name 'ebb' of case 0" in problems(
        {"id": "ebb", "prompt": "a"}, {"id": "ebb", "prompt": "b"}
    )


@pytest.mark.parametrize(
    ("files", "targets"),
    [
        (["evals/files/a.csv"], ["a.csv"]),
        (["evals/files/x/a.csv", "evals/files/x/b.csv"], ["a.csv", "b.csv"]),
        (["evals/files/x/a.csv", "evals/files/y/b.csv"], ["x/a.csv", "y/b.csv"]),
        (["evals/fixtures/repo"], [""]),
        ([{"path": "a.csv"}], ["a.csv"]),
    ],
)
def test_files_lose_the_folders_that_they_share(files: list[Any], targets: list[str]) -> None:
    """The agent finds files where a user would have put them."""
    assert [file.target for file in workspace(only({"prompt": "Hi", "files": files})).files] == targets


def test_files_that_the_prompt_names_keep_their_folders() -> None:
    """A path in the prompt is a path in the workspace."""
    case = only({"prompt": "Read evals/files/a.csv", "files": ["evals/files/a.csv"]})
    assert workspace(case).files == (CaseFile("evals/files/a.csv", "evals/files/a.csv"),)


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "a/../../b", "~/.ssh/id", "C:/x", "a\\..\\..\\b"])
def test_paths_that_leave_the_folder_are_refused(path: str) -> None:
    """Neither files nor checks may name anything outside."""
    assert "/evals/0/files/0: must stay inside" in problems({"prompt": "Hi", "files": [path]})
    assert "/evals/0/checks/0/path: must stay inside" in problems(
        {"prompt": "Hi", "checks": [{"type": "exists", "path": path}]}
    )


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        ({"type": "exist", "path": "a"}, "/checks/0/type: must be one of"),
        ({"type": "exists"}, "/checks/0: the check 'exists' must have 'path'"),
        ({"type": "exists", "path": "a", "pat": "b"}, "/checks/0/pat: is not a key of the check 'exists'"),
        ({"type": "matches", "pattern": "("}, "/checks/0/pattern: must be a regular expression"),
        ({"type": "calls"}, "/checks/0: the check 'calls' must have 'at_least' or 'at_most'"),
        ({"type": "json", "schema": {"type": "objct"}}, "/checks/0/schema: must be a JSON Schema: "),
        ({"type": "contains", "text": []}, "/checks/0/text: must be a text or an array of texts"),
        ("exists", "/checks/0: must be a check"),
    ],
)
def test_mistakes_in_checks_are_errors_with_their_place(check: Any, problem: str) -> None:
    """A check that nothing reads would pass in silence."""
    assert problem in problems({"prompt": "Hi", "checks": [check]})


def test_an_assertion_with_the_type_of_a_check_is_one() -> None:
    """An assertion can be a check in the same list."""
    case = only({"prompt": "Hi", "assertions": [{"type": "contains", "text": "noon"}, "It is short."]})
    assert workspace(case).checks == (WorkspaceCheck("contains", texts=("noon",)),)
    assert [rubric.text for rubric in case.rubrics] == ["It is short."]


def test_weights_and_unknown_keys_are_named() -> None:
    """Nothing goes unread in silence."""
    loaded = read(
        {"prompt": "Hi", "assertions": [{"text": "a", "weight": 3, "colour": "red"}], "owner": "ann"}, team="x"
    )
    text = "\n".join((*loaded.warnings, *loaded.notes))
    assert "/evals/0/assertions/0/weight: is not read" in text
    assert "/evals/0/assertions/0: not read: colour" in text
    assert "not read, and kept: /team, /evals/*/owner" in text


def test_a_misspelt_key_is_an_error() -> None:
    """A key that nearly spells a known one is a mistake."""
    assert "expectd_output" in problems({"prompt": "Hi", "expectd_output": "A table."})


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("report.md exists", WorkspaceCheck("exists", path="report.md")),
        ("The file out/data.json is valid JSON.", WorkspaceCheck("json", path="out/data.json")),
        ("The output includes the value 18.", WorkspaceCheck("contains", texts=("18",))),
        ('The reply contains "high tide"', WorkspaceCheck("contains", texts=("high tide",))),
        ("At least 3 .md files are created", WorkspaceCheck("exists", path="**/*.md", at_least=3)),
        ("Output contains a .svelte file.", WorkspaceCheck("exists", path="**/*.svelte")),
        ('The reply does not mention "low tide".', WorkspaceCheck("not_contains", texts=("low tide",))),
        (
            "report.md contains the phrase 'Total: 45'",
            WorkspaceCheck("contains", path="report.md", texts=("Total: 45",)),
        ),
        ("`report.md` does not contain 'TODO'", WorkspaceCheck("not_contains", path="report.md", texts=("TODO",))),
        ("The file draft.md was deleted.", WorkspaceCheck("absent", path="draft.md")),
        ("out.csv has at least 3 rows", WorkspaceCheck("csv_rows", path="out.csv", at_least=3)),
        (
            "The file out.csv contains 12 data rows.",
            WorkspaceCheck("csv_rows", path="out.csv", at_least=12, at_most=12),
        ),
        ("Output contains a .svelte file for the form", None),
        ("The reply contains 'high tide' or 'low tide'", None),
        ("report.md contains a section about 'tides'", None),
        ("report.md does not exist before the run", None),
        ("The report is friendly.", None),
        ("report.md exists, and explains the tides", None),
        ("The output does not include the value 18.", None),
    ],
)
def test_assertions_that_a_program_can_decide_are_proposed(text: str, check: WorkspaceCheck | None) -> None:
    """A proposal needs the whole assertion: a part of it would be forgotten."""
    assert propose_check(text) == check


def test_a_proposal_is_a_note_and_not_a_check() -> None:
    """Nobody's assertion becomes a check in silence."""
    loaded = read({"prompt": "Hi", "assertions": ["report.md exists"]})
    assert loaded.eval_set is not None
    assert workspace(loaded.eval_set.cases[0]).checks == ()
    assert 'could be a check without a model: {"path": "report.md", "type": "exists"}' in "\n".join(loaded.notes)


QUERIES = [{"query": "When is high tide?", "should_trigger": True}, {"query": "Hello", "should_trigger": False}]


@pytest.mark.parametrize(
    "document",
    [
        QUERIES,
        {"skill_name": "tides", "queries": QUERIES},
        {
            "skill": "tides",
            "should_trigger_prompts": [{"prompt": "When is high tide?", "confidence": "high"}],
            "should_not_trigger_prompts": ["Hello"],
        },
    ],
)
def test_trigger_queries_of_every_dialect_are_read(document: Any) -> None:
    """A bare list, skill-creator's object, and waza's two lists mean the same."""
    loaded = load(document, "trigger-eval.json")
    assert loaded.eval_set is not None
    asked = [
        (case.conversation[0].query, workspace(case).triggers) for case in loaded.eval_set.cases if case.conversation
    ]
    assert asked == [("When is high tide?", True), ("Hello", False)]


def test_a_query_without_an_answer_is_an_error() -> None:
    """Nobody could say whether the skill was right."""
    with pytest.raises(FormatError, match="/queries/1: must have 'should_trigger'"):
        load({"queries": [QUERIES[0], {"query": "Hm"}]}, "trigger.json")


def test_queries_of_one_side_are_a_warning() -> None:
    """Half of the mistakes could not be seen."""
    assert "no query that should not trigger" in load([QUERIES[0]], "t.json").warnings[0]


def test_the_tasks_of_a_specification_are_read_with_its_graders(tmp_path: Path) -> None:
    """Waza keeps tasks in files of their own, and graders for all of them in one."""
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "a.yaml").write_text(
        "id: a\ninputs: {prompt: Hi}\nexpected: {output_contains: [noon]}\n"
        "graders: [{type: program, name: lint, config: {command: rm}}]\n"
    )
    (tmp_path / "eval.yaml").write_text(
        "name: all\nskill: tides\nconfig: {trials_per_task: 4}\ntasks: [tasks/*.yaml]\n"
        "graders:\n- {type: text, name: calm, config: {regex_not_match: [panic]}}\n"
        "- {type: behavior, name: few, config: {max_tool_calls: 5, forbidden_tools: [bash]}}\n"
    )
    (source,) = sources([tmp_path / "eval.yaml"])
    assert source.loaded.eval_set is not None
    (case,) = source.loaded.eval_set.cases
    assert workspace(case).checks == (
        WorkspaceCheck("contains", texts=("noon",), ignore_case=True),
        WorkspaceCheck("not_matches", "calm: panic", pattern="panic"),
        WorkspaceCheck("calls", "few: calls at most 5", at_most=5),
        WorkspaceCheck("avoids_tools", "few: avoids_tools bash", tools=("bash",)),
    )
    notes = "\n".join(source.loaded.notes)
    assert "run with --attempts 4" in notes
    assert "the grader 'lint' of the type 'program' has no twin here" in notes


@pytest.mark.parametrize("pattern", ["../*.yaml", "/etc/*.yaml"])
def test_task_files_outside_of_the_folder_are_refused(tmp_path: Path, pattern: str) -> None:
    """A specification cannot read the machine."""
    (tmp_path / "eval.yaml").write_text(f"skill: x\nconfig: {{}}\ntasks: ['{pattern}']\n")
    with pytest.raises(FormatError, match="must stay inside"):
        sources([tmp_path / "eval.yaml"])


def test_expressions_are_translated_and_never_evaluated(tmp_path: Path) -> None:
    """A Python expression of waza becomes a check if it has a twin, and is named if it has none."""
    task = {
        "id": "a",
        "inputs": {"prompt": "Hi"},
        "graders": [
            {
                "type": "code",
                "config": {
                    "assertions": ["len(output) > 2", "'x' not in output.lower()", "__import__('os').system('x')"]
                },
            }
        ],
    }
    loaded = load(task, str(tmp_path / "task.json"))
    assert loaded.eval_set is not None
    assert [(check.type, check.pattern or check.texts) for check in workspace(loaded.eval_set.cases[0]).checks] == [
        ("matches", "(?s).{3}"),
        ("not_contains", ("x",)),
    ]
    assert "__import__" in "\n".join(loaded.notes)


def test_tasks_of_skilljack_are_read() -> None:
    """A marker is a check, a checklist is rubrics, and the default says which skill should load."""
    document = {
        "skill": "greeting",
        "defaults": {"expected_skill_load": "greeting"},
        "tasks": [
            {"id": "a", "prompt": "Hi", "deterministic": {"expect_marker": "OK"}, "golden_checklist": ["Friendly"]},
            {"id": "b", "prompt": "No", "expected_skill_load": "none", "golden_checklist": []},
        ],
    }
    loaded = load(document, "tasks.json")
    assert loaded.eval_set is not None
    first, second = loaded.eval_set.cases
    assert (workspace(first).checks, [rubric.text for rubric in first.rubrics]) == (
        (WorkspaceCheck("contains", texts=("OK",)),),
        ["Friendly"],
    )
    assert (workspace(first).triggers, workspace(second).triggers) == (True, False)


@pytest.mark.parametrize(
    "settings",
    [{"root": ".", "workspace": "w", "target": "gpt"}, {"models": {}, "scoring": {}, "runner": {}}],
)
def test_settings_of_other_programs_say_what_to_give(settings: dict[str, Any]) -> None:
    """Settings hold no case, and the message says which file does."""
    with pytest.raises(OtherContentError, match="which hold no case; give"):
        load(settings, "settings.json")


def test_a_header_of_a_skill_is_read_and_its_rules_are_checked() -> None:
    """The name must be that of its folder, and small letters."""
    skill = read_skill(SKILL, "SKILL.md", "waves")
    assert (skill.name, skill.description) == ("tides", "Tells the tides.")
    assert "should be the name of its folder, 'waves'" in skill.warnings[0]


@pytest.mark.parametrize("data", [b"# Tides\n", b"---\nname: tides\n---\n", b"---\nname: ../up\ndescription: x\n---\n"])
def test_a_broken_header_is_an_error(data: bytes) -> None:
    """A skill needs a header, a description, and a name that is no path."""
    with pytest.raises(FormatError):
        read_skill(data, "SKILL.md")


def test_a_description_can_be_replaced() -> None:
    """The rest of the file stays, byte for byte."""
    changed = with_description(SKILL, "Says: when the sea is high.")
    assert read_skill(changed, "SKILL.md").description == "Says: when the sea is high."
    assert changed.endswith(b"---\n# Tides\n")


@pytest.mark.long
@pytest.mark.shared
def test_every_kept_eval_file_is_read_or_named(shared: Path) -> None:
    """The kept repositories hold 6 files of evals with 51 cases, 2 of queries, 2 specifications and a tasks.yaml."""
    counts: dict[str, list[int]] = {}
    for path in sorted((shared / "data" / "skills").rglob("*")):
        if path.suffix not in (".json", ".yaml", ".yml"):
            continue
        (checked,) = api.check([str(path)])
        # Not all files that cases give to agents are kept.
        problems = [problem for problem in checked.problems if "gives to the agent" not in problem]
        kind = "refused" if problems else checked.content.split(",")[0]
        number = 0 if problems else int(checked.content.split(", ")[1].split()[0])
        counts.setdefault(kind, []).append(number)
        assert problems or number
    assert {kind: (len(own), sum(own)) for kind, own in counts.items()} == {
        "evals of an Agent Skill": (6, 51),
        "trigger queries of an Agent Skill": (2, 28),
        "evals of waza": (2, 10),
        "task of waza": (10, 10),
        "tasks of skilljack-evals": (1, 3),
        "refused": (13, 0),  # settings, workflows, rubrics of another scale, and a schema: none holds a case
    }


@pytest.mark.shared
def test_every_assertion_of_the_kept_files_is_read(shared: Path) -> None:
    """No assertion, expectation or expected output gets lost on the way."""
    for path in sorted((shared / "data" / "skills").rglob("evals.json")):
        document = json.loads(path.read_text("utf-8"))
        (source,) = sources([path])
        assert source.loaded.eval_set is not None
        for raw, case in zip(document["evals"], source.loaded.eval_set.cases, strict=True):
            texts = len(raw.get("assertions", [])) + len(raw.get("expectations", []))
            assert len(case.rubrics) == texts + 1
            assert len(workspace(case).files) == len(raw.get("files", []))


def test_a_name_that_stands_twice_gets_the_number_of_its_case() -> None:
    """The ids of the file are distinct, so that the cases are."""
    loaded = read({"id": 1, "name": "flow", "prompt": "A"}, {"id": 92, "name": "flow", "prompt": "B"})
    assert loaded.eval_set is not None
    assert [case.id for case in loaded.eval_set.cases] == ["flow", "flow-92"]


def test_a_bare_list_of_prompts_is_read() -> None:
    """Some files have no object around their cases, and name what has to be there, and what must not."""
    item = {"id": "mcp", "prompt": "Take it over.", "expect": ["The scope is restated."], "fail": ["It scans first."]}
    loaded = load([item], "evals.json")
    assert loaded.kind == "evals of an Agent Skill"
    assert loaded.eval_set is not None
    (case,) = loaded.eval_set.cases
    assert [rubric.text for rubric in case.rubrics] == [
        "The result has: The scope is restated.",
        "The result does not have: It scans first.",
    ]


def test_check_reads_the_skill_of_a_folder(tmp_path: Path) -> None:
    """The header is checked beside the eval files, also those in YAML."""
    folder = tmp_path / "notes"
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(SKILL)
    (folder / "evals" / "trigger_tests.yaml").write_text(
        "should_trigger_prompts: [A]\nshould_not_trigger_prompts: [B]\n"
    )
    skill, queries = api.check([str(folder)])
    assert skill.content == "the Agent Skill 'tides'"
    assert "/name: should be the name of its folder, 'notes', got 'tides'" in skill.warnings
    assert queries.content == "trigger queries of an Agent Skill, 2 cases"


def test_check_reads_a_skill_alone(tmp_path: Path) -> None:
    """A header that lacks something is an error with its place, and a skill without evals a note."""
    path = tmp_path / "SKILL.md"
    path.write_text("---\nname: tides\n---\n")
    (bad,) = api.check([str(path)])
    assert bad.problems == ("/description: must be a text that is not empty",)
    path.write_bytes(SKILL)
    (good,) = api.check([str(path)])
    assert "the skill has no eval files" in good.notes[0]


FOREIGN = {"id": "a", "user_prompt": "Do it", "deterministic_assertions": [{"kind": "file_exists"}], "fixtures": ["a"]}


@pytest.mark.parametrize("document", [{"cases": [FOREIGN]}, evals(FOREIGN), [FOREIGN]])
def test_a_case_in_another_dialect_says_what_to_rename(document: Any) -> None:
    """Its assertions would go unread, so that every attempt would pass."""
    with pytest.raises(FormatError) as error:
        load(document, "evals.json")
    text = str(error.value)
    assert "/0/deterministic_assertions: is not read; rename it to 'checks', and give each a 'type'" in text
    assert "/0/user_prompt: is not read; rename it to 'prompt'" in text
    assert "/0/fixtures: is not read; rename it to 'files'" in text


def test_a_prompt_under_another_name_says_what_to_rename() -> None:
    """Also if the assertions are those of an `evals.json`."""
    with pytest.raises(FormatError, match="/evals/0/user_prompt: is not read; rename it to 'prompt'"):
        load({"evals": [{"user_prompt": "Do it", "assertions": ["It is short."]}]}, "evals.json")


def test_a_file_of_one_case_in_another_dialect_names_the_nearest_format() -> None:
    """Such files stand in a folder `cases/`."""
    with pytest.raises(FormatError, match=r"the nearest is evals of an Agent Skill: \{'skill_name': ") as error:
        load({"id": "a", "prompt": "Do it", "llm_assertions": ["It is short."]}, "a.json")
    assert "/llm_assertions: is not read; rename it to 'assertions', each a text" in str(error.value)


def test_a_skill_whose_cases_stand_elsewhere_names_them(tmp_path: Path) -> None:
    """The eval file is looked for in few places, and the message says what else is there."""
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "a.json").write_text(json.dumps(FOREIGN))
    (tmp_path / "SKILL.md").write_bytes(SKILL)
    (checked, *_) = api.check([str(tmp_path / "SKILL.md")])
    assert "cases/a.json is not read: put cases into the list 'evals' of evals/evals.json" in checked.notes[0]


@pytest.mark.shared
def test_every_evals_json_of_the_kept_repositories_loads(shared: Path) -> None:
    """All six load: none is refused, and every case asks for something that can be graded or triggered."""
    paths = sorted((shared / "data" / "skills").rglob("evals.json"))
    assert len(paths) == 6
    for path in paths:
        (source,) = sources([path])
        assert source.loaded.kind == "evals of an Agent Skill"
        assert source.loaded.eval_set is not None
        cases = source.loaded.eval_set.cases
        assert len(cases) == len(json.loads(path.read_text("utf-8"))["evals"])
        assert all(case.rubrics or workspace(case).checks for case in cases)


def test_an_eval_file_of_a_skill_is_not_left_out(tmp_path: Path) -> None:
    """A file with the name of an eval file is meant to hold cases, so that another content is an error."""
    (tmp_path / "evals").mkdir()
    (tmp_path / "SKILL.md").write_bytes(SKILL)
    (tmp_path / "evals" / "evals.json").write_text('{"skill_name": "tides", "prompts": []}')
    _, checked = api.check([str(tmp_path)])
    assert "the nearest is evals of an Agent Skill {'skill_name': " in checked.problems[0]
