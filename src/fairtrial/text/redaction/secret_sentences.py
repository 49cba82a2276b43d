"""Find secrets in sentences of many languages: "the password for admin is ...", 비밀번호를 ...로 변경했습니다."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from fairtrial.text.redaction.key_forms import entropy_of
from fairtrial.text.redaction.secret_values import is_mixed, is_placeholder, trim

Span = tuple[int, int, str]

_VALUE = r"[\"'`“‘«「『(（*_]{0,3}(?P<value>[!#-~]{6,1000})"
_WORDS = r"(?:[ \t]+[^\W\d_][\w'’-]{0,15}){0,5}?"
_PASSWORDS = (
    r"pass(?:word|wort|wd|code|phrase)|pwd|pw|kennwort|access[ ]code|wi-?fi[ ]key|mots?[ ]de[ ]passe|senha|contrase(?:ñ|n)a|clave"
    r"|wachtwoord|has[łl]o|[şs]ifre|parola|l[öo]senord|salasana|adgangskode|m[ậa]t[ ]kh[ẩa]u|kata[ ]sandi|пароль"
)
_LINKS = r"is|was|are|be|to|as|equals|es|est|sera|ist|lautet|war|é|è|são|jest|to|jest|är|er|on|là|adalah|это|dir|será|ser|becomes"
_LATIN = re.compile(
    rf"(?<![\w-])(?P<name>{_PASSWORDS})\b"
    rf"(?:(?:{_WORDS}[ \t]+(?:{_LINKS})\b[ \t]*[:=]?|[ \t]{{0,3}}(?:[:=,]|->|→)|(?P<apart>))[ \t]{{1,3}}|[ \t]{{0,3}}[:=]){_VALUE}",
)
"""The word for a password, and its value after a word such as `is`, a sign, or only a space."""
_LATIN_KEY = re.compile(
    r"(?<![\w-])(?P<name>(?:(?:api|secret|access|license|private|encryption|auth|signing)[ _-]?)?(?:key|token|secret))\b"
    rf"(?:(?:{_WORDS}[ \t]+(?:{_LINKS})\b[ \t]*[:=]?|[ \t]{{0,3}}[:=]|)[ \t]{{0,3}})[\"'`“‘(]{{0,2}}"
    r"(?P<value>[a-z0-9_/+.=~-]{16,1000})",
)
_CJK = r"\u3000-\u303f\uff00-\uffef\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_LINK_CJK = rf"[{_CJK} \t:=\"'`/(]{{0,14}}?"
_CJK_PASSWORDS = "비밀번호|비번|암호|패스워드|パスワード|暗証番号|密码|密碼|口令"
_CJK_KEYS = (
    "비밀 ?키|인증 ?키|암호 ?키|보안 ?키|접근 ?키|액세스 ?키|api ?키|토큰|시크릿|秘密鍵|認証キー|暗号鍵|apiキー|アクセスキー"
    "|シークレット|トークン|密钥|密鑰|金鑰|秘钥|私钥|私鑰|令牌|权杖|權杖"
)
_EAST_ASIAN = re.compile(
    rf"(?P<name>(?P<password>{_CJK_PASSWORDS})|(?:{_CJK_KEYS})){_LINK_CJK}(?P<value>[!-~]{{6,200}})", re.I
)
"""The word for a secret, a few East Asian characters, and its value, as in 密码已重置为..."""
_CODE_NAMES = (
    r"(?<![\w-])(?:pin(?:[ -]?(?:code|number))?|otp|one[ -]time (?:code|password|passcode|pin)|(?:verification|security|"
    r"authentication|confirmation|login|2fa|access|sms) code|passcode|cvv2?|cvc)"
    "|인증 ?번호|인증 ?코드|보안 ?코드|認証コード|確認コード|認証番号|セキュリティコード|暗証番号|验证码|驗證碼|校验码|安全码|安全碼|支付密码|取款密码"
)
_CODE = re.compile(
    rf"(?P<name>{_CODE_NAMES})(?:\s?(?:is|was|are|는|은|가|は|が|是|为|為)|\s?[:：=#])?\s{{0,2}}[\"'`「(]?(?P<value>\d{{3,4}}[ -]?\d{{0,4}})(?![\d.,:/-]*\d|[A-Za-z0-9])",
)
_PHRASE = re.compile(
    r"(?P<name>(?:seed|recovery|secret|backup|wallet)[ _-](?:phrase|words)|mnemonic|시드 ?(?:구문|문구)|복구 ?(?:구문|문구)|니모닉"
    r"|リカバリーフレーズ|シードフレーズ|ニーモニック|助记词|助記詞)\W{0,3}(?:\w{1,12}\W{1,3}){0,2}?[\"'`]?"
    r"(?P<value>[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23})(?![a-z])",
)
_LOGIN = re.compile(
    r"(?P<name>(?<![\w-])(?:log[ -]?in|sign[ -]?in|credentials?|creds|wi-?fi)|접속 ?정보|계정|로그인|아이디|アカウント|ログイン"
    r"|账号|账户|帳號|帳戶|登录|登入)[^\n.!?/]{0,30}?[\w@.-]{1,40}[ ]?/[ ]?[\"'`]?(?P<value>[!#-.0-~]{6,64})",
)
"""A user's name and password with a slash between them: `credentials are admin/...`."""
_NO_SECRET = re.compile(
    r"(?:v?\d[\d.,:/-]*[A-Za-z]{0,3}|\d+-?(?:char|digit|day|hour|min|step|bit|factor|letter|word|year|month)\w*"
    r"|(?:sha|md|aes|rsa|utf|base|oauth|ipv|x|h|s|k|argon|bcrypt|scrypt|pbkdf|web|log|html|css|http|tls|ssl|ed|p|hs|rs|es"
    r"|python|java|windows|version|v|step|user|order|page|item|account|customer|table|case|level|tier|option|room|gate"
    r"|flight|phase|line|row|ticket|task|test|part|section|chapter|rule|note|figure|api|ntlm|mp|oidc|saml|fido|u)"
    r"[-_#:]?v?\d+[\w.-]{0,4}|\w+\([^)]*\)?.*|[A-Za-z][A-Za-z+.-]*://.*|[/~.].*|[\w.+-]+@[\w-]+\..*|#\w{3,8}|[\w.-]*\[.*"
    r"|[A-Za-z]+(?:[_-](?:[A-Za-z]+\d{0,2}|\d+))+|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[A-Z][a-z]+\d?|[a-z]+(?:[-_/.'’][a-z]+)*\d?|[A-Z_]+|[\w./-]+\.(?:py|js|ts|json|ya?ml|md|txt|pem|key|com|org|net|io|html?)\b.*)\Z",
    re.DOTALL,
)
"""Words, numbers with units, versions, algorithms, calls, paths and addresses."""
_SIGNS = re.compile(r"[A-Za-z0-9][!@#$%^&*?+=][A-Za-z0-9]|[A-Za-z0-9]{3}[!$%^&*#]+\Z")
_LEAST_KEY_ENTROPY = 3.2
_MARKS = (
    *(
        "pass",
        "pwd",
        "pw",
        "wort",
        "code",
        "key",
        "token",
        "secret",
        "senha",
        "clave",
        "hasl",
        "parola",
        "sifre",
        "wachtwoord",
    ),
    *("osenord", "salasana", "adgangs", "sandi", "contrase", "pin", "otp", "cvv", "cvc", "phrase", "words", "mnemonic"),
    *("login", "log in", "log-in", "sign in", "signin", "sign-in", "cred", "wifi", "wi-fi", "mat khau"),
)
_OTHER_MARKS = re.compile(
    "비밀|비번|암호|패스|인증|보안|접근|액세스|api ?키|토큰|시크릿|접속|계정|로그인|아이디|시드|복구|니모닉|パスワード|暗証|秘密鍵|認証|暗号鍵|apiキー"
    "|アクセス|シークレット|トークン|確認|セキュリ|リカバリ|シード|ニーモ|アカウント|ログイン|密[码碼钥鑰]|口令|金鑰|秘钥|私[钥鑰]|令牌|权杖|權杖"
    "|[验驗]|校验|安全|账[号户]|帳[號戶]|登[录入]|支付|取款|助[记記]|пароль|ş|ł|ậ|ạ|ẩ|ö"
)
_BEFORE = 16
_AFTER = 1200
_SHORTEST = 6
_SHORTEST_KEY = 12
_ENDING = ".,!?:;)]}\"'`*_>"


