"""A model's server for benches: lognormal latency with mean 0.4 s, and a limit of rate or of calls at once.

Prints its port. When its input ends, it prints its statistics as JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
import time
from collections import deque
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))

from loopback import Action, Loopback, Request, Say, Status


class Limits:
    """Decides on the answer to each request."""

    def __init__(self, rate: int, room: int, after: str, mean: float, seed: int) -> None:
        self.rate, self.room, self.after, self.mean = rate, room, after, mean
        self.refused = 0
        self.taken: deque[float] = deque()
        self.ends: list[float] = []
        self.dice = random.Random(seed)

    def __call__(self, request: Request) -> Action:
        """Refuse a request over the limit. Otherwise give the same answer nine times in ten, for each item.

        A question without a schema is one of google-adk's.
        """
        now = time.monotonic()
        while self.taken and self.taken[0] <= now - 1:
            self.taken.popleft()
        self.ends = [end for end in self.ends if end > now]
        if (self.rate and len(self.taken) >= self.rate) or (self.room and len(self.ends) >= self.room):
            self.refused += 1
            return Status(429, {"Retry-After": self.after} if self.after else {})
        self.taken.append(now)
        delay = self.dice.lognormvariate(math.log(self.mean) - 0.18, 0.6) if self.mean else 0.0
        self.ends.append(now + delay)
        return Say(self._said(request), delay=delay)

    def _said(self, request: Request) -> str:
        if request.schema is not None:
            entries = [{"id": item, "rationale": "because", "answer": self._one(request)} for item in request.items]
            return json.dumps({"answers": entries})
        rubrics = re.findall(r"\[id: (r\d+)\] (.*)", request.text)
        if not rubrics:
            return json.dumps({"reasoning": "because", "is_the_agent_response_valid": self._one(request)})
        form = "ID: {}\nProperty: {}\nEvidence: none\nRationale: because\nVerdict: {}\n"
        return "\n".join(form.format(name, text, "yes" if self._agrees() else "no") for name, text in rubrics)

    def _one(self, request: Request) -> str:
        good, bad = request.choices[:2] if request.schema is not None else ("valid", "invalid")
        return good if self._agrees() else bad

    def _agrees(self) -> bool:
        return self.dice.random() < 0.9


def main() -> None:
    """Serve until the input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=int, default=0)
    parser.add_argument("--room", type=int, default=0)
    parser.add_argument("--after", default="")
    parser.add_argument("--mean", type=float, default=0.4)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    limits = Limits(given.rate, given.room, given.after, given.mean, given.seed)
    with Loopback(limits) as server:
        print(server.port, flush=True)
        sys.stdin.read()
        seen = {"requests": len(server.requests), "refused": limits.refused, "most": server.most_in_flight}
        print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    main()
