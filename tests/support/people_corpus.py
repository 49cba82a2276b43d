"""Personal data of eight countries in the places where it stands, and what only looks like personal data.

Written from the numbering plans and the check digits of the countries, before the detector; every number is random.
"""

from __future__ import annotations

import base64
import json
import random
import string
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

DIGITS = string.digits
ALNUM = string.ascii_uppercase + DIGITS
Named = tuple[str, str]
"""The words before a number, which may be empty, and the number."""
_WIDE = {ord(sign): chr(ord(sign) + 0xFEE0) for sign in DIGITS + "-"}


@dataclass(frozen=True)
class Example:
    """A text. `personal` is the data that must be gone; it is empty if the text must stay as it is."""

    category: str
    place: str
    text: str
    personal: str = ""


def _some(rng: random.Random, alphabet: str, count: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(count))


def _digits(rng: random.Random, count: int) -> str:
    return _some(rng, DIGITS, count)


def _subscriber(rng: random.Random, count: int) -> str:
    """The digits of a subscriber, of which the first is neither 0 nor 1 nor 9."""
    return rng.choice("2345678") + _digits(rng, count - 1)


def _phone_us(rng: random.Random) -> str:
    area, exchange, line = rng.choice(["212", "415", "312", "617", "206"]), _subscriber(rng, 3), _digits(rng, 4)
    exchange = exchange if exchange[1:] != "11" else "555"
    return rng.choice(
        ["({}) {}-{}", "{}-{}-{}", "{}.{}.{}", "+1 {} {} {}", "+1{}{}{}", "1-{}-{}-{}", "+1 ({}) {}-{}", "{} {} {}"]
    ).format(area, exchange, line)


def _phone_uk(rng: random.Random) -> str:
    if rng.random() < 0.5:
        mobile = rng.choice(["7976", "7753", "7400", "7525", "7812"])
        return rng.choice(["0{} {}", "+44 {} {}", "+44{}{}", "0{}{}", "+44 (0){} {}"]).format(mobile, _digits(rng, 6))
    london = "7" + _digits(rng, 3)
    return rng.choice(["020 {} {}", "+44 20 {} {}", "(020) {} {}", "+4420{}{}", "020-{}-{}"]).format(
        london, _digits(rng, 4)
    )


def _phone_de(rng: random.Random) -> str:
    if rng.random() < 0.5:
        mobile = rng.choice(["151", "160", "171", "175", "176"])
        number = _subscriber(rng, 8) if mobile in {"151", "176"} else _subscriber(rng, 7)
        return rng.choice(["0{} {}", "+49 {} {}", "+49{}{}", "0{}/{}", "0{}-{}", "0049 {} {}"]).format(mobile, number)
    area = rng.choice(["30", "89", "40", "221", "69"])
    return rng.choice(["0{} {}", "+49 {} {}", "0{}/{}", "+49 (0){} {}", "(0{}) {}", "0{}-{}"]).format(
        area, _subscriber(rng, rng.choice([7, 8]))
    )


def _phone_fr(rng: random.Random) -> str:
    start = rng.choice("12345678")
    start = start if start != "8" else "6"
    pairs = [str(rng.randrange(30, 70)), *(_digits(rng, 2) for _ in range(3))]
    return rng.choice(
        ["0{} {} {} {} {}", "0{}.{}.{}.{}.{}", "+33 {} {} {} {} {}", "0{}{}{}{}{}", "+33{}{}{}{}{}", "0{}-{}-{}-{}-{}"]
    ).format(start, *pairs)


def _phone_kr(rng: random.Random) -> str:
    if rng.random() < 0.6:
        middle, line = _subscriber(rng, 4), _digits(rng, 4)
        return rng.choice(
            ["010-{}-{}", "010 {} {}", "010{}{}", "+82 10-{}-{}", "+82-10-{}-{}", "010.{}.{}", "+8210{}{}"]
        ).format(middle, line)
    area = rng.choice(["02", "031", "051", "053"])
    middle = rng.choice("2345678") + _digits(rng, 2 if area != "02" else 3)
    return rng.choice(["{}-{}-{}", "{} {} {}", "{})" + "{}-{}", "({}) {}-{}"]).format(area, middle, _digits(rng, 4))


