"""Names of cities in four languages. A city in a reply may be exchanged for another one of the same script."""

from __future__ import annotations

from typing import TYPE_CHECKING

import regex

from fairtrial.text.language import Language, is_traditional

if TYPE_CHECKING:
    from collections.abc import Mapping

_CITIES: Mapping[str, str] = {
    "en": "London Paris Berlin Madrid Lisbon Rome Vienna Prague Dublin Athens Oslo Stockholm Helsinki Warsaw Budapest "
    "Chicago Boston Seattle Denver Dallas Houston Miami Atlanta Portland Toronto Vancouver Montreal Sydney Melbourne "
    "Tokyo Osaka Kyoto Seoul Busan Beijing Shanghai Taipei Bangkok Singapore Mumbai Cairo Nairobi Munich Hamburg "
    "Barcelona Milan Zurich Geneva Amsterdam Brussels Copenhagen Istanbul Dubai Philadelphia Phoenix Austin",
    "ko": "서울 부산 대구 인천 광주 대전 울산 제주 수원 전주 강릉 경주 여수 속초 춘천 도쿄 오사카 교토 베이징 상하이 파리 런던 뉴욕 베를린 로마",
    "ja": "東京 大阪 京都 名古屋 札幌 福岡 仙台 広島 神戸 横浜 奈良 金沢 長崎 那覇 ソウル 釜山 北京 上海 パリ ロンドン ベルリン ローマ",
    "zh": "北京 上海 广州 深圳 杭州 南京 成都 武汉 西安 苏州 天津 重庆 青岛 厦门 香港 台北 东京 大阪 首尔 巴黎 伦敦 柏林 罗马",
    "zh-Hant": "台北 台中 高雄 台南 新竹 花蓮 基隆 嘉義 香港 北京 上海 廣州 東京 大阪 京都 首爾 巴黎 倫敦 柏林 羅馬",
}
CITIES: Mapping[str, tuple[str, ...]] = {key: tuple(names.split()) for key, names in _CITIES.items()}


def cities(text: str, language: Language) -> tuple[str, ...]:
    """Return the known cities in the language and the script of a text."""
    return CITIES["zh-Hant" if language == "zh" and is_traditional(text) else language]


_AFTER_KOREAN = r"(?=행|발|시|역|공항|에|으로|로|은|는|이|가|을|를|의|과|와|까지|부터|도|[^\p{L}]|\Z)"


def names_city(city: str, text: str, language: Language) -> bool:
    """Return whether a text names a city: 京都 does not stand in 東京都, and 대구 not in 대구탕."""
    if language == "ko":
        return regex.search(rf"(?<!\p{{Hangul}}){city}{_AFTER_KOREAN}", text) is not None
    if language == "en":
        return regex.search(rf"\b{city}\b", text) is not None
    return city in text.replace("東京都", "東京")
