"""fairtrial: `response_match_score` of PAIRS replies of WORDS words of a KIND."""

from __future__ import annotations

import json
import sys
import time

from material import text_pairs

from fairtrial import EvalCase, Invocation, Message, ResponseMatch, Trace
from fairtrial.text.rouge import characters

pairs, size = map(int, sys.argv[1:3])
user = Message("?")
material = [
    (
        Trace((Invocation(user, final_response=Message(reply)),)),
        EvalCase("case", (Invocation(user, final_response=Message(reference)),)),
    )
    for reply, reference in text_pairs(pairs, size, sys.argv[3])
]
metric = ResponseMatch()
characters("importing")  # the stemmer is imported when first used; the other side imports it before its clock starts
start = time.process_time()
total = sum(metric(trace, case).value or 0.0 for trace, case in material)
cpu = time.process_time() - start
print(json.dumps({"pairs": pairs, "cpu": cpu, "mean": total / pairs}))
