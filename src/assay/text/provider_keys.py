"""What do the keys of the providers look like, old forms and new?"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

from assay.data.noun import Noun

LEFT = r"(?:(?<![A-Za-z0-9])|(?<=\\n)|(?<=\\r)|(?<=\\t))"
"""A key starts after anything but a letter or digit of ASCII, or after an escaped line break inside JSON text."""
RIGHT = r"(?![A-Za-z0-9_-])"
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PLACEHOLDER = re.compile(r"example|EXAMPLE|[Yy]our[_-]|YOUR[_-]|x{5}|X{5}|placeholder|1234567890")


class KeyForm(Noun, frozen=True):
    """A form of key: whose, a literal that every such key holds, and the pattern of the whole."""

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
    KeyForm("aws", "A", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    KeyForm("aws bedrock", "ABSK", r"ABSK[A-Za-z0-9+/]{80,}={0,2}"),
    KeyForm("github", "gh", rf"gh[pousr]_{_A}{{36}}", checksum=True),
    KeyForm("github", "ghs_", rf"ghs_{_U}{{37,}}(?:\.{_U}+)*"),
    KeyForm("github", "github_pat_", rf"github_pat_{_A}{{22}}_{_A}{{59}}"),
    KeyForm("gitlab", "gl", rf"gl(?:pat|rt|cbt|dt|ptt|soat|oas)-{_U}{{20,60}}(?:\.{_A}{{2}}\.{_A}{{7,9}})?"),
    KeyForm("slack", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{20,200}"),
    KeyForm("slack", "xapp-", r"xapp-\d-[A-Za-z0-9-]{30,120}"),
    KeyForm(
        "slack", "hooks.slack.com/", rf"https://hooks\.slack\.com/(?:services|workflows|triggers)/{_A}[\w/]{{20,120}}"
    ),
    KeyForm("stripe", "k_", rf"[rs]k_(?:live|test)_{_A}{{16,120}}"),
    KeyForm("stripe", "whsec_", rf"whsec_{_A}{{24,64}}"),
    KeyForm("npm", "npm_", rf"npm_{_A}{{36}}", checksum=True),
    KeyForm("pypi", "pypi-", rf"pypi-AgE{_U}{{50,}}"),
    KeyForm("hugging face", "hf_", rf"hf_{_A}{{34,40}}"),
    KeyForm("groq", "gsk_", rf"gsk_{_A}{{40,60}}"),
    KeyForm("xai", "xai-", rf"xai-{_A}{{70,90}}"),
    KeyForm("perplexity", "pplx-", rf"pplx-{_A}{{40,60}}"),
    KeyForm("replicate", "r8_", rf"r8_{_A}{{36,40}}"),
    KeyForm("sendgrid", "SG.", rf"SG\.{_U}{{22}}\.{_U}{{43}}"),
    KeyForm("twilio", "SK", rf"SK{_H}{{32}}"),
    KeyForm("telegram", ":AA", rf"\d{{8,10}}:AA{_U}{{33}}"),
    KeyForm("digitalocean", "_v1_", rf"do[opr]_v1_{_H}{{64}}"),
    KeyForm("databricks", "dapi", rf"dapi{_H}{{32}}(?:-\d)?"),
    KeyForm("shopify", "shp", rf"shp(?:at|ca|pa|ss)_{_H}{{32}}"),
    KeyForm("linear", "lin_api_", rf"lin_api_{_A}{{40}}"),
    KeyForm("notion", "ntn_", rf"ntn_{_A}{{40,50}}"),
    KeyForm("notion", "secret_", rf"secret_{_A}{{43}}"),
    KeyForm("docker", "dckr_", rf"dckr_(?:pat|oat)_{_U}{{27,40}}"),
    KeyForm("vault", "hv", rf"hv[sbr]\.{_U}{{24,200}}"),
    KeyForm("tavily", "tvly-", rf"tvly-(?:dev-|prod-)?{_A}{{20,60}}"),
    KeyForm("langsmith", "lsv2_", rf"lsv2_(?:pt|sk)_{_H}{{32}}_{_H}{{10}}"),
    KeyForm("mailchimp", "-us", rf"{_H}{{32}}-us\d{{1,2}}"),
    KeyForm("age", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}"),
)
_COMPILED = tuple((form, re.compile(LEFT + f"(?:{form.pattern})" + RIGHT)) for form in FORMS)


def find(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and owner of each key in a text.

    A key whose checksum does not fit is one with a typing error, or of a newer form: it is found all the same, and
    its owner says so. Placeholders (few distinct characters, `example`, `your`) are not.
    """
    for form, pattern in _COMPILED:
        if form.literal not in text:
            continue
        for match in pattern.finditer(text):
            key = match[0]
            if len(set(key)) < 7 or _PLACEHOLDER.search(key):
                continue
            broken = form.checksum and not checksum_fits(key)
            yield match.start(), match.end(), f"{form.owner} key" + (", checksum does not fit" if broken else "")


def checksum_fits(token: str) -> bool:
    """Whether a token's last six characters are the CRC-32 of what stands between its prefix and them, in base 62."""
    body = token[token.index("_") + 1 :]
    number = zlib.crc32(body[:-6].encode())
    digits = ""
    for _ in range(6):
        number, rest = divmod(number, 62)
        digits = _BASE62[rest] + digits
    return digits == body[-6:]
