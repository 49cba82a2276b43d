"""Korean numerals, Sino-Korean and native, for example 만 오천 원, 2천5백 and 두 개, as digits."""

from __future__ import annotations

import re

from fairtrial.text.facts.word_patterns import StartPattern
from fairtrial.text.lazy_pattern import LazyPattern

_DIGITS = {"영": 0, "공": 0, "일": 1, "이": 2, "삼": 3, "사": 4, "오": 5, "육": 6, "륙": 6, "칠": 7, "팔": 8, "구": 9}
_SMALL = {"십": 10, "백": 100, "천": 1000}
_LARGE = {"만": 10**4, "억": 10**8, "조": 10**12}
_UNITS = {"한": 1, "하나": 1, "두": 2, "둘": 2, "세": 3, "셋": 3, "석": 3, "네": 4, "넷": 4, "넉": 4, "다섯": 5, "여섯": 6,
          "일곱": 7, "여덟": 8, "아홉": 9}  # fmt: skip
_TENS = {
    "열": 10,
    "스물": 20,
    "스무": 20,
    "서른": 30,
    "마흔": 40,
    "쉰": 50,
    "예순": 60,
    "일흔": 70,
    "여든": 80,
    "아흔": 90,
}
_DAYS = {"하루": 1, "이틀": 2, "사흘": 3, "나흘": 4, "닷새": 5, "엿새": 6, "이레": 7, "여드레": 8, "아흐레": 9, "열흘": 10,
         "보름": 15}  # fmt: skip
_NATIVE = rf"(?:(?:{'|'.join(_TENS)})[ ]?(?:{'|'.join(_UNITS)})?|{'|'.join(_UNITS)})"
_TWO_OR = {"한두": "1~2", "두세": "2~3", "서너": "3~4", "너댓": "4~5", "네댓": "4~5", "대여섯": "5~6", "예닐곱": "6~7"}
_COUNTER = (
    "글자|자(?=[ 이로의를가]|$)|개월|개|명|분|사람|시간|시|살|번째|번|마리|권|장|대|잔|병|그릇|달|가지|건|곳|켤레|통|판|큰술|작은술|스푼|컵|배|군데|채|주|박|자리|끼|줄|쌍|벌|"
    "자루|송이|조각|편|척|알|모|째|차례|팀|식구|해|숟갈|숟가락|봉지|상자|박스|포|정|캡슐|세트|코스|과목|방울|바퀴|걸음|페이지|쪽|단계|층|방|단어|가구|나라|"
    "아이|자녀|좌석|달러|원|장면|항목|문항|표|경기|골|차선|쿼터|라운드|종류|인분|도시|객실|구간|노선|정거장|정류장|블록|점"
)
_SINO_UNIT = (
    "원|달러|유로|엔|위안|월|일|년|분|초|층|호|번|도|퍼센트|프로|%|인분|개월|주|회|차|학년|킬로|미터|그램|리터|센티|밀리|박|점|명|인|개|건|평|만|억|조|대|권|장|"
    "배|위|등|살|세|시간|시|페이지|쪽|단계|번째|호선|킬로미터|킬로그램|kg|km|g|m|l|ml|cm|mm|제곱|석|가구|표|톤|바이트|기가|메가|칼로리|와트|볼트|편|곡|팀|종|"
    "항|조|절|장|문|동|호실|번지|분의"
)
_SIGN = "영공일이삼사오육륙칠팔구십백천만억조"
_FIRSTS = {word[0] for words in (_TWO_OR, _DAYS, _UNITS, _TENS, ("절반", "반값")) for word in words}
_NUMERAL = StartPattern(
    # Inside a word, a numeral stands only before 분의.
    rf"\d+|[{_SIGN}{''.join(sorted(_FIRSTS))}](?:(?<![가-힣].)|(?<=[{_SIGN}])(?=[{_SIGN}\d]{{0,11}}[ ]?분의))",
    rf"(?P<parts>[{_SIGN}\d]{{1,12}})[ ]?분의[ ]?(?P<above>[{_SIGN}\d]{{1,12}})"
    r"|(?<![가-힣])(?:"
    rf"(?P<two_or>한두|두세|서너|너댓|네댓|대여섯|예닐곱)(?=[ ]?(?:{_COUNTER}))"
    rf"|(?P<days>{'|'.join(_DAYS)})"
    r"|(?P<half>절반|반값|반액)"
    rf"|(?P<half_of>반)[ ]?(?=시간|나절|년|달|개|컵|큰술|작은술|스푼|병|판|마리|모|근|킬로|숟갈)"
    rf"|(?P<native>{_NATIVE})(?=[ ]?(?:{_COUNTER}))"
    rf"|(?P<alone>(?:열[ ]?)?(?:둘|셋|넷|다섯|여섯|일곱|여덟|아홉|하나)|열)(?=(?:은|는|이|가|을|를|로|으로|뿐|입니다|이다|인|밖|씩|에|과|와|이고|[ ]중|[ ]다|[ ]모두)|[,.!]|$)"
    rf"|(?P<sino>[{_SIGN}]{{2,20}}(?:[ ][{_SIGN}]{{2,20}}){{0,3}}|[{_SIGN}]{{1,2}}[ ][{_SIGN}]{{2,20}})(?=[ ]?(?:{_SINO_UNIT}|여[ ]|분의))"
    rf"|(?!이번(?!째))(?P<one>[{_SIGN[2:]}])(?=(?:{_SINO_UNIT})|[ ](?:원|달러|년|개월|주일|킬로|퍼센트|층|미터|도\b|인분|학년|초))|(?P<ten>[십백천])(?=[ ](?:{_SINO_UNIT}))"
    r")"
    rf"|(?P<scaled>(?<!\d)\d[\d,]{{0,24}}(?:\.\d{{1,18}})?)[ ]?(?P<scales>[백천만억조](?:[ ]?(?:\d[\d,]{{0,24}}(?:\.\d{{1,18}})?|(?<=[백천만억조])[일이삼사오육칠팔구])?[십백천만억조]){{0,8}}(?:[ ]?\d[\d,]{{0,24}}(?=[ ]?원))?)"
    r"(?![가-힣]{0,1}(?:큼|약|일|나|들))",
)
_NOT_SINO = LazyPattern(
    r"이일|일이|이사|사이|오이|이오|일일이|구이|조사|사조|이조|공조|구조|공이|사공|오일|이천(?=[ ]?시)|만이|일만|영공|일조|천만에"
)
_OF_LAW = LazyPattern(r"[ ]?제?\d{1,3}항|에 (?:따[라르른]|의[하해거])|의 규정")
_UNIT_HALF = LazyPattern(
    r"(시간|년|개월|달|배|컵|큰술|작은술|스푼|병|판|마리|살)([ ]?반)(?=[을은이에도의,.\s~)]|까지|만|동안|정도|쯤|후|입|$)"
)


