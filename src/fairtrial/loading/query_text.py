"""Write the conditions and the sample of a query around the query, so that its database applies them.

The query and its conditions are SQL of the user, who may read everything that the credentials may read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairtrial.errors import UsageError, nearest, spell
from fairtrial.formats.spans.span import PROBABILITY
from fairtrial.records.record import Record

_BEGINNINGS = ("SELECT", "WITH", "FROM", "VALUES", "TABLE", "(")
_BEFORE = re.compile(r"(?:\s++|--[^\n]*+\n?|/\*(?:[^*]|\*(?!/))*+\*/)*+")
_WORD = re.compile(r"\(|[A-Za-z]++")
_TABLE = re.compile(r"[\w$-]+(?:\.[\w$-]+){0,2}\Z|`[^`]+`\Z")
_KEYS = ("conversation_id", "session_id", "TraceId", "trace_id", "case_id", "id")
"""The usual names of the column that tells conversations apart."""
_DIGITS = 13
"""So many hexadecimal digits of a hash decide: 52 bits, as a number of double precision has."""
_HASHES = {
    "duckdb": "md5('{seed}:' || CAST({key} AS VARCHAR))",
    "postgresql": "md5('{seed}:' || CAST({key} AS TEXT))",
    "sqlite": "md5('{seed}:' || CAST({key} AS TEXT))",
    "mysql": "md5(concat('{seed}:', {key}))",
    "snowflake": "md5(concat('{seed}:', CAST({key} AS VARCHAR)))",
    "clickhouse": "lower(hex(MD5(concat('{seed}:', toString({key})))))",
    "bigquery": "to_hex(md5(concat('{seed}:', CAST({key} AS STRING))))",
}
_BACKTICKS = ("mysql", "bigquery", "clickhouse")


class Query(Record, frozen=True):
    """A query of a user, and the conversations of its rows that are wanted.

    `where` is a condition of SQL: a conversation counts if a row of it meets the condition. `sample` is a number of
    conversations, or a share below 1. `always` is a condition: all conversations that meet it are in the sample. `key`
    is the column with the id of the conversation.
    """

    sql: str
    where: str = ""
    sample: float | None = None
    seed: int = 0
    always: str = ""
    key: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether all rows of the query are wanted."""
        return not self.where and self.sample is None


def check_query(sql: str) -> str:
    """Return a query without its semicolon, or the query for all rows of a table, such as `otel_traces`.

    Raises UsageError for anything but a query that reads.
    """
    text = sql.strip().rstrip(";").strip()
    if _TABLE.match(text):
        return f"SELECT * FROM {text}"
    start = _BEFORE.match(text)
    word = _WORD.match(text, start.end() if start is not None else 0)
    beginning = word[0].upper() if word is not None else text[:20]
    if beginning not in _BEGINNINGS:
        raise UsageError(f"{spell('sql')}: must begin with SELECT, WITH, FROM or VALUES, got {beginning!r}")
    return text


def choose_key(query: Query, columns: Sequence[str]) -> str:
    """Return the column that tells conversations apart. Raises UsageError if the query does not return it."""
    if query.key:
        if query.key not in columns:
            raise UsageError(
                f"{spell('key')}: the query returns no column {query.key!r}{nearest(query.key, columns)}; "
                f"it returns {', '.join(columns)}",
                code="unknown-name",
            )
        return query.key
    usual_name = next((name for name in _KEYS if name in columns), None)
    if usual_name is None:
        raise UsageError(
            f"{spell('key')}: names the column with the id of the conversation, which {spell('sample')} and "
            f"{spell('where')} need; the query returns {', '.join(columns)}"
        )
    return usual_name


def columns_query(query: Query) -> str:
    """Return a query for one row, which shows the columns. Some drivers say nothing of a result without rows."""
    return f"SELECT * FROM (\n{query.sql}\n) AS q LIMIT 1"


def count_query(query: Query, key: str, dialect: str) -> str:
    """Return a query for the number of conversations that a sample is taken of, without those it always takes."""
    name = quote_name(key, dialect)
    conditions = [f"{name} IS NOT NULL", *_where(query, name)]
    if query.always:
        conditions.append(f"{name} NOT IN ({_having(query.always, name)})")
    return f"{_base(query)}\nSELECT COUNT(DISTINCT {name}) AS number FROM q WHERE {' AND '.join(conditions)}"


def bound_query(query: Query, key: str, dialect: str, number: int) -> str:
    """Return a query for the hash of the last conversation of a sample of a number."""
    name = quote_name(key, dialect)
    conditions = [f"{name} IS NOT NULL", *_where(query, name)]
    if query.always:
        conditions.append(f"{name} NOT IN ({_having(query.always, name)})")
    return (
        f"{_base(query)}\nSELECT {_hash(query, name, dialect)} AS hash FROM "
        f"(SELECT DISTINCT {name} FROM q WHERE {' AND '.join(conditions)}) AS k ORDER BY 1 LIMIT 1 OFFSET {number - 1}"
    )


def rows_query(query: Query, key: str, dialect: str, probability: float, bound: str = "") -> str:
    """Return the query for the rows of the wanted conversations, with the probability of each.

    `bound` is the hash of the last conversation of the sample. Without it, `probability` is a share of the hashes.
    """
    if query.is_whole:
        return query.sql
    name = quote_name(key, dialect)
    conditions = _where(query, name)
    column = ""
    if query.sample is not None:
        hashed = _hash(query, name, dialect)
        membership = f"{hashed} <= '{bound}'" if bound else f"{hashed} < '{_share_bound(probability)}'"
        column = f", {probability!r} AS {PROBABILITY}"
        if query.always:
            certain = f"{name} IN ({_having(query.always, name)})"
            membership = f"({certain} OR {membership})"
            column = f", CASE WHEN {certain} THEN 1.0 ELSE {probability!r} END AS {PROBABILITY}"
        conditions.append(membership)
    order = f" ORDER BY {name}"  # rows of a conversation together, and the same rows in the same order again
    return f"{_base(query)}\nSELECT q.*{column} FROM q WHERE {' AND '.join(conditions)}{order}"


def quote_name(name: str, dialect: str) -> str:
    """Return a name of a column as SQL writes it."""
    mark = "`" if dialect in _BACKTICKS else '"'
    return f"{mark}{name.replace(mark, mark * 2)}{mark}"


def _base(query: Query) -> str:
    return f"WITH q AS (\n{query.sql}\n)"


def _having(condition: str, name: str) -> str:
    return f"SELECT {name} FROM q WHERE ({condition}) AND {name} IS NOT NULL"


def _where(query: Query, name: str) -> list[str]:
    return [f"{name} IN ({_having(query.where, name)})"] if query.where else []


def _hash(query: Query, name: str, dialect: str) -> str:
    expression = _HASHES.get(dialect)
    if expression is None:
        raise UsageError(
            f"{spell('sample')}: can be taken in {', '.join(sorted(_HASHES))}, got {dialect}; write the sample in the "
            f"query, with its probability in the column {PROBABILITY}"
        )
    return expression.format(seed=int(query.seed), key=name)


def _share_bound(share: float) -> str:
    """Return the beginning of a hash below which a share of all hashes is."""
    return f"{min(int(share * 16**_DIGITS), 16**_DIGITS - 1):0{_DIGITS}x}" if share < 1 else "g"
