"""Words beside a number: those that lost their space ("onMarch 2"), months of two days, Roman numerals, and "60p"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairtrial.text.facts.european_forms import ENGLISH_MONTHS
from fairtrial.text.facts.word_patterns import read_cues
from fairtrial.text.lazy_pattern import LazyPattern

if TYPE_CHECKING:
    import re

_SMALL = "in into on of from about takes take the has is was since by at and until between around to for than are or over only"
_AFTER = "after as at by for in on and with to when from until during every"
_GLUED_MONTHS = frozenset(
    word + month for word in ("in", "on", "of", "from", "since", "by", "until") for month in ENGLISH_MONTHS
)
_GLUED_NUMERALS = frozenset(
    word + numeral
    for word in "have has are were to is was the in for".split()
    for numeral in "two three four five six seven eight nine twelve".split()
)
_LOST = LazyPattern(
    # The marks of footnotes: "$75,0001", "the 1890s1", "6 September 16661". And "39. 97 lakh".
    rf"(?<=\d,\d\d\d)\d{{1,2}}(?![\d,]|\.\d)|(?<=[12]\d\d0s)\d{{1,2}}(?!\w)|(?<![\w.])(?:{'|'.join(ENGLISH_MONTHS)})(?: \d{{1,2}},)? [12]\d\d\d(?P<mark>\d)(?!\w)"
    r"|(?<![\w.,])[^\w\s]?\d{1,3}\.(?P<space> )(?=\d{1,3} ?(?:lakh|crore|million|billion|trillion|percent|%))"
)
_BEFORE_NUMERAL = LazyPattern(
    r"(?<![a-z])(?:have|has|are|were|to|is|was|the|in|for)(?=(?:two|three|four|five|six|seven|eight|nine|twelve)(?![a-z]))"
)
_AGE = LazyPattern(
    r"\b(?:age|aged|age of) (?P<years>\d{1,3})(?![\w-]|[.,]\d| ?(?:years?|months?|weeks?|days?|to|and|or)\b)"
)
_TENS = frozenset("twenty thirty forty fifty sixty seventy eighty ninety".split())
_SPACED_HYPHEN = LazyPattern(
    rf"\b(?:{'|'.join(sorted(_TENS))})(?P<hyphen> - )(?=(?:one|two|three|four|five|six|seven|eight|nine|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)\b)"
)
_CLOCK = frozenset({"clock"})
_ALWAYS = LazyPattern(
    # "We worked around the clock" states no hours of a service.
    r"\b(?:open|available|availability|supported|support|service|services|hotline|helpline|desk|staffed|reachable|operate|operates|operating|running)(?: (?:is|are|was|were|open|available|staffed|reachable|there|for|you|all|our|customers|guests)){0,4} (?P<always>a?round[ -]the[ -]clock)(?![\w-]| tower)"
    r"|\b(?P<before>a?round[ -]the[ -]clock)(?= (?:customer |phone |technical )?(?:support|service|services|availability|hotline|helpline|coverage|access)\b)"
)
_AGES = frozenset({"age", "aged"})
_ENDS = "|".join(sorted({word[-2:] for word in _SMALL.split()}))
_BESIDE_DIGIT = LazyPattern(
    rf"[0-9](?:,[0-9]{{4}}|0s[0-9]|\. [0-9]|(?<=[a-z,] [12])[0-9]{{4}}|(?<=(?:{_ENDS}).)|(?:{_AFTER.replace(' ', '|')})(?![a-z0-9])|(?:th)?every)"
)
_GLUED = LazyPattern(
    rf"(?<![a-z0-9_.@/#-])(?P<word>{_SMALL.replace(' ', '|')})(?=\d{{1,4}}(?![a-z0-9_-])|\d{{4}}s|\d{{4}}(?:{_AFTER.replace(' ', '|')})(?![a-z]))"
    rf"|(?<=\d\d\d\d)(?=(?:{_AFTER.replace(' ', '|')})(?![a-z0-9]))|(?<=\dth)(?=every)"
    rf"|(?<=[a-z ]\d)(?=(?:{_AFTER.replace(' ', '|')}) (?:the|an?|his|her|its)\b)"
    rf"|(?<![a-z])(?P<before>in|on|of|from|since|by|until)(?=(?:{'|'.join(ENGLISH_MONTHS)}) \d)"
)


_MONTH = "|".join(ENGLISH_MONTHS)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DAYS = LazyPattern(
    rf"(?<![\d.,:/$-])(?P<day>{_DAY})(?=[ ]?(?:-|to|and|or|through|until)[ ]?{_DAY} (?:of )?(?P<month>{_MONTH})\b)"
    rf"|\b(?P<first>{_MONTH}) {_DAY}[ ]?(?:-|to|through|until)[ ]?(?=\d{{1,2}}(?:st|nd|rd|th)?(?![\d:/.]|[ ]?[ap]\.?m\b))"
)
_ROMAN = LazyPattern(
    r"\b(?:article|section|chapter|title|part|war|volume|act|book|phase|amendment) (?P<roman>iii|ii|iv|vi{1,3}|ix|xi{0,3}v?)\b"
)
_WARS = frozenset({"ww", "wwi", "wwii"})
_WAR = LazyPattern(r"\b(?:ww ?(?:(?:ii|2)(?P<second>)|i|1)|world war i)\b(?!')")
_SPEEDS = {"mph": "miles per hour", "kph": "km/h", "kmh": "km/h"}
_SPEED_WORDS = frozenset(_SPEEDS)
_SPEED = LazyPattern(r"(?<![a-z])(?:mph|kph|kmh)(?![a-z])")
_BAKERS = frozenset({"baker", "bakers"})
_BAKERS_DOZEN = LazyPattern(r"\b(?:a )?baker'?s'? dozen\b")
_PARTS = frozenset("article section chapter title part war volume act book phase amendment".split())
_ROMANS = {
    "ii": 2,
    "iii": 3,
    "iv": 4,
    "vi": 6,
    "vii": 7,
    "viii": 8,
    "ix": 9,
    "xi": 11,
    "xii": 12,
    "xiii": 13,
    "xiv": 14,
}
_MONTH_SET = frozenset(ENGLISH_MONTHS)


_SCORE_WORDS = frozenset({"nil", "love", "all"})
_POINTS = {
    word: str(points)
    for points, word in enumerate("nil one two three four five six seven eight nine".split())
} | {"love": "0", "fifteen": "15", "thirty": "30", "forty": "40"}  # fmt: skip
_NUMBER = rf"(?:\d{{1,2}}|{'|'.join(word for word in _POINTS if word != 'love')})"
_SCORE = LazyPattern(
    # "One-nil", "nil-two", "thirty-love" and "three-all", which is three to three.
    rf"(?<![\w.,-])(?:(?P<first>{_NUMBER})[ -](?P<last>nil|(?<=-)love)(?![\w-])|(?P<nil>nil)[ -](?P<behind>{_NUMBER})\b"
    rf"|(?P<both>{_NUMBER})[ -]all(?=[.,;!?)]|$| draw\b| tie\b))"
)
_LETTER_CUES = frozenset({"p", "pp", "k", "fps", "q", "h", "x", "wd", "playstation", "flight"})
_FRAME_RATE = "24|25|30|48|50|60|90|100|120|144|240"
_FRAMES = LazyPattern(
    # 4K60, 1080p60 and 60fps.
    rf"(?<![\w.,])(?:4k|8k|720p|1080p|1440p|2160p)(?P<space>)(?:{_FRAME_RATE})(?P<rate>p?)(?![a-z0-9_])|(?<![\w.,])\d{{1,3}}(?P<glued>fps)(?![a-z0-9_])"
)
_LETTER = LazyPattern(
    r"(?<![a-z0-9_.,/$-])(?!(?:144|240|360|480|576|720)p)(?P<number>\d{1,3})(?P<letter>pp?)(?![a-z0-9_-])"
)
"""60p, which is a frame rate beside a word for video, and 60 pence elsewhere, and the 60 pages of 60pp."""
_PART_OF_YEAR = LazyPattern(r"(?<![\w./-])(?:q(?P<quarter>[1-4])|h(?P<half>[12]))(?![a-z0-9_/-]|\.\w)")
"""Q3 and H1."""
_NAMES = LazyPattern(
    # 4WD, PlayStation 5, and flight BA 117.
    r"(?<![a-z0-9])[24](?P<drive>wd)(?![a-z0-9])|\bp(?P<station>laystation )(?=\d)|\bflight (?!no|is|at|to|in|on|by|of|or)[a-z][a-z0-9](?P<gap> )(?=\d{1,4}(?![\w.,:]|[ ](?:min|hour)))"
)
_NAMED = {"drive": "-wheel drive", "station": "s", "gap": ""}
_ENDINGS = {"1": "st", "2": "nd", "3": "rd", "4": "th"}
_SIZES = LazyPattern(r"(?<![\w.])(?!0x)\d{1,5}(?:\.\d{1,3})?(?:x\d{1,5}(?:\.\d{1,3})?){1,3}(?!\d)")
"""10x15 and 1920x1080."""
_VIDEO = r"videos?|footage|frames?|fps|resolution|streams?|streaming|cameras?|camcorder|monitors?|displays?|tvs?|films?|hd|hdr|uhd|[48]k|hdmi|console|playback|codec|\d{3,4}[pi]"
_VIDEO_BEFORE = LazyPattern(
    rf"\b(?:(?:{_VIDEO})(?:[ ](?:is|are|was|were|be|runs?|ran|has|have|had|at|in|of|with|up|to|a|an|records?|recorded|recording|shoots?|shot|films?|filmed|plays?|played|streams?|streamed|supports?|smooth|full|native|4k|8k|\d{{3,4}}[pi])){{0,4}}|(?:filmed|shot|streamed|footage) (?:in|at)):?[ ]$"
)
"""A word for video before a frame rate, and the few words that may stand between: a camera case for 50p costs pence."""
_VIDEO_AFTER = LazyPattern(rf"[ ](?:{_VIDEO}|mode|output)\b")
_ONE_PRICE = LazyPattern(
    r"[ ](?:each|per|off|cheaper|dearer|more|less|coins?|piece|stamps?|(?:to|if you) (?:rent|buy|hire))\b"
)
_NEXT_RATE = LazyPattern(r"(?:[ ]?(?:,|/|\b(?:or|and|to|not|than|instead of|rather than|at|in)\b)){1,3}[ ]?")
"""What stands between two frame rates of one video."""
_EAST_ASIAN_VIDEO = LazyPattern(
    "映像|動画|ビデオ|撮影|録画|フレーム|テレビ|モニタ|配信|再生|カメラ|영상|비디오|촬영|녹화|프레임|카메라|모니터|재생|视频|視頻|影片|帧|幀|拍摄|拍攝|录像|錄影|摄像|攝影|播放|4k|8k|1080|2160|hdmi|fps"
)
_EAST_ASIAN = LazyPattern(r"[\u3040-\u30ff\u4e00-\u9fff가-힣]")


_SPREAD = (
    _AGES
    | _TENS
    | _CLOCK
    | _MONTH_SET
    | _PARTS
    | _SPEED_WORDS
    | _WARS
    | _BAKERS
    | _SCORE_WORDS
    | _LETTER_CUES
    | {"world"}
)
"""One of these stands in each text that `spread_words` edits."""


def spread_words(text: str) -> list[tuple[int, int, str]]:
    """Return the edits that write the month of a range of days twice ("6-14 july"), and digits for "article ii"."""
    words = read_cues(text).words
    edits: list[tuple[int, int, str]] = []
    if words.isdisjoint(_SPREAD):
        return edits
    if not words.isdisjoint(_AGES):
        edits += [(match.end(), match.end(), " years old") for match in _AGE.finditer(text)]
    if not words.isdisjoint(_MONTH_SET):
        for match in _DAYS.finditer(text):
            if match["day"]:
                edits.append((match.end("day"), match.end("day"), f" {match['month']}"))
            else:
                edits.append((match.end(), match.end(), f"{match['first']} "))
    if not words.isdisjoint(_SPEED_WORDS):
        edits += [(*match.span(), _SPEEDS[match[0]]) for match in _SPEED.finditer(text)]
    edits += _spread_phrases(text, words) + _spread_letters(text, words)
    if not words.isdisjoint(_WARS) or {"world", "war", "i"} <= words:
        edits += [(*match.span(), f"world war {1 if match['second'] is None else 2}") for match in _WAR.finditer(text)]
    if "dozen" in words and not words.isdisjoint(_BAKERS):
        edits += [(*match.span(), "13") for match in _BAKERS_DOZEN.finditer(text)]
    if not words.isdisjoint(_PARTS) and not words.isdisjoint(_ROMANS):
        edits += [
            (*match.span("roman"), str(value))
            for match in _ROMAN.finditer(text)
            if (value := _ROMANS.get(match["roman"]))
        ]
    return sorted(edits)


def _spread_phrases(text: str, words: frozenset[str]) -> list[tuple[int, int, str]]:
    """Return the edits of scores ("one-nil" is 1-0), spaced hyphens ("twenty - six") and hours ("around the clock")."""
    edits: list[tuple[int, int, str]] = []
    if not words.isdisjoint(_TENS):
        edits += [(*match.span("hyphen"), "-") for match in _SPACED_HYPHEN.finditer(text)]
    if not words.isdisjoint(_CLOCK):
        edits += [(*match.span(match.lastgroup or 0), "24/7") for match in _ALWAYS.finditer(text)]
    if not words.isdisjoint(_SCORE_WORDS):
        for match in _SCORE.finditer(text):
            first, last = (
                match["first"] or match["nil"] or match["both"],
                match["last"] or match["behind"] or match["both"],
            )
            edits.append((*match.span(), f"{_POINTS.get(first, first)}-{_POINTS.get(last, last)}"))
    return edits


def _spread_letters(text: str, words: frozenset[str]) -> list[tuple[int, int, str]]:
    """Return the edits of frame rates ("4K60", "60p"), of pence ("50p"), pages ("60pp"), quarters ("Q3") and sizes."""
    edits: list[tuple[int, int, str]] = []
    if words.isdisjoint(_LETTER_CUES):
        return edits
    for match in _FRAMES.finditer(text):
        if match["glued"]:
            edits.append((*match.span("glued"), " fps"))
        else:
            edits += [(*match.span("space"), " "), (*match.span("rate"), " fps")]
    is_east_asian = bool(_EAST_ASIAN.search(text))
    end_of_rate = -1
    for match in _LETTER.finditer(text):
        is_rate = match["number"] in _FRAME_RATES and (
            _is_beside_video(text, match, end_of_rate)
            or (is_east_asian and bool(_EAST_ASIAN_VIDEO.search(text, max(0, match.start() - 24), match.end() + 12)))
        )
        end_of_rate = match.end() if is_rate else -1
        name = "pages" if match["letter"] == "pp" else "fps" if is_rate else "p" if is_east_asian else "pence"
        # In Japanese, 60p may be pages, points or frames: it is a number.
        edits.append((*match.span("letter"), f" {name}"))
    edits += [(*match.span(name), _NAMED[name]) for match in _NAMES.finditer(text) for name in (match.lastgroup or "",)]
    for match in _PART_OF_YEAR.finditer(text):
        number, name = (match["quarter"], "quarter") if match["quarter"] else (match["half"], "half")
        edits.append((*match.span(), f"{number}{_ENDINGS[number]} {name}"))
    for match in _SIZES.finditer(text):
        edits += [(place, place + 1, " x ") for place in range(*match.span()) if text[place] == "x"]
    return edits


def _is_beside_video(text: str, match: re.Match[str], end_of_rate: int) -> bool:
    """Return whether a match such as "60p" stands directly beside a word for video, or behind another frame rate."""
    start, end = match.span()
    if _ONE_PRICE.match(text, end):
        return False
    if end_of_rate >= 0 and _NEXT_RATE.fullmatch(text, end_of_rate, start):
        return True
    return bool(_VIDEO_BEFORE.search(text, max(0, start - 60), start) or _VIDEO_AFTER.match(text, end))


_FRAME_RATES = frozenset(_FRAME_RATE.split("|"))


def split_glued(text: str) -> list[tuple[int, int, str]]:
    """Return the edits that put a space between a small word and a number or a month, and drop marks of footnotes."""
    words = read_cues(text).words
    edits: list[tuple[int, int, str]] = []
    if not words.isdisjoint(_GLUED_NUMERALS):
        edits += [(place, place, " ") for place in _places_in_numerals(text)]
    beside_digit = _BESIDE_DIGIT.search(text)
    if beside_digit:
        edits += [
            (*(match.span(match.lastgroup) if match.lastgroup else match.span()), "") for match in _LOST.finditer(text)
        ]
    if beside_digit or not words.isdisjoint(_GLUED_MONTHS):
        edits += [(match.end(), match.end(), " ") for match in _GLUED.finditer(text)]
    return sorted(edits)


def _places_in_numerals(text: str) -> list[int]:
    """Return where a numeral begins that a small word precedes without a space, as in "have" and "two"."""
    return [match.end() for match in _BEFORE_NUMERAL.finditer(text)]
