"""Words around a number that say which side of it is meant: "at least", 이하, 不超过."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairtrial.text.facts.word_patterns import cue
from fairtrial.text.lazy_pattern import LazyPattern

if TYPE_CHECKING:
    from fairtrial.text.facts.fact import Bound

_REACH = 24
_LEADING = LazyPattern(
    r"(?:(?P<most>(?:up to|at most|no more than|not more than|no later than|no longer than|not exceed|never exceeds?|maximum(?: of)?|max\.?|a maximum of|"
    r"within|limited to|must not exceed|cannot exceed|can't exceed|won't exceed|doesn't exceed|not over|no greater than|capped at)"
    r"|최대|최고|많아야|늦어도|最大|最多|最長|最高|不超过|不超過|不得超过|不得超過|至多|最长|最晚|多くても|遅くとも)"
    r"|(?P<least>(?:at least|no fewer than|no less than|not less than|minimum(?: of)?|min\.?|as early as|a minimum of|no sooner than|no earlier than|starting at|starts at|starting from)"
    r"|최소|적어도|못해도|少なくとも|最低|最少|最短|至少|起码|起碼|不少于|不少於|不低于|不低於)"
    r"|(?P<over>(?:more than|over|above|exceed(?:s|ed|ing)?|longer than|older than|greater than|higher than|upwards of)|超过|超過|高于|高於|多于|票房破|多於|大于|大於|突破)"
    r"|(?P<under>(?:less than|under|below|fewer than|shorter than|younger than|lower than|just short of)|不到|低于|低於|少于|少於|小于|小於|不足|未满|未滿|不满|不滿)"
    r"|(?P<about>about|around|approximately|roughly|nearly|almost|some|circa|approx\.?|약|대략|거의|約|およそ|大约|大約|大概|约|ほぼ|将近|將近|差不多|近))"
    r"[ ]?(?:a |an |the |us|nt|\$|€|£|¥|￥|₩|[一-龥]{1,3})?[ ]?$"
)
_LATIN = LazyPattern("[a-z]+")
_LEADING_WORDS = frozenset(
    (
        "up most than later exceed exceeds exceeded exceeding maximum max within limited over capped least minimum min "
        "early earlier starting starts above upwards under below short about around approximately roughly nearly almost "
        "some circa approx"
    ).split()
)
"""One of these stands in each English match of the pattern above, and one of the next in each other match."""
_LEADING_SIGNS = frozenset("おほ不低多大将將小少差最未票突約约至起超近遅高거늦대많못약적최")
LEADING_CUE = cue(_LEADING_WORDS, _LEADING_SIGNS)
_TRAILING_SIGNS = frozenset("omati+-")
"""The signs with which an English match of the pattern below begins."""
_TRAILING = LazyPattern(
    r"[ ]?(?:쯤|의|[가-힣一-龥]{1,2}?)?(?:を|가|을|를|이|은)?[ ]?(?:"
    r"(?P<most>or less|or fewer|or under|or below|or younger|max(?:imum)?\b|at most|at the most|tops\b|이하|이내|까지|을? ?넘지|를? ?넘지|초과하지|以下|以内|以內|まで|超えない|超えません|之内|之內|封顶|封頂|を?上限|を?限度|です?が上限)"
    r"|(?P<least>or more|or over|or older|or above|or later|and up|and over|and above|minimum\b|\+|이상|부터|以上|起|及以上|から(?!.{0,6}まで))"
    r"|(?P<over>초과|넘|超(?!え?な)|を?超え(?!な|ま)|を?上回|多(?=[個个元天年人]|$)|여[ ]|余り)"
    r"|(?P<under>미만|안 ?되|未満|弱|に満たな|を?下回|不到)"
    r"|(?P<about>or so|-?ish|쯤|정도|가량|ほど|くらい|ぐらい|前後|左右|上下|前后|程度|許))"
)
_SIDE_BEFORE = LazyPattern(
    r"(?:(?P<before>\b(?:before|by|until|till|no later than|up to|ends?(?: on)?|expires?(?: on)?))|(?P<after>\b(?:after|from|since|starting|starts?(?: on| at)?|begins?(?: on| at)?|as of)))"
    r"(?: the| noon on| midnight on| on| at)?[ ]$"
)
_SIDE_WORDS = frozenset(
    "before by until till later to ends end expires expire after from since starting starts start begins begin of".split()
) | {"beginning", "as"}
_SIDE_AFTER = LazyPattern(
    r"[ ]?(?:\([^()]{1,4}\))?[ ]?(?:의 ?|の)?(?:(?P<before>전(?=[에까]|[ ,.]|$)|이전|까지|前|以前|まで|之前|为止|為止|截止)|(?P<after>후|이후|부터|뒤|後|以後|以降|から|后|以后|之后|之後|起))"
)
BOUNDS_CUE = cue(
    "up most no not never maximum max within limited must cannot can t over capped least fewer less minimum min early "
    "starting starts more above exceed exceeds exceeded exceeding longer older greater higher upwards under below "
    "shorter younger lower short about around approximately roughly nearly almost some circa approx tops ish so or and "
    "before by until till end ends expire expires after from since start begin begins as",
    "+최많늦最不至晚多遅적못少低短起超高于於票大突到小足未满滿약대거約およ将將差近쯤의이까을를초以まで넘か余미안弱に정가ほくぐ前左上后程許전後之为為截후부뒤間を",
)
"""The cue of the bounds in a text in ASCII."""
_KINDS: tuple[Bound, ...] = ("most", "least", "over", "under")


def bound_at(text: str, start: int, end: int, *, calendar: bool = False, may_lead: bool = True) -> tuple[Bound, bool]:
    """Return the bound of the number from `start` to `end` of a canonical text, and whether it is approximate.

    A date or a time (`calendar`) is `most` if the event is before it, and `least` if the event is after it. Unless
    `may_lead`, the text holds no cue of a bound before a number.
    """
    before, after = text[max(0, start - _REACH) : start], text[end : end + 2].lstrip(" ")
    words = _LATIN.findall(before) if may_lead or calendar else ()
    leads = may_lead and not (_LEADING_SIGNS.isdisjoint(before) and _LEADING_WORDS.isdisjoint(words))
    leading = _LEADING.search(before) if leads else None
    trails = after and (after[0] in _TRAILING_SIGNS or not after[0].isascii())
    right = _TRAILING.match(text, end, end + _REACH) if trails else None
    if leading is right is None and not calendar:
        return "", False
    about = any(match is not None and match.group("about") for match in (leading, right))
    if calendar:
        side = _SIDE_AFTER.match(text, end, end + _REACH)
        if not (side or _SIDE_WORDS.isdisjoint(words)):
            side = _SIDE_BEFORE.search(before)
        if side:
            return ("most" if side.group("before") else "least"), about
    for match in (right, leading):
        for kind in _KINDS:
            if match is not None and match.group(kind):
                return kind, about
    return "", about