def _phone_jp(rng: random.Random) -> str:
    if rng.random() < 0.5:
        mobile = rng.choice(["90", "80", "70"])
        return rng.choice(["0{}-{}-{}", "0{}{}{}", "+81 {}-{}-{}", "+81-{}-{}-{}", "0{} {} {}"]).format(
            mobile, _subscriber(rng, 4), _digits(rng, 4)
        )
    area, middle = rng.choice(
        [("3", "3" + _digits(rng, 3)), ("6", "6" + _digits(rng, 3)), ("52", "2" + _digits(rng, 2))]
    )
    return rng.choice(["0{}-{}-{}", "+81 {}-{}-{}", "(0{}) {}-{}", "0{}({}){}"]).format(area, middle, _digits(rng, 4))


def _phone_cn(rng: random.Random) -> str:
    if rng.random() < 0.7:
        start = rng.choice(["138", "139", "150", "186", "177", "199"])
        return rng.choice(["{}{}{}", "{} {} {}", "{}-{}-{}", "+86 {} {} {}", "+86{}{}{}", "+86-{}-{}-{}"]).format(
            start, _digits(rng, 4), _digits(rng, 4)
        )
    return rng.choice(["010-{}{}", "021-{}{}", "+86 10 {} {}", "+86 21 {} {}", "(010) {}-{}", "010 {} {}"]).format(
        rng.choice("56") + _digits(rng, 3), _digits(rng, 4)
    )


def _phone_br(rng: random.Random) -> str:
    area = rng.choice(["11", "21", "31", "41", "61"])
    if rng.random() < 0.7:
        number = "9" + rng.choice("6789") + _digits(rng, 3), _digits(rng, 4)
        return rng.choice(["({}) {}-{}", "{} {}-{}", "+55 {} {}-{}", "+55{}{}{}", "+55 ({}) {}-{}"]).format(
            area, *number
        )
    return rng.choice(["({}) {}-{}", "+55 {} {}-{}", "+55 ({}) {}-{}"]).format(
        area, rng.choice("345") + _digits(rng, 3), _digits(rng, 4)
    )


def _luhn(body: str) -> str:
    """Return the body of a card number with its Luhn digit."""
    total = 0
    for place, digit in enumerate(reversed(body)):
        number = int(digit) * (2 - place % 2)
        total += number - 9 if number > 9 else number
    return body + str(-total % 10)


def _card(rng: random.Random) -> str:
    """A card of Visa, Mastercard, American Express, Discover, JCB, UnionPay or Diners Club, as people write them."""
    start, length = rng.choice(
        [
            ("4", 16),
            ("51", 16),
            ("55", 16),
            ("2221", 16),
            ("2720", 16),
            ("6011", 16),
            ("65", 16),
            ("3528", 16),
            ("3589", 16),
            ("62", 16),
            ("34", 15),
            ("37", 15),
            ("36", 14),
        ]
    )
    number = _luhn(start + _digits(rng, length - len(start) - 1))
    parts = (
        [number[:4], number[4:10], number[10:]]
        if length < 16
        else [number[place : place + 4] for place in range(0, length, 4)]
    )
    return rng.choice([number, " ".join(parts), "-".join(parts)])


_BANKS = {"DE": (18, ""), "FR": (23, ""), "GB": (18, "NWBK"), "ES": (20, ""), "NL": (14, "ABNA"), "IT": (23, "X")}


def _iban(rng: random.Random) -> str:
    """An IBAN with its check digits (ISO 13616), in one piece or in groups of four."""
    country = rng.choice([*_BANKS, "BR"])
    length, bank = _BANKS.get(country, (23, ""))
    body = bank + _digits(rng, length - len(bank)) + (rng.choice(["C1", "P2"]) if country == "BR" else "")
    number = int("".join(str(int(sign, 36)) for sign in f"{body}{country}00"))
    whole = f"{country}{98 - number % 97:02}{body}"
    return rng.choice([whole, " ".join(whole[place : place + 4] for place in range(0, len(whole), 4))])


