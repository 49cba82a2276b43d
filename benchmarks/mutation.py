"""How many mutants a second does mutation testing make and score, with criteria that ask no model?

    .venv/bin/python benchmarks/mutation.py [--cases 200]

If other work shares the cores, compare CPU time. Wall time then depends on the load.
"""

from __future__ import annotations

import argparse
import time

from measuring import heading, line, target, yardstick

from fairtrial import api
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Invocation, Message, ToolCall

SENTENCES = (
    "Your order {id} is shipped. The total is ${price:,}.",
    "주문 {id}은 배송되었습니다. 합계는 {price:,}원입니다.",
    "注文{id}は発送されました。合計は{price:,}円です。",
    "订单{id}已发货。总价是{price:,}元。",
)


def eval_set(cases: int) -> EvalSet:
    """Return cases of one call and one reply each, in four languages."""
    return EvalSet(
        "bench",
        tuple(
            EvalCase(
                str(number),
                (
                    Invocation(
                        Message("Where is it?"),
                        (ToolCall("get_order", {"id": number, "day": "2026-07-13"}),),
                        Message(SENTENCES[number % 4].format(id=100 + number, price=1000 + 7 * number)),
                    ),
                ),
            )
            for number in range(cases)
        ),
    )


def main(peer: str = "") -> None:  # noqa: ARG001  (no peer has mutation testing)
    """Measure the mutants a second of CPU time, with the store and the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=200)
    arguments, _ = parser.parse_known_args()
    heading("mutation testing: default criteria, cases of one call and one reply")
    criteria = {"tool_trajectory_avg_score": 1.0, "response_match_score": 0.8}
    api.mutate(eval_set(4), criteria)
    fixed = yardstick()
    cpu, wall = time.process_time(), time.perf_counter()
    report = api.mutate(eval_set(arguments.cases), criteria)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    mutants = sum(row.overall.mutants for row in report.operators)
    line("mutants", f"{mutants:,} in {wall:.1f} s, {cpu:.1f} s CPU")
    fixed = (fixed + yardstick()) / 2
    line("mutants in the CPU time of the yardstick", f"{mutants / cpu * fixed:,.0f} in {fixed:.2f} s")
    target("mutants a second of CPU time", mutants / cpu, "/s", at_least=2000)


if __name__ == "__main__":
    main()
