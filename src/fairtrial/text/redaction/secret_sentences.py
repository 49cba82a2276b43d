"""Find secrets in sentences of many languages: "the password for admin is ...", 비밀번호를 ...로 변경했습니다."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.text.lazy_pattern import LazyPattern
from fairtrial.text.redaction.key_forms import measure_entropy
from fairtrial.text.redaction.secret_values import is_bare_secret, is_mixed, is_placeholder, trim

if TYPE_CHECKING:
    from fairtrial.text.redaction import Span

_QUOTE = r"[\"'`“‘«「『(（*_]{0,3}"
_VALUE = rf"{_QUOTE}(?P<value>[!#-~]{{4,1000}})"
_WORDS = r"(?:[ \t]+[\"'`]?[^\W\d_][\w'’-]{0,15}[\"'`]?){0,5}?"
_LINK = (
    rf"{_WORDS}[ \t]+(?:is|was|are|be|to|as|equals|becomes|es|será|ser|est"
    rf"|sera|ist|lautet|war|è|é|são|jest|är|er|on|là"
    r"|adalah|это)\b[ \t]*[:=]?"
)
"""Up to five words, and a word that a value follows."""
_CJK = r"\u3000-\u303f\uff00-\uffef\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_PASSWORD = LazyPattern(
    r"(?<![\w-])(?:pass(?:word|wort|wd|code|phrase|e)|pwd|pw|kennwort|senha|contrase[ñn]a|clave|wachtwoord|hasło"
    r"|şifre|lösenord|mật khẩu|kata sandi|пароль|(?<=access )code|(?<=wifi )key"
    rf"|(?<=wi-fi )key)\b(?:(?:{_LINK}|[ \t]{{0,3}}(?:[:=,]|->|→)|(?P<apart>))[ \t]{{1,3}}|[ \t]{{0,3}}[:=]){_VALUE}"
)
"""The word for a password, and its value after a word such as `is`, a sign, or only a space."""
_KEY = LazyPattern(
    r"(?:key|token|secret)\b"
    rf"(?:(?:{_LINK}|[ \t]{{0,3}}[:=]|)[ \t]{{0,3}}[\"'`“‘(]{{0,2}}(?P<value>[a-z0-9_/+.=~-]{{16,1000}}+)(?![(\[])"
    r"|[.-](?P<joined>[a-z0-9]{20,1000}+)(?![a-z0-9_.(\[-]))"
)
"""A name that ends with `key`, `token` or `secret`, and its value."""
_EAST_ASIAN_PASSWORDS = "비밀번호|비번|암호|패스워드|パスワード|暗証番号|密码|密碼|口令"
_EAST_ASIAN_KEYS = (
    "비밀 ?키|인증 ?키|암호 ?키|보안 ?키|접근 ?키|액세스 ?키|api ?키|토큰|시크릿"
    "|秘密鍵|認証キー|暗号鍵|apiキー|アクセスキー|シークレット|トークン|密钥|密鑰"
    "|金鑰|秘钥|私钥|私鑰|令牌|权杖|權杖"
)
_EAST_ASIAN = LazyPattern(
    rf"(?P<name>(?P<password>{_EAST_ASIAN_PASSWORDS})|(?:{_EAST_ASIAN_KEYS}))"
    rf"[{_CJK} \t:=\"'`/(]{{0,14}}?(?P<value>[!#-~]{{6,1000}})"
)
"""The word for a secret, a few East Asian characters, and its value, as in 密码已重置为..."""
_EAST_ASIAN_CODE = (
    "인증 ?번호|인증 ?코드|보안 ?코드|認証コード|確認コード|認証番号|セキュリティコード|暗証番号"
    "|验证码|驗證碼|校验码|安全码|安全碼|支付密码|取款密码"
)
_AFTER_CODE = (
    r"(?:\s?(?:is|was|are|는|은|는|가|は|が|是|为|為)|\s?[:：=#])?\s{0,2}[\"'`「(]?"
    r"(?P<value>\d{3,4}[ -]?\d{0,4})(?![\d.,:/-]*\d|[A-Za-z0-9])"
)
_CODE = LazyPattern(
    r"(?<![\w-])(?:pin(?:[ -]?(?:code|number))?|otp|passcode|cvv2?"
    r"|cvc|(?<=one-time )pass(?:word|code)|(?<=one time )pass(?:word|code)"
    r"|(?:(?<=verification )|(?<=security )|(?<=authentication )|(?<=confirmation )"
    r"|(?<=login )|(?<=2fa )|(?<=access )|(?<=one-time )|(?<=one time )"
    rf"|(?<=sms ))code){_AFTER_CODE}"
)
_CODE_EAST_ASIAN = LazyPattern(rf"(?P<name>{_EAST_ASIAN_CODE}){_AFTER_CODE}")
_SEEDS = r"\W{0,3}(?:\w{1,12}\W{1,3}){0,2}?[\"'`]?(?P<value>[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23})(?![a-z])"
_SEED = LazyPattern(r"(?:(?:(?<=seed.)|(?<=recovery.)|(?<=secret.)|(?<=backup.)|(?<=wallet.))phrase|mnemonic)" + _SEEDS)
_SEED_EAST_ASIAN = LazyPattern(
    "(?P<name>시드 ?(?:구문|문구)|복구 ?(?:구문|문구)|니모닉"
    "|リカバリーフレーズ|シードフレーズ|ニーモニック|助记词|助記詞)" + _SEEDS
)
_USER_AND_VALUE = r"[^\n.!?/]{0,30}?[\w@.-]{1,40} ?/ ?[\"'`]?(?P<value>[!#-.0-~]{6,64})"
_LOGIN = LazyPattern(r"(?<![\w-])(?:log[ -]?in|sign[ -]?in|cred(?:ential)?s?|wi-?fi)\b" + _USER_AND_VALUE)
"""A user's name and password with a slash between them: `credentials are admin/...`."""
_LOGIN_EAST_ASIAN = LazyPattern(
    "(?P<name>접속 ?정보|계정|로그인|아이디|アカウント|ログイン|账号|账户|帳號|帳戶|登录|登入)" + _USER_AND_VALUE
)
_NO_SECRET = LazyPattern(
    r"(?:v?\d[\d.,:/-]*[A-Za-z]{0,3}|\d+-?(?:char|digit|day|hour|min|step|bit|factor|letter|word|year|month)\w*"
    r"|(?:sha|md|aes|rsa|utf|base|oauth|ipv|x|h|s|k|argon"
    r"|bcrypt|scrypt|pbkdf|web|log|html|css|http|tls|ssl|ed|p|hs|rs|es"
    r"|python|java|windows|version|v|step|user|order|page"
    r"|item|account|customer|table|case|level|tier|option|room|gate"
    r"|flight|phase|line|row|ticket|task|test|part|section|chapter|rule|note|figure|api|ntlm|mp|oidc|saml|fido|u)"
    r"[-_#:]?v?\d+[\w.-]{0,4}|\w+\([^)]*\)?.*|[A-Za-z][A-Za-z+.-]*://.*"
    r"|[/~.].*|[\w.+-]+@[\w-]+\..*|#\w{3,8}|\$?[\w.-]*\[.*"
    r"|[A-Za-z]+(?:[_-](?:[A-Za-z]+\d{0,2}|\d+))+|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[A-Z][a-z]+\d?"
    r"|[a-z]+(?:[-_/.'’][a-z]+)*\d?|[A-Z_]+"
    r"|[\w./-]+\.(?:py|js|ts|json|ya?ml|md|txt|pem|key|com|org|net|io|html?)\b.*)\Z",
    flags=re.DOTALL,
)
"""Words, numbers with units, versions, algorithms, calls, paths and addresses."""
_SIGNS = LazyPattern(r"[A-Za-z0-9][!@#$%^&*?+][A-Za-z0-9]|[A-Za-z0-9]{3}[!$%^&*#]+\Z")
_LITERAL = LazyPattern(r"[a-z]{1,2}'")
"""A text in code with a prefix, for example `b'...'`."""
_ENDING = ".,!?:;)]}\"'`*_>"
_QUOTED_WORDS = frozenset(
    {"string", "text", "null", "none", "true", "false", "strong", "weak", "empty", "invalid", "wrong"}
)
_SHORTEST = 6
_SHORTEST_KEY = 12
_LEAST_KEY_ENTROPY = 3.2


