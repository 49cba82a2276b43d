"""Secrets of every kind that `redact` claims, in the places where they stand, and what only looks like them.

Written from the providers' own descriptions of their formats, before the detector; every secret is random.
"""

from __future__ import annotations

import base64
import html
import json
import random
import string
import uuid
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "-_"
HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


@dataclass(frozen=True)
class Example:
    """A text; `secret` is what must not be left of it, empty where nothing may change."""

    category: str
    place: str
    text: str
    secret: str = ""


def _some(rng: random.Random, alphabet: str, count: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(count))


def _crc(body: str) -> str:
    number = zlib.crc32(body.encode())
    digits = ""
    while number:
        number, rest = divmod(number, 62)
        digits = BASE62[rest] + digits
    return digits.rjust(6, "0")


def github(rng: random.Random, *, valid: bool = True) -> str:
    """GitHub's tokens end in the CRC-32 of what stands before, in base 62 (GitHub's blog, 2021-04-05)."""
    prefix = rng.choice(["ghp_", "gho_", "ghu_", "ghs_", "ghr_"])
    body = _some(rng, ALNUM, 30)
    check = _crc(body)
    return prefix + body + (check if valid else check[::-1] if check != check[::-1] else "000000")


def jwt(rng: random.Random) -> str:
    """A signed JSON web token: header and payload are JSON in base64url (RFC 7519)."""

    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    header = {"alg": rng.choice(["HS256", "RS256", "ES256", "EdDSA"]), "typ": "JWT"}
    body = {"sub": str(rng.randrange(10**9)), "iat": rng.randrange(1_600_000_000, 1_800_000_000)}
    return f"{part(header)}.{part(body)}.{_some(rng, URLSAFE, rng.choice([43, 86, 342]))}"


def pem(rng: random.Random) -> str:
    """A private key in PEM, of any of the usual kinds (RFC 7468)."""
    kind = rng.choice(
        ["RSA PRIVATE KEY", "EC PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY"]
    )
    lines = "\n".join(_some(rng, ALNUM + "+/", 64) for _ in range(rng.randrange(3, 9)))
    return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----"


def connection_string(rng: random.Random) -> str:
    """A URL with a user and a password."""
    scheme = rng.choice(
        [
            "postgres",
            "postgresql+psycopg",
            "mysql",
            "mongodb+srv",
            "redis",
            "amqps",
            "mssql",
            "https",
            "ftp",
            "clickhouse",
        ]
    )
    user = (
        rng.choice(["app", "root", "svc-user", "admin%40corp", ""])
        if scheme == "redis"
        else rng.choice(["app", "root"])
    )
    return f"{scheme}://{user}:{word(rng)}@db-{rng.randrange(99)}.internal:{rng.randrange(1024, 65000)}/orders"


def word(rng: random.Random) -> str:
    """A made-up password: letters, digits and signs that a URL need not escape."""
    return _some(rng, string.ascii_letters, 5) + _some(rng, string.digits, 2) + _some(rng, ALNUM + "!$*_", 7)


def password(rng: random.Random) -> str:
    """A made-up password that begins with a letter, a digit or a sign, as password managers make them."""
    start = rng.choice(["", "", "$", "%", "(", "{", "<", "!", "#", "^", "~", "+", "@", "7"])
    return start + word(rng)


def email(rng: random.Random) -> str:
    """An e-mail address, of people in several countries."""
    local = rng.choice(["jane.doe", "hong.gildong", "t_tanaka", "li-wei", "ana+orders", "o'neil", "x1"])
    host = rng.choice(
        ["example.com", "mail.example.co.kr", "sub.domain.example.org", "example.io", "xn--9t4b11yi5a.com"]
    )
    return f"{local}{rng.randrange(100)}@{host}"


def alphabetic_email(rng: random.Random) -> str:
    """An e-mail address in an alphabet with accents, or in Greek or Cyrillic letters (RFC 6531)."""
    local = rng.choice(["josé.garcía", "müller", "мария", "δοκιμή", "zoë-ana", "jürgen_ß", "ø.hansen"])
    host = rng.choice(["example.com", "müller.example.de", "пример.рф", "παράδειγμα.ελ", "correo.example.es"])
    return f"{local}{rng.choice(['', rng.randrange(100)])}@{host}"


def _wide(text: str) -> str:
    """A text in full-width letters."""
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _npm(body: str) -> str:
    return f"npm_{body}{_crc(body)}"


