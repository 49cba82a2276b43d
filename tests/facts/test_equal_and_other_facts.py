"""Pairs of short texts that state one fact, and pairs of which one states another: each form of a fact by itself."""

from __future__ import annotations

import pytest

from fairtrial.text.facts.fact_agreement import compare_facts

_SAME = [
    ("1,200 items are left.", "1.2k items are left."),
    ("1,200 items are left.", "항목이 1.2천 개 남았습니다."),
    ("1,200 items are left.", "残りは千二百個です。"),
    ("1,200 items are left.", "Twelve hundred items are left."),
    ("还剩１２００个。", "1,200 items are left."),
    ("5 per mille", "0.5 percent"),
    ("the third floor", "the 3rd floor"),
    ("사과 다섯 개", "사과 5개"),
    ("5만 원입니다.", "₩50,000입니다."),
    ("NT$500", "500元"),
    ("2 lb", "32 oz"),
    ("1/3 hour", "20 minutes"),
    ("2.3 million", "2,300,000"),
    ("It arrives on 2026-11-23.", "It arrives on 23.11.2026."),
    ("It arrives on 2026-11-23.", "2026년 11월 23일에 도착합니다."),
    ("Build 23.11.2026 is out.", "It is build 23.11.2026."),
    ("下午三点半", "15:30"),
    ("Use version 2.10.", "It is v2.10."),
    ("Use version 2.10.", "It is 2.10."),
    ("Call 010-1234-5678.", "Call 01012345678."),
    ("Order 123456789.", "Order #123456789 left."),
    ("Order 12345678901234567.", "Order 12345678901234567 left."),
    ("It has 1,234,567,890,123,456 rows.", "1234567890123456 rows"),
    ("The total is 1,234,567,890.50.", "The total is 1234567890.5."),
    ("The sum is 0.3.", "The sum is 0.30000000000000004."),
    ("8/8 passed.", "All eight passed."),
    ("World War II", "It was WW2."),
    ("World War I", "It was WWI."),
    ("30 mph", "30 miles per hour"),
    ("30 mph", "30 miles an hour"),
    ("100 km/h", "100 kilometres per hour"),
    ("13", "A baker's dozen."),
    ("the 19th", "The nineteenth century."),
    ("3.14", "It is 3.14159."),
    ("2.5 kg", "2.52 kg"),
]
_OTHER = [
    ("Order 123456789.", "Order 123456788."),
    ("Order 12345678901234567.", "Order 12345678901234568."),
    ("Call 02-123-4567.", "Call 02-123-4568."),
    ("客服电话400-555-0188。", "客服电话400-555-0189。"),
    ("The total is $1,000,000.01.", "The total is $1,000,000.02."),
    ("The total is $100,000,000.", "The total is $100,000,001."),
    ("It is 100000001 m long.", "It is 100000002 m long."),
    ("The total is $1,234,567.", "$1,200,001 and $34,567 are due."),
    ("Use version 2.10.", "Use version 2.1."),
    ("버전 2.10입니다.", "버전 2.1입니다."),
    ("バージョン2.10です。", "バージョン2.1です。"),
    ("版本2.10", "版本2.1"),
    ("It arrives on 3.4.2026.", "It arrives on 4.4.2026."),
    ("It arrives tomorrow.", "It arrives today."),
    ("5 per mille", "5 percent"),
    ("500円です。", "500元です。"),
    ("3.14", "It is 3.15159."),
    ("World War II", "It was WWI."),
    ("30 mph", "40 miles per hour"),
]
_SHORT_FORMS = [
    ("The video runs at 60p.", "The video runs at 60 frames per second."),
    ("The camera records 4K60.", "The camera records 4K at 60 fps."),
    ("The stream is 1080p60.", "The stream is 1080p at 60 fps."),
    ("The display runs at 120 fps.", "The display runs at 120fps."),
    ("The film has 24p.", "The film has 24 fps."),
    ("The camera films in 50p.", "카메라는 초당 50프레임으로 촬영합니다."),
    ("映像は60pです。", "映像は毎秒60フレームです。"),
    ("视频是60p。", "视频是每秒60帧。"),
    ("影片是60p。", "影片是每秒60幀。"),
    ("The coffee costs 60p.", "The coffee costs £0.60."),
    ("The video rental costs 60p.", "Renting the video costs £0.60."),
    ("The book has 60pp.", "The book has 60 pages."),
    ("See p. 60.", "See page 60."),
    ("She ran a 10k.", "She ran 10 kilometres."),
    ("The 10k race starts at nine.", "The 10 km race starts at 9:00."),
    ("She has 10k followers.", "She has 10,000 followers."),
    ("She walked 10k steps.", "She walked 10,000 steps."),
    ("The channel has 5m subscribers.", "The channel has five million subscribers."),
    ("The pool is 5m deep.", "The pool is five metres deep."),
    ("The phone supports 5G.", "The phone supports 5g."),
    ("It is a 3D film.", "It is a three-dimensional film."),
    ("It is sold from Q3.", "It is sold from the third quarter."),
    ("It is sold from Q3 2026.", "3분기 2026년부터 판매합니다."),
    ("第3四半期に発売します。", "It is sold from Q3."),
    ("第三季度发售。", "It is sold from Q3."),
    ("Use v2 of the API.", "Use version 2 of the API."),
    ("Chanel No. 5", "Chanel No 5"),
    ("It is 20 °C outside.", "It is 20C outside."),
    ("The screen has an aspect ratio of 16:10.", "The screen has an aspect ratio of 16 to 10."),
    ("It is 16:9.", "It is 16 to 9."),
    ("Call extension 204.", "Call ext. 204."),
    ("내선 204번입니다.", "Call ext. 204."),
    ("内線204です。", "Call ext. 204."),
    ("分机204。", "Call ext. 204."),
    ("Support is open 24 hours a day, 7 days a week.", "Support is open 24/7."),
    ("Support is open 24/7.", "Support is open 24 hours a day."),
    ("The photo is 10x15 cm.", "The photo is 10 by 15 cm."),
    ("It is a 4x4.", "It is a 4 x 4."),
    ("Read John 3:16.", "It is in John 3:16."),
    ("Read Daniel 5:1-5.", "It is in Daniel 5:5."),
    ("He finished in H1.", "He finished in the first half."),
    ("The screening is at 7:30.", "It is at 7:30."),
    ("The 7:30 screening is full.", "The screening at half past seven is full."),
    ("The fireworks display is at 7:30.", "It starts at 7:30 pm."),
    ("The display opens at 16:10.", "It opens at 4:10 pm."),
    ("The ratio was measured at 7:30.", "It was measured at half past seven."),
    ("화면은 16:10에 켜집니다.", "It comes on at 16:10."),
    ("画面は16:10に点灯します。", "It comes on at 16:10."),
    ("屏幕在16:10点亮。", "It comes on at 16:10."),
    ("螢幕在16:10亮起。", "It comes on at 16:10."),
    ("It is a 16:10 display.", "The display is 16 to 10."),
    ("The aspect ratio is 16:10.", "It is 16 to 10."),
    ("화면 비율은 16:10입니다.", "The aspect ratio is 16 to 10."),
    ("アスペクト比は16:10です。", "The aspect ratio is 16 to 10."),
    ("屏幕比例是16:10。", "The aspect ratio is 16 to 10."),
    ("螢幕比例是16:10。", "The aspect ratio is 16 to 10."),
    ("The mixing ratio is 10:15.", "Mix 10 to 15."),
    ("The cluster runs 20k on average.", "It runs 20,000 jobs on average."),
    ("It finished the 10k runs.", "It finished 10,000 runs."),
    ("The cluster ran 20k in March.", "It ran 20,000 jobs in March."),
    ("The cluster finished 10k in March.", "It finished 10,000 jobs in March."),
    ("Of the tasks, it completed 5k.", "It completed 5,000 tasks."),
    ("The benchmark has 10k runs.", "The benchmark has 10,000 runs."),
    ("She jogged 10k today.", "She jogged 10 kilometres today."),
    ("She ran 10k in March.", "She ran 10 km in March."),
    ("She runs 5k every morning.", "She runs five kilometres every morning."),
    ("She completed a 10k.", "She completed 10 kilometres."),
    ("He finished his 5k in May.", "He finished 5 km in May."),
    ("The screen protector was 50p.", "It was 50 pence."),
    ("Record shops sell it for 50p.", "It is sold for 50 pence."),
    ("The TV guide was 50p.", "It was £0.50."),
    ("The camera case was 50p.", "It was 50 pence."),
    ("Videos are 50p each.", "A video is 50 pence."),
    ("The camera is 50p cheaper.", "It is 50 pence cheaper."),
    ("The video plays in the shop, and the tea is 60p.", "The tea is 60 pence."),
    ("The 60p video costs £5.", "The video at 60 fps costs £5."),
    ("The footage is in 24p or 25p.", "The footage is in 24 or 25 fps."),
    ("The TV runs at 100p.", "The TV runs at 100 fps."),
    ("The monitor supports 4K at 60p.", "The monitor supports 4K at 60 fps."),
]
"""Letters beside a number: 60p, 4K60, 60pp, 10k, 5m, 5G, 3D, Q3, v2, 24/7, 10x15, 16:10. Written before the rules."""
_OTHER_SHORT_FORMS = [
    ("Read Daniel 5:1-5.", "It is in Daniel 5:6."),
    ("Read Daniel 5:1-5.", "It is in Daniel 6:1."),
    ("Read Daniel 5:1-5.", "It is in Daniel 5:5-29."),
    ("The video runs at 60p.", "The video runs at 30p."),
    ("The video runs at 60p.", "The video runs at 24 fps."),
    ("The camera records 4K60.", "The camera records 4K30."),
    ("The stream is 1080p60.", "The stream is 720p60."),
    ("映像は60pです。", "映像は30pです。"),
    ("视频是60p。", "视频是30p。"),
    ("영상은 60p입니다.", "영상은 30p입니다."),
    ("影片是60p。", "影片是30p。"),
    ("The coffee costs 60p.", "The coffee costs 80p."),
    ("The book has 60pp.", "The book has 80pp."),
    ("She ran a 10k.", "She ran 5 kilometres."),
    ("She ran a 10k.", "She ran a 5k."),
    ("The channel has 5m subscribers.", "The channel has six million subscribers."),
    ("The phone supports 5G.", "The phone supports 4G."),
    ("휴대폰은 5G를 지원합니다.", "휴대폰은 4G를 지원합니다."),
    ("It is a 3D film.", "It is a 2D film."),
    ("It is sold from Q3.", "It is sold from the fourth quarter."),
    ("第三季度发售。", "第四季度发售。"),
    ("Use v2 of the API.", "Use v3 of the API."),
    ("The screen has an aspect ratio of 16:10.", "The screen has an aspect ratio of 16 to 9."),
    ("Call extension 204.", "Call ext. 205."),
    ("Support is open 24 hours a day, 7 days a week.", "Support is open 24 hours a day, 5 days a week."),
    ("The photo is 10x15 cm.", "The photo is 10 by 20 cm."),
    ("Read John 3:16.", "It is in John 3:17."),
    ("It is 20 °C outside.", "It is 25C outside."),
    ("It is due on 24/7.", "It is due on 25/7."),
    ("The screening is at 7:30.", "It is at 7:45."),
    ("The display opens at 16:10.", "It opens at 16:20."),
    ("The aspect ratio is 16:10.", "The aspect ratio is 16 to 9."),
    ("The cluster runs 20k jobs on average.", "It runs 30,000 jobs on average."),
    ("She jogged 10k today.", "She jogged 5 kilometres today."),
    ("The screen protector was 50p.", "It was 60 pence."),
    ("Record shops sell it for 50p.", "It is sold for 60 pence."),
    ("The footage is in 24p.", "The footage is in 25p."),
]
_OPPOSITE = [
    ("재고가 있습니다.", "재고가 없습니다."),
    ("재고 있어요.", "재고 없어요."),
    ("회원은 이용 가능합니다.", "회원은 이용 불가능합니다."),
    ("결과는 합격입니다.", "결과는 불합격입니다."),
    ("在庫があります。", "在庫なしです。"),
    ("返品は可能です。", "返品は不可能です。"),
    ("検査は合格です。", "検査は不合格です。"),
    ("このボタンは有効です。", "このボタンは無効です。"),
    ("价格含税。", "价格不含税。"),
    ("试验结果合格。", "试验结果不合格。"),
    ("优惠券有效。", "优惠券无效。"),
    ("Delivery is no charge.", "Delivery is at a charge."),
    ("All seats are free.", "None of the seats are free."),
]
_ONE_MEANING = [
    ("재고가 없습니다.", "재고는 없습니다."),
    ("재고가 없습니다.", "품절입니다."),
    ("회원은 이용 불가능합니다.", "회원은 이용할 수 없습니다."),
    ("返品は不可能です。", "返品はできません。"),
    ("价格不含税。", "价格里不包含税。"),
    ("None of the seats are free.", "No seats are free."),
    ("两个型号不一样。", "两个型号不同。"),
    ("含稅1,050元。", "未稅1,000元,加5%營業稅共1,050元。"),
    ("The store won't open until 11.", "The store will open at 11."),
]


