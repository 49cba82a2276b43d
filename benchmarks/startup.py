"""How much CPU does `--help` take?"""

from __future__ import annotations

from pathlib import Path

import measuring

_TIMES = 7


def main(peer: str) -> None:
    measuring.heading("start: `fairtrial --help`, `adk eval --help`")
    fairtrial = Path(measuring.OURS).with_name("fairtrial")
    adk = Path(peer).with_name("adk")
    ours, theirs = measuring.in_turn(
        lambda: measuring.run([fairtrial, "--help"]).cpu,
        lambda: measuring.run([adk, "eval", "--help"]).cpu,
        times=_TIMES,
    )
    measuring.line("CPU", f"{ours:.3f} s", f"{theirs:.3f} s")
    measuring.target("CPU, ours / theirs", ours / theirs, "", at_most=1)