def _east_asian_email(rng: random.Random) -> str:
    """An e-mail address with Korean, Japanese or Chinese letters (RFC 6531)."""
    local = rng.choice(["홍길동", "김영희", "田中", "山田太郎", "たなか", "タナカ", "李雷", "王小明"])
    host = rng.choice(["example.com", "example.co.kr", "회사.한국", "例え.jp", "例子.中国", "例子.example.cn"])
    if host[0] > "z" and rng.random() < 0.3:
        local = "hong.gildong"
    return f"{local}{rng.choice(['', rng.randrange(100)])}@{host}"


def _birth(rng: random.Random) -> datetime:
    return datetime.fromtimestamp(rng.randrange(-500_000_000, 1_100_000_000), UTC)


def _person_us(rng: random.Random) -> Named:
    area = rng.choice([number for number in range(1, 900) if number != 666])
    number = f"{area:03}-{rng.randrange(1, 100):02}-{rng.randrange(1, 10_000):04}"
    plain, spaced = number.replace("-", ""), number.replace("-", " ")
    return rng.choice([("", number), ("", number), ("SSN: ", plain), ("social security number ", spaced)])


def _person_uk(rng: random.Random) -> Named:
    start = rng.choice("ABCEGHJKLMPRSTWXY") + rng.choice("ABCEHJLMPRSWXYZ")
    pairs = [_digits(rng, 2) for _ in range(3)]
    end = rng.choice("ABCD")
    spaced = f"{start} {' '.join(pairs)} {end}"
    return rng.choice([("", spaced), ("National Insurance number ", spaced.replace(" ", ""))])


def _person_de(rng: random.Random) -> Named:
    """The tax number of a person in Germany: eleven digits, the last by ISO 7064 MOD 11,10."""
    order = rng.sample(DIGITS, 9)
    body = [*order, rng.choice(order)]
    if body[0] == "0":
        body[0], body[1] = body[1], body[0]
    product = 10
    for digit in body:
        product = ((int(digit) + product) % 10 or 10) * 2 % 11
    number = "".join(body) + str((11 - product) % 10)
    name = rng.choice(["Steuer-ID ", "Steueridentifikationsnummer: ", "IdNr. ", "Steuer-Identifikationsnummer "])
    return name, rng.choice([number, f"{number[:2]} {number[2:5]} {number[5:8]} {number[8:]}"])


def _person_fr(rng: random.Random) -> Named:
    """The social security number of a person in France: thirteen digits, and 97 minus their remainder."""
    parts = [rng.choice("12"), _digits(rng, 2), f"{rng.randrange(1, 13):02}", f"{rng.randrange(1, 96):02}"]
    parts += [f"{rng.randrange(1, 900):03}", f"{rng.randrange(1, 900):03}"]
    parts.append(f"{97 - int(''.join(parts)) % 97:02}")
    plain = "".join(parts)
    return rng.choice([("", " ".join(parts)), ("NIR ", plain), ("numéro de sécurité sociale : ", plain)])


def _person_kr(rng: random.Random) -> Named:
    """A resident registration number. Those given since October 2020 end in random digits."""
    birth = _birth(rng)
    sex = rng.choice("12" if birth.year < 2000 else "34")
    body = f"{birth:%y%m%d}{sex}{_digits(rng, 5)}"
    weights = (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)
    check = (11 - sum(int(digit) * weight for digit, weight in zip(body, weights, strict=True)) % 11) % 10
    number = body + str(check)
    random_end = f"{body[:7]}{_digits(rng, 6)}"
    hyphened = f"{number[:6]}-{number[6:]}"
    return rng.choice(
        [
            ("", hyphened),
            ("", hyphened),
            ("", f"{random_end[:6]}-{random_end[6:]}"),
            ("주민등록번호 ", number),
            ("주민번호: ", hyphened.replace("-", " ")),
        ]
    )