PROVIDERS: dict[str, Callable[[random.Random], str]] = {
    "openai-old": lambda r: f"sk-{_some(r, ALNUM, 20)}T3BlbkFJ{_some(r, ALNUM, 20)}",
    "openai-project": lambda r: f"sk-proj-{_some(r, URLSAFE, 74)}T3BlbkFJ{_some(r, URLSAFE, 74)}",
    "openai-service": lambda r: f"sk-svcacct-{_some(r, URLSAFE, 58)}T3BlbkFJ{_some(r, URLSAFE, 58)}",
    "anthropic": lambda r: f"sk-ant-api03-{_some(r, URLSAFE, 93)}AA",
    "anthropic-admin": lambda r: f"sk-ant-admin01-{_some(r, URLSAFE, 93)}AA",
    "openrouter": lambda r: f"sk-or-v1-{_some(r, HEX, 64)}",
    "deepseek": lambda r: f"sk-{_some(r, HEX, 32)}",
    "google-old": lambda r: f"AIza{_some(r, URLSAFE, 35)}",
    "google-new": lambda r: f"AQ.Ab{_some(r, URLSAFE, 48)}",
    "google-oauth": lambda r: f"ya29.{_some(r, URLSAFE, 120)}",
    "google-client": lambda r: f"GOCSPX-{_some(r, URLSAFE, 28)}",
    "google-refresh": lambda r: f"1//0{_some(r, URLSAFE, 100)}",
    "aws-key": lambda r: r.choice(["AKIA", "ASIA"]) + _some(r, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16),
    "azure-client": lambda r: f"{_some(r, ALNUM, 3)}8Q~{_some(r, ALNUM, 34)}",
    "azure-storage": lambda r: f"{_some(r, ALNUM + '+/', 76)}+ASt{_some(r, ALNUM, 6)}==",
    "azure-ai": lambda r: f"{_some(r, ALNUM, 52)}JQQJ99{_some(r, ALNUM, 26)}",
    "azure-devops": lambda r: f"{_some(r, ALNUM, 76)}AZDO{_some(r, ALNUM, 4)}",
    "alibaba": lambda r: f"LTAI5t{_some(r, ALNUM, 18)}",
    "tencent": lambda r: f"AKID{_some(r, ALNUM, 32)}",
    "github": github,
    "github-broken-checksum": lambda r: github(r, valid=False),
    "github-fine": lambda r: f"github_pat_{_some(r, ALNUM, 22)}_{_some(r, ALNUM, 59)}",
    "gitlab": lambda r: f"glpat-{_some(r, URLSAFE, 20)}",
    "gitlab-routable": lambda r: f"glpat-{_some(r, URLSAFE, 27)}.{_some(r, HEX, 2)}.{_some(r, HEX, 9)}",
    "gitlab-runner-old": lambda r: f"GR1348941{_some(r, URLSAFE, 20)}",
    "gitlab-oauth": lambda r: f"gloas-{_some(r, HEX, 64)}",
    "gitlab-agent": lambda r: f"glagent-{_some(r, URLSAFE, 50)}",
    "slack-browser": lambda r: f"xoxc-{_some(r, string.digits, 12)}-{_some(r, string.digits, 12)}-{_some(r, HEX, 64)}",
    "slack-cookie": lambda r: f"xoxd-{_some(r, ALNUM, 60)}%2B{_some(r, ALNUM, 40)}",
    "slack-bot": lambda r: f"xoxb-{_some(r, string.digits, 12)}-{_some(r, string.digits, 12)}-{_some(r, ALNUM, 24)}",
    "slack-app": lambda r: f"xapp-1-A{_some(r, string.digits, 10)}-{_some(r, string.digits, 13)}-{_some(r, HEX, 64)}",
    "slack-hook": lambda r: (
        f"https://hooks.slack.com/services/T{_some(r, string.digits, 8)}/B{_some(r, string.digits, 8)}/"
        + _some(r, ALNUM, 24)
    ),
    "stripe": lambda r: r.choice(["sk_live_", "sk_test_", "rk_live_"]) + _some(r, ALNUM, r.choice([24, 99])),
    "stripe-hook": lambda r: f"whsec_{_some(r, ALNUM, 32)}",
    "npm": lambda r: _npm(_some(r, ALNUM, 30)),
    "pypi": lambda r: f"pypi-AgEIcHlwaS5vcmc{_some(r, URLSAFE, 120)}",
    "huggingface": lambda r: f"hf_{_some(r, string.ascii_letters, 34)}",
    "huggingface-organisation": lambda r: f"api_org_{_some(r, string.ascii_letters, 34)}",
    "nvidia": lambda r: f"nvapi-{_some(r, URLSAFE, 64)}",
    "cerebras": lambda r: f"csk-{_some(r, string.ascii_lowercase + string.digits, 48)}",
    "together": lambda r: f"tgp_v1_{_some(r, URLSAFE, 43)}",
    "voyage": lambda r: f"pa-{_some(r, URLSAFE, 43)}",
    "pinecone": lambda r: f"pcsk_{_some(r, ALNUM, 6)}_{_some(r, ALNUM, 63)}",
    "langfuse": lambda r: f"sk-lf-{uuid.UUID(int=r.getrandbits(128), version=4)}",
    "e2b": lambda r: f"e2b_{_some(r, HEX, 40)}",
    "firecrawl": lambda r: f"fc-{_some(r, HEX, 32)}",
    "groq": lambda r: f"gsk_{_some(r, ALNUM, 52)}",
    "xai": lambda r: f"xai-{_some(r, ALNUM, 80)}",
    "perplexity": lambda r: f"pplx-{_some(r, ALNUM, 48)}",
    "replicate": lambda r: f"r8_{_some(r, ALNUM, 37)}",
    "sendgrid": lambda r: f"SG.{_some(r, URLSAFE, 22)}.{_some(r, URLSAFE, 43)}",
    "twilio": lambda r: f"SK{_some(r, HEX, 32)}",
    "mailgun": lambda r: f"key-{_some(r, HEX, 32)}",
    "brevo": lambda r: f"xkeysib-{_some(r, HEX, 64)}-{_some(r, ALNUM, 16)}",
    "discord-hook": lambda r: f"https://discord.com/api/webhooks/{_some(r, string.digits, 18)}/{_some(r, URLSAFE, 68)}",
    "grafana": lambda r: f"glsa_{_some(r, ALNUM, 32)}_{_some(r, HEX, 8)}",
    "sentry": lambda r: f"sntryu_{_some(r, HEX, 64)}",
    "sentry-organisation": lambda r: f"sntrys_eyJ{_some(r, ALNUM, 120)}_{_some(r, ALNUM, 43)}",
    "new-relic": lambda r: f"NRAK-{_some(r, string.ascii_uppercase + string.digits, 27)}",
    "dynatrace": lambda r: f"dt0c01.{_some(r, BASE32, 24)}.{_some(r, BASE32, 64)}",
    "atlassian": lambda r: f"ATATT3xFfGF0{_some(r, URLSAFE, 178)}",
    "bitbucket": lambda r: f"ATBB{_some(r, ALNUM, 32)}",
    "heroku": lambda r: f"HRKU-AA{_some(r, URLSAFE, 58)}",
    "figma": lambda r: f"figd_{_some(r, URLSAFE, 40)}",
    "airtable": lambda r: f"pat{_some(r, ALNUM, 14)}.{_some(r, HEX, 64)}",
    "postman": lambda r: f"PMAK-{_some(r, HEX, 24)}-{_some(r, HEX, 34)}",
    "supabase": lambda r: r.choice([f"sbp_{_some(r, HEX, 40)}", f"sb_secret_{_some(r, URLSAFE, 31)}"]),
    "planetscale": lambda r: f"pscale_tkn_{_some(r, URLSAFE, 43)}",
    "terraform": lambda r: f"{_some(r, ALNUM, 14)}.atlasv1.{_some(r, URLSAFE, 67)}",
    "pulumi": lambda r: f"pul-{_some(r, HEX, 40)}",
    "doppler": lambda r: f"dp.pt.{_some(r, ALNUM, 43)}",
    "rubygems": lambda r: f"rubygems_{_some(r, HEX, 48)}",
    "nuget": lambda r: f"oy2{_some(r, string.ascii_lowercase + string.digits, 43)}",
    "square": lambda r: f"sq0csp-{_some(r, URLSAFE, 43)}",
    "telegram": lambda r: f"{r.randrange(10**8, 10**10)}:AA{_some(r, URLSAFE, 33)}",
    "digitalocean": lambda r: f"dop_v1_{_some(r, HEX, 64)}",
    "databricks": lambda r: f"dapi{_some(r, HEX, 32)}",
    "shopify": lambda r: f"shpat_{_some(r, HEX, 32)}",
    "linear": lambda r: f"lin_api_{_some(r, ALNUM, 40)}",
    "notion": lambda r: f"ntn_{_some(r, ALNUM, 46)}",
    "docker": lambda r: f"dckr_pat_{_some(r, URLSAFE, 27)}",
    "vault": lambda r: f"hvs.{_some(r, URLSAFE, 95)}",
    "tavily": lambda r: f"tvly-dev-{_some(r, ALNUM, 32)}",
    "langsmith": lambda r: f"lsv2_pt_{_some(r, HEX, 32)}_{_some(r, HEX, 10)}",
    "age": lambda r: f"AGE-SECRET-KEY-1{_some(r, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', 58)}",
}

