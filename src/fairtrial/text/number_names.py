"""Words before a number that say what it is: a telephone, a card, a person, an order or a version."""

from __future__ import annotations

import re

_REACH = 40
"""The number of characters before a number in which its name is looked for."""
_BETWEEN = r"[\s\"'`\\*:：=＝#().,|>\[\]-]{0,8}$"
"""The characters between a name and its number: spaces, quotes, and assignment signs."""
_NUMBER_WORD = r"(?:[\s_.-]{0,2}(?:no|nr|num|number|nummer|id|code|번호|番号|號|号|n°|nº))?"

TELEPHONE = re.compile(
    r"(?:phones?|(?<![a-z])(?:tel|fax|cell|sms|handy|telefon\w*|t[ée]l[ée]phone|celular|mobil\w{0,3}|portable)|whatsapp"
    rf"|전화|휴대폰|핸드폰|연락처|電話|携帯|电话|手机|手機){_NUMBER_WORD}(?:[는은は])?{_BETWEEN}",
    re.IGNORECASE,
)
CARD = re.compile(
    rf"(?:(?:credit|debit|bank|payment)?[\s_-]?card|visa|mastercard|amex|카드|カード|卡|karten?|carte|cart[ãa]o|tarjeta)"
    rf"{_NUMBER_WORD}{_BETWEEN}",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(
    r"(?:(?<![a-z])(?:order|invoice|inv|bill|ticket|case|ref|reference|tracking|shipment|parcel|issn|isbn|ean|upc|gtin"
    r"|sku|barcode|serial|uid|key|row|line|commit|build|part|item|product|batch|lot|seq|booking|reservation"
    r"|confirmation|transaction|receipt|trace|span|run|job|bestell\w*|auftrags?\w*|rechnungs?\w*|sendungs?\w*|commande"
    r"|facture|pedido|fatura)|(?<![a-z])ids?|주문|송장|접수|예약|운송장|상품|注文|伝票|追跡|予約|订单|訂單|运单|快递|单)"
    rf"{_NUMBER_WORD}{_BETWEEN}",
    re.IGNORECASE,
)
_VERSION = re.compile(
    r"(?:(?:version|ver\.?|release|(?<![a-z])v|build|firmware|section|chapter|kapitel|§|(?<![a-z])(?:nt|oid)|버전|バージョン"
    rf"|版本){_BETWEEN}|(?<!addr)(?<!ip)(?<!host)(?<!src)(?<!dst)(?:[=<>~^!]=|[~^])\s*$|[A-Za-z]/$)",
    re.IGNORECASE,
)
PERSONS = {
    "Korea": re.compile(r"주민|resident|rrn|jumin", re.IGNORECASE),
    "Japan": re.compile(r"マイナンバー|個人番号|my[ _-]?number", re.IGNORECASE),
    "United States": re.compile(r"(?<![a-z])ssn|social[ _-]?security", re.IGNORECASE),
    "United Kingdom": re.compile(
        r"national[ _-]?insurance|(?<![a-z])nino(?![a-z])|(?<![a-z])ni[ _-]?(?:no|number)", re.IGNORECASE
    ),
    "Germany": re.compile(r"steuer|idnr|tax[ _-]?id|(?<![a-z])tin(?![a-z])", re.IGNORECASE),
    "France": re.compile(r"(?<![a-z])nir(?![a-z])|s[ée]curit[ée][ _-]sociale|(?<![a-z])insee", re.IGNORECASE),
    "Brazil": re.compile(r"(?<![a-z])cpf", re.IGNORECASE),
}
"""The names for personal numbers, by country. They may stand anywhere in the reach before a number."""


def is_named(name: re.Pattern[str], text: str, start: int) -> bool:
    """Return whether a name stands before the place at which a number starts."""
    return name.search(text, max(0, start - _REACH), start) is not None


def is_identifier(text: str, start: int) -> bool:
    """Return whether a word such as `order` or `ISBN` stands right before a number."""
    return is_named(_IDENTIFIER, text, start)


def is_version(text: str, start: int) -> bool:
    """Return whether a number is a program version, or a section number."""
    return is_named(_VERSION, text, start)
