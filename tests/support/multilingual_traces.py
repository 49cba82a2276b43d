"""Ten unrelated traces in English, Korean, Japanese and Chinese. The traces of a place in each list say the same."""

from __future__ import annotations

from typing import Any

from reasonings import reasoning

TOOLS = (
    "profile_memory",
    "refund_order",
    "forecast_weather",
    "book_flight",
    "read_scan",
    "translate_contract",
    "tune_engine",
    "find_recipe",
    "grade_essay",
    "water_garden",
)
"""The tool of each place."""

TEXTS: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "en": (
        (
            "Find out why the server runs out of memory at night",
            "The heap grows after every backup, so a cache is probably never emptied.",
            "heap of the night server",
            "The cache of thumbnails holds four gigabytes and has no limit.",
        ),
        (
            "The customer wants the money for a broken kettle back",
            "The order is eleven days old, and the return period is thirty days.",
            "order of the kettle",
            "The refund was sent to the card with which the customer paid.",
        ),
        (
            "Will it rain at the wedding in the mountains on Saturday?",
            "I need the forecast for the valley, not for the next city.",
            "mountain valley, Saturday afternoon",
            "Clouds in the morning, sunshine from noon on, no rain expected.",
        ),
        (
            "Book the cheapest flight to Lisbon with a window seat",
            "Two airlines fly there directly, and one of them leaves too early.",
            "Lisbon, one adult, window seat",
            "Seat 14A on the noon flight is reserved for 89 euros.",
        ),
        (
            "Describe what the X-ray of the left knee shows",
            "The bones look intact, but the gap of the joint is narrow.",
            "left knee, side view",
            "Slight wear of the cartilage, no fracture, no fluid.",
        ),
        (
            "Explain the clause about termination in the lease",
            "The clause refers to the civil code, so I have to read both texts.",
            "termination of a lease of a flat",
            "The tenant may leave with a notice of three months.",
        ),
        (
            "The motorcycle stutters when it accelerates in third gear",
            "A dirty carburettor or an old spark plug could be the cause.",
            "idle speed and ignition timing",
            "The spark plug was black; with a new plug the engine runs smoothly.",
        ),
        (
            "Suggest a vegetarian dinner with lentils and spinach",
            "Lentils take half an hour, so a curry fits an evening.",
            "lentil curry for four people",
            "Fry onions and ginger, add lentils and coconut milk, stir in the spinach.",
        ),
        (
            "Grade the essay of the pupil on the French Revolution",
            "The argument is clear, but two dates are wrong and sources are missing.",
            "essay on the year 1789",
            "A good structure and lively language; minus points for the dates.",
        ),
        (
            "When must the tomatoes on the balcony be watered?",
            "The soil is dry and tomorrow will be hot, so early morning is best.",
            "moisture of the soil in the pot",
            "Two litres in the morning and one litre after sunset.",
        ),
    ),
    "ko": (
        (
            "밤마다 서버의 메모리가 부족해지는 이유를 찾아 주세요",
            "백업이 끝날 때마다 힙이 커지는 것을 보니 캐시가 비워지지 않는 것 같습니다.",
            "야간 서버의 힙 상태",
            "섬네일 캐시가 4기가바이트를 차지하고 있으며 제한이 없습니다.",
        ),
        (
            "고객이 고장 난 주전자의 환불을 원합니다",
            "주문한 지 열하루가 지났고 반품 기간은 삼십 일입니다.",
            "주전자 주문 내역",
            "고객이 결제한 카드로 환불 금액을 보냈습니다.",
        ),
        (
            "토요일 산속 결혼식에 비가 올까요?",
            "가까운 도시가 아니라 골짜기의 예보가 필요합니다.",
            "산골짜기, 토요일 오후",
            "오전에는 구름이 끼고 정오부터 맑으며 비는 오지 않겠습니다.",
        ),
        (
            "창가 자리로 리스본행 가장 싼 항공권을 예약해 주세요",
            "두 항공사가 직항을 운항하는데 하나는 너무 일찍 출발합니다.",
            "리스본, 성인 한 명, 창가 좌석",
            "정오 항공편의 14A 좌석을 89유로에 예약했습니다.",
        ),
        (
            "왼쪽 무릎 엑스레이에 무엇이 보이는지 설명해 주세요",
            "뼈는 온전해 보이지만 관절 사이가 좁습니다.",
            "왼쪽 무릎 측면 사진",
            "연골이 약간 닳았고 골절이나 물이 찬 곳은 없습니다.",
        ),
        (
            "임대차 계약서의 해지 조항을 설명해 주세요",
            "조항이 민법을 인용하므로 두 글을 모두 읽어야 합니다.",
            "주택 임대차 계약의 해지",
            "세입자는 석 달 전에 통지하고 나갈 수 있습니다.",
        ),
        (
            "오토바이가 3단에서 가속할 때 덜컥거립니다",
            "기화기가 더럽거나 점화 플러그가 낡은 것이 원인일 수 있습니다.",
            "공회전 속도와 점화 시기",
            "점화 플러그가 검게 탔고 새것으로 바꾸니 엔진이 부드럽게 돕니다.",
        ),
        (
            "렌틸콩과 시금치로 만드는 채식 저녁을 추천해 주세요",
            "렌틸콩은 삼십 분이면 익으니 저녁에 카레가 알맞습니다.",
            "4인분 렌틸콩 카레",
            "양파와 생강을 볶고 렌틸콩과 코코넛 밀크를 넣은 뒤 시금치를 섞습니다.",
        ),
        (
            "프랑스 혁명에 대한 학생의 글을 채점해 주세요",
            "논지는 분명하지만 날짜 두 개가 틀렸고 출처가 없습니다.",
            "1789년에 관한 글",
            "구성이 좋고 표현이 생생하지만 날짜 때문에 감점합니다.",
        ),
        (
            "베란다의 토마토에 언제 물을 줘야 하나요?",
            "흙이 말랐고 내일은 더우니 이른 아침이 가장 좋습니다.",
            "화분 흙의 수분",
            "아침에 2리터, 해가 진 뒤에 1리터를 주세요.",
        ),
    ),
    "ja": (
        (
            "夜になるとサーバーのメモリが足りなくなる原因を調べてください",
            "バックアップのたびにヒープが増えるので、キャッシュが空にならないのでしょう。",
            "夜間サーバーのヒープ",
            "サムネイルのキャッシュが4ギガバイトを占め、上限がありません。",
        ),
        (
            "お客様が壊れたやかんの返金を希望しています",
            "注文から11日で、返品期間は30日です。",
            "やかんの注文",
            "お支払いに使われたカードに返金しました。",
        ),
        (
            "土曜日の山での結婚式に雨は降りますか",
            "近くの町ではなく、谷の予報が必要です。",
            "山の谷、土曜日の午後",
            "朝は曇り、昼からは晴れて、雨の心配はありません。",
        ),
        (
            "窓側の席でリスボン行きの一番安い便を予約してください",
            "直行便は二社あり、片方は出発が早すぎます。",
            "リスボン、大人一人、窓側",
            "正午の便の14A席を89ユーロで予約しました。",
        ),
        (
            "左膝のレントゲンに何が写っているか説明してください",
            "骨は無事に見えますが、関節のすき間が狭いです。",
            "左膝の側面",
            "軟骨が少しすり減っていますが、骨折も水もありません。",
        ),
        (
            "賃貸契約の解約条項を説明してください",
            "条項が民法を参照しているので、両方の文章を読む必要があります。",
            "住宅の賃貸契約の解約",
            "借主は三か月前に通知すれば退去できます。",
        ),
        (
            "バイクが三速で加速すると息をつきます",
            "キャブレターの汚れか古い点火プラグが原因かもしれません。",
            "アイドリングと点火時期",
            "プラグが黒く、新しいものに替えるとエンジンは滑らかに回ります。",
        ),
        (
            "レンズ豆とほうれん草の菜食の夕食を提案してください",
            "レンズ豆は三十分で煮えるので、夜にはカレーが合います。",
            "四人分のレンズ豆カレー",
            "玉ねぎと生姜を炒め、豆とココナッツミルクを加え、ほうれん草を混ぜます。",
        ),
        (
            "フランス革命についての生徒の作文を採点してください",
            "論旨は明快ですが、日付が二つ間違い、出典がありません。",
            "1789年についての作文",
            "構成がよく表現も生き生きしていますが、日付で減点します。",
        ),
        (
            "ベランダのトマトにはいつ水をやればよいですか",
            "土が乾いていて明日は暑いので、早朝が一番です。",
            "鉢の土の水分",
            "朝に2リットル、日没後に1リットルです。",
        ),
    ),
    "zh": (
        (
            "查明服务器为什么每到夜里就内存不足",
            "每次备份之后堆都会变大,多半是缓存从来没有清空。",
            "夜间服务器的堆",
            "缩略图缓存占了四个吉字节,而且没有上限。",
        ),
        (
            "顾客要求退还坏水壶的钱",
            "订单才过了十一天,退货期限是三十天。",
            "水壶的订单",
            "退款已经汇到顾客付款用的那张卡上。",
        ),
        (
            "星期六山里的婚礼会下雨吗?",
            "我需要山谷的预报,而不是附近城市的。",
            "山谷,星期六下午",
            "早上多云,中午起放晴,不会下雨。",
        ),
        (
            "预订去里斯本最便宜的靠窗座位机票",
            "有两家航空公司直飞,其中一家起飞太早。",
            "里斯本,一位成人,靠窗",
            "中午航班的14A座位已经以89欧元订好。",
        ),
        (
            "说明左膝的X光片上能看到什么",
            "骨头看起来完好,但是关节间隙很窄。",
            "左膝侧面",
            "软骨轻微磨损,没有骨折,也没有积液。",
        ),
        (
            "解释租约里关于解除合同的条款",
            "条款引用了民法典,所以两份文本都要读。",
            "住房租约的解除",
            "租客提前三个月通知就可以搬走。",
        ),
        (
            "摩托车挂三挡加速时会一顿一顿的",
            "可能是化油器太脏,或者火花塞太旧。",
            "怠速和点火时间",
            "火花塞发黑,换上新的以后发动机运转平稳。",
        ),
        (
            "推荐一道用扁豆和菠菜做的素食晚餐",
            "扁豆半个小时就熟,晚上做咖喱正合适。",
            "四人份扁豆咖喱",
            "先炒洋葱和姜,加扁豆和椰奶,再拌入菠菜。",
        ),
        (
            "给学生写法国大革命的作文评分",
            "论点清楚,但是有两个日期写错,也没有出处。",
            "关于1789年的作文",
            "结构很好,语言生动,因为日期扣分。",
        ),
        (
            "阳台上的番茄什么时候该浇水?",
            "土已经干了,明天又很热,所以清早最好。",
            "花盆里土的湿度",
            "早上两升,日落以后一升。",
        ),
    ),
}


def unrelated_traces(language: str) -> list[dict[str, Any]]:
    """The JSON objects of the ten traces of a language, each with its own tool."""
    return [
        reasoning(
            number,
            task={"objective": objective},
            steps=[
                {"step_id": 0, "type": "thought", "content": thought},
                {"step_id": 1, "type": "tool_call", "tool": {"name": tool}, "input": {"query": query}},
                {"step_id": 2, "type": "observation", "tool": {"name": tool}, "output_summary": found},
            ],
            outcome={"result_summary": found, "confidence": 0.8},
        )
        for number, ((objective, thought, query, found), tool) in enumerate(zip(TEXTS[language], TOOLS, strict=True))
    ]