PLACES: dict[str, Callable[[str], str]] = {
    "alone": lambda s: s,
    "english": lambda s: f"I found {s} in the logs, please rotate it.",
    "korean": lambda s: f"로그에서 {s}를 발견했습니다.",
    "japanese": lambda s: f"ログに{s}が残っていました。",
    "chinese": lambda s: f"日志里有{s}，请尽快更换。",
    "spanish": lambda s: f"Encontré «{s}» en el registro.",
    "json": lambda s: json.dumps({"step": 3, "value": s}),
    "json-in-json": lambda s: json.dumps({"arguments": json.dumps({"value": s, "n": 1})}),
    "python": lambda s: f'client = Client("{s}")  # noqa',
    "shell": lambda s: f"export X='{s}' && run",
    "markdown": lambda s: f"- `{s}` was used\n- then nothing",
    "tag": lambda s: f"<value>{s}</value>",
}

URL_PLACES: dict[str, Callable[[str], str]] = {
    "url-query": lambda s: f"GET https://api.example.com/v1/items?page=2&k={s}&sort=asc",
    "url-encoded": lambda s: f"https://api.example.com/v1?filter=%7B%22k%22:%22{s}%22%7D",
    "json-escaped-url": lambda s: rf'"https://api.example.com/v1?k\u003d{s}\u0026page\u003d2"',
    "header": lambda s: f"curl -H 'X-Thing: {s}' https://api.example.com/v1",
}

