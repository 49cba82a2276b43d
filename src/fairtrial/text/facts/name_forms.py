"""Forms by which East Asian names show: a surname, a rank, or the kind of a place or a company behind the name."""

from __future__ import annotations

from fairtrial.text.lazy_pattern import LazyPattern

_KOREAN_SURNAMES = frozenset(
    "김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진나엄채원천방공현함변염여추도소석선설마길연위표명기반왕금옥육인맹제모탁국어은편용"
)
_CHINESE_SURNAMES = frozenset(
    "王李张張刘劉陈陳杨楊赵趙黄黃周吴吳徐孙孫胡朱高林何郭马馬罗羅梁宋郑鄭谢謝韩韓唐冯馮于董萧蕭程曹袁邓鄧许許傅沈曾彭吕呂苏蘇卢盧蒋蔣蔡贾賈丁魏薛叶葉阎閻余潘杜戴夏钟鍾汪田任姜范方石姚谭譚廖邹鄒熊金陆陸郝孔白崔康毛邱秦江史顾顧侯邵孟龙龍万段雷钱錢汤湯尹黎易常武乔喬贺賀赖賴龚龔文洪施庄莊"
)
_JAPANESE_SURNAMES = LazyPattern(
    "佐藤|鈴木|高橋|田中|伊藤|渡辺|渡邊|山本|中村|小林|加藤|吉田|山田|佐々木|山口|松本|井上|木村|斎藤|斉藤|清水|山崎|池田|橋本|阿部|石川|山下|"
    "中島|石井|小川|前田|岡田|長谷川|藤田|後藤|近藤|村上|遠藤|青木|坂本|福田|太田|西村|藤井|金子|岡本|藤原|三浦|中野|中川|原田|松田|竹内|小野|田村|"
    "中山|和田|石田|森田|上田|内田|柴田|酒井|宮崎|横山|高木|安藤|宮本|大野|小島|谷口|今井|工藤|高田|増田|丸山|杉山|村田|大塚|新井|小山|藤本|平野|"
    "大橋|北川|川口|星野|内藤|吉村|浅野|熊谷|荒木|本田|関口|矢野|小松|服部|小池|永井|須藤|福島|早川|松村|岩田|樋口|小西|秋山|平田|中西|"
    "川上|菅野|黒田|松浦|荒井|土屋|北村|本間|堀田|大島|西川|片山|永田|吉岡|川崎|三宅|小沢|石原|萩原|八木|辻|関|"
    "河野|上野|野口|武田|松井|千葉|菅原|岩崎|久保|木下|佐野|野村|松尾|市川|菊地|菊池|杉本|古川|大西|島田|水野|桜井|高野|吉川|山内|西田|飯田"
)
_COMPOUND_SURNAMES = frozenset(
    "欧阳 歐陽 司马 司馬 诸葛 諸葛 上官 东方 東方 皇甫 尉迟 尉遲 令狐 慕容 夏侯 司徒 公孙 公孫 端木 南宫 南宮 范姜 張簡".split()
)
_KOREAN_HEADS = (
    "고등학교", "초등학교", "중학교", "대학교", "백화점", "터미널", "경찰서", "미술관", "박물관", "도서관", "우체국", "공항", "병원", "은행", "호텔",
    "대학", "전자", "공원", "시장", "식당", "약국", "서점", "상사", "제과", "항공", "물산", "빌딩", "센터", "역", "시", "구", "동", "군", "도", "점", "항",
    "섬", "산", "강", "로", "길",
)  # fmt: skip
_HEAD = LazyPattern(
    "駅|空港|病院|銀行|ホテル|大学|電機|電器|電子|食品|製菓|商事|市(?!場価)|区(?!別)|町|県|支店|公園|港|高校|旅館|美術館|博物館|図書館|薬局|株式会社"
    "|站|机场|機場|医院|醫院|银行|酒店|饭店|飯店|大學|电器|县|縣|区|區|路(?!由)|街|公司|集团|集團|公园|公園|大厦|大廈|广场|廣場|超市|药店|藥局|餐厅|餐廳"
)
_RANK = LazyPattern(
    r"\s*(?:대리|과장|부장|차장|팀장|사장|이사|기사|간호사|교수|원장|점장|변호사|部長|課長|社長|係長|店長|主任|医師|弁護士|教授|主管|总监|總監|店长|组长|組長|律师|律師|护士|護士|老师|老師)"
)
_HANGUL = LazyPattern(r"[가-힣]+")
_HAN = LazyPattern(r"[\u4e00-\u9fff々]+")
_KATAKANA = LazyPattern(r"[\u30a0-\u30ff]+")
_REACH = 4


def are_names(reference: str, expected: tuple[int, int], reply: str, actual: tuple[int, int]) -> bool:
    """Return whether two runs in the same place of two sentences are names by their form."""
    name, counterpart = reference[slice(*expected)], reply[slice(*actual)]
    if name.isascii() or counterpart.isascii():
        return False
    if _RANK.match(reference, expected[1]) and _RANK.match(reply, actual[1]):
        return True
    for pattern, compare in ((_HANGUL, _are_korean), (_KATAKANA, _are_foreign)):
        if pattern.fullmatch(name) and pattern.fullmatch(counterpart):
            return compare(name, counterpart)
    return (
        bool(_HEAD.match(reference, expected[1]) and _HEAD.match(reply, actual[1]))
        or (_has_surname(reference, expected) and _has_surname(reply, actual))
        or _are_chinese(name, counterpart)
    )


def _are_foreign(name: str, counterpart: str) -> bool:
    return min(len(name), len(counterpart)) > 2


def _are_chinese(name: str, counterpart: str) -> bool:
    """Return whether two runs of at most three signs begin with different surnames."""
    return (
        bool(_HAN.fullmatch(name) and _HAN.fullmatch(counterpart))
        and name[0] != counterpart[0]
        and all(_has_chinese_surname(each) for each in (name, counterpart))
    )


def _has_chinese_surname(name: str) -> bool:
    return (name[0] in _CHINESE_SURNAMES and len(name) <= 3) or (name[:2] in _COMPOUND_SURNAMES and len(name) <= 4)


def _are_korean(name: str, counterpart: str) -> bool:
    """Return whether two words, apart from the same particle, are persons or end in the same kind of a place."""
    shorter = min(len(name), len(counterpart))
    alike = next((n for n in range(shorter) if name[-1 - n] != counterpart[-1 - n]), shorter)
    ending = name[len(name) - alike :]
    for head in _KOREAN_HEADS:
        place = ending.find(head)
        if place >= 0 and len(name) - len(ending) + place >= 2:
            return True
    stem, counterpart_stem = name.removesuffix(ending), counterpart.removesuffix(ending)
    # A name may end in the sign with which the particle begins.
    return any(
        len(a) == len(b) == 3 and {a[0], b[0]} <= _KOREAN_SURNAMES
        for a, b in ((stem, counterpart_stem), (stem + ending[:1], counterpart_stem + ending[:1]))
    )


def _has_surname(text: str, span: tuple[int, int]) -> bool:
    start, end = max(0, span[0] - _REACH), span[1] + _REACH
    return any(
        match.start() < span[1] and match.end() > span[0] for match in _JAPANESE_SURNAMES.finditer(text, start, end)
    )
