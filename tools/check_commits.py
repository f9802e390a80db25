"""The messages of commits, since this file is there: docs/contributing.md says what they look like."""

from __future__ import annotations

import re
import subprocess
import sys

LONGEST = 72
OTHER_FORM = re.compile(r"\w+(?:ed|ing)\b")  # Added, Adding
ALLOWED = {"Embed", "Feed", "Need", "Seed", "Shed", "Speed", "Bring", "String"}


def git(*arguments: str) -> str:
    """What git prints; "" where there is no repository, or no git."""
    try:
        return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def faults(message: str) -> list[str]:
    """What is wrong with a message."""
    subject, _, rest = message.strip().partition("\n")
    word = subject.partition(" ")[0]
    checks = {
        f"a subject of {len(subject)} characters; {LONGEST} at most": len(subject) > LONGEST,
        "a subject in other than the imperative, or with an area before it": not re.fullmatch(r"[A-Z][\w'-]*", word)
        or (OTHER_FORM.fullmatch(word) is not None and word not in ALLOWED),
        "a subject that ends in a full stop": subject.endswith("."),
        "no empty line below the subject, or no body that says why": not re.match(r"\n\S", rest),
    }
    return [fault for fault, found in checks.items() if found]


def main() -> int:
    """1 when a message is not as it should be."""
    first = git("log", "--diff-filter=A", "--format=%H", "--", "tools/check_commits.py").split()
    found = 0
    for commit in git("log", "--no-merges", "--format=%H", f"{first[-1]}^..HEAD").split() if first else []:
        message = git("log", "-1", "--format=%B", commit)
        for fault in faults(message):
            print(f"{commit[:8]} {message.splitlines()[0]!r}: {fault}")
            found = 1
    return found


if __name__ == "__main__":
    sys.exit(main())