KEYS = {
    "english": [
        "password",
        "passwd",
        "DB_PASSWORD",
        "DB_PASS",
        "pass",
        "api_key",
        "apiKey",
        "API-KEY",
        "client_secret",
        "secretKey",
        "access_token",
    ],
    "korean": ["비밀번호", "비번", "암호", "패스워드"],
    "japanese": ["パスワード", "暗証番号"],
    "chinese": ["密码", "密碼", "口令"],
    "spanish": ["contraseña", "clave_secreta"],
}

PAIRS: dict[str, Callable[[str, str], str]] = {
    "equals": lambda k, v: f"{k}={v}",
    "spaced": lambda k, v: f"set {k} = {v} and retry",
    "colon": lambda k, v: f"{k}: {v}",
    "wide-colon": lambda k, v: f"{k}：{v}。",
    "quoted": lambda k, v: f'{k} = "{v}"',
    "json": lambda k, v: json.dumps({"user": "app", k: v, "port": 5432}, ensure_ascii=False),
    "json-tight": lambda k, v: json.dumps({k: v}, ensure_ascii=False, separators=(",", ":")),
    "json-in-json": lambda k, v: json.dumps({"body": json.dumps({k: v}, ensure_ascii=False)}, ensure_ascii=False),
    "json-ascii": lambda k, v: json.dumps({k: v}, ensure_ascii=False),
    "python-dict": lambda k, v: f"connect(**{{'{k}': '{v}', 'n': 1}})",
    "yaml": lambda k, v: f"db:\n  {k}: {v}\n  port: 5432\n",
    "url": lambda k, v: f"https://api.example.com/login?user=app&{k}={v}&next=1",
    "xml": lambda k, v: f"<{k}>{v}</{k}>",
    "annotated": lambda k, v: f'{k}: str | None = "{v}"',
    "reference": lambda k, v: f'const {k}: &str = "{v}";',
    "url-encoded": lambda k, v: f"https://example.com/login?next=%2Fa%3F{k}%3D{v}",
    "json-escaped-url": lambda k, v: rf'"https://example.com/?user\u003dapp\u0026{k}\u003d{v}\u0026next"',
    "ado": lambda k, v: f"Server=db;User Id=sa;{k}={v};Encrypt=yes",
    "flag": lambda k, v: f"tool --{k} {v} --verbose",
}

ENCODINGS: dict[str, Callable[[str], str]] = {
    "xml": html.escape,
    "url": lambda v: quote(v, safe=""),
    "url-encoded": lambda v: quote(quote(v, safe=""), safe=""),
    "json-escaped-url": lambda v: quote(v, safe=""),
}
"""How the value is written in a place that does not take every sign."""