def _my_number(rng: random.Random) -> str:
    """A My Number: twelve digits, the last of which is a check digit."""
    body = _digits(rng, 11)
    total = sum(
        int(digit) * (place + 1 if place <= 6 else place - 5) for place, digit in enumerate(reversed(body), start=1)
    )
    return body + str(0 if total % 11 <= 1 else 11 - total % 11)


def _person_jp(rng: random.Random) -> Named:
    number = _my_number(rng)
    name = rng.choice(["マイナンバー", "マイナンバーは", "個人番号：", "My Number: ", "my number is "])
    separator = rng.choice(["", " ", "-"])
    return name, separator.join([number[:4], number[4:8], number[8:]])


def _person_cn(rng: random.Random) -> Named:
    """A resident identity number: place, birthday, sequence, and a check character (ISO 7064 MOD 11-2)."""
    place = rng.choice(["110105", "310115", "440306", "510107", "330106"])
    body = f"{place}{_birth(rng):%Y%m%d}{_digits(rng, 3)}"
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return "", body + "10X98765432"[sum(int(digit) * weight for digit, weight in zip(body, weights, strict=True)) % 11]


def _cpf(rng: random.Random) -> str:
    """A number of a person in Brazil: nine digits and two check digits."""
    number = _digits(rng, 9)
    for _ in range(2):
        weighted = (int(digit) * weight for digit, weight in zip(number, range(len(number) + 1, 1, -1), strict=True))
        rest = sum(weighted) % 11
        number += str(0 if rest < 2 else 11 - rest)
    return number


def _person_br(rng: random.Random) -> Named:
    number = _cpf(rng)
    dotted = f"{number[:3]}.{number[3:6]}.{number[6:9]}-{number[9:]}"
    return rng.choice([("", dotted), ("", dotted), ("CPF ", number), ("CPF: ", dotted)])


def _email(rng: random.Random) -> str:
    local = rng.choice(["jane.doe", "hong.gildong", "t_tanaka", "li-wei", "ana+orders", "o'neil", "x1"])
    host = rng.choice(["example.com", "mail.example.co.kr", "example.co.jp", "example.com.br", "example.de", "qq.com"])
    return f"{local}{rng.randrange(100)}@{host}"


def _ipv4(rng: random.Random) -> str:
    first = rng.choice([10, 23, 52, 81, 104, 172, 185, 192, 203, 211])
    return f"{first}.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(1, 255)}"


def _ipv6(rng: random.Random) -> str:
    hextets = [_some(rng, "0123456789abcdef", 4) for _ in range(7)]
    return rng.choice(
        [
            f"2001:{':'.join(hextets)}",
            f"2a02:{hextets[0]}::{hextets[1]}",
            f"2001:db8:{hextets[0]}::1",
            f"fd00:{hextets[0]}:{hextets[1]}::{rng.randrange(1, 99)}",
            f"fe80::{':'.join(hextets[:4])}",
        ]
    )


def _names(rng: random.Random) -> str:
    return rng.choice(
        ["jane", "gildong.hong", "taro", "m-dupont", "liwei", "ana_souza", "j.smith", "jörg", "홍길동", "田中"]
    )


HOMES: dict[str, Callable[[str], str]] = {
    "linux": lambda name: f"/home/{name}/notes/a.txt",
    "mac": lambda name: f"/Users/{name}/Documents",
    "windows": lambda name: f"C:\\Users\\{name}\\AppData",
    "windows, slashes": lambda name: f"C:/Users/{name}/x.py",
    "windows, escaped": lambda name: f"C:\\\\Users\\\\{name}\\\\x.py",
    "windows, a name of two words": lambda name: f"D:\\Users\\{name} Kim\\x.py",
    "wsl": lambda name: f"/mnt/c/Users/{name}/x",
    "file url": lambda name: f"file:///home/{name}/x",
    "at the end": lambda name: f"cd /home/{name}",
    "in quotes": lambda name: f'"/Users/{name}"',
    "traceback": lambda name: f'File "/home/{name}/app/main.py", line 3, in main',
    "variable": lambda name: f"HOME=/home/{name}",
    "list": lambda name: f"PATH=/usr/bin:/home/{name}/bin:/bin",
    "json": lambda name: json.dumps({"cwd": f"C:\\Users\\{name}\\x"}, ensure_ascii=False),
}