def korean_numerals(text: str) -> list[tuple[int, int, str]]:
    """Return the numerals of a text in Hangul: their spans, and their digits.

    A native numeral counts only before a counter, as in 두 개, because 한 and 네 are also other words.
    """
    edits: list[tuple[int, int, str]] = []
    for match in _NUMERAL.finditer(text):
        new = _digits(match)
        if new is not None:
            edits.append((match.start(), match.end(), new))
    return _with_halves(text, edits)


def _digits(match: re.Match[str]) -> str | None:  # noqa: PLR0911  (one line a form)
    get = match.group
    if get("days"):
        return f"{_DAYS[get('days')]}일"
    if get("half"):
        return "50%"
    if get("half_of"):
        return "0.5"
    if get("native") or get("alone"):
        return str(_native((get("native") or get("alone")).replace(" ", "")))
    if get("sino"):
        run = get("sino")
        return None if _NOT_SINO.fullmatch(run) else _plain(_sino(run))
    if get("one") or get("ten"):
        return str(int(_sino(get("one") or get("ten"))))
    if get("two_or"):
        return _TWO_OR[get("two_or")]
    if get("scaled"):
        if get("scales") == "조" and (
            match.string.endswith("제", 0, match.start()) or _OF_LAW.match(match.string, match.end())
        ):
            # 제2조 is an article of a law, and 2조 two trillions.
            return None
        return _plain(_sino(get("scaled") + get("scales")))
    under = _sino(get("parts"))
    return f"{_plain(100 * _sino(get('above')) / under)}%" if under else None


def _with_halves(text: str, edits: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Return the edits, and one for each 반 behind a numeral with its unit, as in 1시간 반."""
    halves: list[tuple[int, int, str]] = []
    if "반" not in text:
        return edits
    places = {end: place for place, (_, end, _) in enumerate(edits)}
    for match in _UNIT_HALF.finditer(text):
        start = match.start(1)
        while start > 0 and text[start - 1] == " ":
            start -= 1
        if start in places:
            begin, end, new = edits[places[start]]
            edits[places[start]] = (begin, end, f"{new}.5")
        elif start and text[start - 1].isdigit():
            halves.append((start, start, ".5"))
        else:
            continue
        halves.append((match.start(2), match.end(2), ""))
    return sorted(edits + halves) if halves else edits


def _native(run: str) -> int:
    for word, value in _TENS.items():
        if run.startswith(word):
            return value + _UNITS.get(run[len(word) :], 0)
    return _UNITS[run]


def _sino(run: str) -> float:
    total = part = digit = 0.0
    for token in re.findall(r"\d[\d,]*(?:\.\d+)?|[^\s]", run):
        if token[0].isdigit():
            digit = float(token.replace(",", ""))
        elif token in _DIGITS:
            digit = digit * 10 + _DIGITS[token]
        elif token in _SMALL:
            part, digit = part + (digit or 1) * _SMALL[token], 0.0
        elif token in _LARGE:
            total, part, digit = total + ((part + digit) or 1) * _LARGE[token], 0.0, 0.0
    return total + part + digit


def _plain(value: float) -> str:
    # Seven digits without a comma would be a code.
    return (f"{value:,.4f}" if value >= 1e6 else f"{value:.4f}").rstrip("0").rstrip(".") or "0"
