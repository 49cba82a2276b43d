"""Chinese and Japanese numerals, for example 三万五千, 二〇二五 and ３億5000万, as digits."""

from __future__ import annotations

import re

from fairtrial.text.facts.word_patterns import StartPattern
from fairtrial.text.lazy_pattern import LazyPattern

_DIGITS: dict[str, int] = dict(
    zip(
        "〇零一二三四五六七八九两兩壱弐参壹貳贰參叁肆伍陸陆柒捌玖",
        (0, 0, *range(1, 10), 2, 2, 1, 2, 3, 1, 2, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9),
        strict=True,
    )
)
_AS_DIGITS = str.maketrans({sign: str(digit) for sign, digit in _DIGITS.items()})
_SMALL = {"十": 10, "百": 100, "千": 1000, "拾": 10, "佰": 100, "仟": 1000, "廿": 20}
_LARGE = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "兆": 10**12}
_DIGIT = "〇零一二三四五六七八九两兩壹貳贰參叁肆伍陸陆柒捌玖"
_ALL_DIGITS = LazyPattern(rf"[{_DIGIT}0-9.]+")
_PIECE = LazyPattern(r"\d+(?:\.\d+)?|.")
_PAIR = LazyPattern(r"([一二两兩三四五六七八])([两兩二三四五六七八九])")
_SIGN = f"{_DIGIT}十百千万萬亿億兆廿拾佰仟"
_NOT_NUMBERS = (
    "一下|一些|一起|一般|一定|一样|一樣|一直|一切|一旦|一边|一邊|一方|一致|一会|一會|一共|一律|一向|一同|一体|一體|一键|一鍵|一番|一緒|一部|"
    "一応|一覧|一括|一時(?![間半0-9])|一时|一概|一經|一经|一再|一如|一面|一路|一手|一眼|一流|一頭|一看|一贯|一貫|一刻(?![钟鐘])|一度も|一切|一人暮|"
    "统一|統一|唯一|单一|單一|之一|万一|萬一|万が一|千万(?=[不别別要])|千萬(?=[不別要])|(?<![点點時时])十分(?![钟鐘之间間前後后で以])|三明治|四川|九州|八王子|三星|六本木|三鷹|"
    "九龍|九龙|四国|五反田|三重|千葉|三越|七夕|万事|百度|百货|百貨|千代田|第三方|二手|二维|二維|二次元|不三不四|一次性|一律|一斉|一気|一瞬|一層|一般|"
    "四半期|四季|五金|八卦|千里|百合|三角|四角|十字|万能|萬能|二人三脚|一石二鳥|三亚|三亞|九寨|八方|四面|七喜|五官|一休|一帯|一帶|一带|逐一|專一|专一|同一|均一|"
    "一点(?:点|也|都|儿)|一點(?:點|也|都|兒)|有一点|有一點|一号店|周[一二三四五六](?![次回个個天])|週[一二三四五六](?![次回個天])|"
    "(?:星期|礼拜|禮拜)[一二三四五六]|一昨日|一昨年|一昨|三井|三菱|五星|十和田|八戸|四日市|百事|一番|万博|萬博|九份|千禧|兆丰|兆豐|二条|三条|四条|五条|千元机"
)
_COUNTERS = (
    "个個箇ヶか件名人位次回张張枚本冊册台辆輛间間层層楼樓階阶号號月日天年岁歲歳才时時小分秒点點块塊元圓円毛角斤公克米步歩条條只隻匹頭头口家所套双雙对對"
    "杯瓶盒包袋箱片颗顆粒度倍成折割代期级級等晚夜泊周週星礼禮季場场篇页頁行列章节節課课班つ目番様組组丁段種种类類項项份批餐顿頓筆笔通棟栋戶户部曲首股"
    "席港道站排列盤盘碗串半刻世者社校艘架門门車両車车便連连週校票問问題题句字話话厘畳坪畝亩亿億万萬千百十例勝胜敗负場步泊膳杯切人组款種样樣大"
)
_FIRSTS = {piece.lstrip("(?:")[0] for piece in re.sub(r"\(\?<!.*?\)", "", _NOT_NUMBERS).split("|")}