class _Form(NamedTuple):
    """A form of sentence: the beginnings of its pattern, the kind of secret, and the values that are secrets."""

    starts: tuple[str, ...]
    pattern: LazyPattern
    detail: str
    extract: Callable[[re.Match[str], str], str]


def find_names(text: str, lowered: str, marks: Collection[str]) -> set[str]:
    """Return the words before the secrets in sentences, in lower case. Each such sentence contains such a word."""
    return {start for _, start in _find_all(text, lowered, marks)}


def find(text: str, lowered: str, marks: Collection[str]) -> Iterator[Span]:
    """Yield start, end and name of each secret in a sentence.

    `lowered` is the text in lower case, and `marks` are the marks in it.
    """
    for span, _ in _find_all(text, lowered, marks):
        yield span


def _find_all(text: str, lowered: str, marks: Collection[str]) -> Iterator[tuple[Span, str]]:
    for form, start in _select_forms(frozenset(marks), "/" in text):
        place = lowered.find(start)
        while place >= 0:
            match = form.pattern.match(lowered, place)
            if match is not None:
                yield from ((span, start) for span in _read(form, match, text))
            place = lowered.find(start, place + 1)
    if not lowered.isascii():
        for form in _FORMS_EAST_ASIAN:
            for match in form.pattern.finditer(lowered):
                yield from ((span, match["name"]) for span in _read(form, match, text))


