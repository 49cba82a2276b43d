"""Find provider keys by their forms, old and new."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from functools import cache
from string import ascii_letters, digits

from fairtrial.records.record import Record
from fairtrial.text.runs import long_runs

LEFT = r"(?<![A-Za-z0-9])"
"""The place where a key may start: after any character except ASCII letters and digits."""
RIGHT = r"(?![A-Za-z0-9_-])"
SHORTEST = 16
"""The length of the shortest keys. Most strings of a trace are shorter."""
_SIGN_LENGTH = 40
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PLACEHOLDER = re.compile(r"example|EXAMPLE|[Yy]our[_-]|YOUR[_-]|x{5}|X{5}|placeholder|1234567890")


class KeyForm(Record, frozen=True):
    """A form of key: its owner, a literal that every key of the form contains, and the pattern of the whole key."""

    owner: str
    literal: str
    pattern: str
    checksum: bool = False


_U = r"[A-Za-z0-9_-]"
_A = r"[A-Za-z0-9]"
_H = r"[0-9a-f]"

FORMS = (
    KeyForm("openai", "sk-", rf"sk-(?:(?:proj|svcacct|admin|None)-{_U}{{40,220}}|{_A}{{20}}T3BlbkFJ{_A}{{20}})"),
    KeyForm("anthropic", "sk-ant-", rf"sk-ant-{_U}{{40,160}}"),
    KeyForm("openrouter", "sk-or-", rf"sk-or-(?:v1-)?{_H}{{40,64}}"),
    KeyForm("api", "sk-", rf"sk-{_A}{{30,64}}"),
    KeyForm("google", "AIza", rf"AIza{_U}{{35}}"),
    KeyForm("google", "AQ.", rf"AQ\.{_U}{{40,120}}"),
    KeyForm("google oauth", "ya29.", rf"ya29\.{_U}{{40,400}}"),
    KeyForm("google client", "GOCSPX-", rf"GOCSPX-{_U}{{28}}"),
    KeyForm("google refresh", "1//0", rf"1//0{_U}{{60,200}}"),
    *(KeyForm("aws", start, rf"{start}[A-Z2-7]{{16}}") for start in ("AKIA", "ASIA", "ABIA", "ACCA")),
    KeyForm("aws bedrock", "ABSK", r"ABSK[A-Za-z0-9+/]{80,}={0,2}"),
    KeyForm("azure client", "Q~", r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    KeyForm("azure storage", "+ASt", r"[A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{6}=="),
    KeyForm("azure ai", "JQQJ9", rf"{_A}{{52}}JQQJ9[9DH]{_A}{{26}}"),
    KeyForm("azure devops", "AZDO", rf"{_A}{{76}}AZDO{_A}{{4}}"),
    KeyForm("alibaba cloud", "LTAI", rf"LTAI{_A}{{12,26}}"),
    KeyForm("tencent cloud", "AKID", rf"AKID{_A}{{32}}"),
    *(KeyForm("github", f"gh{kind}_", rf"gh{kind}_{_A}{{36}}", checksum=True) for kind in "pousr"),
    KeyForm("github", "ghs_", rf"ghs_{_U}{{37,}}(?:\.{_U}+)*"),
    KeyForm("github", "github_pat_", rf"github_pat_{_A}{{22}}_{_A}{{59}}"),
    KeyForm(
        "gitlab",
        "gl",
        rf"gl(?:pat|rt|cbt|dt|ptt|ft|soat|oas|imt|agent|ffct|wt)-{_U}{{20,100}}(?:\.{_A}{{2}}\.{_A}{{7,9}})?",
    ),
    KeyForm("gitlab", "GR1348941", rf"GR1348941{_U}{{20}}"),
    KeyForm("slack", "xox", r"xox[abceoprs]-[A-Za-z0-9-]{20,200}"),
    KeyForm("slack", "xoxd-", r"xoxd-[A-Za-z0-9%+/=_-]{40,400}"),
    KeyForm("slack", "xapp-", r"xapp-[0-9]-[A-Za-z0-9-]{30,120}"),
    KeyForm(
        "slack",
        "hooks.slack.com/",
        rf"https://hooks\.slack\.com/(?:services|workflows|triggers)/{_A}[A-Za-z0-9_/]{{20,120}}",
    ),
    *(KeyForm("stripe", start, rf"{start}(?:live|test)_{_A}{{16,120}}") for start in ("rk_", "sk_")),
    KeyForm("stripe", "whsec_", rf"whsec_{_A}{{24,64}}"),
    KeyForm("npm", "npm_", rf"npm_{_A}{{36}}", checksum=True),
    KeyForm("pypi", "pypi-", rf"pypi-AgE{_U}{{50,}}"),
    KeyForm("hugging face", "hf_", rf"hf_{_A}{{34,40}}"),
    KeyForm("hugging face", "api_org_", rf"api_org_{_A}{{34}}"),
    KeyForm("nvidia", "nvapi-", rf"nvapi-{_U}{{60,80}}"),
    KeyForm("cerebras", "csk-", r"csk-[a-z0-9]{48}"),
    KeyForm("together", "tgp_v1_", rf"tgp_v1_{_U}{{43}}"),
    KeyForm("voyage", "pa-", rf"pa-{_U}{{43}}"),
    KeyForm("pinecone", "pcsk_", rf"pcsk_{_A}{{5,6}}_{_A}{{50,70}}"),
    KeyForm("langfuse", "sk-lf-", rf"sk-lf-{_H}{{8}}-(?:{_H}{{4}}-){{3}}{_H}{{12}}"),
    KeyForm("e2b", "e2b_", rf"e2b_{_H}{{40}}"),
    KeyForm("firecrawl", "fc-", rf"fc-{_H}{{32}}"),
    KeyForm("groq", "gsk_", rf"gsk_{_A}{{40,60}}"),
    KeyForm("xai", "xai-", rf"xai-{_A}{{70,90}}"),
    KeyForm("perplexity", "pplx-", rf"pplx-{_A}{{40,60}}"),
    KeyForm("replicate", "r8_", rf"r8_{_A}{{36,40}}"),
    KeyForm("sendgrid", "SG.", rf"SG\.{_U}{{22}}\.{_U}{{43}}"),
    KeyForm("twilio", "SK", rf"SK{_H}{{32}}"),
    KeyForm("mailgun", "key-", rf"key-{_H}{{32}}"),
    KeyForm("brevo", "xkeysib-", rf"xkeysib-{_H}{{64}}-{_A}{{16}}"),
    KeyForm(
        "discord",
        "/api/webhooks/",
        rf"https://(?:{_U}{{1,20}}\.)?discord(?:app)?\.com/api/webhooks/[0-9]+/{_U}{{60,80}}",
    ),
    KeyForm("grafana", "glsa_", rf"glsa_{_A}{{32}}_[A-Fa-f0-9]{{8}}"),
    KeyForm("sentry", "sntry", rf"sntry(?:u_{_H}{{64}}|s_eyJ[A-Za-z0-9+/=_-]{{80,400}})"),
    KeyForm("new relic", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    KeyForm("dynatrace", "dt0", r"dt0[a-z][0-9][0-9]\.[A-Z2-7]{24}\.[A-Z2-7]{64}"),
    *(KeyForm("atlassian", start, rf"{start}[A-Za-z0-9_=-]{{180,250}}") for start in ("ATATT3", "ATCTT3")),
    KeyForm("bitbucket", "ATBB", rf"ATBB{_A}{{32}}"),
    KeyForm("heroku", "HRKU-AA", rf"HRKU-AA{_U}{{58}}"),
    KeyForm("figma", "figd_", rf"figd_{_U}{{40,50}}"),
    KeyForm("airtable", "pat", rf"pat{_A}{{14}}\.{_H}{{64}}"),
    KeyForm("postman", "PMAK-", rf"PMAK-{_H}{{24}}-{_H}{{34}}"),
    KeyForm("supabase", "sb", rf"sb(?:p_{_H}{{40}}|_secret_{_U}{{31}})"),
    KeyForm("planetscale", "pscale_", r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.=-]{32,64}"),
    KeyForm("terraform", ".atlasv1.", rf"{_A}{{14}}\.atlasv1\.{_U}{{60,70}}"),
    KeyForm("pulumi", "pul-", rf"pul-{_H}{{40}}"),
    KeyForm("doppler", "dp.", rf"dp\.(?:pt|ct|st|sa|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?{_A}{{40,44}}"),
    KeyForm("rubygems", "rubygems_", rf"rubygems_{_H}{{48}}"),
    KeyForm("nuget", "oy2", r"oy2[a-z0-9]{43}"),
    KeyForm("square", "sq0", rf"sq0(?:csp-{_U}{{43}}|atp-{_U}{{22}})"),
    KeyForm("telegram", ":AA", rf"[0-9]{{8,10}}:AA{_U}{{33}}"),
    KeyForm("digitalocean", "_v1_", rf"do[opr]_v1_{_H}{{64}}"),
    KeyForm("databricks", "dapi", rf"dapi{_H}{{32}}(?:-[0-9])?"),
    KeyForm("shopify", "shp", rf"shp(?:at|ca|pa|ss)_{_H}{{32}}"),
    KeyForm("linear", "lin_api_", rf"lin_api_{_A}{{40}}"),
    KeyForm("notion", "ntn_", rf"ntn_{_A}{{40,50}}"),
    KeyForm("notion", "secret_", rf"secret_{_A}{{43}}"),
    KeyForm("docker", "dckr_", rf"dckr_(?:pat|oat)_{_U}{{27,40}}"),
    KeyForm("vault", "hv", rf"hv[sbr]\.{_U}{{24,200}}"),
    KeyForm("tavily", "tvly-", rf"tvly-(?:dev-|prod-)?{_A}{{20,60}}"),
    KeyForm("langsmith", "lsv2_", rf"lsv2_(?:pt|sk)_{_H}{{32}}_{_H}{{10}}"),
    KeyForm("mailchimp", "-us", rf"{_H}{{32}}-us[0-9]{{1,2}}"),
    KeyForm("age", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
)


_SIGNS = "_.~+/=:%-"
_long_words = long_runs(f"{ascii_letters}{digits}{_SIGNS}", SHORTEST)
"""Every key holds its literal in a run of so many of these characters."""
_TO_SPACES = str.maketrans(_SIGNS, " " * len(_SIGNS))
_INSIDE = frozenset({"Q~", "JQQJ9", "AZDO"})
"""The literals before which letters or digits stand. All others begin a word, or stand after a sign."""


def _by_start(forms: Iterable[KeyForm]) -> tuple[tuple[KeyForm, ...], dict[str, tuple[KeyForm, ...]]]:
    """Return the forms whose literals stand inside words, and the others by the first letters of theirs."""
    groups: dict[str, list[KeyForm]] = {}
    for form in forms:
        start = "" if form.literal in _INSIDE else form.literal.translate(_TO_SPACES).split()[0][:2]
        groups.setdefault(start, []).append(form)
    inside = tuple(groups.pop(""))
    return inside, {start: tuple(group) for start, group in groups.items()}


@cache
def _ensure_compiled(form: KeyForm) -> re.Pattern[str]:
    """Return the pattern of a form. Patterns that begin with a literal are searched several times faster."""
    starts = (form.literal, re.escape(form.literal), "")
    start = next(start for start in starts if form.pattern.startswith(start))
    return re.compile(f"{start}(?<![A-Za-z0-9]{start})(?:{form.pattern.removeprefix(start)}){RIGHT}")


_FORMS_INSIDE, _FORMS_BY_START = _by_start(FORMS)


def find_signs(text: str) -> list[str]:
    """Return the beginnings of long words with the literal of a form, in lower case. The patterns are far slower."""
    words = [text[start:end] for start, end in _long_words(text)]
    literals = {form.literal for form in _possible_forms(" ".join(words))} if words else ()
    return [word[:_SIGN_LENGTH].lower() for literal in literals for word in words if literal in word]


def _possible_forms(words: str) -> Iterator[KeyForm]:
    """Yield the forms whose literals some words contain."""
    # A set of the beginnings of all words is far faster than a search for each literal.
    starts = {word[:2] for word in words.translate(_TO_SPACES).split()}
    for forms in (_FORMS_INSIDE, *[_FORMS_BY_START[start] for start in _FORMS_BY_START.keys() & starts]):
        for form in forms:
            if form.literal in words:
                yield form


def find(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and owner of each key in a text, without overlaps.

    A key whose checksum does not fit has a typing error, or a newer form. It is found too, and its owner says so.
    Placeholders are not found, for example strings of few distinct characters or with `example` in them.
    """
    end = 0
    for start, stop, detail in sorted(_find_all(text), key=lambda span: (span[0], -span[1])):
        if start >= end:
            yield start, stop, detail
            end = stop


def _find_all(text: str) -> Iterator[tuple[int, int, str]]:
    words = [(text[start:end], start, end) for start, end in _long_words(text)]
    for form in _possible_forms(" ".join([word for word, _, _ in words])):
        find_all = _ensure_compiled(form).finditer
        for match in (match for word, *place in words if form.literal in word for match in find_all(text, *place)):
            key = match[0]
            if len(set(key)) < 7 or _PLACEHOLDER.search(key):
                continue
            mismatch = form.checksum and not checksum_fits(key)
            yield match.start(), match.end(), f"{form.owner} key" + (", checksum does not fit" if mismatch else "")


def checksum_fits(token: str) -> bool:
    """Return whether the last six characters of a token are the CRC-32 of its body, in base 62."""
    body = token[token.index("_") + 1 :]
    number = zlib.crc32(body[:-6].encode())
    digits = ""
    for _ in range(6):
        number, rest = divmod(number, 62)
        digits = _BASE62[rest] + digits
    return digits == body[-6:]
