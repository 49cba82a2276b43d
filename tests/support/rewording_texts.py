"""Replies with the only text that an operator may make of them, written by hand. None means that it must decline.

The reference of each case is the reply itself.
"""

from __future__ import annotations

HARMFUL: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "time_changed": (
        ("The train leaves at 18:30.", ("The train leaves at 19:30.",)),
        ("We open at 9 a.m. on Sundays.", ("We open at 10 a.m. on Sundays.",)),
        ("Check-in is at 3:00 PM.", ("Check-in is at 4:00 PM.",)),
        ("It closes at 12 pm.", ("It closes at 1 pm.",)),
        ("It closes at 23:15.", ("It closes at 22:15.",)),
        ("The score was 3:2.", ()),
        ("예약은 오후 3시입니다.", ("예약은 오후 4시입니다.",)),
        ("열차는 18시 30분에 출발합니다.", ("열차는 19시 30분에 출발합니다.",)),
        ("3시간 걸립니다.", ()),
        ("午後3時に到着します。", ("午後4時に到着します。",)),
        ("電車は18時30分発です。", ("電車は19時30分発です。",)),
        ("3時間かかります。", ()),
        ("会议下午3点开始。", ("会议下午4点开始。",)),
        ("會議下午3點開始。", ("會議下午4點開始。",)),
        ("得分是3.5点。", ()),
    ),
    "weekday_changed": (
        ("Your visit is on Monday.", ("Your visit is on Tuesday.",)),
        ("We are closed on Sundays.", ("We are closed on Mondays.",)),
        ("방문일은 토요일입니다.", ("방문일은 일요일입니다.",)),
        ("定休日は水曜日です。", ("定休日は木曜日です。",)),
        ("我们星期六休息。", ("我们星期日休息。",)),
        ("我們週五公休。", ("我們週六公休。",)),
        ("It is on July 13.", ()),
    ),
    "relative_day_changed": (
        ("The parcel arrives tomorrow.", ("The parcel arrives today.", "The parcel arrives the day after tomorrow.")),
        ("It was paid yesterday.", ("It was paid today.",)),
        ("내일 도착합니다.", ("오늘 도착합니다.", "모레 도착합니다.")),
        ("어제 결제되었습니다.", ("오늘 결제되었습니다.",)),
        ("一昨日届きました。", ()),
        ("The water is off until tomorrow morning.", ()),
        ("明日届きます。", ("今日届きます。", "明後日届きます。")),
        ("包裹明天送达。", ("包裹今天送达。", "包裹后天送达。")),
        ("包裹明天送達。", ("包裹今天送達。", "包裹後天送達。")),
        ("Have a nice day today!", ()),
    ),
    "number_near": (
        ("The total is $1,250.", ("The total is $1,251.",)),
        ("It costs 19.99 dollars.", ("It costs 19.98 dollars.",)),
        ("합계는 1,250원입니다.", ("합계는 1,251원입니다.",)),
        ("It takes 5 days.", ()),
    ),
    "denied": (
        ("The room has a balcony.", ("It is not true that the room has a balcony.",)),
        ("주문은 배송 중입니다.", ('"주문은 배송 중입니다."라는 안내는 사실이 아닙니다.',)),
        ("部屋は禁煙です。", ("「部屋は禁煙です」というのは事実ではありません。",)),
        ("房间含早餐。", ("“房间含早餐”的说法不属实。",)),
        ("房間含早餐，並提供接送。", ("「房間含早餐，並提供接送」的說法不屬實。",)),
        ("Thank you for asking.", ()),
        ("更新後請重開App。", ()),
    ),
    "json_value_changed": (
        ('{"total": 20, "state": "open"}', ('{"total": 21, "state": "open"}',)),
        ('```json\n{"ok": true}\n```', ('```json\n{"ok": false}\n```',)),
        ("The total is 20.", ()),
    ),
    "json_key_dropped": (('{"total": 20, "ok": true}', ('{"ok": true}', '{"total": 20}')), ('{"total": 20}', ())),
    "json_type_changed": (('{"total": 20}', ('{"total": "20"}',)), ('{"name": "Ann"}', ())),
    "abstention_broken": (
        (
            "I'm sorry, I don't have that information.",
            ("It is 42 dollars, and it is in stock.", "Yes, that is possible."),
        ),
        ("해당 정보는 확인할 수 없습니다.", ("42달러이며 재고가 있습니다.", "네, 가능합니다.")),
        ("その情報は見つかりませんでした。", ("42ドルで、在庫がございます。", "はい、可能です。")),
        ("很抱歉，我找不到这方面的信息。", ("价格是42美元，有现货。", "是的，可以。")),
        ("很抱歉，我找不到這方面的資訊。", ("價格是42美元，有現貨。", "是的，可以。")),
        ("The total is 20.", ()),
    ),
    "name_swapped": (
        ("Real Madrid won on Saturday.", ()),
        ("The capital is Canberra, not Sydney.", ()),
        ("Your flight to Lisbon is booked.", ("Your flight to Berlin is booked.",)),
        ("부산행 열차입니다.", ("대구행 열차입니다.",)),
        ("大阪へのご旅行を承りました。", ("名古屋へのご旅行を承りました。",)),
        ("已为您预订前往上海的航班。", ("已为您预订前往北京的航班。",)),
    ),
}
"""For each operator the replies, each with all texts that are right. `()` means that it must decline.

The rows of `name_swapped` are examples of one seed among many: see the test.
"""

