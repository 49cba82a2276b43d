"""How many secrets of other authors' corpora does `redact` find?

    python benchmarks/redaction_recall.py --rules FOLDER --half held       # kingfisher, noseyparker: YAML with examples
    python benchmarks/redaction_recall.py --detectors FOLDER --half held   # trufflehog: pkg/detectors, Go tests
    python benchmarks/redaction_recall.py --samples FOLDER                 # CredSweeper: tests, with data/output.json

The folders are checkouts of those projects. A secret counts as found if it no longer stands in the text. Rules for
identifiers, host names, and parts below six characters are no secrets, and do not count. A key such as
abcdef1234567890 is a placeholder, which `redact` leaves: its characters are drawn again, so that the rule still
matches. The half of a file is the parity of a hash of its name: forms were written after reading the half `read`,
never after the half `held`.
`--missed` prints what stays; it is refused for the half `held`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import string
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import regex
import yaml
from measuring import heading, line

from fairtrial import redact
from fairtrial.stats.interval import wilson

_CASE = re.compile(r'name:\s*"(?P<name>[^"]*)",\s*input:\s*`(?P<text>[^`]*)`,\s*want:\s*\[\]string\{(?P<want>[^}]*)\}')
_PLACEHOLDER = re.compile(r"123456|abcdef|98765|qrstuv|example|(..{1,6})\1\1")
"""The signs that a secret was made up by counting."""
_ALPHABETS = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
_NO_SECRET = re.compile(r".{0,5}|localhost.*|[\w.-]+\.(?:com|net|io|org)(?::\d+)?|jdbc:[^@]*(?:@//?[^@]*)?")
"""A host, or a part that is too short for a secret."""
_QUOTED = re.compile(r'"([^"\\]+)"')
_NAMES_A_SECRET = re.compile(r"secret|token|key|password|credential|webhook|hash|cookie|uri|connection", re.IGNORECASE)
_NAMES_NO_SECRET = re.compile(r"\b(?:id|identifier|user(?:name)?|account|host|domain|email)\b", re.IGNORECASE)
_UNCLAIMED = " (no secret)"
"""The mark of a rule whose name says that it looks for a user, an id or a host, which `redact` leaves."""


def main() -> None:
    """Print the share that is found, by corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", type=Path, help="a folder of rules in YAML, with examples")
    parser.add_argument("--detectors", type=Path, help="pkg/detectors of trufflehog")
    parser.add_argument("--samples", type=Path, help="the folder tests of CredSweeper")
    parser.add_argument("--half", choices=("held", "read"), default="held")
    parser.add_argument("--missed", action="store_true", help="print the secrets that stay, of the half that was read")
    arguments = parser.parse_args()
    if arguments.missed and arguments.half == "held":
        parser.error("--missed would show the half that nobody reads")
    for folder, read in ((arguments.rules, read_rules), (arguments.detectors, read_detectors)):
        if folder:
            heading(f"{folder.name}, half {arguments.half}")
            measure(list(read(folder, arguments.half)), missed=arguments.missed)
    if arguments.samples:
        heading("samples")
        measure(list(read_samples(arguments.samples)), missed=False)


def measure(secrets: list[tuple[str, str, str]], *, missed: bool) -> None:
    """Redact each text, and count secrets and kinds that are gone. A secret is (kind, text, value)."""
    kinds: dict[str, list[bool]] = defaultdict(list)
    secrets = [secret for secret in secrets if not _NO_SECRET.fullmatch(secret[2])]
    clean = cache(lambda text: redact(text)[0])  # many secrets stand in one file
    for kind, text, value in secrets:
        found = value not in clean(text)
        kinds[kind].append(found)
        if missed and not found:
            print(kind, repr(value[:90]), repr(" ".join(text.split())[:240]), sep=" | ")
    line("secrets that are found", state_share(sum(map(sum, kinds.values())), len(secrets)))
    claimed = [found for kind, own in kinds.items() if not kind.endswith(_UNCLAIMED) for found in own]
    if len(claimed) < len(secrets):
        line("the same without rules for users, ids and hosts", state_share(sum(claimed), len(claimed)))
    line("kinds whose secrets are all found", state_share(sum(map(all, kinds.values())), len(kinds)))


