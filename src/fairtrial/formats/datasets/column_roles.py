"""The roles of table columns: input, expectation, reply and the rest."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from fairtrial.errors import UsageError, nearest, spell, spell_columns
from fairtrial.records.check import VALUE_KINDS, ValueKind
from fairtrial.records.record import Record
from fairtrial.text.display import shorten

INPUT, EXPECTED, REPLY, CALLS, EXPECTED_CALLS, CONTEXT, ID, CLUSTER, CHECKS = (
    "input",
    "expected",
    "reply",
    "calls",
    "expected_calls",
    "context",
    "id",
    "cluster",
    "checks",
)
MESSAGES, USER, CONVERSATION = "messages", "user", "conversation"
MAPPED_PARTS = (MESSAGES, USER, CALLS, REPLY, CONVERSATION, ID)
"""The parts of a conversation whose paths `--map` takes for any JSON."""
CHECK_KINDS: dict[str, ValueKind] = {f"check_{kind}": kind for kind in VALUE_KINDS}
"""The roles of columns that hold the values of one kind of check."""
ROLES = {
    INPUT: "the user's message, or messages",
    EXPECTED: "the reference reply",
    EXPECTED_CALLS: "the expected calls",
    REPLY: "the reply that was recorded",
    CALLS: "the calls that were recorded",
    CONTEXT: "the evidence that a reply may rest on",
    ID: "the id of the case",
    CLUSTER: "the group of cases that resemble this one",
    CHECKS: "the checks as JSON",
    **{role: f"the value of the check {kind}" for role, kind in CHECK_KINDS.items()},
}
"""What a column can hold, by the names that `--map` takes."""
_MOST_NAMES = 12


def _name(column: str) -> str:
    """Return a name without case, spaces and signs. For example, `User Input` and `user_input` are the same."""
    return "".join(char for char in unicodedata.normalize("NFKC", column).casefold() if char.isalnum())


def _names(text: str) -> tuple[str, ...]:
    return tuple(map(_name, text.split()))


_SPELLINGS: dict[str, tuple[str, ...]] = {
    INPUT: _names(
        "input inputs question query prompt user_input user_message user_query user_prompt user_question instruction "
        "messages conversation "
        "질문 입력 문의 사용자_입력 사용자_질문 사용자_메시지 質問 質問文 入力 ユーザー入力 ユーザーの質問 "
        "问题 問題 提问 提問 输入 輸入 用户输入 用户问题 使用者輸入 使用者問題"
    ),
    EXPECTED: _names(
        "expected expected_output expected_answer expected_response expected_reply expected_outputs reference "
        "reference_answer reference_output reference_outputs reference_response ground_truth ground_truths "
        "ground_truth_answer gold gold_answer golden golden_answer "
        "target ideal ideal_answer correct_answer best_answer answers "
        "정답 기대_답변 기대_응답 기대_출력 예상_답변 모범_답안 참조_답변 "
        "正解 期待値 期待される回答 期待する回答 期待出力 模範解答 参照回答 "
        "标准答案 標準答案 参考答案 參考答案 "
        "期望输出 期望輸出 期望回答 预期输出 預期輸出 预期答案 預期答案 正确答案 正確答案"
    ),
    REPLY: _names(
        "output reply response actual_output actual_answer actual_response prediction predicted predicted_answer "
        "model_output model_response model_answer generated_answer agent_response agent_reply agent_output completion "
        "응답 출력 모델_응답 에이전트_응답 실제_응답 応答 返答 出力 モデルの回答 "
        "エージェントの応答 実際の応答 "
        "回复 回覆 响应 响應 输出 輸出 模型回答 "
        "模型输出 模型輸出 实际输出 實際輸出 实际回答 實際回答"
    ),
    EXPECTED_CALLS: _names(
        "expected_calls expected_tool_calls expected_tools expected_tool_uses expected_tool_use reference_tool_calls "
        "reference_trajectory expected_trajectory"
    ),
    CALLS: _names("calls tool_calls tools_called tool_uses predicted_trajectory trajectory"),
    CONTEXT: _names(
        "context contexts retrieved_contexts retrieval_context retrieved_context documents reference_contexts evidence "
        "문맥 컨텍스트 참고_자료 근거 文脈 コンテキスト 参考資料 上下文 参考资料 參考資料"
    ),
    ID: _names(
        "id case_id eval_id example_id question_id test_id qid uuid "
        "번호 케이스_번호 番号 ケースID 编号 編號 用例编号 案例編號"
    ),
    CLUSTER: _names("cluster cluster_id"),
    CHECKS: _names("checks"),
    **{role: _names(role) for role in CHECK_KINDS},
}
_EITHER = frozenset(_names("answer 답변 답 대답 回答 答え 答案 答复 答覆"))
"""Names of an expectation as well as of a reply. The other columns decide, or the user."""
_KNOWN = frozenset(name for spellings in _SPELLINGS.values() for name in spellings)
_OUTPUTS = frozenset(("outputs",))
"""LangSmith's name: the expectation in a row of a dataset, and the reply in a row of an experiment."""
_UNIQUE = (INPUT, EXPECTED, EXPECTED_CALLS, REPLY, CALLS)
"""Roles for which two columns are a question to the user. For the other roles, the first spelling wins."""
_TEXTS = frozenset(("text", "content"))
_INNER = {
    INPUT: frozenset(_SPELLINGS[INPUT]) | _TEXTS,
    EXPECTED: frozenset((*_SPELLINGS[EXPECTED], *_SPELLINGS[REPLY], *_EITHER, *_TEXTS)),
    REPLY: frozenset((*_SPELLINGS[EXPECTED], *_SPELLINGS[REPLY], *_EITHER, *_TEXTS)),
}
"""The names of the members of an object that holds the value of a role, for example of `{"answer": "yes"}`."""