SHAPES: dict[str, Callable[[str, str], str]] = {
    "name-value": lambda k, v: json.dumps({"name": k, "value": v}, ensure_ascii=False),
    "name-value-in-text": lambda k, v: "env: " + json.dumps([{"value": v, "name": k}], ensure_ascii=False),
    "name-value-single-quotes": lambda k, v: f"{{'key': '{k}', 'type': 'secret', 'value': '{v}'}}",
    "name-value-otlp": lambda k, v: json.dumps({"key": k, "value": {"stringValue": v}}, ensure_ascii=False),
    "name-value-yaml": lambda k, v: f"env:\n  - name: {k}\n    value: {v}\n  - name: PORT\n    value: 80\n",
    "nested": lambda k, v: json.dumps({k: {"value": v, "version": 3}}, ensure_ascii=False),
    "nested-twice": lambda k, v: json.dumps({k: {"current": {"plain": v}}}, ensure_ascii=False),
    "list-of-values": lambda k, v: json.dumps({k: [v]}, ensure_ascii=False),
    "markdown-bold": lambda k, v: f"- **{k}:** {v}\n- **port**: 5432",
    "markdown-code": lambda k, v: f"**{k}**: `{v}`",
    "markdown-row": lambda k, v: f"| setting | value |\n|---|---|\n| {k} | {v} |\n| port | 5432 |",
    "markdown-column": lambda k, v: f"| user | {k} | port |\n|:---|---|---:|\n| app | {v} | 5432 |",
    "full-width": lambda k, v: f"{_wide(k)}：{_wide(v)}　です",
    "json-twice": lambda k, v: json.dumps({"a": json.dumps({"b": json.dumps({k: v})})}),
    "json-thrice": lambda k, v: json.dumps(json.dumps(json.dumps({"x": {k: v}}, ensure_ascii=False))),
    "url-json": lambda k, v: "https://example.com/?q=" + quote(json.dumps({k: v}, ensure_ascii=False)),
    "url-twice": lambda k, v: "https://example.com/?next=" + quote("/a?q=" + quote(json.dumps({k: v}))),
    "json-url-json": lambda k, v: json.dumps({"url": "/x?f=" + quote(json.dumps({k: v}))}),
    "base64": lambda k, v: f"payload {_base64(f'{k}={v}')} end",
    "base64-json": lambda k, v: json.dumps({"data": _base64(json.dumps({"user": "app", k: v}))}),
    "base64-twice": lambda k, v: f"x: {_base64('data ' + _base64(f'{k}={v}'))}",
    "base64-url": lambda k, v: f"https://example.com/cb?state={quote(_base64(json.dumps({k: v})))}",
    "base64-urlsafe": lambda k, v: (
        f"state={base64.urlsafe_b64encode(json.dumps({k: v}).encode()).decode().rstrip('=')}"
    ),
}
"""Where the name and its value are further apart, or encoded once, twice or thrice."""

ARGUMENTS: dict[str, Callable[[str], str]] = {
    "argument-list": lambda v: json.dumps(["login", "--password", v]),
    "argument-list-single-quotes": lambda v: f"subprocess.run(['login', '--api-key', '{v}', '-v'])",
    "argument-list-short": lambda v: json.dumps(["docker", "login", "-u", "app", "-p", v]),
    "short-flag": lambda v: f"sshpass -p '{v}' ssh deploy@db.internal",
    "short-flag-joined": lambda v: f'mysql -h db -u root -p"{v}" orders < dump.sql',
    "short-flag-docker": lambda v: f'docker login -u app -p "{v}" registry.internal',
    "short-flag-redis": lambda v: f"redis-cli -h cache -a '{v}' ping",
    "curl-user": lambda v: f"curl -s -u 'app:{v}' https://api.internal/v1",
    "netrc": lambda v: f"machine api.internal\n  login app\n  password {v}\n",
    "netrc-line": lambda v: f"machine api.internal login app password {v}",
    "korean-pw": lambda v: f"아이디: app / pw: {v}",
    "english-pw": lambda v: f"user: app, pw: {v}",
    "underscore-pw": lambda v: f"DB_PW={v}",
}

SQL: dict[str, Callable[[str], str]] = {
    "mysql-set": lambda v: f"SET PASSWORD FOR 'app'@'localhost' = '{v}';",
    "mysql-set-user": lambda v: f'set password for app = "{v}"',
    "mysql-set-function": lambda v: f"SET PASSWORD FOR `app`@`10.0.0.%` = PASSWORD('{v}');",
    "mysql-set-own": lambda v: f"SET PASSWORD = PASSWORD('{v}')",
    "mysql-set-lines": lambda v: f"SET PASSWORD\n  FOR 'app'@'%'\n  = '{v}'",
    "mysql-set-replace": lambda v: f"SET PASSWORD = '7xQpLm2vKt' REPLACE '{v}'",
    "mysql-plugin": lambda v: f"ALTER USER 'app'@'%' IDENTIFIED WITH caching_sha2_password BY '{v}';",
    "mysql-replace": lambda v: f"ALTER USER app IDENTIFIED BY '7xQpLm2vKt' REPLACE '{v}'",
    "mysql-grant": lambda v: f"GRANT ALL ON orders.* TO 'app'@'%' IDENTIFIED BY '{v}' WITH GRANT OPTION",
    "clickhouse": lambda v: f"CREATE USER app IDENTIFIED WITH plaintext_password BY '{v}' HOST ANY",
    "postgres": lambda v: f"ALTER ROLE app WITH ENCRYPTED PASSWORD '{v}' VALID UNTIL 'infinity'",
    "postgres-escaped": lambda v: f"ALTER ROLE app PASSWORD E'{v}'",
    "sql-server": lambda v: f"CREATE LOGIN app WITH PASSWORD = N'{v}', CHECK_POLICY = ON",
    "oracle": lambda v: f'ALTER USER app IDENTIFIED BY "{v}" REPLACE "7xQpLm2vKt"',
    "in-json": lambda v: json.dumps({"query": f"SET PASSWORD FOR 'app'@'localhost' = '{v}'"}),
    "in-python": lambda v: f"cursor.execute(\"SET PASSWORD FOR 'app'@'%' = '{v}'\")",
}