def state_share(found: int, number: int) -> str:
    """Return a count with its share and the 95 % interval."""
    low, high = wilson(found / number, number, 1.96)
    return f"{found} of {number}: {found / number:.1%} [{low:.1%}, {high:.1%}]"


def read_rules(folder: Path, half: str) -> Iterator[tuple[str, str, str]]:
    """Yield the secret that a rule's pattern captures in each of its examples."""
    for path in sorted(folder.rglob("*.yml")):
        if name_half(path.name) != half:
            continue
        for rule in (yaml.safe_load(path.read_text(encoding="utf-8")) or {}).get("rules", []):
            categories = rule.get("categories") or ["secret"]
            try:
                pattern = regex.compile(hoist_flags(rule["pattern"]))
            except regex.error:
                continue
            for example in rule.get("examples") or []:
                match = pattern.search(example) if {"secret", "api"} & {*categories} else None
                if match and "identifier" not in categories:
                    yield name_kind(rule), *draw_again(pattern, example, choose_group(match))


def name_kind(rule: dict[str, str]) -> str:
    """Return the kind of a rule. Its name says whether it looks for a secret."""
    name = rule.get("name", "")
    is_secret = _NAMES_A_SECRET.search(name) or not _NAMES_NO_SECRET.search(name)
    return rule["id"] + ("" if is_secret else _UNCLAIMED)


def choose_group(match: regex.Match[str]) -> tuple[int, int]:
    """Return the span of the secret in a match: the last group, because a user's name comes before a password."""
    groups = [number for number in range(1, match.re.groups + 1) if match.group(number)]
    return match.span(groups[-1] if groups else 0)


def draw_again(pattern: regex.Pattern[str], text: str, span: tuple[int, int]) -> tuple[str, str]:
    """Return a text and its secret. The characters of a placeholder are drawn again where the pattern allows it."""
    start, end = span
    if not _PLACEHOLDER.search(text[start:end].lower()):
        return text, text[start:end]
    source = random.Random(text)
    is_hex = not re.search("[g-z]", text[start:end].lower())
    for place in range(start, end):
        kind = next(filter(lambda kind: text[place] in kind, _ALPHABETS), "")
        if kind:
            letters = kind[:6] if is_hex and kind != string.digits else kind
            changed = text[:place] + source.choice(letters) + text[place + 1 :]
            again = pattern.search(changed)
            text = changed if again and choose_group(again) == span else text
    return text, text[start:end]


def hoist_flags(pattern: str) -> str:
    """Move the flags of a pattern to its start, as Python wants them."""
    flags = {flag for group in re.findall(r"\(\?([xims]+)\)", pattern) for flag in group}
    body = re.sub(r"\(\?[xims]+\)", "", pattern)
    return (f"(?{''.join(sorted(flags))})" if flags else "") + body


def read_detectors(folder: Path, half: str) -> Iterator[tuple[str, str, str]]:
    """Yield what each positive case of a detector's test wants to be found."""
    for path in sorted(folder.rglob("*_test.go")):
        kind = path.relative_to(folder).parts[0]
        if name_half(kind) != half or "integration" in path.name:
            continue
        for case in _CASE.finditer(path.read_text(encoding="utf-8")):
            for value in _QUOTED.findall(case["want"]):
                if value in case["text"] and "invalid" not in case["name"]:
                    yield kind, case["text"], value


def read_samples(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the values that CredSweeper's own expected output names, each with the text of its file."""
    for item in json.loads((folder / "data" / "output.json").read_text(encoding="utf-8")):
        for place in item["line_data_list"]:
            path = folder.parent / place["path"].removeprefix("./")
            value = place["value"]
            if path.suffix and path.is_file() and value and len(value) > 3:
                text = path.read_text(encoding="utf-8", errors="replace")
                if value in text:
                    yield item["rule"], text, value


def name_half(name: str) -> str:
    """Return the half of a file or folder, by a hash of its name."""
    return "held" if hashlib.sha256(name.encode()).digest()[0] % 2 else "read"


if __name__ == "__main__":
    main()