def find_names(text: str, lowered: str) -> set[str]:
    """Return the names of the secrets in sentences, in lower case. Every text with such a secret contains its name."""
    return {lowered[match.start("name") : match.end("name")] for _, match in _find_all(text, lowered)}


def find(text: str, lowered: str) -> Iterator[Span]:
    """Yield start, end and name of each secret in a sentence. `lowered` is the text in lower case."""
    for span, _ in _find_all(text, lowered):
        yield span


def _find_all(text: str, lowered: str) -> Iterator[tuple[Span, re.Match[str]]]:
    for start, end in _parts(lowered):
        for pattern, detail, check in _PATTERNS:
            for match in pattern.finditer(lowered, start, end):
                value = check(match, text[match.start("value") : match.end("value")])
                if value:
                    place = match.start("value")
                    yield (place, place + len(value), detail), match
        if not lowered.isascii():
            for match in _EAST_ASIAN.finditer(lowered, start, end):
                check = _password if match["password"] else _key
                value = check(match, text[match.start("value") : match.end("value")])
                if value:
                    place = match.start("value")
                    yield (place, place + len(value), "password" if match["password"] else "key"), match


def _parts(lowered: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the text parts near a mark."""
    start = end = -1
    for place in sorted(_places(lowered)):
        if place - _BEFORE > end:
            if end >= 0:
                yield start, end
            start = max(0, place - _BEFORE)
        end = place + _AFTER
    if end >= 0:
        yield start, end


def _places(lowered: str) -> Iterator[int]:
    for mark in _MARKS:
        place = lowered.find(mark)
        while place >= 0:
            yield place
            place = lowered.find(mark, place + len(mark))
    if not lowered.isascii():
        yield from (match.start() for match in _OTHER_MARKS.finditer(lowered))


def _password(match: re.Match[str], raw: str) -> str:
    """Return the password at the start of a text, or an empty string."""
    value = trim(raw.rstrip(_ENDING))
    is_apart = match.re is _LOGIN or (match.re is _LATIN and match["apart"] is not None)
    is_generated = is_mixed(value) or (not is_apart and _SIGNS.search(value) is not None)
    if (is_apart and value[:1] in "/|=:") or not is_generated:
        return ""
    return value if len(value) >= _SHORTEST and not is_placeholder(value) and not _NO_SECRET.match(value) else ""


def _key(_: re.Match[str], raw: str) -> str:
    """Return the key at the start of a text, or an empty string."""
    value = raw.rstrip(_ENDING)
    is_random = len(value) >= _SHORTEST_KEY and is_mixed(value) and entropy_of(value) >= _LEAST_KEY_ENTROPY
    return value if is_random and not is_placeholder(value) and not _NO_SECRET.match(value) else ""


def _as_it_is(_: re.Match[str], raw: str) -> str:
    return raw


_PATTERNS: tuple[tuple[re.Pattern[str], str, Callable[[re.Match[str], str], str]], ...] = (
    (_LATIN, "password", _password),
    (_LATIN_KEY, "key", _key),
    (_CODE, "code", _as_it_is),
    (_LOGIN, "password", _password),
    (_PHRASE, "phrase", _as_it_is),
)