Path = tuple[str, ...]
"""The way to a value: the column, and the members of objects in it."""


class Columns(Record, frozen=True):
    """The way to the value of each role, and the columns that have no role."""

    paths: dict[str, Path]
    other_columns: tuple[str, ...] = ()

    @property
    def names(self) -> dict[str, str]:
        """The columns as `--map` takes them, by their roles."""
        return {role: ".".join(self.paths[role]) for role in ROLES if role in self.paths}

    def __str__(self) -> str:
        return ",".join(f"{role}={name}" for role, name in self.names.items())

    def has(self, *roles: str) -> bool:
        """Whether a role has a column."""
        return not self.paths.keys().isdisjoint(roles)


class ColumnsError(ValueError):
    """No columns can be chosen. The arguments are the problems."""


def is_mapping(columns: Mapping[str, str]) -> bool:
    """Whether the parts of `--map` are paths into JSON, and not the columns of a table."""
    if any(part in (MESSAGES, USER, CONVERSATION) for part in columns):
        return True
    return any(isinstance(path, str) and (path.startswith("$") or "[" in path) for path in columns.values())


def check_columns(named_columns: Mapping[str, str]) -> None:
    """Raise UsageError if columns are named for something that no table has, and no conversation."""
    if is_mapping(named_columns):
        return  # the reader knows the parts of a conversation
    for role, column in named_columns.items():
        if role not in ROLES:
            allowed = nearest(role, ROLES) or f"; allowed are {', '.join(ROLES)}"
            raise UsageError(f"{spell('columns')}: {role!r} is not a part of a case{allowed}", code="unknown-name")
        if not isinstance(column, str) or not column:
            raise UsageError(f"{spell('columns')}: {role} must name a column, got {column!r}")


@lru_cache(maxsize=4096)
def find_role(column: str) -> str | None:
    """Return the role that the name of a column stands for, or None. An ambiguous name has the role EXPECTED."""
    for name in (_name(column), _name(column.partition(".")[0])):
        for role, spellings in _SPELLINGS.items():
            if name in spellings:
                return role
        if name in _EITHER or name in _OUTPUTS:
            return EXPECTED
    return None


def is_either(column: str) -> bool:
    """Whether the name of a column may be an expectation or a reply."""
    return _name(column) in _EITHER or _head(column) in _OUTPUTS


def holds_cases(row: Mapping[str, Any]) -> bool:
    """Whether the names of columns alone say that a row is a case, or the reply to a case."""
    roles = {find_role(column) for column in row if not is_either(column)}
    return INPUT in roles or {REPLY, ID} <= roles


@lru_cache(maxsize=100_000)
def _head(column: str) -> str:
    """Return the first part of a name. Spreadsheets have `inputs.question` for `{"inputs": {"question": ...}}`."""
    whole = _name(column)
    return whole if whole in _KNOWN else _name(column.partition(".")[0])