def _group_not_numbers() -> str:
    """Return the pattern of words that resemble numerals, grouped by its first sign, which a match looks at first."""
    groups: dict[str, list[str]] = {}
    for piece in re.findall(r"(?:\([^)]*\)|[^|(])+", _NOT_NUMBERS):
        first = piece[0] if piece[0] != "(" else ""
        groups.setdefault(first, []).append(piece[len(first) :])
    return "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in groups.items())


_RUN = StartPattern(
    # Digits alone are no numeral: a Chinese numeral, a share or a half follows.
    rf"[{_SIGN}0-9打半过過ひふみよいむなやこ{''.join(sorted(_FIRSTS))}](?:(?<![0-9])|(?=[0-9.,]{{0,40}}(?:[{_SIGN}折]|分[の之]|[ ]?[成割]|.{{1,2}}半)))",
    rf"(?<!第)(?P<skip>{_group_not_numbers()})"
    rf"|百分之(?P<percent>[{_SIGN}点點0-9.]{{1,24}})"
    rf"|(?P<below>[{_SIGN}0-9]{{1,24}})分の(?P<above_ja>[{_SIGN}0-9]{{1,24}})"
    rf"|(?P<under>[{_SIGN}0-9]{{1,24}})分之(?P<above>[{_SIGN}0-9]{{1,24}})"
    rf"|(?:打)?(?P<discount>[一二三四五六七八九0-9]{{1,2}}|[0-9]\.[0-9])折"
    rf"|(?P<tenths>[一二三四五六七八九十两兩0-9]{{1,4}}(?:\.[0-9])?)[ ]?(?:成|割)(?P<tenth_half>半)?(?P<tenth_five>[一二三四五六七八九0-9]分)?(?![熟立员員以])"
    r"|(?P<half_off>半价|半價|半額|半数|半數|(?<!さじ)半分|一半|过半|過半)"
    r"|(?P<half>(?<=さじ)半分|半(?=個?个?(?:小時|小时|時間|钟头|鐘頭|天|日|年|月|ヶ月|か月|週|周|斤|公斤|升|公升|分钟|分鐘|个小|個小|カ月|ヵ月|パック|丁|片|顆|颗|杯|茶匙|汤匙|湯匙|匙|打|里|英里|公里|カップ|大さじ|小さじ)))"
    rf"|(?P<one_half>[{_SIGN}]{{1,24}}|\d+)(?:个|個)半(?=小|钟|鐘|月|年|星|禮|礼)(?P<x>)"
    rf"|(?P<unit_half>[{_SIGN}0-9]{{1,24}})(?P<half_unit>年|時間|小时|小時|天|日|ヶ月|か月|倍|公斤|斤|週間|周|週|歳|岁|歲|錠|杯)半(?![价價額额])"
    rf"|(?P<decimal>[{_SIGN}]{{1,24}})[点點・](?P<places>[{_DIGIT}]{{1,24}})(?![十分刻])"
    rf"|(?P<number>(?:\d[\d,]*(?:\.\d+)?|[{_DIGIT}]|[十百千廿拾佰仟])(?:(?<=[{_SIGN}0-9])(?!四半期)[{_SIGN}]|(?<=[十百千万萬亿億兆])\d[\d,]*(?:\.\d+)?){{0,40}})"
    r"|(?P<native>ひとつ|一つ|ふたつ|みっつ|よっつ|いつつ|むっつ|ななつ|やっつ|ここのつ|ひとり|ふたり)",
)
_NATIVE = {"ひとつ": 1, "一つ": 1, "ふたつ": 2, "みっつ": 3, "よっつ": 4, "いつつ": 5, "むっつ": 6, "ななつ": 7, "やっつ": 8,
           "ここのつ": 9, "ひとり": 1, "ふたり": 2}  # fmt: skip


_ALWAYS = LazyPattern("全天候(?=在线|在線|线上|線上|营业|營業|服务|服務|开放|開放|客服|接听|接聽)")
"""The hours of a service, unlike a road for all weathers."""


def han_numerals(text: str) -> list[tuple[int, int, str]]:
    """Return the numerals of a text that hold a Chinese numeral: their spans, and their digits.

    A numeral of one character counts only before a counter or a unit, or after 第, as in 三个 and 第三.
    """
    edits: list[tuple[int, int, str]] = []
    for match in _RUN.finditer(text):
        new = _digits(text, match)
        if new is not None:
            edits.append((match.start(), match.end(), new))
    if "全天候" in text:
        edits = sorted([*edits, *((*match.span(), "24小时") for match in _ALWAYS.finditer(text))])
    return edits