TOKENS = {
    "토큰": ": ",
    "액세스 토큰": "은 ",
    "トークン": "：",
    "アクセストークン": "は",
    "令牌": "：",
    "访问令牌": "是",
}
COOKIES: dict[str, Callable[[str], str]] = {
    "cookie-json": lambda v: json.dumps({"Cookie": f"session={v}; lang=ko"}),
    "cookie-header": lambda v: f"Cookie: theme=dark; sid={v}\nAccept: */*",
    "set-cookie": lambda v: f"Set-Cookie: connect.sid={v}; Path=/; HttpOnly; Max-Age=3600",
    "cookie-list": lambda v: json.dumps([["Cookie", f"PHPSESSID={v}"], ["Accept", "*/*"]]),
    "cookie-har": lambda v: json.dumps({"name": "cookie", "value": f"a=1; SSID={v}"}),
    "cookie-curl": lambda v: f"curl -H 'Cookie: JSESSIONID={v}' https://api.internal",
}

SPECIAL_PAIRS: dict[str, tuple[str, Callable[[random.Random], str]]] = {
    "bearer": ("Authorization: Bearer {}", lambda r: _some(r, URLSAFE, 40)),
    "basic": (
        "authorization: Basic {}",
        lambda r: base64.b64encode(f"app:{password(r)}".encode()).decode().rstrip("="),
    ),
    "raw": ("Authorization: {}", lambda r: _some(r, HEX, 40)),
    "own-scheme": ("Authorization: KakaoAK {}", lambda r: _some(r, HEX, 32)),
    "api-key-header": ("X-Api-Key: {}", lambda r: _some(r, HEX, 32)),
    "cookie": ("Cookie: theme=dark; session_token={}; lang=ko", lambda r: _some(r, HEX, 32)),
    "aws-secret": ("aws_secret_access_key = {}", lambda r: _some(r, ALNUM + "/+", 40)),
    "azure-storage": (
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={}==;",
        lambda r: _some(r, ALNUM + "+/", 86),
    ),
    "korean-sentence": ("제 비밀번호는 {}입니다.", password),
    "japanese-sentence": ("パスワードは「{}」です。", password),
    "korean-topic": ("비밀번호는: {}", password),
    "chinese-topic": ("密碼是：{}", password),
    "chinese-sentence": ("我的密码是{}，谢谢", password),
    "english-sentence": ("My password is {}, please log me in.", password),
}

