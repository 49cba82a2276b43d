"""Recognise sentences that are only polite: greetings, thanks, offers of help, regrets and wishes.

A sentence counts as polite only if a pattern covers it from its first word to its last. For example, "Thank you for
asking." is polite, and "Thank you for your payment of $40." is not. A sentence with a number is never only polite.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import regex

if TYPE_CHECKING:
    from fairtrial.text.language import Language

_MARKS = r"[\s\p{P}\p{S}]*"
_EN = (
    r"(?:hello|hi|hey|welcome|good (?:morning|afternoon|evening)|goodbye|bye)(?: there| again)?",
    r"(?:sure(?: thing)?|certainly|of course|absolutely|gladly|great|perfect|okay|ok|no problem|my pleasure|anytime)",
    r"(?:(?:sure|certainly|of course|absolutely|yes)\W+)?i(?:'d| would| will|'ll| can|'m|'m always| am)?"
    r" (?:be )?(?:very )?(?:happy|glad|pleased|here|able|help|can)?(?: to)?(?: help| assist| look into| check)?"
    r"(?: you)?(?: further)?(?: with (?:that|this|it)| that| this| it)?(?: for you)?(?: today| right away)?",
    r"(?:that's |what )?(?:a |an )?(?:great|good|excellent|interesting) question",
    r"(?:thank you|thanks|many thanks)(?: so much| very much| a lot)?(?: again)?(?: for (?:your (?:message|patience|time"
    r"|question|interest|understanding|inquiry|business|email|cooperation|feedback|call|trust|loyalty|support)"
    r"|asking|waiting|reaching out|contacting us|calling|writing|getting in touch|using our service|choosing us"
    r"|letting (?:me|us) know|confirming)(?: to us| with us)?)?",
    r"(?:we|i) (?:really |truly |greatly )?appreciate (?:your|it|you\w*)"
    r"(?: (?:business|patience|understanding|time|feedback|interest|choosing us|reaching out|cooperation|loyalty))?",
    r"(?:you're|you are)(?: very| most)? welcome",
    r"(?:is there |do you need |would you like )?(?:anything|something) else(?: (?:that )?(?:i|we) can (?:help|assist|do)"
    r"(?: you)?(?: with)?(?: for you)?| you(?:'d| would)? (?:need|like|want)(?: help with| to know)?)?(?: today| now)?",
    r"(?:what else|how else|how) can (?:i|we) (?:do|help|assist)(?: for)?(?: you)?(?: with)?(?: today)?",
    r"(?:(?:please |just |so )*(?:let (?:me|us) know|feel free to (?:ask|reach out|contact (?:me|us)|let (?:me|us) know)"
    r"|(?:don't|do not) hesitate to (?:ask|contact (?:me|us)|reach out|let (?:me|us) know))"
    r"(?: again| anytime| at any time)?)"
    r"(?: (?:if|whenever|should) (?:you|there) (?:have|need|want|is|are)(?: any| anything| some)?(?: other| more| further"
    r"| additional| else)*(?: questions?| concerns?| help| assistance)?(?: with that| about (?:that|this))?"
    r"(?: (?:i|we) can (?:help|do)(?: you)?(?: with)?(?: for you)?)?)?",
    r"(?:if you (?:have|need)|should you have|should you need)(?: any| anything| some)?(?: other| more| further| else"
    r"| additional)*(?: questions?| concerns?| help| assistance)?\W+(?:please |just )*(?:let (?:me|us) know|feel free to"
    r" (?:ask|reach out|contact (?:me|us))|(?:don't|do not) hesitate to (?:ask|contact (?:me|us)|reach out)|just ask"
    r"|i'm here to help)(?: again| anytime)?",
    r"(?:i|we) hope (?:this|that|it) (?:helps?|answers? your questions?|was helpful|is helpful|clarifies things)"
    r"(?: you)?",
    r"(?:(?:i'm|i am|we're|we are)? ?(?:so |very |really )?sorry|(?:(?:i|we) (?:sincerely |deeply )?|our )?apolog(?:ize|ise|ies))"
    r" (?:for|about) (?:any|the|this|all the|that)(?: \w+)? ?(?:inconvenience|confusion|trouble|delay|wait|misunderstanding)"
    r"(?: (?:(?:that )?(?:this|it) (?:may have|has|might have) caused(?: you)?|caused))?",
    r"(?:have|enjoy) (?:a |an |the |your )(?:very |rest of your |rest of the )?(?:great|good|nice|wonderful|lovely"
    r"|pleasant|safe|amazing|fantastic|day|stay|trip|flight|evening|meal|weekend)"
    r"(?: (?:day|evening|night|weekend|trip|flight|journey|stay|time|one|week|rest of your day|afternoon))?(?: ahead)?",
    r"(?:take care|good luck|all the best|best regards|kind regards|cheers|see you(?: soon)?|safe travels|bon voyage)"
    r"(?: and (?:take care|have a (?:great|good|nice) day))?",
)
_KO = (
    r"(?:네|예|넵)?\W*(?:알겠습니다|물론입니다|물론이죠|안녕하세요|안녕하십니까|반갑습니다|천만에요|별말씀을요|천만의 말씀입니다)"
    r"(?:\W*(?:고객|손님|회원)님)?",
    r"(?:네|예)\W*(?:바로 )?(?:도와|안내해|확인해|처리해)\s?드리겠습니다",
    r"(?:(?:오래 |잠시 |끝까지 )?(?:문의|기다려|연락|이용|방문|질문|이해|알려|협조)(?:해)?\s?주셔서 |이해해 주셔서 |양해해 주셔서 )?"
    r"(?:정말 |대단히 |진심으로 )?(?:감사합니다|감사드립니다|고맙습니다|감사해요|고마워요)",
    r"(?:(?:오늘도|남은 하루도|즐겁고) )?(?:좋은|즐거운|행복한|편안한|멋진|안전한|뜻깊은) (?:하루|여행|시간|저녁|주말|식사|밤|한 주|휴가)"
    r"(?:을|를)?\s?(?:되세요|보내세요|되십시오|보내십시오|되시길 바랍니다|되시기 바랍니다|보내시길 바랍니다|보내시기 바랍니다|되길 바랍니다)",
    r"(?:혹시 )?(?:더|또|다른|추가로|그 외에|그 밖에|이 외에)?\s?(?:궁금하신|궁금한|필요하신|필요한|도움이 필요하신) (?:점|것|게|사항|부분)"
    r"(?:이나 [\p{Hangul} ]{1,12})?(?:이)?\s?(?:더 )?(?:있으시면|있으면|있으신가요|있을까요|있나요|있으세요|있으십니까|생기시면)"
    r"(?:\W*(?:언제든지?|편하게|편히|부담 없이|말씀만|또|다시)\s?)*\W*(?:문의해|말씀해|연락해|질문해|알려|물어봐)?(?:\s?(?:주세요|주십시오|주시기 바랍니다"
    r"|주시면 됩니다))?",
    r"(?:더|또|제가|그 밖에|그 외에|다른|이 외에)?\s?(?:무엇을|어떻게|뭘|더)?\s?도와\s?드릴(?:까요| (?:일|것|게|점|부분)(?:이|은)?\s?(?:더 )?"
    r"(?:있을까요|있나요|있으신가요|있습니까|없을까요))",
    r"(?:더 )?도움이 필요하시면(?:\W*(?:언제든지?|편하게|다시)\s?)*(?:말씀해|문의해|연락해|알려) ?(?:주세요|주십시오)",
    r"(?:조금이나마 |이 정보가 )?도움이\s?(?:되셨기를|되었기를|되셨길|되었길|되기를|되시길)\s?(?:바랍니다|바라요)",
    r"(?:이용에 |여러 가지로 )?(?:불편|혼란|심려|걱정)(?:을|를)?\s?(?:드려|끼쳐|드린 점|끼쳐 드려)\s?(?:정말 |대단히 |진심으로 )?"
    r"(?:죄송합니다|사과드립니다|양해 부탁드립니다|죄송해요)",
    r"(?:정말 |아주 )?(?:좋은|훌륭한) 질문(?:입니다|이에요|이네요|이십니다)",
    r"(?:언제든지? )?(?:앞으로도 |계속 )?(?:잘 )?부탁드립니다|(?:다음에 )?또 (?:뵙겠습니다|만나요|이용해 주세요)",
)
_JA = (
    r"(?:こんにちは|こんばんは|おはようございます|いらっしゃいませ|はじめまして|どういたしまして|かしこまりました|承知(?:いた|致)?しました"
    r"|承りました|了解(?:いた)?しました|もちろんです|はい)",
    r"(?:はい[、,\s]*)?(?:喜んで|すぐに)?(?:ご案内|お手伝い|お答え|ご説明|対応|サポート)(?:いた|させていただき|し)(?:し)?ます",
    r"(?:この度は|本日は|いつも)?[、\s]*(?:お問い?合わせ|ご連絡|ご質問|お待ち|ご利用|ご協力|ご理解|ご確認|お声がけ)?(?:を)?"
    r"(?:いただき|くださり|頂き|下さり|して(?:いただき|くださり))?[、\s]*(?:誠に|本当に|どうも)?(?:ありがとう(?:ございま(?:す|した))?|感謝(?:いた)?します)",
    r"(?:どうぞ|引き続き|楽しい|素敵な|良い|よい|快適な|安全な)+[、\s]*(?:一日|ご旅行|旅|時間|週末|お時間|ご滞在|夜|フライト|お食事)"
    r"(?:を(?:お過ごしください(?:ませ)?|お楽しみください(?:ませ)?)?|になりますように)?",
    r"(?:他に|ほかに|その他|何か|また)*[、\s]*(?:何か)?(?:ご質問|ご不明な?点|お手伝いできる(?:こと|事)|ご要望|お困りのこと|気になる点|必要なこと"
    r"|知りたいこと|ご用件|ご希望)(?:が|は|など|など(?:が|は))?[、\s]*(?:ござい|あり)(?:ます(?:か|でしょうか)?|ましたら)"
    r"(?:[、\s]*(?:どうぞ)?(?:お気軽に|いつでも|ご遠慮なく|遠慮なく)+[、\s]*(?:お問い?合わせ|お知らせ|お申し付け|ご連絡|おっしゃって|ご質問|お尋ね|お聞き)"
    r"ください(?:ませ)?)?",
    r"(?:何か|また何か)(?:ござい|あり)ましたら[、\s]*(?:お気軽に|いつでも|ご遠慮なく)+[、\s]*(?:お問い?合わせ|お知らせ|お申し付け|ご連絡)ください(?:ませ)?",
    r"(?:お気軽に|いつでも)[、\s]*(?:お問い?合わせ|ご連絡|ご質問)ください(?:ませ)?",
    r"(?:この度は)?[、\s]*(?:ご不便|ご迷惑|お手数|ご心配)(?:を)?おかけ(?:して|し|いたしまして|しまして|したことを)[、\s]*(?:誠に|大変|本当に)?"
    r"[、\s]*(?:申し訳(?:ござい|あり)ません(?:でした)?|すみません|お詫び(?:申し上げます|いたします))",
    r"(?:少しでも)?お(?:役|力)に(?:立て(?:れば|たら|て)|なれ(?:れば|たら|て))(?:大変)?(?:幸い|嬉しい|うれしい|何より|光栄)です",
    r"また(?:の|い?つでも)ご(?:利用|来店|連絡|来館|搭乗)を(?:心より)?お待ちし(?:て|ております|ています)+(?:おります|います)?",
    r"(?:どうぞ|引き続き|今後とも|何卒)*[、\s]*(?:よろしく|宜しく)お願い(?:いた|致|申し上げ)?(?:し)?ます",
    r"(?:とても)?(?:良い|素晴らしい|いい)(?:ご)?質問です(?:ね)?",
)
_ZH = (
    r"(?:您|你)?好(?:的)?|(?:早上|下午|晚上)好|(?:不客气|不客氣|不用[谢謝]|别客气|別客氣|没关系|沒關係|没问题|沒問題|当然|當然|明白了|了解)(?:可以)?",
    r"(?:好的|当然|當然|没问题|沒問題)[，,、\s]*(?:没问题|沒問題|(?:让)?我(?:来|來|会|會|很乐意|很樂意)?(?:帮|幫|为|為|协助|協助)?(?:您|你)"
    r"(?:处理|處理|查询|查詢|查看|解答|看看|安排)?)",
    r"(?:非常|十分|再次)?(?:感谢|感謝|谢谢|謝謝|多谢|多謝)(?:您|你)?(?:的)?(?:耐心|来信|來信|咨询|諮詢|询问|詢問|等待|等候|理解|联系|聯絡|支持|配合"
    r"|提问|提問|信任|反馈|來電|来电|的)*",
    r"祝(?:您|你)?(?:有(?:个|個)?)?(?:生活|旅途|旅程|工作|一切|用餐|购物|購物|入住|周末|週末|假期|今天|有)?(?:愉快|顺利|順利|顺心|順心|安好|(?:有)?(?:美好|愉快|开心|開心)"
    r"的一天)",
    r"(?:请问|請問)?(?:还|還)(?:有|需要)(?:什么|什麼|其他|其它|别的|別的)?(?:需要|问题|問題|协助|協助|帮助|幫助)?(?:我|可以|能|帮|幫|您|你|为|為|的)*(?:协助|協助|效劳|效勞|做)?"
    r"(?:的)?(?:吗|嗎|呢)?",
    r"(?:如果?|若|要是)(?:您|你)?(?:还|還)?(?:有|需要)(?:任何|其他|其它|更多|别的|別的)*(?:疑问|疑問|问题|問題|需要|帮助|幫助|协助|協助)[，,\s]*"
    r"(?:请|請|欢迎|歡迎|可以|都可以)*(?:您)?(?:随时|隨時)?(?:与|與|跟|和|向)?(?:我们|我們|我)?(?:告诉|告訴|联系|聯繫|聯絡|联络|提问|提問|咨询|諮詢)(?:我们|我們|我)?",
    r"(?:对于|對於|对|對|因)?(?:给|給|造成|由此)?(?:您|你)?(?:带来|帶來|造成)?(?:的|您的|您|给您造成的|由此给您带来的)*(?:不便|困扰|困擾|麻烦|麻煩)[，,\s]*"
    r"(?:我们|我們|我)?(?:非常|十分|深|深表|真的|很|表示)*(?:抱歉|歉意|感抱歉|歉疚|遗憾)",
    r"(?:非常|很|真的|十分)?(?:抱歉|对不起|對不起)(?:给|給)?(?:您|你)?(?:带来|帶來|造成)(?:了|您|你|的)*(?:不便|困扰|困擾|麻烦|麻煩)",
    r"希望(?:这|這|以上|这些|這些)?(?:信息|資訊|回答)?(?:能|可以)?(?:够|夠)?(?:对|對)?(?:您|你)?(?:有(?:所)?(?:帮助|幫助)|(?:解答|回答)(?:您|你)?的(?:疑问|疑問|问题|問題)"
    r"|帮到(?:您|你)|幫到(?:您|你))",
    r"(?:我)?(?:很|非常|十分)?(?:高兴|高興|乐意|樂意|荣幸|榮幸)(?:能|能够|能夠)?(?:为|為|帮助|幫助|协助|協助|帮|幫)(?:您|你)(?:服务|服務|解答|效劳|效勞)?",
    r"(?:这是)?(?:个|個)?(?:很)?好的?(?:问题|問題)",
)
_PATTERNS = {
    language: tuple(regex.compile(rf"{_MARKS}(?:{pattern}){_MARKS}", regex.I) for pattern in patterns)
    for language, patterns in {"en": _EN, "ko": _KO, "ja": _JA, "zh": _ZH}.items()
}
_NUMBER = regex.compile(r"\p{N}")
_LONGEST = 120
"""The length of the longest sentence that is looked at. Longer ones state something."""


@lru_cache(maxsize=256)  # several operators look at the sentences of the same reply
def is_courtesy(sentence: str, language: Language) -> bool:
    """Return whether a sentence is only polite, for example "Is there anything else I can help you with?"."""
    if len(sentence) > _LONGEST or _NUMBER.search(sentence):
        return False
    text = sentence.replace("’", "'").strip()
    return any(pattern.fullmatch(text) for pattern in _PATTERNS[language])
