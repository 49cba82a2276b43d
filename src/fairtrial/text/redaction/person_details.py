"""Find names, dates of birth, passports, licences and addresses in English, Korean, Japanese and Chinese, by rules.

A name is found only after words such as `my name is`, 성명, 氏名 or 姓名. An address is found by its form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairtrial.text.redaction import Span

_HAN = r"\u3400-\u9fff々"
_KANA = r"\u3041-\u30fa\u30fc"
_HANGUL = r"\uac00-\ud7a3"
_SURNAMES = (
    "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하"
    "곽성차주우구민진지엄채원천방공현함변염여추도소석선설마길연위표명기반왕금옥육인맹제모탁국어은편용"
)
_NAMES = (
    (
        r"\b(?i:my (?:full )?name is|(?:full |customer |patient |contact |guest |passenger )?name ?:)\s{1,3}"
        r"(?P<english>[A-Z][a-z'’-]{1,20}(?: (?:[A-Z]\.|[A-Z][A-Za-z'’-]{1,20})){1,3})"
    ),
    rf"(?:이름은|성함은)\s?(?P<korean>[{_HANGUL}]{{2,5}}?)(?:입니다|이에요|예요|이고|이야|라고|이며)",
    rf"저는\s(?P<speaker>[{_SURNAMES}][{_HANGUL}]{{2}})(?:입니다|이라고|라고)",
    rf"(?:성명|이름|고객명|예금주|수취인|환자명|수령인)\s?[:：]\s?(?P<labelled>[{_HANGUL}]{{2,5}})",
    (
        rf"(?:氏名|お名前|名前|顧客名|宛名)\s?(?:[:：]|は)\s?(?P<japanese>[{_HAN}]{{1,4}}[ 　]?[{_HAN}{_KANA}]{{0,6}}?)"
        r"(?=です|と|、|。|\s|さん|様|[,;\"'|)]|\Z)"
    ),
    rf"(?P<introduced>[{_HAN}]{{2,5}})と申します",
    rf"(?:我叫|我的名字是|我名叫)\s?(?![了他她你我它们過过做作什])(?P<chinese>[{_HAN}]{{2,4}}?)(?=[^{_HAN}]|\Z|[，。的是来在])",
    rf"(?:姓名|联系人|聯絡人|收件人|持卡人|收货人|收貨人)\s?[:：]\s?(?P<receiver>[{_HAN}·]{{2,6}})",
)
_DATE = (
    r"(?:\d{4}[-./年년]\s?\d{1,2}[-./月월]\s?\d{1,2}[日일]?|\d{1,2}[-./ ](?:\d{1,2}|[A-Z][a-z]{2,8})[-./ ]\d{4}"
    r"|[A-Z][a-z]{2,8} \d{1,2}(?:st|nd|rd|th)?,? \d{4}|(?:19|20)\d{6}(?!\d))"
)
_BIRTH = (
    r"(?:(?i:\b(?:date of birth|birth ?date|birthday|dob|born(?: on)?))"
    r"|생년월일|출생일|生年月日|誕生日|出生日期|出生年月日|生日)"
    rf"[\"']?\s?(?:[:：=]|is\b|は|是|은|는)?\s?[\"']?(?P<birth>{_DATE})"
)
_DOCUMENT = (
    r"(?:(?i:\b(?:passport|driver'?s?'? licen[cs]e|driving licen[cs]e)(?: (?:no\.?|number))?)|여권 ?번호"
    r"|운전면허(?:증)?(?: ?번호)?"
    r"|旅券番号|パスポート番号|(?:運転)?免許証番号|护照(?:号码|号)|護照(?:號碼|號)|驾驶证号|驾照号|駕照號碼|身分證字號)"
    r"[\"']?\s?(?:[:：=#]|is\b|は|是|은|는)?\s?[\"']?"
    r"(?P<document>[A-Z]{0,3}\d[A-Z0-9-]{4,16}\d|[A-Z]{1,2}\d{6,9})(?![A-Za-z0-9])"
)
_ADDRESSES = (
    (
        r"\b\d{1,5}[A-Za-z]? (?:[A-Z][A-Za-z.']{1,20} ){1,4}?(?:Street|St|Avenue|Ave|Road|Rd"
        r"|Boulevard|Blvd|Lane|Ln|Drive|Dr"
        r"|Court|Ct|Way|Place|Pl|Square|Terrace)\b\.?(?:,? (?:Apt|Unit|Suite|#)\.? ?\w{1,6})?"
        r"(?:, [A-Z][A-Za-z .]{2,25}){0,2}"
        r"(?:,? [A-Z]{2})?(?: \d{5}(?:-\d{4})?)?"
    ),
    (
        rf"(?:서울|부산|대구|인천|광주|대전|울산|세종|경기|강원|충[북남청]|전[북남라]|경[북남상]|제주)[{_HANGUL}]{{0,6}}\s[{_HANGUL}]{{1,5}}[시군구]"
        rf"(?:\s[{_HANGUL}0-9]{{1,8}}[구읍면동])?\s[{_HANGUL}0-9·]{{1,12}}\s?\d{{1,5}}(?:-\d{{1,4}})?(?:번지|호)?"
    ),
    (
        rf"(?:〒?\d{{3}}-\d{{4}}\s?)?(?:東京都|北海道|京都府|大阪府|[{_HAN}]{{2,3}}県)[{_HAN}{_KANA}]{{1,10}}?[市区町村郡]"
        rf"[{_HAN}{_KANA}]{{0,16}}\d{{1,4}}(?:[-－ー丁目番地号の\d]{{1,14}})?"
    ),
    (
        rf"(?:[{_HAN}]{{2,7}}(?:省|自治区))?[{_HAN}]{{2,7}}市[{_HAN}]{{1,7}}[区區县縣][{_HAN}0-9]{{1,12}}[路街道巷弄村]"
        rf"(?:[{_HAN}0-9]{{1,3}}段)?\s?\d{{1,5}}[号號弄巷](?:\d{{1,4}}[栋棟楼樓号號室]?)?"
    ),
)
_RULES = (
    *((re.compile(rule), "name") for rule in _NAMES),
    (re.compile(_BIRTH), "date of birth"),
    (re.compile(_DOCUMENT), "passport or licence"),
)
_ADDRESS_RULES = tuple(re.compile(rule) for rule in _ADDRESSES)


def find_details(text: str) -> Iterator[Span]:
    """Yield the details of persons that their words or their form show, in order and without overlaps."""
    spans = [(*match.span(match.lastgroup or 0), detail) for rule, detail in _RULES for match in rule.finditer(text)]
    if not text.isascii() or any(map(str.isdigit, text)):
        spans += [(*match.span(), "postal address") for rule in _ADDRESS_RULES for match in rule.finditer(text)]
    end = 0
    for start, stop, detail in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= end:
            yield start, stop, detail
            end = stop