LOOK_ALIKES: dict[str, Callable[[random.Random], str]] = {
    "version": lambda r: (
        f"Upgraded from v{r.randrange(9)}.{r.randrange(40)}.{r.randrange(9)} to 2.{r.randrange(9)}.0-rc.1"
        f"+build.{r.randrange(999)}"
    ),
    "git-hash": lambda r: f"Reverted commit {_some(r, HEX, 40)} because of {_some(r, HEX, 7)}.",
    "sha256": lambda r: f"The checksum sha256:{_some(r, HEX, 64)} matches.",
    "uuid": lambda r: f"request {uuid.UUID(int=r.getrandbits(128), version=4)} done",
    "order": lambda r: (
        f"Order {_some(r, string.digits, 10)} and invoice INV-{r.randrange(10**6)} were refunded. "
        f"주문 번호 {r.randrange(10**9)}"
    ),
    "date": lambda r: (
        f"2026-{r.randrange(1, 13):02}-{r.randrange(1, 28):02}T{r.randrange(24):02}:30:00Z, "
        f"2026年5月{r.randrange(1, 28)}日"
    ),
    "tokens-counted": lambda r: (
        f"max_tokens={r.randrange(9999)}, total_tokens: {r.randrange(99999)}, token_count = {r.randrange(999)}, "
        f"토큰 수: {r.randrange(999)}"
    ),
    "talk-of-passwords": lambda r: r.choice(
        [
            "The password must have at least 12 characters and a digit.",
            "Use the password reset form; the token expires in 15 minutes.",
            "비밀번호를 재설정해야 합니다.",
            "パスワードを変更してください。",
            "请重置您的密码，然后重新登录。",
            "Password: required. Secret: none. Token type: bearer.",
            "The secret of success is practice.",
            "How do I rotate an API key?",
        ]
    ),
    "code-without-value": lambda r: r.choice(
        [
            "def login(user: str, password: str) -> None: ...",
            "password = os.environ['DB_PASSWORD']",
            "api_key = settings.api_key",
            "token = get_token(user)",
            'password = ""',
            "password=${DB_PASSWORD}",
            "const apiKey = process.env.API_KEY;",
            'client_secret: "<your-client-secret>"',
            "password: ********",
            '{"password": null, "token": true}',
            "Authorization: Bearer $TOKEN",
            "api_key={{ secrets.API_KEY }}",
            "postgres://db.internal:5432/orders",
            "postgres://app:${DB_PASSWORD}@db/orders",
            "assert password == expected_password",
            "SELECT password FROM users WHERE id = 3",
            'token_type_hint="access_token"',
            'AUTHORIZATION_PENDING = "authorization_pending"',
            "secret_name=orders-db-1",
            '{"max_output_tokens": "max_tokens", "token_count": "total_tokens"}',
            'token_endpoint: "https://login.example.com/oauth2/token"',
            "fetch(url, {credentials: 'same-origin'})",
            "pass: 12, fail: 3, pass=12/15",
            'password: str = ""',
            "password=$1",
            "password: $password",
            "password=$DB_PASSWORD_2",
            "password=%s",
            "password=%(password)s",
            "set PASSWORD=%DB_PASSWORD1%",
            "password={password}",
            "password={{ vault.password1 }}",
            "password: (required)",
            "password (min. 8 characters)",
            "token: <your token here>",
            'password="<password>"',
            "password = hash_password(password1)",
            "password=data['password1']",
            "pwd: /home/runner/work2/app",
            "cd app && pwd && ls",
            "mkdir -p build2024/output",
            "docker run -p 8080:80 nginx",
            "ssh -p 2222 deploy@host",
            "pytest -p no:cacheprovider",
            '["docker", "run", "-p", "8080:80", "nginx"]',
            '["mkdir", "-p", "build2024"]',
            "git add -p src/module2.py",
        ]
    ),
    "sql-without-value": lambda r: r.choice(
        [
            "SET PASSWORD FOR 'app'@'%' TO RANDOM;",
            "SET PASSWORD FOR app = ?",
            "SET PASSWORD FOR app = PASSWORD(:password)",
            "SET PASSWORD = '%s'",
            "ALTER USER app IDENTIFIED WITH auth_socket;",
            "ALTER USER app IDENTIFIED BY RANDOM PASSWORD RETAIN CURRENT PASSWORD",
            "ALTER USER app PASSWORD EXPIRE INTERVAL 90 DAY",
            "SELECT REPLACE(name, 'orders2026', 'x') FROM users WHERE password = 'null'",
            "the set password form is identified by 'name'",
        ]
    ),
    "not-an-email": lambda r: r.choice(
        [
            "git@github.com:org/repo.git",
            "npm install left-pad@1.3.0 @types/node@20.1.0",
            "icon@2x.png and hero@3x.webp",
            "@dataclass and @property",
            "ssh deploy@host",
            "matrix A @ B",
            "user@localhost",
            "kp:agent:e500bddf",
        ]
    ),
    "prefix-only": lambda r: r.choice(
        [
            "keys start with sk-proj- or sk-ant-",
            "the sk-learn and scikit-learn packages",
            "a risk-free, task-oriented desk-bound asterisk-separated list",
            "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "AKIAXXXXXXXXXXXXXXXX",
            "hf_model_name and hf_hub_download(repo_id)",
            "sk-your-key-here-replace-me-with-the-real-one",
            "npm_config_registry and npm_lifecycle_event",
        ]
    ),
    "not-a-jwt": lambda r: r.choice(
        [
            "com.example.application.module.Class",
            f"eyJub3QganNvbg.{_some(r, URLSAFE, 20)}",
            "a.b.c and 10.0.0.1",
            "handler.ts.map",
        ]
    ),
    "public-pem": lambda r: (
        f"-----BEGIN CERTIFICATE-----\n{_some(r, ALNUM, 64)}\n-----END CERTIFICATE-----\n"
        f"-----BEGIN PUBLIC KEY-----\n{_some(r, ALNUM, 64)}\n-----END PUBLIC KEY-----"
    ),
    "base64-data": lambda r: f"data:image/png;base64,{_some(r, ALNUM + '+/', 200)}",
    "url": lambda r: f"https://example.com/a/{_some(r, ALNUM, 12)}?page={r.randrange(99)}&sort=asc&key=name#top",
    "schema": lambda r: r.choice(
        [
            '{"password": {"type": "string", "description": "The password of the user"}}',
            '{"name": "password", "type": "string", "required": true}',
            '{"name": "get_token", "value": 3}',
            '{"name": "max_tokens", "value": 4096}',
            '{"token": {"count": 1200, "cost": 0.01}}',
            '{"name": "city", "value": "Seoul2026x"}',
            '["--token-limit", "4096"]',
            '["--output", "report2026.json"]',
            "| field | type |\n|---|---|\n| password | string |\n| token | string |",
            "| password | required |\n|---|---|\n| yes | no |",
        ]
    ),
    "cookie-talk": lambda r: r.choice(
        [
            "Cookie: theme=dark; lang=ko",
            "The cookie banner was accepted; cookies: essential only.",
            "Set-Cookie: lang=en; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT; SameSite=Lax",
            '{"cookie": "none"}',
        ]
    ),
    "east-asian-tokens": lambda r: r.choice(
        [
            f"토큰: {r.randrange(9999)}개, 토큰 한도: 4096",
            f"トークン数：{r.randrange(9999)}",
            f"令牌数：{r.randrange(9999)}，令牌已过期。",
            "토큰이 만료되었습니다.",
            "トークンの有効期限が切れました。",
        ]
    ),
    "encoded-nothing": lambda r: r.choice(
        [
            base64.b64encode(b"The quick brown fox jumps over the lazy dog").decode(),
            "https://example.com/search?q=" + quote("forgot my password, how do I reset it?"),
            json.dumps({"a": json.dumps({"b": json.dumps({"path": "C:\\temp\\new", "n": 1})})}),
            base64.b64encode(json.dumps({"page": 2, "cursor": r.randrange(10**6)}).encode()).decode(),
        ]
    ),
    "stack-trace": lambda r: (
        f'File "/app/auth/token.py", line {r.randrange(999)}, in refresh\n    raise TokenError("token: expired")'
    ),
    "times": lambda r: f"14:{r.randrange(60):02}: memory 12345:67890 ratio 3:4; handler.ts:{r.randrange(999)}:12",
}