HARMLESS: dict[str, tuple[tuple[str, str | None], ...]] = {
    "time_format": (
        ("The train leaves at 6:30 pm.", "The train leaves at 18:30."),
        ("The train leaves at 18:30.", "The train leaves at 6:30 pm."),
        ("We open at 9 a.m. daily.", "We open at 09:00 daily."),
        ("The delivery window is between 1 and 3 pm.", None),
        ("We are open 6 am–9 pm.", None),
        ("서버는 오전 3시에 재시작됩니다.", None),
        ("It closes at 12 pm today.", "It closes at 12:00 today."),
        ("It starts at 7:15.", None),
        ("오후 3시에 만나요.", "15시에 만나요."),
        ("18시 30분에 출발합니다.", "오후 6시 30분에 출발합니다."),
        ("3시에 만나요.", None),
        ("午後3時に到着します。", "15時に到着します。"),
        ("会议下午3点开始。", "会议15点开始。"),
        ("會議下午3點開始。", "會議15點開始。"),
    ),
    "date_format": (
        ("It starts on July 13.", "It starts on 13 July."),
        ("It starts on 13 July 2026.", "It starts on July 13, 2026."),
        ("It starts on 2026-07-13.", "It starts on July 13, 2026."),
        ("7월 3일에 만나요.", "7/3에 만나요."),
        ("2026-07-03에 만나요.", "2026년 7월 3일에 만나요."),
        ("7月3日に会います。", "7/3に会います。"),
        ("我们7月3日见。", "我们7/3见。"),
        ("2026-07-03见。", "2026年7月3日见。"),
        ("No date is here.", None),
        ("契約は令和7年4月1日からです。", None),
        ("民國114年10月1日開學。", None),
    ),
    "contraction": (
        ("We do not ship on Sundays.", "We don't ship on Sundays."),
        ("It's open.", "It is open."),
        ("You can't cancel it.", "You cannot cancel it."),
        ("The room is free.", None),
    ),
    "number_spelled": (
        ("You have 3 orders.", "You have three orders."),
        ("It takes five days.", "It takes 5 days."),
        ("It weighs 3 kg.", None),
        ("The fee is $3 now.", None),
        ("Use gate 3 now.", None),
        ("합계는 15,000원입니다.", "합계는 1만 5천 원입니다."),
        ("合計は15,000円です。", "合計は1万5千円です。"),
        ("总价是15,000元。", "总价是1万5千元。"),
        ("總價是15,000元。", "總價是1萬5千元。"),
        ("합계는 1,500원입니다.", None),
    ),
    "courtesy_dropped": (
        ("It is 5. Have a great day!", "It is 5."),
        ("Thank you for asking. It is 5.", "It is 5."),
        ("5원입니다. 감사합니다.", "5원입니다."),
        ("Have a great day!", None),
        ("It is 5.", None),
    ),
    "sentences_reordered": (
        ("The room has a balcony. Breakfast costs 9 dollars.", "Breakfast costs 9 dollars. The room has a balcony."),
        ("The room has a balcony. It faces the sea.", None),
        ("The room is booked. However, breakfast is extra.", None),
        ("객실에는 발코니가 있습니다. 조식은 9달러입니다.", "조식은 9달러입니다. 객실에는 발코니가 있습니다."),
        ("객실을 예약했습니다. 그러나 조식은 별도입니다.", None),
        ("部屋は禁煙です。朝食は900円です。", "朝食は900円です。部屋は禁煙です。"),
        ("房间含早餐。退房时间是11点。", "退房时间是11点。房间含早餐。"),
        ("1. Open the app.\n2. Tap the order.", None),
        ("First, open the app. Tap the order.", None),
        ("You have two options. All are direct.", None),
        ("1. 공유기를 끈다. 2. 전원은 30초 뒤에 켠다.", None),
        ("荷物は見つかりました。明日ホテルへお持ちします。", None),
        ("Your order is shipped. Is there anything else?", None),
    ),
}

OBLIGATIONS: tuple[tuple[str, str], ...] = (
    ("여권을 지참하셔야 합니다.", "여권을 지참하지 않으셔도 됩니다."),
    ("보증금을 내셔야 해요.", "보증금을 내지 않으셔도 돼요."),
    ("미리 예약해야 합니다.", "미리 예약하지 않아도 됩니다."),
    ("표를 받으셔야 합니다.", "표를 받지 않으셔도 됩니다."),
    ("직접 가셔야 합니다.", "직접 가지 않으셔도 됩니다."),
    ("서류를 보내야 합니다.", "서류를 보내지 않아도 됩니다."),
    ("약을 먹어야 합니다.", "약을 먹지 않아도 됩니다."),
)
"""Korean sentences that oblige, each with its negation (`-아야 하다` and `-지 않아도 되다`)."""