def choose_columns(
    rows: Sequence[Mapping[str, Any]], named_columns: Mapping[str, str], *, as_reference: bool = False
) -> Columns:
    """Return the columns of a table: those that the user named, and a guess for the rest, from the first rows.

    With `as_reference`, nobody looks for replies: a column `answer` without a column of expectations is expected.
    Raises ColumnsError if the guess is ambiguous, or if a named column does not exist.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    problems: list[str] = []
    paths = _named_paths(rows, names, named_columns, problems)
    used_columns = {path[0] for path in paths.values()}
    candidates = {
        role: [name for name in names if name not in used_columns and _head(name) in _SPELLINGS[role]]
        for role in _SPELLINGS
        if role not in paths
    }
    _add_outputs(candidates, [name for name in names if name not in used_columns and _head(name) in _OUTPUTS], paths)
    for role, columns in candidates.items():
        path = _path(role, columns, rows, problems)
        if path is not None:
            paths[role] = path
    either = [name for name in names if name not in used_columns and _name(name) in _EITHER]
    _add_either(paths, either, problems, as_reference=as_reference)
    if not problems and INPUT not in paths and not {REPLY, ID} <= paths.keys():
        problems.append(f"has no column of the user's messages; {spell_columns((INPUT, 'COLUMN'))}; {_columns(names)}")
    if problems:
        raise ColumnsError(*problems)
    taken_columns = {path[0] for path in paths.values()}
    return Columns(paths, tuple(name for name in names if name not in taken_columns))


def _named_paths(
    rows: Sequence[Mapping[str, Any]], names: Collection[str], named_columns: Mapping[str, str], problems: list[str]
) -> dict[str, Path]:
    """Return the ways to the columns that the user named. `inputs.question` may be a column, or a member of one."""
    paths: dict[str, Path] = {}
    for role, column in named_columns.items():
        path = (column,) if column in names else tuple(column.split("."))
        if path[0] not in names:
            problems.append(
                f"{spell('columns')} {role}={column}: has no such column{nearest(column, names)}; {_columns(names)}"
            )
        elif len(path) == 1:
            paths[role] = _inner_path(role, path[0], rows, problems) or path
        else:
            paths[role] = path
    return paths


def _columns(names: Collection[str]) -> str:
    shown = ", ".join(shorten(repr(name), 40) for name in list(names)[:_MOST_NAMES])
    return f"its columns are {shown}{', …' if len(names) > _MOST_NAMES else ''}" if names else "it has no columns"


def _add_outputs(candidates: dict[str, list[str]], outputs: list[str], paths: Mapping[str, Path]) -> None:
    """Add LangSmith's `outputs`: the expectation beside `inputs`, unless `reference_outputs` holds it."""
    inputs = [*candidates.get(INPUT, ()), *(paths[INPUT][:1] if INPUT in paths else ())]
    is_dataset = (
        EXPECTED not in paths and not candidates.get(EXPECTED) and any(_head(name) == "inputs" for name in inputs)
    )
    role = EXPECTED if is_dataset else REPLY
    if role in candidates:
        candidates[role] += outputs


def _path(role: str, columns: list[str], rows: Sequence[Mapping[str, Any]], problems: list[str]) -> Path | None:
    """Return the way to the value of a role. Two columns are a problem, unless one is clearly the first."""
    heads = dict.fromkeys(map(_head, columns))
    if len(heads) > 1 and role in _UNIQUE:
        advice = spell_columns(*((role, name) for name in columns[:_MOST_NAMES]))
        problems.append(f"{' and '.join(map(repr, columns[:_MOST_NAMES]))} may each be {ROLES[role]}; {advice}")
        return None
    if not columns:
        return None
    first = min(heads, key=lambda head: _SPELLINGS[role].index(head) if head in _SPELLINGS[role] else 0)
    columns = [name for name in columns if _head(name) == first]
    if len(columns) > 1:  # for example `inputs.question` and `inputs.language`
        return _choose_member(role, {name: name.partition(".")[2] for name in columns}, problems, "")
    return _inner_path(role, columns[0], rows, problems)


def _inner_path(role: str, column: str, rows: Sequence[Mapping[str, Any]], problems: list[str]) -> Path | None:
    """Return the way to a value in a column, which may hold objects, such as `{"question": "Hi?"}`."""
    objects = [row[column] for row in rows if isinstance(row.get(column), dict)]
    members = dict.fromkeys(name for value in objects for name in value)
    if not members or role not in _INNER or members.keys() >= {"role", "content"}:
        return (column,)
    if len(members) == 1:
        return column, *members
    member = _choose_member(role, {name: name for name in members}, problems, f"{column}.")
    return None if member is None else (column, *member)


def _choose_member(role: str, members: Mapping[str, str], problems: list[str], prefix: str) -> Path | None:
    """Return the member of an object that has a known name. Otherwise the user must choose."""
    known_members = [member for member, name in members.items() if _name(name) in _INNER.get(role, ())]
    if len(known_members) == 1:
        return (known_members[0],)
    advice = spell_columns(*((role, prefix + member) for member in list(members)[:_MOST_NAMES]))
    problems.append(f"several members may be {ROLES[role]}; {advice}")
    return None


def _add_either(paths: dict[str, Path], either: list[str], problems: list[str], *, as_reference: bool) -> None:
    """Add a column such as `answer`. Beside an expectation it is the reply, and beside a reply the expectation."""
    if not either or {EXPECTED, REPLY} <= paths.keys():
        return
    name = either[0]
    is_known = as_reference or EXPECTED in paths or REPLY in paths
    if len(either) > 1 or not is_known:
        advice = spell_columns((EXPECTED, name), (REPLY, name))
        problems.append(f"{name!r} may be what is expected, or what the agent replied; {advice}")
        return
    paths[REPLY if EXPECTED in paths else EXPECTED] = (name,)
