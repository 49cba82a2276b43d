"""fairtrial: reads the conversations of FILE three times, beside its JSON without types. The fastest pass counts.

Both sides keep what they read.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from pathlib import Path

import msgspec

from fairtrial.api.eval_files import load_recordings

decode = msgspec.json.Decoder().decode
lines = Path(sys.argv[1]).read_bytes().splitlines()
passes, decoding = [], []
for _ in range(3):
    gc.collect()
    start = time.process_time()
    recordings = load_recordings([sys.argv[1]])
    passes.append(time.process_time() - start)
    count = len(recordings)
    del recordings
    gc.collect()
    start = time.process_time()
    values = [decode(line) for line in lines]
    decoding.append(time.process_time() - start)
    del values
print(json.dumps({"conversations": count, "passes": passes, "decoding": min(decoding)}))