@lru_cache(maxsize=1024)
def _select_forms(marks: frozenset[str], has_slash: bool) -> tuple[tuple[_Form, str], ...]:
    """Return the forms that a text with some marks may hold, each with the beginnings to search for."""
    return tuple(
        (form, start)
        for form in _FORMS
        for start in form.starts
        if (has_slash if form.pattern is _LOGIN else start in marks)
    )


def _read(form: _Form, match: re.Match[str], text: str) -> Iterator[Span]:
    group = "value" if match["value"] is not None else "joined"
    start, end = match.span(group)
    value = form.extract(match, text[start:end])
    if value:
        yield start, start + len(value), form.detail


def _read_password(match: re.Match[str], raw: str) -> str:
    """Return the password at the start of a text, or an empty string."""
    value = trim(raw.rstrip(_ENDING))
    is_apart = match.re is not _EAST_ASIAN.compiled and match.groupdict().get("apart", "") is not None
    before = match.string[match.start("value") - 1]
    if not is_apart and before in "\"'`" and raw[len(value) :][:1] in ("", before) and value.isalnum():
        return "" if is_placeholder(value) or value in _QUOTED_WORDS else value
    is_generated = is_mixed(value) or (not is_apart and _SIGNS.search(value) is not None)
    if not is_generated or len(value) < _SHORTEST or (is_apart and value[0] in "/|=:") or _NO_SECRET.match(value):
        return ""
    return value if is_bare_secret(value, password=True) and not _LITERAL.match(value) else ""


def _read_key(_: re.Match[str], raw: str) -> str:
    """Return the key at the start of a text, or an empty string."""
    value = raw.rstrip(_ENDING)
    is_random = len(value) >= _SHORTEST_KEY and is_mixed(value) and measure_entropy(value) >= _LEAST_KEY_ENTROPY
    return value if is_random and is_bare_secret(value, password=False) and not _NO_SECRET.match(value) else ""


def _read_east_asian(match: re.Match[str], raw: str) -> str:
    return (_read_password if match["password"] else _read_key)(match, raw)


def _as_it_is(_: re.Match[str], raw: str) -> str:
    return raw


_FORMS = (
    _Form(
        (
            *("pass", "pw", "kennwort", "senha", "contrase", "clave", "wachtwoord", "hasło", "şifre"),
            *("lösenord", "mật khẩu", "kata sandi", "пароль", "code", "key"),
        ),
        _PASSWORD,
        "password",
        _read_password,
    ),
    _Form(("key", "token", "secret"), _KEY, "key", _read_key),
    _Form(("pin", "otp", "code", "pass", "cv"), _CODE, "code", _as_it_is),
    _Form(("log", "sign", "cred", "wi"), _LOGIN, "password", _read_password),
    _Form(("phrase", "mnemonic"), _SEED, "phrase", _as_it_is),
)
_FORMS_EAST_ASIAN = (
    _Form((), _EAST_ASIAN, "secret", _read_east_asian),
    _Form((), _CODE_EAST_ASIAN, "code", _as_it_is),
    _Form((), _LOGIN_EAST_ASIAN, "password", _read_password),
    _Form((), _SEED_EAST_ASIAN, "phrase", _as_it_is),
)