def positives(rng: random.Random, each: int = 3) -> Iterator[Example]:
    """Every kind of secret in every place where it can stand."""
    for _ in range(each):
        yield from _keys(rng)
        yield from _wholes(rng)
        yield from _pairs(rng)


def _keys(rng: random.Random) -> Iterator[Example]:
    for name, make in PROVIDERS.items():
        for place, wrap in (PLACES | URL_PLACES).items():
            if (name, place) != ("slack-hook", "url-query"):
                secret = make(rng)
                yield Example(f"provider key: {name}", place, wrap(secret), secret)


def _wholes(rng: random.Random) -> Iterator[Example]:
    for kind, make in (
        ("jwt", jwt),
        ("pem", pem),
        ("connection string", connection_string),
        ("e-mail", email),
        ("e-mail in alphabets", alphabetic_email),
    ):
        for place, wrap in (PLACES if kind == "pem" else PLACES | URL_PLACES).items():
            yield _whole(kind, place, wrap, make(rng))


def _pairs(rng: random.Random) -> Iterator[Example]:
    for language, keys in KEYS.items():
        for key in keys:
            for place, pair in PAIRS.items():
                secret = ENCODINGS.get(place, str)(password(rng))
                yield Example(f"pair: {language}", place, pair(key, secret), secret)
            for place, pair in SHAPES.items():
                secret = password(rng)
                yield Example(f"shape: {place}", place, pair(key, secret), secret)
    for place, argument in ARGUMENTS.items():
        secret = password(rng)
        yield Example("argument", place, argument(secret), secret)
    for place, statement in SQL.items():
        secret = password(rng)
        yield Example("sql", place, statement(secret), secret)
    for place, cookie in COOKIES.items():
        secret = _some(rng, ALNUM, 26)
        yield Example("cookie", place, cookie(secret), secret)
    for name, between in TOKENS.items():
        secret = _some(rng, ALNUM, 32)
        yield Example("token in East Asian languages", name, f"{name}{between}{secret}", secret)
    for place, (template, make) in SPECIAL_PAIRS.items():
        secret = make(rng)
        yield Example("pair: special", place, template.format(secret), secret)


def _whole(kind: str, place: str, wrap: Callable[[str], str], secret: str) -> Example:
    text = wrap(secret)
    if kind == "pem":
        return Example(kind, place, text, secret.split("\n")[1])
    if kind == "connection string":
        return Example(kind, place, text, secret.split(":")[2].rsplit("@", 1)[0])
    return Example(kind, place, text, secret)


def negatives(rng: random.Random, each: int = 10) -> Iterator[Example]:
    """What looks like a secret and is none, alone and inside JSON."""
    for _ in range(each):
        for name, make in LOOK_ALIKES.items():
            text = make(rng)
            yield Example(name, "alone", text)
            yield Example(name, "json", json.dumps({"content": text}, ensure_ascii=False))