def _digits(text: str, match: re.Match[str]) -> str | None:  # noqa: C901, PLR0911  (one line a form)
    get = match.group
    if get("skip"):
        return None
    if get("percent"):
        whole, _, places = re.sub("[点點]", ".", get("percent")).partition(".")
        return f"{_number(whole)}{'.' + _positional(places) if places else ''}%"
    if get("above_ja") or get("above"):
        under, above = _float(get("below") or get("under")), _float(get("above_ja") or get("above"))
        return f"{_plain(100 * above / under)}%" if under else None
    if get("discount"):
        price_digits = _positional(get("discount"))
        share = float(price_digits) * (10 if "." in price_digits or len(price_digits) == 1 else 1)
        return f"{_plain(100 - share)}%off"
    if get("tenths"):
        five = get("tenth_five")
        share = _float(get("tenths")) * 10 + (5 if get("tenth_half") else 0) + (_float(five[0]) if five else 0)
        return f"{_plain(share)}%"
    if get("half_off"):
        return "50%"
    if get("half"):
        return "0.5"
    if get("one_half"):
        return f"{_number(get('one_half'))}.5个"
    if get("unit_half"):
        return f"{_number(get('unit_half'))}.5{get('half_unit')}"
    if get("decimal"):
        return f"{_number(get('decimal'))}.{_positional(get('places'))}"
    if get("native"):
        return f"{_NATIVE[get('native')]}個"
    return _cardinal(text, match)


def _cardinal(text: str, match: re.Match[str]) -> str | None:
    run = match.group("number")
    if not any(sign in _SIGN for sign in run):
        return None
    after, before = text[match.end() : match.end() + 1], text[match.start() - 1 : match.start()]
    if len(run) == 1 and not (after and after in _COUNTERS) and before != "第":
        return None
    pair = _PAIR.fullmatch(run)
    if pair and _DIGITS[pair[2]] == _DIGITS[pair[1]] + 1:
        # 三四天 is three or four days.
        return f"{_DIGITS[pair[1]]}~{_DIGITS[pair[2]]}" if after and after in _COUNTERS else None
    if run in {"百", "千", "万", "萬", "亿", "億", "兆"} and not (after and after in "円元分个個人年日块塊圓"):
        return None
    return (" " if before.isascii() and before.isalpha() else "") + _number(run)


def _number(run: str) -> str:
    return _plain(_float(run))


def _float(run: str) -> float:
    run = run.replace(",", "")
    if _ALL_DIGITS.fullmatch(run):
        return float(_positional(run) or 0)
    total = 0.0
    rest = run
    for signs in ("兆", "亿億", "万萬"):
        where = max(rest.rfind(sign) for sign in signs)
        if where >= 0:
            total += (_float(rest[:where] or "1") or 1) * _LARGE[rest[where]]
            tail = rest[where + 1 :]
            # 两万五 is 25,000: a last digit counts the next smaller unit.
            if len(tail) == 1 and tail in _DIGIT and tail not in "〇零":
                return total + _DIGITS[tail] * _LARGE[rest[where]] / 10
            rest = tail
    return total + _below_myriad(rest)


def _below_myriad(run: str) -> float:
    if not run or _ALL_DIGITS.fullmatch(run):
        return float(_positional(run) or 0)
    total: float = 0.0
    part: float = 0.0
    last = 0
    for piece in _PIECE.findall(run):
        if piece in _SMALL:
            if piece == "廿":
                total += 20
            else:
                total += (part or 1) * _SMALL[piece]
            last, part = _SMALL[piece], 0.0
        elif piece in _DIGITS:
            if piece in "〇零":
                last = 0
            part = _DIGITS[piece]
        elif piece[0].isdigit():
            part = float(piece)
            last = 0
    if part and last >= 100 and float(part) < 10:
        return float(total + part * last / 10)
    return float(total + part)


def _positional(run: str) -> str:
    return run.translate(_AS_DIGITS)


def _plain(value: float) -> str:
    # Seven digits without a comma would be a code.
    return (f"{value:,.4f}" if value >= 1e6 else f"{value:.4f}").rstrip("0").rstrip(".") or "0"
