"""Two hundred quotes as judges write them, and two hundred that are not there, from twenty contexts in four languages.

The quotes are made by plain operations on text, never by the functions that read quotes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Source:
    """Two sentences and a tool result that a judge may quote, and five statements that are not there."""

    first: str
    second: str
    result: Json
    false: tuple[str, str, str, str, str]

    @property
    def texts(self) -> list[str]:
        """The texts of a context as a judge sees them."""
        return [f"{self.first} {self.second}", json.dumps(self.result, ensure_ascii=False, separators=(",", ":"))]


ENGLISH = (
    Source(
        "Standard orders ship within 3-5 business days, and express orders leave our warehouse the same day.",
        "We don't refund shipping fees unless the parcel arrives damaged.",
        {"order": "A-1042", "status": "in transit", "weight_kg": 12.5, "carrier": "Northline"},
        (
            "Standard orders ship within 3-5 business weeks",
            "We refund shipping fees unless the parcel arrives damaged.",
            "express orders leave our factory the same day",
            '"order": "A-1042", "status": "delivered"',
            "the parcel was lost on its way to the customer",
        ),
    ),
    Source(
        "The museum opens at 9:30 and closes at 18:00, except on Mondays when it stays closed.",
        "Children under 12 enter free of charge with an adult.",
        {"exhibition": "Glass and Light", "tickets_left": 140, "price": "EUR 14.50", "hall": "west wing"},
        (
            "The museum opens at 8:30 and closes at 18:00",
            "Children under 21 enter free of charge with an adult.",
            "except on Sundays when it stays closed",
            '"price": "EUR 41.50", "hall": "west wing"',
            "The museum café serves lunch until three o'clock",
        ),
    ),
    Source(
        "Restart the router by holding the reset button for 15 seconds until the light turns green.",
        "It's normal that the connection drops for about a minute afterwards.",
        {"device": "Router X200", "firmware": "4.2.1", "uptime_hours": 731, "signal": "excellent"},
        (
            "holding the reset button for 50 seconds",
            "until the light turns amber again",
            "It's not normal that the connection drops for about a minute afterwards.",
            '"firmware": "4.1.2", "uptime_hours": 731',
            "The router must be replaced by a technician",
        ),
    ),
    Source(
        "Your flight KE907 departs from gate B22 at 13:40 and arrives in London at 17:20 local time.",
        "Passengers can check in up to 2 bags of 23 kg each at no cost.",
        {"flight": "KE907", "seat": "34K", "meal": "vegetarian", "delay_minutes": 25},
        (
            "Your flight KE907 departs from gate B12 at 13:40",
            "arrives in Paris at 17:20 local time",
            "Passengers can't check in up to 2 bags of 23 kg each at no cost.",
            '"seat": "43K", "meal": "vegetarian"',
            "The flight was cancelled because of strong winds",
        ),
    ),
    Source(
        "A monthly subscription costs $9.99 and renews automatically unless it's cancelled 48 hours before.",
        "Annual plans include priority support by phone and e-mail.",
        {"plan": "Team", "seats": 25, "renews_on": "2026-03-01", "discount": "15 percent"},
        (
            "A monthly subscription costs $99.9 and renews automatically",
            "unless it's cancelled 84 hours before",
            "Annual plans exclude priority support by phone and e-mail.",
            '"renews_on": "2026-01-03", "discount": "15 percent"',
            "Refunds are granted within thirty days of purchase",
        ),
    ),
)

KOREAN = (
    Source(
        "일반 배송은 결제 후 3-5영업일이 걸리며 빠른 배송은 당일에 출고됩니다.",
        "상품이 파손되지 않은 경우 배송비는 환불되지 않습니다.",
        {"주문번호": "A-1042", "상태": "배송 중", "무게_kg": 12.5, "택배사": "북부물류"},
        (
            "일반 배송은 결제 후 3-5주가 걸리며",
            "상품이 파손되지 않은 경우 배송비는 환불됩니다.",
            "빠른 배송은 다음 날에 출고됩니다",
            '"주문번호": "A-1042", "상태": "배송 완료"',
            "택배가 운송 도중에 분실되었습니다",
        ),
    ),
    Source(
        "박물관은 오전 9:30에 열고 오후 6시에 닫으며 월요일에는 휴관합니다.",
        "12세 미만 어린이는 보호자와 함께 무료로 입장할 수 있습니다.",
        {"전시": "유리와 빛", "남은표": 140, "가격": "14500원", "장소": "서쪽 전시관"},
        (
            "박물관은 오후 9:30에 열고 오후 6시에 닫으며",
            "21세 미만 어린이는 보호자와 함께 무료로 입장",
            "일요일에는 휴관하고 기념품 가게만 엽니다",
            '"가격": "41500원", "장소": "서쪽 전시관"',
            "박물관 카페는 세 시까지 점심을 제공합니다",
        ),
    ),
    Source(
        "초기화 버튼을 15초 동안 눌러 초록색 불이 켜질 때까지 기다리세요.",
        "이후 약 1분 동안 연결이 끊기는 것은 정상입니다.",
        {"장치": "공유기 X200", "펌웨어": "4.2.1", "가동시간": 731, "신호": "매우 좋음"},
        (
            "초기화 버튼을 50초 동안 눌러",
            "빨간색 불이 켜질 때까지 기다리세요",
            "이후 약 1분 동안 연결이 끊기는 것은 비정상이니 신고하세요",
            '"펌웨어": "4.1.2", "가동시간": 731',
            "공유기는 기술자가 교체해야 합니다",
        ),
    ),
    Source(
        "항공편 KE907은 B22 탑승구에서 13:40에 출발하여 런던에 17:20에 도착합니다.",
        "승객은 23kg 이하의 수하물 2개를 무료로 맡길 수 있습니다.",
        {"항공편": "KE907", "좌석": "34K", "식사": "채식", "지연분": 25},
        (
            "항공편 KE907은 B12 탑승구에서 13:40에 출발",
            "파리에 17:20에 도착합니다 그리고 갈아탑니다",
            "승객은 23kg 이하의 수하물 2개를 무료로 맡길 수 없습니다.",
            '"좌석": "43K", "식사": "채식"',
            "강풍 때문에 항공편이 취소되었습니다",
        ),
    ),
    Source(
        "월 구독료는 9900원이며 48시간 전에 해지하지 않으면 자동으로 갱신됩니다.",
        "연간 요금제에는 전화와 이메일 우선 지원이 포함됩니다.",
        {"요금제": "팀", "인원": 25, "갱신일": "2026-03-01", "할인": "15퍼센트"},
        (
            "월 구독료는 99000원이며 48시간 전에",
            "84시간 전에 해지하지 않으면 자동으로 갱신",
            "연간 요금제에는 전화와 이메일 우선 지원이 제외됩니다.",
            '"갱신일": "2026-01-03", "할인": "15퍼센트"',
            "구매 후 삼십 일 이내에 환불됩니다",
        ),
    ),
)

JAPANESE = (
    Source(
        "通常配送は決済後3-5営業日かかり、お急ぎ便は当日に倉庫から出荷されます。",
        "商品が破損していない限り、送料は返金されません。",
        {"注文番号": "A-1042", "状態": "配送中", "重量kg": 12.5, "運送会社": "北部運輸"},
        (
            "通常配送は決済後3-5週間かかり",
            "商品が破損していない限り、送料は返金されます。",
            "お急ぎ便は翌日に倉庫から出荷されます",
            '"注文番号": "A-1042", "状態": "配達済み"',
            "荷物は輸送の途中で紛失しました",
        ),
    ),
    Source(
        "美術館は午前9:30に開館し、午後6時に閉館しますが、月曜日は休館です。",
        "12歳未満のお子様は保護者と一緒なら無料で入場できます。",
        {"展覧会": "ガラスと光", "残り枚数": 140, "料金": "1450円", "会場": "西館"},
        (
            "美術館は午後9:30に開館し、午後6時に閉館します",
            "21歳未満のお子様は保護者と一緒なら無料で入場",
            "日曜日は休館ですが売店は営業します",
            '"料金": "4150円", "会場": "西館"',
            "館内のカフェでは三時まで昼食を提供します",
        ),
    ),
    Source(
        "リセットボタンを15秒間押し続け、ランプが緑色になるまで待ってください。",
        "その後およそ1分間接続が切れるのは正常です。",
        {"機器": "ルーターX200", "ファームウェア": "4.2.1", "稼働時間": 731, "信号": "とても良い"},
        (
            "リセットボタンを50秒間押し続け",
            "ランプが赤色になるまで待ってください",
            "その後およそ1分間接続が切れるのは異常です。",
            '"ファームウェア": "4.1.2", "稼働時間": 731',
            "ルーターは技術者による交換が必要です",
        ),
    ),
    Source(
        "KE907便は13:40にB22搭乗口から出発し、17:20にロンドンへ到着します。",
        "お客様は23kg以下の荷物を2個まで無料で預けることができます。",
        {"便名": "KE907", "座席": "34K", "食事": "ベジタリアン", "遅延分": 25},
        (
            "KE907便は13:40にB12搭乗口から出発し",
            "17:20にパリへ到着してから乗り継ぎます",
            "お客様は23kg以下の荷物を2個まで無料で預けることができません。",
            '"座席": "43K", "食事": "ベジタリアン"',
            "強風のためこの便は欠航になりました",
        ),
    ),
    Source(
        "月額料金は990円で、48時間前までに解約しないと自動的に更新されます。",
        "年間プランには電話とメールの優先サポートが含まれます。",
        {"プラン": "チーム", "人数": 25, "更新日": "2026-03-01", "割引": "15パーセント"},
        (
            "月額料金は9900円で、48時間前までに",
            "84時間前までに解約しないと自動的に更新",
            "年間プランには電話とメールの優先サポートが含まれません。",
            '"更新日": "2026-01-03", "割引": "15パーセント"',
            "購入から三十日以内であれば返金されます",
        ),
    ),
)

CHINESE = (
    Source(
        "普通配送在付款后需要3-5个工作日，加急订单当天从仓库发出。",
        "除非包裹在运输途中损坏，否则我们不退还运费。",
        {"订单号": "A-1042", "状态": "运输中", "重量kg": 12.5, "承运公司": "北方物流"},
        (
            "普通配送在付款后需要3-5个星期",
            "除非包裹在运输途中损坏，否则我们退还运费。",
            "加急订单隔天才从仓库发出并通知客户",
            '"订单号": "A-1042", "状态": "已经签收"',
            "包裹在送往客户的路上丢失了",
        ),
    ),
    Source(
        "博物馆上午9:30开门，下午6点关门，每逢星期一闭馆。",
        "12岁以下的儿童由成人陪同可以免费入场。",
        {"展览": "玻璃与光", "余票": 140, "价格": "145元", "地点": "西侧展厅"},
        (
            "博物馆下午9:30开门，下午6点关门",
            "21岁以下的儿童由成人陪同可以免费入场",
            "12岁以下的儿童由成人陪同不可以免费入场。",
            '"价格": "415元", "地点": "西侧展厅"',
            "博物馆的咖啡厅供应午餐直到三点钟",
        ),
    ),
    Source(
        "按住复位按钮15秒，直到指示灯变成绿色为止。",
        "之后连接中断大约1分钟属于正常现象。",
        {"设备": "路由器X200", "固件": "4.2.1", "运行小时": 731, "信号": "非常好"},
        (
            "按住复位按钮50秒，直到指示灯变成绿色",
            "直到指示灯变成红色并且闪烁为止",
            "之后连接中断大约1分钟不属于正常现象。",
            '"固件": "4.1.2", "运行小时": 731',
            "路由器必须由技术人员上门更换",
        ),
    ),
    Source(
        "KE907航班13:40从B22登机口起飞，当地时间17:20抵达伦敦。",
        "每位旅客可以免费托运2件23公斤以下的行李。",
        {"航班": "KE907", "座位": "34K", "餐食": "素食", "延误分钟": 25},
        (
            "KE907航班13:40从B12登机口起飞",
            "当地时间17:20抵达巴黎并且转机",
            "每位旅客不可以免费托运2件23公斤以下的行李。",
            '"座位": "43K", "餐食": "素食"',
            "由于大风该航班已经被取消",
        ),
    ),
    Source(
        "每月订阅费为99元，除非提前48小时取消，否则自动续订。",
        "年度方案包含电话和电子邮件的优先支持。",
        {"方案": "团队", "席位": 25, "续订日": "2026-03-01", "折扣": "百分之十五"},
        (
            "每月订阅费为990元，除非提前48小时取消",
            "除非提前84小时取消，否则自动续订",
            "年度方案不包含电话和电子邮件的优先支持。",
            '"续订日": "2026-01-03", "折扣": "百分之十五"',
            "购买之后三十天之内可以申请退款",
        ),
    ),
)

SOURCES = {"en": ENGLISH, "ko": KOREAN, "ja": JAPANESE, "zh": CHINESE}
JOINTS = {"en": " and ", "ko": " 및 ", "ja": "および", "zh": "以及"}
STOPS = {"en": ".", "ko": ".", "ja": "。", "zh": "。"}
FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}


def honest(source: Source, language: str) -> list[str]:
    """Ten quotes of a context, each written in another way."""
    first, second, stop = source.first, source.second, STOPS[language]
    members = json.dumps(source.result, ensure_ascii=False, indent=1)
    head = first[: next(end for end in range(len(first) // 2, len(first)) if not first[end - 1 : end + 1].isalnum())]
    middle = len(second) // 2
    return [
        members,
        members.replace("{", "").replace("}", "").replace('"', "“").replace(":", " : "),
        head.rstrip(".,。、，") + stop,
        second.lower().replace("'", "’"),
        first.replace("-", "–").replace(",", "，"),
        f"**{second[:middle]}**{second[middle:]}",
        f"{head}; {second}",
        f"{second.rstrip(stop)}{JOINTS[language]}{json.dumps(source.result, ensure_ascii=False)}",
        first.translate(FULL_WIDTH),
        f'"{head} [...] {second}"',
    ]


def wrong(source: Source, other: Source, language: str) -> list[str]:
    """Ten quotes that are not in a context: false, of another context, partly false, or proof of nothing."""
    digits = {ord(digit): str((int(digit) + 1) % 10) for digit in "0123456789"}
    return [
        *source.false,
        source.first.translate(digits),
        other.second,
        f"{source.second}{JOINTS[language]}{other.second}",
        f"{source.first[:12]}...{other.second[-12:]}",
        source.first[:1],
    ]


def quotes() -> tuple[list[tuple[list[str], str]], list[tuple[list[str], str]]]:
    """Return honest quotes and wrong quotes, each with the texts of its context."""
    honest_quotes, wrong_quotes = [], []
    for language, sources in SOURCES.items():
        for index, source in enumerate(sources):
            other = sources[(index + 1) % len(sources)]
            honest_quotes += [(source.texts, quote) for quote in honest(source, language)]
            wrong_quotes += [(source.texts, quote) for quote in wrong(source, other, language)]
    return honest_quotes, wrong_quotes