@pytest.mark.parametrize(("reference", "reply"), [*_SAME, *_SHORT_FORMS])
def test_one_fact_in_two_forms_is_found(reference: str, reply: str) -> None:
    """Numerals, units, currencies, dates and codes are equal in each of their forms."""
    agreement = compare_facts(reference, reply)
    assert agreement.findings
    assert {item.state for item in agreement.findings} == {"found"}
    assert not agreement.contradicted


@pytest.mark.parametrize(("reference", "reply"), [*_OTHER, *_OTHER_SHORT_FORMS])
def test_another_value_contradicts(reference: str, reply: str) -> None:
    """Whole numbers, amounts and codes are equal only if each digit is, however long they are."""
    assert "contradicted" in [item.state for item in compare_facts(reference, reply).findings]


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("It weighs 200 g.", "It supports 5G."),
        ("It costs 60p.", "The video runs at 60p."),
        ("The ticket costs £5m.", "The race is a 5k."),
    ],
)
def test_a_letter_beside_a_number_does_not_make_another_kind(reference: str, reply: str) -> None:
    """5G is no mass, and the 60p of a video are no pence, so that the reply misses the fact and contradicts nothing."""
    assert [item.state for item in compare_facts(reference, reply).findings] == ["missing"]


@pytest.mark.parametrize(("reference", "reply"), [*_OPPOSITE, *((reply, text) for text, reply in _OPPOSITE)])
def test_an_opposite_that_holds_a_negation_is_no_double_negation(reference: str, reply: str) -> None:
    """The negation inside 불가능, 不合格 or "none" belongs to the word, and does not turn the clause back."""
    assert compare_facts(reference, reply).oppositions


@pytest.mark.parametrize(("reference", "reply"), _ONE_MEANING)
def test_an_opposite_may_be_said_by_a_negation(reference: str, reply: str) -> None:
    """A word with a negation inside agrees with a clause that has the negation outside."""
    assert not compare_facts(reference, reply).contradicted


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("It arrives on November 24.", "It arrives tomorrow."),
        ("It arrives tomorrow.", "It arrives on November 24."),
        ("월요일에 도착합니다.", "내일 도착합니다."),
        ("11月24日に届きます。", "明日届きます。"),
        ("26 miles 385 yards", "It is 26.2 miles."),
    ],
)
def test_a_less_exact_value_is_undecided(reference: str, reply: str) -> None:
    """Nobody knows on which day the conversation took place, and a rounded number may be meant."""
    assert [item.state for item in compare_facts(reference, reply).findings] == ["undecided"]
