"""Sentences are cut as a reader would cut them, and no character is lost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.text.sentences import cut, sentences

# Each case is a text with ¦ where it is to be cut; the space around a cut belongs to no sentence.
ENGLISH = r"""
It rains. ¦Take an umbrella.
It rains! ¦Really? ¦Yes.
It rains
Mr. Smith met Dr. Lee. ¦They talked.
Prof. Ada L. Byron wrote it. ¦We read it.
J. K. Rowling wrote it.
It costs $3.50. ¦Tax is 0.25.
Version 1.2.3 is out. ¦Update now.
See https://example.com/a.b?c=d. ¦It helps.
Mail a.b@example.co.uk. ¦We answer.
Visit www.example.com! ¦It is free.
Open config.yaml. ¦Edit it.
We met at 5 p.m. ¦Then we left.
We met at 5 p.m. on Monday.
He lives in the U.S. ¦He likes it.
The U.S. Army came.
The U.S. economy grew.
Apples, pears, etc. are fruit.
Apples, pears, etc. ¦Nuts are not.
Use a tool, e.g. a hammer. ¦Be careful.
It is No. 5. ¦He said no. ¦They left.
See Fig. 3. ¦It is clear.
Acme Inc. ¦Sales grew.
Acme Inc. grew.
Plan B. ¦Then we left.
Vitamin C. ¦It is healthy.
It was I. ¦Nobody else.
Yahoo! is old.
"Really?" he asked. ¦She nodded.
"Stop." ¦She stopped.
He said "Yes. No." and left.
He said, “I know. I was there.” ¦Then he left.
(See above.) ¦Next one.
It was late (very late. Too late.) and dark. ¦We slept.
Wait... ¦What?
Well... maybe.
So… ¦Now what?
What?! ¦No way!!! ¦Yes.
**Note.** ¦Read this.
*Done.* ¦**Next!** ¦Go on.
Call `a.b! C` first. ¦Then wait.
It was shown.[1] ¦Others agree.[2][3] ¦We do too.
Great! 😊 ¦See you.
Great 😊 see you.
Nice! 👍🏽👍🏽 ¦Bye! 👋
It is true.¦
iPhone sales rose. ¦iPad sales fell.
Jan. 5 is a Friday. ¦We meet.
Ver. 2 is approx. 3 times as fast.
Cats vs. dogs. ¦Cats win.
It is 25°C. ¦Bring water.
Mail me at a@b.com. ¦Open C:\x\y.txt. ¦Thanks.
The answer is B. ¦It is the second. ¦John F. Kennedy said so.
It closes at 9 p.m. ¦Let us go.
""".strip()

KOREAN = r"""
안녕하세요. ¦오늘 날씨가 맑습니다.
정말요? ¦네! ¦그렇습니다.
기온은 3.5도입니다. ¦습도는 40%입니다.
끝났습니다.¦다음은 무엇입니까?
버전 1.2.3을 설치하세요. ¦그리고 다시 시작하세요.
https://example.com/a.b 를 보세요. ¦도움이 됩니다.
문의는 help@example.co.kr로 하세요. ¦감사합니다.
“갑니다.”라고 말했다. ¦그리고 떠났다.
"안 돼. 절대." 라고 했다. ¦끝.
'네.'라며 웃었다. ¦좋았다.
그는 "좋아요!"라고 답했습니다. ¦우리는 웃었습니다.
음... 잘 모르겠습니다. ¦다시 여쭤보겠습니다.
생각해 보겠어요... ¦다음 질문 주세요.
좋아요! 😊 ¦다음에 봬요.
감사합니다 😊
환불은 (영업일 기준. 최대 3일.) 걸립니다. ¦기다려 주세요.
주문이 완료되었습니다.[1] ¦감사합니다.
가격은 1,000원입니다. ¦배송비는 무료입니다!
**참고.** ¦읽어 주세요.
Dr. Kim이 왔습니다. ¦반갑습니다.
서울시 No. 5 건물입니다. ¦찾기 쉽습니다.
오전 10:30에 시작합니다. ¦늦지 마세요.
API v2.0은 JSON을 씁니다. ¦XML은 쓰지 않습니다.
`a.b!` 를 실행하세요. ¦결과를 보세요.
그럼요~ ¦
가. 첫째입니다.
① 첫째입니다. ¦둘째가 아닙니다.
네
뭐라고요?! ¦말도 안 돼요.
2026.11.21.까지 신청하세요. ¦늦으면 안 됩니다.
2026. 7. 13.에 시작합니다. ¦2026. 7. 14. 끝납니다. ¦오세요.
주소는https://example.com/a?b=c.d입니다. ¦방문하세요.
정답은 B. ¦다음 문제입니다.
""".strip()

JAPANESE = r"""
こんにちは。¦今日は晴れです。
本当？¦はい！¦そうです。
気温は3.5度です。¦湿度は40％です。
「そうです。」と彼は言った。¦次の文です。
「行きます。」¦彼女は立った。
「A。B。」と言った。¦終わり。
『坊っちゃん。』という本です。¦面白いです。
彼は（遅れて。とても。）来た。¦怒られた。
えっ…本当ですか。¦はい。
そう……。¦わかりました。
何ですか？！¦知りません。
https://example.com/a.b を見てください。¦便利です。
モーニング娘。、最高です。¦
いいですね！😊¦また明日。
ありがとう😊
価格は1,000円です。¦税込です。
Ver. 2.0です。¦更新してください。
**注意。**¦読んでください。
`a.b!`を実行します。¦待ちます。
「はい！」って言った。¦笑った。
① 一つ目です。¦二つ目もあります。
一、最初です。¦次もあります。
です｡¦ます｡
Mr. Tanakaが来た。¦会った。
はい
㈱山田です。¦よろしくお願いします。
そうです。[1]¦違います。
「本当？」と聞いた。¦「うん。」¦答えた。
「行く。帰る。」です。¦はい。
「行く。」¦でも行きません。
「はい。」¦もう行きます。
すごい！と言った。¦終わり。
円周率は３．１４です。¦はい．¦次．
https://example.com/a。¦見てください。
""".strip()

CHINESE = r"""
你好。¦今天天气很好。
真的吗？¦是的！¦好。
气温是3.5度。¦湿度是40%。
“你好。”他说。¦今天很好。
“走吧！”小明喊。¦我们走了。
「好。」她說。¦我們走了。
他说：“我知道。我在那里。”¦然后走了。
他（很晚。太晚。）才来。¦我们睡了。
什么？！¦不知道。
嗯……我不清楚。¦再说吧。
请看 https://example.com/a.b 。¦谢谢。
发邮件到 a.b@example.com。¦我们会回复。
价格是1,000元。¦免运费！
太好了！😊¦明天见。
谢谢😊
**注意。**¦请阅读。
运行 `a.b!`。¦等一下。
一、第一点。¦还有别的。
（一）第一点。¦第二点在后面。
① 第一点。
可以退款；不可以换货。¦请注意。
版本 1.2.3 已发布。¦请更新。
研究表明如此。[1]¦我们同意。[2]
好
他问：“什么？”¦“没什么。”
《你好。再见。》是一本书。¦我读过。
退款需要 3~5 个工作日。¦請稍候！
Dr. Wang 来了。¦我们很高兴。
iPhone 15 很好。¦我喜欢。
请看https://example.com/a?b。¦谢谢。
请看https://example.com/a.html，谢谢。¦好。
""".strip()

BLOCKS = [
    "Steps:\n¦- Open it.\n¦- Close it.\n¦- Done",
    "1. One\n¦2. Two. ¦It is more.\n¦3) Three",
    "- 첫째\n¦- 둘째입니다. ¦설명입니다.\n¦- 셋째",
    "* 一つ目\n¦* 二つ目",
    "1、第一\n¦2、第二",
    "# Title\n\n¦Text here.\n¦## Next\n¦More.",
    "| a | b |\n|---|---|\n¦| 1.5 | x. y |\n",
    "| a | b |\n|---|---|\n¦| 1.5 | It is. So is this. |\n¦After.",
    "a | b\n¦c | d\n¦e | f",
    "Look:\n¦```python\nx = 1.\nprint('a. b')\n```\n¦Done.",
    "~~~\na. b\n\nc. d\n~~~\n¦끝.",
    "```\nnever closed. really",
    "One line that was\nwrapped by hand. ¦Next.",
    "Name: Kim\n¦Age: 5",
    "이름: 김철수\n¦나이: 5",
    "First paragraph\n\n¦Second paragraph",
    "Text.\n---\n¦Text.",
    "> Quoted. ¦Really.\n¦> Yes.",
    "a) One\n¦b) Two",
    "- `x.y` does it. ¦See *z*.\n¦- **Bold.** ¦Then more.",
    "Total: 3.\r\n¦Next: 4.\r\n",
    "   \n¦Hello.   \n\n",
]
LINES = [line for table in (ENGLISH, KOREAN, JAPANESE, CHINESE) for line in table.splitlines()]
CASES = [*LINES, *BLOCKS]


def test_there_are_enough_hard_cases() -> None:
    """At least 120, with each language well in it."""
    assert len(CASES) >= 120
    assert min(len(table.splitlines()) for table in (ENGLISH, KOREAN, JAPANESE, CHINESE)) >= 25


@pytest.mark.parametrize("marked", CASES)
def test_a_text_is_cut_where_its_sentences_end(marked: str) -> None:
    """The table says where."""
    expected = tuple(part.strip() for part in marked.split("¦") if part.strip())
    got = tuple(sentence.removesuffix("\n---").strip() for sentence in sentences(marked.replace("¦", "")))
    assert tuple(part.removesuffix("\n---").replace("\n|---|---|", "").strip() for part in expected) == got


@pytest.mark.parametrize("text", ["", "   ", "---", "…", "😊", "!!!", "|---|", "\n\n", "***", "👍👍"])
def test_what_says_nothing_is_no_sentence(text: str) -> None:
    """Neither letter nor digit: nothing to judge."""
    assert sentences(text) == ()


@given(
    st.text(
        alphabet=st.sampled_from(
            list("aB1.!?。！？…,、\"'“”「」()（）`*_|-#>[]:;\n\r\t 　~é한국ですか你好说と라고😊👍🏽\u200d\ufeffㄱ①")
        ),
        max_size=80,
    )
)
def test_no_character_is_lost(text: str) -> None:
    """Joined together the pieces are the text; sentences have no space around them and are never empty."""
    pieces = cut(text)
    assert "".join(piece.text for piece in pieces) == text
    assert all(piece.text.strip() == piece.text and piece.text for piece in pieces if piece.is_sentence)


def test_separators_are_never_neighbours() -> None:
    """Between two sentences stands at most one separator."""
    kinds = [piece.is_sentence for piece in cut("A. \n\n---\n\n| - |\n B.")]
    assert not any(not one and not other for one, other in pairwise(kinds))


@pytest.mark.long
def test_a_long_text_takes_linear_time() -> None:
    """A hundred thousand brackets and quotes are cut without looking at all of them for each."""
    assert len(sentences("He said (no. " * 20_000)) > 0