PERSONS: dict[str, Callable[[random.Random], Named]] = {
    "person: US": _person_us,
    "person: GB": _person_uk,
    "person: DE": _person_de,
    "person: FR": _person_fr,
    "person: KR": _person_kr,
    "person: JP": _person_jp,
    "person: CN": _person_cn,
    "person: BR": _person_br,
}

WHOLES: dict[str, Callable[[random.Random], str]] = {
    "phone: US": _phone_us,
    "phone: GB": _phone_uk,
    "phone: DE": _phone_de,
    "phone: FR": _phone_fr,
    "phone: KR": _phone_kr,
    "phone: JP": _phone_jp,
    "phone: CN": _phone_cn,
    "phone: BR": _phone_br,
    "card": _card,
    "account": _iban,
    "email": _email,
    "email: East Asian": _east_asian_email,
    "ip address: 4": _ipv4,
    "ip address: 6": _ipv6,
}

PLACES: dict[str, Callable[[str], str]] = {
    "sentence": lambda data: f"Please use {data} until tomorrow.",
    "end": lambda data: f"It is {data}.",
    "brackets": lambda data: f"The user ({data}) asked twice",
    "start": lambda data: f"{data}, as I said",
    "korean": lambda data: f"제 것은 {data}입니다. 확인해 주세요.",
    "japanese": lambda data: f"こちらは「{data}」です。",
    "chinese": lambda data: f"我的是{data}，谢谢",
    "german": lambda data: f"Meine lautet {data}, bitte prüfen.",
    "json": lambda data: json.dumps({"note": f"got {data} today"}, ensure_ascii=False),
    "json, member": lambda data: json.dumps({"value": data}, ensure_ascii=False),
    "json in json": lambda data: json.dumps({"body": json.dumps({"text": data})}),
    "csv": lambda data: f"7,{data},Seoul",
    "table": lambda data: f"| 7 | {data} | ok |",
    "quotes": lambda data: f"text='{data}'",
    "log": lambda data: f"2026-01-02 12:30:45,123 INFO [worker-3] value={data} ok",
    "lines": lambda data: f"one\n{data}\nthree",
    "url": lambda data: f"https://example.com/find?q={quote(data)}&page=2",
    "base64": lambda data: base64.b64encode(json.dumps({"text": data}).encode()).decode(),
}
"""The places. In the last two the data is encoded, so that its own characters do not stand in the text."""

BY_NAME: dict[str, Callable[[random.Random], str]] = {
    "phone": lambda rng: "212" + _subscriber(rng, 3).replace("11", "55") + _digits(rng, 4),
    "tel": lambda rng: "0" + rng.choice("1345") + str(rng.randrange(30, 70)) + _digits(rng, 6),
    "mobile_number": lambda rng: "11" + "9" + rng.choice("6789") + _digits(rng, 7),
    "전화번호": lambda rng: "010" + _subscriber(rng, 4) + _digits(rng, 4),
    "電話番号": lambda rng: "090" + _subscriber(rng, 4) + _digits(rng, 4),
    "手机": lambda rng: "138" + _digits(rng, 8),
    "card_number": lambda rng: _luhn("4" + _digits(rng, 14)),
    "ssn": lambda rng: f"{rng.randrange(100, 600)}{rng.randrange(10, 99)}{rng.randrange(1000, 9999)}",
    "my_number": _my_number,
    "cpf": _cpf,
}
"""Names of members, and numbers that nobody could know without them."""


