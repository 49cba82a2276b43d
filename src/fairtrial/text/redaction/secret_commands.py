"""Find secrets in command lines and in lists of arguments."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from fairtrial.text.lazy_pattern import LazyPattern
from fairtrial.text.redaction.pairs import BARE
from fairtrial.text.redaction.secret_names import kind_of_name
from fairtrial.text.redaction.secret_shapes import STRING
from fairtrial.text.redaction.secret_values import is_placeholder, is_quoted_secret
from fairtrial.text.runs import match_from

if TYPE_CHECKING:
    from fairtrial.text.redaction import Span

PASSWORD_COMMANDS = frozenset(
    {
        "sshpass",
        "mysql",
        "psexec",
        "PSEXEC",
        "PsExec",
        "mysqldump",
        "mysqladmin",
        "mysqlsh",
        "mysqlimport",
        "mariadb",
        "docker",
        "podman",
        "helm",
        "az",
        "cf",
        "mongo",
        "mongosh",
        "useradd",
        "usermod",
        "rdesktop",
        "7z",
        "htpasswd",
        "expect",
        "mongodump",
        "mongorestore",
        "influx",
        "buildah",
        "skopeo",
        "crane",
        "oc",
    }
)
"""The commands whose option -p is a password. Those of `docker run` are ports, which are never taken."""

_FLAGGED = LazyPattern(rf"[\"'](--?[\w-]{{1,40}})[\"']\s*,\s*({STRING})")
_COMMAND = LazyPattern(
    rf"(?<![\w-])(?P<command>{'|'.join(sorted(PASSWORD_COMMANDS))})\b[^\n|;&]{{0,300}}?\s-p[ =]?"
    rf"(?P<value>{STRING}|{BARE})"
)
_OTHER_COMMANDS = LazyPattern(
    r"(?<![\w-])(?:(?:curl|wget|http|https)\b[^\n|]{0,300}?\s(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"']{1,80}:"
    r"|redis-cli\b[^\n|]{0,300}?\s-a[ =]?[\"']?|(?:unzip|zip|sqlcmd|bcp|osql|isql)\b[^\n|]{0,300}?\s-P[ =]?[\"']?"
    r"|ldap\w{3,10}\b[^\n|]{0,300}?\s-w[ =]?[\"']?|-pass(?:in|out)[ =]pass:)"
    rf"(?P<value>(?<=\")[^\"\n]{{1,200}}|(?<=')[^'\n]{{1,200}}|(?:(?![\"']){BARE}))"
)
_SECRET_FLAG = LazyPattern(r"-(?<=[\s\"']-)(?:[puawP]|-(?:proxy-)?user)")
_LINE = LazyPattern(
    r"(?:(?<![\w-])(?:echo\s{1,3}(?:-n\s{1,3})?[\"']?(?:(?P<echoed>[^\s\"'|$`<>]{4,200})[\"']?\s{0,3}\|\s{0,3}"
    r"(?:sudo\s{1,3}-\w{0,4}S|\w[\w.-]{0,30}\s[^\n|]{0,200}-stdin\b|[^\n|]{0,100}--with-token\b|passwd\b)"
    r"|[\w.-]{1,40}:(?P<user>[^\s\"'|]{4,200})[\"']?\s{0,3}\|\s{0,3}(?:sudo\s{1,3})?chpasswd)"
    r"|chpasswd\s{0,3}<<<\s{0,3}[\"']?[\w.-]{1,40}:(?P<here>[^\s\"']{4,200})"
    r"|htpasswd\s{1,3}-\w{0,6}b\w{0,6}\s{1,3}\S{1,200}\s{1,3}\S{1,80}\s{1,3}(?P<htpasswd>[^\s\"']{4,200})"
    r"|ConvertTo-SecureString\s{1,3}(?:-String\s{1,3})?[\"']?(?P<secure>[^\s\"'$(-][^\s\"']{3,200})"
    r"|net\s{1,3}use\s{1,3}(?:\S{1,3}:\s{1,3})?\\\\\S{1,100}\s{1,3}(?P<share>[^\s/\"']{4,200})\s{1,3}/user"
    r"|rclone\s{1,3}obscure\s{1,3}[\"']?(?P<rclone>[^\s\"']{4,200})"
    r"|(?:sqlplus\b[^\n/]{0,60}?[\s\"']|jdbc:oracle:\w{1,10}:)\w{1,40}/(?P<oracle>[^\s/@\"']{3,100})@"
    r"|(?:[xw]freerdp|mstsc)\b[^\n|]{0,300}?\s/p:(?P<desktop>[^\s\"']{4,200})"
    r"|(?:smbclient|rpcclient)\b[^\n|]{0,300}?\s-U\s{0,3}[\"']?[\w.\\-]{1,60}%(?P<samba>[^\s\"']{4,200}))"
    r"|(?<=-)(?:store|key)pass[ =](?P<store>[^\s\"']{4,200})"
    r"|openssl\b[^\n|]{0,300}?\s-k\s(?P<openssl>[^\s\"']{4,200})"
    r"|gh\s+secret\s+set\b[^\n|]{0,300}?\s(?:-b|--body)[ =](?P<body>[^\s\"']{4,200}))",
    flags=re.IGNORECASE,
)
_LINE_STARTS = (
    ("-", ("htpasswd", "storepass", "keypass"), "pass"),
    ("-", ("gh secret",), "secret"),
    ("-", ("convertto-securestring", "openssl"), ""),
    ("%", ("smbclient", "rpcclient"), ""),
    ("|", ("echo",), ""),
    ("<", ("chpasswd",), "pass"),
    ("@", ("sqlplus", "jdbc:oracle"), ""),
    ("\\", ("net use",), ""),
    ("/p:", ("xfreerdp", "wfreerdp", "mstsc"), ""),
    ("obscure", ("rclone",), ""),
)
"""A sign in each line with such a command, the beginnings of the commands, and the mark that these contain."""


def find_in_commands(text: str) -> Iterator[Span]:
    """Yield start, end and name of each secret in a command line or an argument list, without the quotes around it."""
    if " -" in text:
        yield from _commands(text)
    if '"-' in text or "'-" in text:
        yield from _argument_lists(text)


def find_lines(text: str, lowered: str, marks: Collection[str]) -> Iterator[Span]:
    """Yield the secrets in commands that need no option. `lowered` is the text in lower case with these marks."""
    for sign, starts, mark in _LINE_STARTS:
        if (not mark or mark in marks) and sign in text and (here := [start for start in starts if start in lowered]):
            for match in match_from(_LINE, here, text, lowered):
                name = match.lastgroup or ""
                if not is_placeholder(match[name]):
                    yield *match.span(name), "password"


def find_flags(text: str) -> set[str]:
    """Return the options after which secrets in a command line or an argument list stand, in lower case."""
    return {match[0].lower() for match in _SECRET_FLAG.finditer(text)} if "-" in text else set()


def secret_after_flag(flag: object, value: object, command: object) -> bool:
    """Return whether an argument is secret, given the argument before it and the first argument."""
    if not isinstance(flag, str) or not isinstance(value, str) or not flag.startswith("-"):
        return False
    if flag == "-p":
        return str(command).rsplit("/", 1)[-1] in PASSWORD_COMMANDS and _is_short_flag_secret(value)
    kind = kind_of_name(flag) if len(flag) <= 40 and "=" not in flag else None
    return kind is not None and is_quoted_secret(value, password=kind == "password") and not value.startswith("--")


def _commands(text: str) -> Iterator[Span]:
    if " -p" in text:
        for match in _COMMAND.finditer(text):
            start, end = match.span("value")
            value = match["value"]
            if value[0] in "\"'":
                start, end, value = start + 1, end - 1, value[1:-1]
            if _is_short_flag_secret(value):
                yield start, end, f"{match['command']} -p"
    for match in _OTHER_COMMANDS.finditer(text):
        if not is_placeholder(match["value"]) and len(match["value"]) >= 4:
            yield *match.span("value"), "password"


def _is_short_flag_secret(value: str) -> bool:
    """Return whether the value of -p is a password, and not a port such as `8080:80`."""
    return len(value) >= 4 and not re.fullmatch(r"[\d.:/-]+(?:tcp|udp)?", value) and not is_placeholder(value)


def _argument_lists(text: str) -> Iterator[Span]:
    for match in _FLAGGED.finditer(text):
        before = text[max(0, match.start() - 200) : match.start()].rpartition("[")[2]
        command = before.partition(",")[0].strip(" \"'")
        value = match[2][1:-1]
        if secret_after_flag(match[1], value, command):
            yield match.start(2) + 1, match.end(2) - 1, match[1]
