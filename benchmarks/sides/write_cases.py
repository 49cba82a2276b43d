"""Writes an eval set of COUNT cases to FILE, byte for byte as google-adk would."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from material import cases


def main(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write('{\n  "eval_set_id": "large",\n  "name": "large",\n  "eval_cases": [\n')
        for i, case in enumerate(cases(count)):
            text = json.dumps(case, indent=2, ensure_ascii=False).replace("\n", "\n    ")
            file.write(f"{',' if i else ''}\n    {text}" if i else f"    {text}")
        file.write('\n  ],\n  "creation_timestamp": 1760000000.5\n}')


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