def _order(rng: random.Random) -> str:
    return rng.choice(
        [
            f"order {_digits(rng, 16)}",
            f"order {_luhn('4' + _digits(rng, 14))}",
            f"Order #{_digits(rng, 10)}",
            f"order no. {rng.choice(['138', '010', '0171', '212'])}{_digits(rng, 8)}",
            f"{rng.randrange(100, 999)}-{_digits(rng, 7)}-{_digits(rng, 7)}",
            f"ORD-2026-{_digits(rng, 6)}",
            f"주문번호 {rng.randrange(2024, 2027)}{rng.randrange(1, 13):02}{_digits(rng, 8)}",
            f"注文番号：{_digits(rng, 3)}-{_digits(rng, 7)}-{_digits(rng, 7)}",
            f"订单号 {_digits(rng, 18)}",
            f"Bestellnummer {_digits(rng, 11)}",
            f"INV-{_digits(rng, 4)}-{_digits(rng, 4)}",
            f"invoice {_digits(rng, 4)} {_digits(rng, 4)} {_digits(rng, 4)}",
            f"#W{_digits(rng, 7)}",
            f"item_id {_digits(rng, 10)}",
            f"tracking 1Z{_some(rng, ALNUM, 6)}{_digits(rng, 10)}",
            f"tracking number {_digits(rng, 12)}",
            f"reservation {_some(rng, ALNUM, 6)}",
        ]
    )


def _time(rng: random.Random) -> str:
    moment = datetime.fromtimestamp(rng.randrange(900_000_000, 1_900_000_000), UTC)
    seconds = int(moment.timestamp())
    return rng.choice(
        [
            f"{moment:%Y-%m-%d %H:%M:%S}",
            f"{moment:%Y-%m-%dT%H:%M:%S}.{_digits(rng, 6)}Z",
            f"{moment:%Y-%m-%dT%H:%M:%S}+09:00",
            f"{moment:%d.%m.%Y}",
            f"{moment:%d-%m-%Y}",
            f"{moment:%d/%m/%Y %H:%M}",
            f"{moment:%d.%m.%Y %H.%M}",
            f"{moment:%d %m %Y}",
            f"{moment:%Y.%m.%d}",
            f"{moment:%Y年%m月%d日}",
            f"{moment:%Y. %m. %d.}",
            f"{moment:%m-%d %H:%M:%S}",
            f"{moment:%Y%m%d}",
            f"{moment:%Y%m%d%H%M%S}",
            f"{moment:%Y%m%d}-{moment:%H%M%S}",
            f"{moment:%d %b %Y %H:%M:%S}",
            f"ts={seconds}",
            f"{seconds}.{_digits(rng, 6)}",
            f"at {seconds}{_digits(rng, 3)}",
            f"{seconds}{_digits(rng, 6)}",
            f"{seconds}{_digits(rng, 9)} ns",
            f"{moment:%H:%M:%S}",
            f"{moment:%H:%M:%S},{_digits(rng, 3)}",
            f"{moment:%H:%M} to 0{rng.randrange(1, 9)}:30",
        ]
    )


def _version(rng: random.Random) -> str:
    number = ".".join(str(rng.randrange(30)) for _ in range(4))
    three = ".".join(str(rng.randrange(300)) for _ in range(3))
    return rng.choice(
        [
            *(f"version {number}", f"v{number}", f"Version: {number}", f'"version": "{number}"', f"ver. {number}"),
            *(f"numpy=={number}", f"lib>={number}", f"package-{number}.tar.gz", f"release {number}"),
            *(f"Chrome/{rng.randrange(90, 130)}.0.{rng.randrange(4000, 7000)}.{rng.randrange(200)} Safari/537.36",),
            *(f"Agent/{number} (x)", f"버전 {number}", f"バージョン{number}", f"版本 {number}", f"build {number}"),
            *(three, f"v{three}-rc.1", f"section {number}", f"§ {number}", f'AssemblyVersion("{number}")'),
            *(f"1.3.6.1.4.1.{_digits(rng, 4)}.{number}", f"python {three}", f"kernel 6.{three}-generic"),
            *(f"firmware {number}", f"see chapter {number}", f"^{three}", f"~={number}"),
        ]
    )


def _hash(rng: random.Random) -> str:
    size = rng.choice([7, 8, 12, 32, 40, 64])
    hexa = _some(rng, "0123456789abcdef", size)
    return rng.choice(
        [
            f"commit {hexa}",
            f"sha256:{_some(rng, '0123456789abcdef', 64)}",
            hexa,
            str(uuid.UUID(int=rng.getrandbits(128))),
            f"0x{_some(rng, '0123456789abcdef', 16)}",
            f"blob {_digits(rng, 40)}",
            _some(rng, "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 26),
            ":".join(_some(rng, "0123456789abcdef", 2) for _ in range(6)),
            "SHA256:" + _some(rng, string.ascii_letters + DIGITS, 43),
            ":".join(_some(rng, "0123456789abcdef", 2) for _ in range(16)),
            ":".join(_some(rng, "0123456789abcdef", 2) for _ in range(8)),
            f"{_some(rng, '0123456789abcdef', 8)}-{_digits(rng, 4)}",
            f"trace_id={_digits(rng, 32)}",
        ]
    )


def _ean(rng: random.Random) -> str:
    body = rng.choice(["880", "400", "978", "490", "690"]) + _digits(rng, 9)
    total = sum(int(digit) * (1, 3)[place % 2] for place, digit in enumerate(body))
    return body + str(-total % 10)


def _number(rng: random.Random) -> str:
    return rng.choice(
        [
            f"{rng.randrange(10**9):,}.{_digits(rng, 2)}",
            f"{rng.random() * 180:.6f}, {rng.random() * 90:.6f}",
            f"0.{_digits(rng, 12)}",
            f"-{_digits(rng, 10)}",
            f"{rng.randrange(100)}.{_digits(rng, 3)}e-0{rng.randrange(9)}",
            f"id {_digits(rng, 19)}",
            f"user_id={rng.randrange(10**8, 10**9)}",
            f"snowflake 1{_digits(rng, 18)}",
            f"{_digits(rng, 3)} {_digits(rng, 3)} rows",
            f"port {rng.randrange(1024, 65000)}",
            f"{rng.randrange(10**6):06} steps",
            f"[{', '.join(_digits(rng, 3) for _ in range(4))}]",
            f"pages {rng.randrange(100, 200)}-{rng.randrange(200, 400)}",
            f"barcode {_ean(rng)}",
            f"EAN {_ean(rng)}",
            _ean(rng),
            "01 02 03 04 05 06",
            "01 02 03 04 05",
            f"ISBN 978-3-16-{_digits(rng, 6)}-{_digits(rng, 1)}",
            f"ISBN 0{_digits(rng, 9)}",
            f"{rng.randrange(1900, 2030)}-{rng.randrange(2030, 2100)}",
            f"0x{_digits(rng, 8)}",
            f"SKU {_digits(rng, 5)}-{_digits(rng, 4)}",
            f"{_digits(rng, 5)}-{_digits(rng, 4)}",
            f"99.{_digits(rng, 2)} %",
            f"row 0{_digits(rng, 5)}",
            f"¥{rng.randrange(10**6):,}",
            f"R$ {rng.randrange(999)}.{_digits(rng, 3)},{_digits(rng, 2)}",
            f"{rng.randrange(999)}.{_digits(rng, 3)}.{_digits(rng, 3)} €",
            f"duration {_digits(rng, 3)}.{_digits(rng, 3)}.{_digits(rng, 3)} ms",
            f"{rng.randrange(20):02}:{rng.randrange(60):02}:{rng.randrange(60):02}:{rng.randrange(30):02}",
            f"SM{_digits(rng, 6)}A",
            f"LEI 5493{_some(rng, ALNUM, 14)}{_digits(rng, 2)}",
            f"{_some(rng, string.ascii_uppercase, 2)}{_digits(rng, 2)} {_some(rng, ALNUM, 4)} {_some(rng, ALNUM, 4)}",
            f"{_digits(rng, 3)}x{_digits(rng, 3)}",
            f"AC{_digits(rng, 2)}-{_digits(rng, 4)}-{_digits(rng, 4)}",
        ]
    )


FIXED = [
    *("127.0.0.1:8080", "::1", "0.0.0.0/0", "255.255.255.0", "localhost:5000", "std::vector", "x[1::2]", "a[::2]"),
    *("Foo::Bar::baz", "12:30:45", "ratio 3:4:5", "'2026'::date", "ipv4 and ipv6", "169.254.169.254", "[1::2]"),
    *("/home page", "GET /home/products HTTP/1.1", "https://example.com/home/news", "/home/ubuntu/app", "/home/user/x"),
    *("/home/runner/work/a", "C:\\Users\\Public\\x", "/Users/Shared/x", "the /Users/ folder", "/home/$USER/x"),
    *("/home/<name>/x", "/Users/{name}/x", "C:\\Users\\%USERNAME%\\x", "~/notes", "/homes/x", "/root/x"),
    *("@dataclass", "git@github.com:org/repo.git", "@scope/package@1.2.3", "icon@2x.png", "user@localhost"),
    *("000-12-3456", "666-12-3456", "987-65-4321", "DE00 3704 0044 0532 0130 00", "4111 1111 1111 1112"),
    *("110105194912310021", "1234 5678 9012", "111.222.333-00", "RFC 2119", "HTTP 404", "ISO 8601", "IEEE 802.11"),
    *("call me maybe", "phone: unknown", "tel: n/a", "mobile: yes", "5 + 5 - 3", "1-2-3-4-5", "10-20-30", "24/7"),
    *("+1 point", "+10 %", "+100 -200 +300", "(1) 2 3", "(123) apples", "1.800 flowers", "3-2-1 go", "+1,234,567"),
    *("line 010, column 020", "00:00:00:00:00:00", "1e10", "2026-W01-5", "9:00-18:00", "09.00 - 18.00", "09-18"),
]

LOOK_ALIKES: dict[str, Callable[[random.Random], str]] = {
    "order": _order,
    "time": _time,
    "version": _version,
    "hash": _hash,
    "number": _number,
    "other": lambda rng: rng.choice(FIXED),
}

PLAIN_PLACES: dict[str, Callable[[str], str]] = {
    "sentence": lambda text: f"We saw {text} there",
    "alone": lambda text: text,
    "json": lambda text: json.dumps({"content": text}, ensure_ascii=False),
    "csv": lambda text: f"7;{text};ok",
    "lines": lambda text: f"one\n{text}\nthree",
    "korean": lambda text: f"여기에 {text} 있음",
}


def positives(rng: random.Random, each: int = 4) -> Iterator[Example]:
    """Yield every kind of personal data in every place where it can stand."""
    for _ in range(each):
        for category, make in WHOLES.items():
            for place, wrap in PLACES.items():
                data = make(rng)
                yield Example(category, place, wrap(data), data)
            if category in {"phone: KR", "phone: JP", "phone: CN", "card"}:
                data = make(rng)
                yield Example(category, "full-width", f"番号 {data.translate(_WIDE)} です", data)
        for category, make_person in PERSONS.items():
            for place, wrap in PLACES.items():
                name, data = make_person(rng)
                yield Example(category, place, wrap(name + data), data)
        for place, home in HOMES.items():
            name = _names(rng)
            yield Example("home", place, home(name), name)
        for name, make in BY_NAME.items():
            data = make(rng)
            yield Example("named", f"{name}, json", json.dumps({name: data}, ensure_ascii=False), data)
            yield Example("named", f"{name}, text", f"{name}: {data}", data)
            yield Example("named", f"{name}, query", f"?a=1&{name}={data}", data)


def negatives(rng: random.Random, each: int = 40) -> Iterator[Example]:
    """Yield what looks like personal data, in several places."""
    for _ in range(each):
        for name, make in LOOK_ALIKES.items():
            for place, wrap in PLAIN_PLACES.items():
                yield Example(name, place, wrap(make(rng)))
